/* test_harm.c - a device that computes wrongly once, through the layer guise (harm.h): a bit that
 * changes in its memory is found and mended; a NaN that it alone computes accuses it. */
#include "support/train.h"

#include "fault/harm.h"

#include <dlfcn.h>

#define NET "input 12, dense 9 relu, dense 4"
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 16 };

static const struct harm_layer *layer(void)
{
    void *library = dlopen(getenv("OPENCL_LAYERS"), RTLD_NOW);

    assert_non_null(library);
    assert_non_null(dlsym(library, HARM_SYMBOL));
    return dlsym(library, HARM_SYMBOL);
}

static const enum mot_strategy strategies[] = {MOT_STRATEGY_MIRRORED, MOT_STRATEGY_CENTRAL};

static void a_bit_that_changes_on_one_device_is_found(void **state)
{
    static const enum mot_rule rules[] = {MOT_RULE_ADAM, MOT_RULE_SGD};
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.strategy = MOT_STRATEGY_MIRRORED;
    config.verify = 4;
    for (size_t r = 0; r < 2; r++) {
        struct train_run run;
        struct mot_note note;

        config.optimizer = mot_optimizer_default(rules[r]);
        run = train_open("0,1", NET, &config, train_data(&set, false, BATCH));
        train_steps(&run, 5);
        train_metrics(&run);
        assert_false(mot_trainer_note(run.trainer, &note));
        layer()->arm(1, HARM_FLIP);
        train_steps(&run, 8);
        train_metrics(&run);
        assert_true(layer()->done());
        assert_true(mot_trainer_note(run.trainer, &note));
        assert_int_equal(note.kind, MOT_NOTE_DIFFER);
        assert_int_equal(note.step, 7); /* changed after step 5, compared after every fourth */
        assert_string_equal(note.device, "1");
        assert_string_equal(note.parameter, "dense1.weight");
        assert_string_equal(note.text, "step 7: dense1.weight on device 1 differs from device 0's; "
                                       "all of it is sent anew");
        assert_false(mot_trainer_note(run.trainer, &note));
        train_copies_agree(&run);
        train_close(&run);
    }
    train_set_clear(&set);
}

static void a_nan_of_one_device_accuses_it(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    for (size_t s = 0; s < 4; s++) {
        struct train_run run;
        struct mot_metrics metrics;
        struct mot_note note;
        float *before, *after;
        const size_t device = s % 2;
        char words[160];

        config.strategy = strategies[s / 2];
        run = train_open("0,1", NET, &config, train_data(&set, false, BATCH));
        train_steps(&run, 3);
        before = train_get(&run, 0);
        layer()->arm(device, HARM_NAN);
        train_steps(&run, 1);
        after = train_get(&run, 0);
        check_bits("a refused step", after, before, train_numbers(&run));
        train_copies_agree(&run);
        assert_true(layer()->done());
        assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_BAD_NUMBER, "step 3: ");
        assert_true(mot_trainer_note(run.trainer, &note));
        snprintf(words, sizeof words,
                 "step 3: gradient of dense2.bias on device %zu is not finite (NaN); device %zu "
                 "computed NaN where device %zu did not: suspect the device",
                 device, device, 1 - device);
        assert_string_equal(note.text, words);
        assert_string_equal(note.parameter, "dense2.bias");
        assert_int_equal(note.replica, device);
        free(before);
        free(after);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* One device has no witness; the step, parameter and device are named all the same. */
static void a_single_device_is_named(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();
    struct train_run run = train_open("1", NET, &config, train_data(&set, false, BATCH));
    struct mot_metrics metrics;

    (void)state;
    train_steps(&run, 3);
    train_metrics(&run);
    layer()->arm(1, HARM_NAN);
    train_steps(&run, 2);
    assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_BAD_NUMBER,
                 "step 3: gradient of dense2.bias on device 1 is not finite (NaN)");
    assert_int_equal(metrics.steps, 0); /* nor was the one after it applied */
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bit_that_changes_on_one_device_is_found),
        cmocka_unit_test(a_nan_of_one_device_accuses_it),
        cmocka_unit_test(a_single_device_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
