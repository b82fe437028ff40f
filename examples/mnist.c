/* mnist.c - a whole program: every default device learns MNIST together.
 * cc mnist.c $(pkg-config --cflags --libs --static motley) && ./a.out DIR */
#include <motley/motley.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct mot_trainer_config config = mot_trainer_config_default(); /* mirrored, Adam 0.001 */
    struct mot_fit_config fit = mot_fit_config_default();
    mot_fleet *fleet = NULL; /* the opened devices */
    mot_model *net = NULL;   /* layers and initial values; knows no device */
    mot_data *train = NULL, *test = NULL;
    mot_trainer *trainer = NULL; /* owns the live variables and optimizer state */
    int failed;

    fit.epochs = 2;
    fit.on_event = mot_print_event; /* Keras-like lines on the stream in fit.user */
    fit.user = stdout;
    /* clang-format off */
    failed = mot_fleet_open(NULL, &fleet) /* NULL: the default devices */
          || mot_data_idx(argc > 1 ? argv[1] : "data/mnist", &train, &test)
          || mot_model_open(&net)
          || mot_model_input(net, MOT_SHAPE(784))
          || mot_model_dense(net, 64, MOT_ACT_RELU)
          || mot_model_dense(net, 10, MOT_ACT_SOFTMAX)
          || mot_trainer_open(fleet, net, &config, &trainer)
          || mot_fit(trainer, train, test, &fit, NULL);
    /* clang-format on */
    if (failed)
        fprintf(stderr, "%s\n", mot_error()); /* mot_error_status() has the code */
    mot_trainer_close(trainer);
    mot_data_close(test);
    mot_data_close(train);
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed;
}
