/* test_repeat.c - what must not change the result: another run, another way to stage, other cuts of
 * the buffers, another class of kernels, another locale. And what must: another seed. */
#include "support/comma.h"
#include "support/train.h"

#define NET "input 20, dense 24 gelu, dropout 0.25, dense 5"

static void set_env(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static float *learn(const char *devices, const char *net, uint64_t seed, size_t steps)
{
    struct train_set set = train_set_make(66, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run;
    mot_data *data = train_data(&set, false, 32);
    float *parameters;

    config.seed = seed;
    config.optimizer.clip_norm = 0.5;
    assert_ok(mot_data_shuffle(data, seed));
    run = train_open(devices, net, &config, data);
    train_steps(&run, steps);
    train_copies_agree(&run);
    parameters = train_get(&run, 0);
    train_close(&run);
    train_set_clear(&set);
    return parameters;
}

static size_t count_of(const char *text)
{
    mot_model *net = train_net(text);
    const size_t count = mot_model_parameters(net);

    mot_model_close(net);
    return count;
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    static const char *const fleets[] = {"0", "0,0,0", "0/2"};
    const size_t n = count_of(NET);

    (void)state;
    for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++) {
        float *first, *again, *other;

        if (!train_can(fleets[f]))
            continue;
        first = learn(fleets[f], NET, 5, 30);
        again = learn(fleets[f], NET, 5, 30);
        other = learn(fleets[f], NET, 6, 30);
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", fleets[f]);
        check_bits("the same seed", again, first, n);
        assert_memory_not_equal(other, first, n * sizeof *first);
        free(first);
        free(again);
        free(other);
    }
}

static void staging_by_copy_and_by_map_give_the_same_bits(void **state)
{
    static const char *const fleets[] = {"0", "0,0", "0,0,0"};
    const size_t n = count_of(NET);

    (void)state;
    for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++) {
        float *way[2];

        set_env("MOTLEY_STAGING", "copy");
        way[0] = learn(fleets[f], NET, 5, 40);
        set_env("MOTLEY_STAGING", "map");
        way[1] = learn(fleets[f], NET, 5, 40);
        set_env("MOTLEY_STAGING", NULL);
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", fleets[f]);
        check_bits("copied and mapped", way[0], way[1], n);
        free(way[0]);
        free(way[1]);
    }
}

/* More than a million numbers: by copy they travel in two buckets, and an allocation of 4.25 MB at
 * most cuts them into three pieces, between the layers. */
static void buckets_and_pieces_give_the_same_bits(void **state)
{
    static const char *const net = "input 20, dense 1024 relu, dense 1024 relu, dense 5";
    static const struct {
        const char *devices, *staging, *largest;
    } ways[] = {{"0,0", "map", NULL},
                {"0,0", "copy", NULL},
                {"0,0", "copy", "4250000"},
                {"0,0", "map", "4250000"}};
    const size_t n = count_of(net);
    float *first = NULL;

    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        float *now;

        set_env("MOTLEY_STAGING", ways[w].staging);
        set_env("MOTLEY_LARGEST", ways[w].largest);
        snprintf(check_where(), CHECK_WHERE_BYTES, "by %s, pieces of %s", ways[w].staging,
                 ways[w].largest ? ways[w].largest : "any size");
        now = learn(ways[w].devices, net, 5, 4);
        if (first)
            check_bits("parameters", now, first, n);
        else
            first = now, now = NULL;
        free(now);
    }
    free(first);
    set_env("MOTLEY_LARGEST", "many");
    assert_story(mot_fleet_open(NULL, &(mot_fleet *){NULL}), MOT_BAD_ARG, "MOTLEY_LARGEST");
    set_env("MOTLEY_STAGING", "swim");
    set_env("MOTLEY_LARGEST", NULL);
    assert_story(mot_fleet_open(NULL, &(mot_fleet *){NULL}), MOT_BAD_ARG,
                 "MOTLEY_STAGING \"swim\" is none of auto, map, copy");
    set_env("MOTLEY_STAGING", NULL);
}

static void kernels_of_either_class_learn_the_same(void **state)
{
    struct train_set set = train_set_make(400, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    double loss[2];

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        struct mot_metrics metrics;
        struct train_run run;

        set_env("MOTLEY_CLASS", c ? "gpu" : "cpu");
        run = train_open("0,0", NET, &config, train_data(&set, false, 40));
        assert_int_equal(mot_fleet_count(run.fleet), 2);
        train_steps(&run, 60);
        assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
        loss[c] = metrics.loss;
        if (!(metrics.accuracy > 0.9))
            fail_msg("as %s: accuracy %g", c ? "gpu" : "cpu", metrics.accuracy);
        train_close(&run);
    }
    set_env("MOTLEY_CLASS", NULL);
    if (!(fabs(loss[0] - loss[1]) < 1e-3))
        fail_msg("loss %g as cpu, %g as gpu", loss[0], loss[1]);
    train_set_clear(&set);
}

/* ---- a decimal comma ---- */

static void a_decimal_comma_changes_nothing(void **state)
{
    const size_t n = count_of(NET);
    float *point = learn("0,0", NET, 5, 10), *comma;
    struct train_set set = train_set_make(64, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct folder folder;
    struct train_run run;
    char text[2048] = "";
    float *before, *after;
    FILE *stream;

    (void)state;
    assert_true(folder_open(&folder));
    assert_true(comma_locale(folder.path));
    comma = learn("0,0", NET, 5, 10);
    check_bits("under a decimal comma", comma, point, n);
    config.shares = "0.5,1.5";
    run = train_open("0,0", NET, &config, train_data(&set, false, 32));
    stream = fopen(folder_path(&folder, "lines"), "w+");
    assert_non_null(stream);
    fit.on_event = mot_print_event;
    fit.user = stream;
    fit.batch = 32;
    assert_ok(mot_fit(run.trainer, run.data, run.data, &fit, NULL));
    rewind(stream);
    assert_true(fread(text, 1, sizeof text - 1, stream) > 0);
    fclose(stream);
    if (!strstr(text, "loss: 1.") || !strstr(text, "accuracy: 0.") || strstr(text, ": 0,"))
        fail_msg("lines for people under a decimal comma: %s", text);
    before = train_get(&run, 0);
    assert_ok(mot_weights_save(run.trainer, folder_path(&folder, "w")));
    train_steps(&run, 1);
    assert_ok(mot_weights_load(run.trainer, folder_path(&folder, "w")));
    after = train_get(&run, 0);
    check_bits("saved and loaded", after, before, n);
    setlocale(LC_ALL, "C");
    free(before);
    free(after);
    free(point);
    free(comma);
    train_close(&run);
    train_set_clear(&set);
    folder_close(&folder);
}

/* ---- digits ---- */

static void drawn_digits_are_learned_in_a_few_epochs(void **state)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = {0};
    mot_data *test = NULL;
    struct mot_metrics metrics;

    (void)state;
    assert_ok(mot_data_digits(1, 16000, &run.data));
    assert_ok(mot_data_digits(2, 500, &test));
    assert_ok(mot_fleet_open(NULL, &run.fleet)); /* the default devices and choices */
    assert_ok(mot_model_open(&run.net));
    assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
    assert_ok(mot_model_text(run.net, "mlp64"));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    fit.epochs = 6;
    fit.batch = 32;
    assert_ok(mot_fit(run.trainer, run.data, test, &fit, NULL));
    assert_ok(mot_evaluate(run.trainer, test, &metrics));
    if (!(metrics.accuracy > 0.95))
        fail_msg("accuracy %g on digits it has not seen", metrics.accuracy);
    mot_data_close(test);
    train_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(staging_by_copy_and_by_map_give_the_same_bits),
        cmocka_unit_test(buckets_and_pieces_give_the_same_bits),
        cmocka_unit_test(kernels_of_either_class_learn_the_same),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
        cmocka_unit_test(drawn_digits_are_learned_in_a_few_epochs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
