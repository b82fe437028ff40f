/* mirrored.c - a replica on every device: Dense(64) - Dense(10, softmax) on 100 random samples of
 * 10 numbers, as the first example of many a tutorial. Device memory grows with what is needed.
 *
 * cc mirrored.c $(pkg-config --cflags --libs --static motley) && ./a.out [DEVICES] */
#include <motley/motley.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 100, WIDTH = 10, CLASSES = 10, BATCH = 16, EPOCHS = 3 };

static int print_loss(mot_trainer *trainer, size_t step)
{
    struct mot_metrics metrics;
    int failed = mot_trainer_metrics(trainer, &metrics);

    if (!failed)
        printf("step %2zu: loss %.4f over %llu samples\n", step, metrics.loss,
               (unsigned long long)metrics.count);
    return failed;
}

/* One epoch of steps: a batch goes to all replicas, the last one is smaller. */
static int run_epoch(mot_trainer *trainer, mot_data *data, size_t *step)
{
    mot_batch *batch = NULL;
    int failed;

    while ((failed = mot_data_next(data, &batch)) == 0 && batch) {
        failed = mot_trainer_step(trainer, batch) || print_loss(trainer, ++*step);
        if (failed)
            break;
    }
    return failed;
}

int main(int argc, char **argv)
{
    static float x[SAMPLES * WIDTH];
    static uint32_t labels[SAMPLES];
    struct mot_fleet_config devices = mot_fleet_config_default();
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_arrays arrays = mot_arrays_default();
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *data = NULL;
    mot_trainer *trainer = NULL;
    size_t i, step = 0;
    int failed;

    for (i = 0; i < SAMPLES * WIDTH; i++)
        x[i] = (float)rand() / (float)RAND_MAX;
    for (i = 0; i < SAMPLES; i++)
        labels[i] = (uint32_t)rand() % CLASSES;
    arrays.count = SAMPLES;
    arrays.shape = MOT_SHAPE(WIDTH);
    arrays.x = x;
    arrays.labels = labels;
    arrays.classes = CLASSES;
    devices.devices = argc > 1 ? argv[1] : NULL; /* NULL: the default devices */
    config.strategy = MOT_STRATEGY_MIRRORED;     /* a copy of the variables on each of them */
    /* clang-format off */
    failed = mot_fleet_open(&devices, &fleet)
          || mot_data_arrays(&arrays, &data)
          || mot_data_batch(data, BATCH)
          || mot_model_open(&net)
          || mot_model_input(net, MOT_SHAPE(WIDTH))
          || mot_model_dense(net, 64, MOT_ACT_RELU)
          || mot_model_dense(net, CLASSES, MOT_ACT_SOFTMAX)
          || mot_trainer_open(fleet, net, &config, &trainer);
    /* clang-format on */
    if (!failed)
        printf("Number of replicas: %zu\n", mot_trainer_replicas(trainer));
    for (i = 0; i < EPOCHS && !failed; i++)
        failed = run_epoch(trainer, data, &step);
    if (failed)
        fprintf(stderr, "%s\n", mot_error());
    mot_trainer_close(trainer);
    mot_data_close(data);
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed;
}
