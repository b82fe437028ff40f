/* central.c - devices of little memory: the variables and the optimizer's state stay on the host,
 * devices hold weights, gradients and activations alone, each within a limit. What is learned is,
 * bit for bit, what mirrored learns.
 * cc central.c $(pkg-config --cflags --libs --static motley) && ./a.out [DEVICES] */
#include <motley/bench.h>
#include <motley/motley.h>
#include <stdio.h>

static int on_event(const struct mot_event *event, void *user)
{
    (void)user;
    if (event->kind == MOT_EVENT_EPOCH)
        printf("epoch %zu: loss %.4f, test accuracy %.1f %%\n", event->epoch, event->loss,
               100 * event->test_accuracy);
    return 0;
}

/* What the first device holds; Adam's state would be twice the weights. */
static int tell_bytes(mot_trainer *trainer)
{
    struct mot_bytes bytes;
    int failed = mot_bench_bytes(trainer, 0, &bytes);

    if (!failed)
        printf("on each device: weights %llu KiB, gradients %llu KiB, state %llu KiB, in all %llu "
               "KiB\n",
               (unsigned long long)bytes.parameters / 1024,
               (unsigned long long)bytes.gradients / 1024, (unsigned long long)bytes.state / 1024,
               (unsigned long long)bytes.total / 1024);
    return failed;
}

int main(int argc, char **argv)
{
    struct mot_fleet_config devices = mot_fleet_config_default();
    struct mot_trainer_config config = mot_trainer_config_default(); /* Adam 0.001 */
    struct mot_fit_config fit = mot_fit_config_default();
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *train = NULL, *test = NULL;
    mot_trainer *trainer = NULL;
    int failed;

    devices.devices = argc > 1 ? argv[1] : NULL;
    devices.memory = "8M";                  /* of each device; "0=512M,1=2G": each its own */
    config.strategy = MOT_STRATEGY_CENTRAL; /* one copy, on the host */
    config.shares = "even";
    fit.epochs = 3;
    fit.batch = 64;
    fit.resident = false; /* batches come from the host, too */
    fit.on_event = on_event;
    /* clang-format off */
    failed = mot_fleet_open(&devices, &fleet)
          || mot_data_digits(1, 4096, &train)
          || mot_data_digits(2, 512, &test)
          || mot_model_open(&net)
          || mot_model_text(net, "input 1x28x28, flatten, dense 512 relu, dense 512 relu, dense 10")
          || mot_trainer_open(fleet, net, &config, &trainer)
          || tell_bytes(trainer)
          || mot_fit(trainer, train, test, &fit, NULL);
    /* clang-format on */
    if (failed)
        fprintf(stderr, "%s\n", mot_error());
    mot_trainer_close(trainer);
    mot_data_close(test);
    mot_data_close(train);
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed;
}
