/* accumulate.c - gradient accumulation over four steps: four batches of 64 make one update, as one
 * batch of 256 would, in a quarter of the memory for activations.
 * cc accumulate.c $(pkg-config --cflags --libs --static motley) && ./a.out [DEVICES] */
#include <math.h>
#include <motley/motley.h>
#include <stdio.h>

#define COUNT 640 /* weights of the layer that is compared */

/* Ten updates, each from `accumulate` steps of `batch` rows; the last layer's weights come back. */
static int learn(mot_fleet *fleet, const mot_model *net, size_t batch, size_t accumulate,
                 float *weight)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_metrics metrics;
    mot_trainer *trainer = NULL;
    mot_data *data = NULL;
    mot_batch *rows = NULL;
    int failed;

    config.accumulate = accumulate; /* mot_trainer_apply would end a group early */
    failed = mot_data_digits(1, 2560, &data) || mot_data_batch(data, batch) ||
             mot_trainer_open(fleet, net, &config, &trainer);
    for (size_t step = 1; step <= 10 * accumulate && !failed; step++) {
        failed = mot_data_next(data, &rows) || mot_trainer_step(trainer, rows);
        if (failed || step % accumulate)
            continue; /* the group goes on */
        failed = mot_trainer_metrics(trainer, &metrics);
        if (!failed && step == accumulate)
            printf("%zu x %zu rows: loss %.4f over %llu samples, %llu update\n", accumulate, batch,
                   metrics.loss, (unsigned long long)metrics.count,
                   (unsigned long long)metrics.steps);
    }
    failed = failed || mot_trainer_get(trainer, "dense2.weight", weight, COUNT);
    mot_trainer_close(trainer);
    mot_data_close(data);
    return failed;
}

int main(int argc, char **argv)
{
    struct mot_fleet_config devices = mot_fleet_config_default();
    float whole[COUNT], parts[COUNT], apart = 0;
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    int failed;

    devices.devices = argc > 1 ? argv[1] : NULL;
    /* clang-format off */
    failed = mot_fleet_open(&devices, &fleet)
          || mot_model_open(&net)
          || mot_model_text(net, "input 1x28x28, flatten, dense 64 relu, dropout 0.2, dense 10")
          || learn(fleet, net, 256, 1, whole)
          || learn(fleet, net, 64, 4, parts);
    /* clang-format on */
    for (size_t i = 0; i < COUNT && !failed; i++)
        apart = fmaxf(apart, fabsf(whole[i] - parts[i]));
    if (failed)
        fprintf(stderr, "%s\n", mot_error());
    else if ((failed = apart >= 1e-5f) != 0)
        fprintf(stderr, "after ten updates a weight differs by %g\n", (double)apart);
    else
        printf("after ten updates no weight differs by more than 0.00001\n");
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed;
}
