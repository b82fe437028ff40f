/* test_accumulate.c - steps whose gradients add up to one update: equal to the batch that is as
 * many times as large, and a group cut short is the mean of what was in it. */
#include "support/train.h"

#include <motley/bench.h>

#define NET "input 6, dense 12 tanh, dropout 0.25, dense 4"

static const char *const fleets[] = {"0", "0,0", "0,0,0"};

/* Dropout too: its masks count the group's rows, not each step's. */
static void n_steps_equal_the_batch_n_times_as_large(void **state)
{
    static const size_t groups[] = {1, 2, 3, 8};
    struct train_set set = train_set_make(48, 6, 4, 2);
    struct mot_trainer_config config = train_config();

    (void)state;
    for (size_t i = 0; i < 12; i++) {
        const size_t n = groups[i % 4];
        struct train_run parts, whole;
        float *a, *b;

        config.accumulate = n;
        parts = train_open(fleets[i / 4], NET, &config, train_data(&set, false, 48 / (2 * n)));
        config.accumulate = 1;
        whole = train_open("0", NET, &config, train_data(&set, false, 24));
        train_steps(&parts, 10 * n);
        train_steps(&whole, 10);
        a = train_get(&parts, 0);
        b = train_get(&whole, 0);
        check_close("parameters", a, b, train_numbers(&whole), 0, 1e-5);
        train_copies_agree(&parts);
        assert_int_equal(train_metrics(&parts).steps, 10);
        free(a);
        free(b);
        train_close(&parts);
        train_close(&whole);
    }
    train_set_clear(&set);
}

/* The golden values of tf.distribute (lr 1, three steps) are in test_loop.c, where gradients are
 * given. */
static void nothing_moves_before_the_last_step_of_a_group(void **state)
{
    struct train_set set = train_set_make(12, 6, 4, 2);
    struct mot_trainer_config config = train_config();
    struct train_run run;
    float *start, *now;

    (void)state;
    config.accumulate = 3;
    run = train_open("0,0", NET, &config, train_data(&set, false, 4));
    start = train_get(&run, 0);
    for (size_t s = 1; s <= 3; s++) {
        train_steps(&run, 1);
        now = train_get(&run, 0);
        if (s < 3)
            check_bits("before the last", now, start, train_numbers(&run));
        else
            assert_memory_not_equal(now, start, train_numbers(&run) * sizeof *now);
        assert_int_equal(train_metrics(&run).count, s < 3 ? 0 : 12);
        free(now);
    }
    free(start);
    train_close(&run);
    train_set_clear(&set);
}

/* 22 rows by 4 are six steps, groups of four: the second holds one whole step and one of two rows.
 */
static void a_group_that_the_epoch_cuts_short_counts_truly(void **state)
{
    struct train_set set = train_set_make(22, 6, 4, 2);
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();

    (void)state;
    fit.shuffle = false;
    for (size_t f = 0; f < 3; f++) {
        struct train_run parts, whole;
        struct mot_history history = {0};
        float *a, *b;

        config.accumulate = 4;
        parts = train_open(fleets[f], NET, &config, train_data(&set, false, 4));
        config.accumulate = 1;
        whole = train_open("0", NET, &config, train_data(&set, false, 16));
        fit.epochs = 3;
        fit.batch = 4;
        assert_ok(mot_fit(parts.trainer, parts.data, NULL, &fit, &history));
        fit.batch = 16; /* 16 and 6 */
        assert_ok(mot_fit(whole.trainer, whole.data, NULL, &fit, &history));
        a = train_get(&parts, 0);
        b = train_get(&whole, 0);
        check_close("parameters", a, b, train_numbers(&whole), 0, 1e-5);
        for (size_t e = 0; e < 3; e++)
            assert_true(fabs(history.row[e].loss - history.row[e + 3].loss) < 1e-5);
        mot_history_clear(&history);
        free(a);
        free(b);
        train_close(&parts);
        train_close(&whole);
    }
    train_set_clear(&set);
}

/* Gradients cross to the host once for a group, not once for a step. */
static void only_the_last_step_of_a_group_reduces(void **state)
{
    struct train_set set = train_set_make(32, 6, 4, 2);
    struct mot_trainer_config config = train_config();
    struct mot_counts seen;
    struct train_run run;

    (void)state;
    config.accumulate = 4;
    run = train_open("0,0", NET, &config, train_data(&set, false, 8));
    train_steps(&run, 16);
    assert_ok(mot_bench_counts(run.fleet, 0, &seen));
    train_steps(&run, 16);
    assert_ok(mot_bench_counts(run.fleet, 0, &seen));
    assert_int_equal(seen.downloads, 4);
    assert_int_equal(seen.uploads, 16 + 4);
    assert_int_equal(seen.allocations, 0);
    assert_int_equal(seen.compiles, 0);
    train_close(&run);
    train_set_clear(&set);
}

static void a_group_of_no_steps_is_refused(void **state)
{
    struct mot_trainer_config config = train_config();
    mot_fleet *fleet = train_fleet("0");
    mot_model *net = train_net(NET);
    mot_trainer *trainer = NULL;

    (void)state;
    config.accumulate = 0;
    assert_story(mot_trainer_open(fleet, net, &config, &trainer), MOT_BAD_ARG,
                 "accumulate = 0: an update needs one step at least");
    mot_model_close(net);
    mot_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n_steps_equal_the_batch_n_times_as_large),
        cmocka_unit_test(nothing_moves_before_the_last_step_of_a_group),
        cmocka_unit_test(a_group_that_the_epoch_cuts_short_counts_truly),
        cmocka_unit_test(only_the_last_step_of_a_group_reduces),
        cmocka_unit_test(a_group_of_no_steps_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
