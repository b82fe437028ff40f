/* unlike.c - devices that differ train as one: each takes the rows its measured speed is worth, and
 * every change is told. At the end the copies are compared bit by bit.
 * cc unlike.c $(pkg-config --cflags --libs --static motley) && ./a.out [DEVICES] */
#include <motley/motley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "dense1.weight"

/* The split of a batch at the start, and what the trainer tells of it later. */
static int on_event(const struct mot_event *event, void *user)
{
    size_t i;

    (void)user;
    if (event->kind == MOT_EVENT_NOTE)
        printf("%s\n", event->note->text);
    for (i = 0; event->kind == MOT_EVENT_START && i < event->replicas; i++)
        printf("device %s, %s: %zu of %zu rows\n", mot_fleet_label(event->fleet, i),
               mot_fleet_get(event->fleet, i)->name, event->share[i], event->batch);
    if (event->kind == MOT_EVENT_EPOCH)
        printf("epoch %zu: loss %.4f, test accuracy %.1f %%, %.0f samples/s\n", event->epoch,
               event->loss, 100 * event->test_accuracy, event->samples_per_s);
    return 0;
}

/* The first layer's weights of every replica against those of replica 0. */
static int compare(mot_trainer *trainer, size_t count)
{
    float *first = calloc(2 * count, sizeof *first), *other = first + count;
    int failed = !first || mot_trainer_get_from(trainer, 0, FIRST, first, count);
    size_t i;

    for (i = 1; !failed && i < mot_trainer_replicas(trainer); i++) {
        failed = mot_trainer_get_from(trainer, i, FIRST, other, count);
        if (!failed)
            printf("replica %zu: %s\n", i,
                   memcmp(first, other, count * sizeof *first) ? "differs" : "equal to the bit");
    }
    free(first);
    return failed;
}

int main(int argc, char **argv)
{
    struct mot_fleet_config devices = mot_fleet_config_default();
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *train = NULL, *test = NULL;
    mot_trainer *trainer = NULL;
    int failed;

    devices.devices = argc > 1 ? argv[1] : NULL;
    config.strategy = MOT_STRATEGY_MIRRORED; /* AUTO may leave out a device that slows the whole */
    config.shares = "auto";                  /* by measured speed; "even" or "3,1" by hand */
    fit.epochs = 3;
    fit.batch = 256;
    fit.on_event = on_event;
    /* clang-format off */
    failed = mot_fleet_open(&devices, &fleet)
          || mot_data_digits(1, 4096, &train)
          || mot_data_digits(2, 512, &test)
          || mot_model_open(&net)
          || mot_model_text(net, "input 1x28x28, flatten, dense 64 relu, dense 10")
          || mot_trainer_open(fleet, net, &config, &trainer)
          || mot_fit(trainer, train, test, &fit, NULL)
          || compare(trainer, 64 * 784);
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
