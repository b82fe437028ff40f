/* limits.c - memory growth and a limit of its own for each device: pools begin with nothing, take
 * what the plan needs and never more than their limit; a share that does not fit runs as
 * micro-batches, and what is learned is the same.
 * cc limits.c $(pkg-config --cflags --libs --static motley) && ./a.out [DEVICES [LIMITS]] */
#include <motley/bench.h>
#include <motley/motley.h>
#include <stdio.h>

#define DEVICES 8

static unsigned long long kib(uint64_t bytes)
{
    return (unsigned long long)bytes / 1024;
}

/* Memory grows on demand: what each device holds now, and the most it ever held. */
static int tell_bytes(const mot_fleet *fleet, mot_trainer *trainer, const char *when)
{
    struct mot_bytes bytes;
    int failed = 0;

    for (size_t i = 0; i < mot_trainer_replicas(trainer) && !failed; i++) {
        failed = mot_bench_bytes(trainer, i, &bytes);
        if (!failed)
            printf("%s, device %s: %llu KiB, at most %llu KiB\n", when, mot_fleet_label(fleet, i),
                   kib(bytes.total), kib(bytes.peak));
    }
    return failed;
}

/* What training will take, before it does. */
static int tell_plan(const mot_fleet *fleet, mot_trainer *trainer, mot_data *train,
                     const struct mot_fit_config *fit)
{
    struct mot_plan plan[DEVICES];
    int failed =
        mot_trainer_replicas(trainer) > DEVICES || mot_fit_plan(trainer, train, NULL, fit, plan);

    for (size_t i = 0; !failed && i < mot_trainer_replicas(trainer); i++)
        printf("planned, device %s: %llu KiB of %llu KiB: %s\n", mot_fleet_label(fleet, i),
               kib(plan[i].bytes.total), kib(plan[i].limit), plan[i].why);
    return failed;
}

int main(int argc, char **argv)
{
    struct mot_fleet_config devices = mot_fleet_config_default();
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    struct mot_history history = {0};
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *train = NULL;
    mot_trainer *trainer = NULL;
    int failed;

    devices.devices = argc > 1 ? argv[1] : NULL;
    devices.memory = argc > 2 ? argv[2] : "4M"; /* of each; "0=512M,1=2G": each its own */
    config.shares = "even";
    fit.batch = 1024;
    fit.epochs = 3;
    /* clang-format off */
    failed = mot_fleet_open(&devices, &fleet)
          || mot_data_digits(1, 4096, &train)
          || mot_model_open(&net)
          || mot_model_text(net, "input 1x28x28, flatten, dense 64 relu, dense 10 softmax")
          || mot_trainer_open(fleet, net, &config, &trainer)
          || tell_bytes(fleet, trainer, "opened")
          || tell_plan(fleet, trainer, train, &fit)
          || mot_fit(trainer, train, NULL, &fit, &history)
          || tell_bytes(fleet, trainer, "trained");
    /* clang-format on */
    if (failed)
        fprintf(stderr, "%s\n", mot_error());
    else
        printf("loss %.4f, then %.4f\n", history.row[0].loss, history.row[2].loss);
    mot_history_clear(&history);
    mot_trainer_close(trainer);
    mot_data_close(train);
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed;
}
