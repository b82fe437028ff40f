/* app.c - a program that knows of Motley only what is installed: it trains, saves and loads, and
 * reads the story of a mistake. */
#include <motley/motley.h>

#include <stdio.h>
#include <string.h>

static int train(void)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    struct mot_metrics metrics = {0};
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *digits = NULL, *test = NULL;
    mot_trainer *trainer = NULL;
    int failed;

    fit.epochs = 2;
    fit.batch = 32;
    fit.on_event = mot_print_event;
    fit.user = stdout;
    failed = mot_fleet_open(NULL, &fleet) || mot_data_digits(1, 2000, &digits) ||
             mot_data_digits(2, 500, &test) || mot_model_open(&net) ||
             mot_model_input(net, MOT_SHAPE(1, 28, 28)) || mot_model_flatten(net) ||
             mot_model_dense(net, 64, MOT_ACT_RELU) || mot_model_dense(net, 10, MOT_ACT_SOFTMAX) ||
             mot_trainer_open(fleet, net, &config, &trainer) ||
             mot_fit(trainer, digits, test, &fit, NULL) ||
             mot_weights_save(trainer, "app.safetensors") ||
             mot_weights_load(trainer, "app.safetensors") || mot_evaluate(trainer, test, &metrics);
    if (failed)
        fprintf(stderr, "%s\n", mot_error());
    else
        printf("accuracy %.3f\n", metrics.accuracy);
    mot_trainer_close(trainer);
    mot_model_close(net);
    mot_data_close(test);
    mot_data_close(digits);
    mot_fleet_close(fleet);
    return failed || !(metrics.accuracy > 0.5);
}

static int mistake(void)
{
    mot_model *net = NULL;
    int wrong = mot_model_open(&net) != MOT_OK ||
                mot_model_text(net, "input 784, dense many relu") == MOT_OK ||
                mot_error_status() == MOT_OK || strstr(mot_error(), "many") == NULL;

    if (wrong)
        fprintf(stderr, "a mistake was not told of: \"%s\"\n", mot_error());
    mot_model_close(net);
    return wrong;
}

int main(void)
{
    if (strcmp(mot_version(), MOT_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", MOT_VERSION, mot_version());
        return 1;
    }
    return mistake() || train();
}
