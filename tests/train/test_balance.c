/* test_balance.c - shares by measured speed: a slow device takes fewer rows, one that slows the
 * whole is left out, and what is learned stays what one device learns. $MOTLEY_TEST_SLOW: behind
 * the layer, where device 1 is slow. */
#include "support/train.h"

#include <motley/bench.h>
#include <string.h>
#include <time.h>

#define NET "input 64, dense 128 relu, dense 128 relu, dense 10"

static struct train_run open_run(const char *devices, const char *shares, const char *net,
                                 enum mot_strategy strategy, struct train_set *set, size_t batch)
{
    struct mot_trainer_config config = train_config();
    struct train_run run = {NULL, train_net(net), NULL, NULL};
    struct mot_fleet_config fleet = mot_fleet_config_default();

    fleet.devices = devices;
    config.shares = shares;
    config.strategy = strategy;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    run.data = train_data(set, false, batch);
    return run;
}

static size_t rows_of_the_second(const struct train_run *run, size_t batch)
{
    size_t share[2];

    assert_int_equal(mot_trainer_replicas(run->trainer), 2);
    assert_ok(mot_trainer_split(run->trainer, batch, share));
    assert_int_equal(share[0] + share[1], batch);
    return share[1];
}

/* Device 1 is four times slower. Whatever was moved on the way, the sum of gradients is the same.
 */
static void a_slow_device_takes_fewer_rows(void **state)
{
    struct train_set set = train_set_make(1100, 64, 10, 3);
    struct train_run one = open_run("0", NULL, NET, MOT_STRATEGY_SINGLE, &set, 512);
    struct train_run two = open_run("0,1", "auto", NET, MOT_STRATEGY_MIRRORED, &set, 512);
    float *expected, *seen;
    size_t rows;

    (void)state;
    train_steps(&one, 60);
    train_steps(&two, 60); /* the third batch of an epoch has 76 rows */
    rows = rows_of_the_second(&two, 512);
    if (!(rows < 230))
        fail_msg("the slow device still takes %zu of 512 rows", rows);
    train_copies_agree(&two);
    expected = train_get(&one, 0);
    seen = train_get(&two, 0);
    check_seen("parameters", expected, mot_model_parameters(one.net));
    check_close("parameters", seen, expected, mot_model_parameters(one.net), 0, 1e-4);
    free(expected);
    free(seen);
    train_close(&one);
    train_close(&two);
    train_set_clear(&set);
}

/* A batch of 4 rows is not worth two devices, one of them slow: the trainer goes on with one, says
 * so with both figures, and answers for it. */
static void a_device_that_slows_the_whole_is_left_out(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct train_run run = open_run("0,1", "auto", NET, MOT_STRATEGY_AUTO, &set, 4);
    const size_t count = mot_model_parameters(run.net);
    float *value = calloc(count, sizeof *value);
    struct mot_metrics metrics;
    struct mot_note note = {.text = "nothing"};
    size_t turns, told = 0;

    (void)state;
    for (turns = 0; turns < 200 && !told; turns++) {
        train_steps(&run, 100);
        while (mot_trainer_note(run.trainer, &note))
            told += note.kind == MOT_NOTE_SHARES && strstr(note.text, "using 1 of 2 devices") &&
                    strstr(note.text, "(1: ") && strstr(note.text, ", 2: ");
    }
    if (told != 1)
        fail_msg("told %zu times; the last note: %s", told, note.text);
    assert_int_equal(rows_of_the_second(&run, 4), 0);
    train_steps(&run, 10);
    assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
    assert_int_equal(metrics.count, 512);
    assert_ok(mot_trainer_get(run.trainer, "dense1.weight", value, 64 * 128));
    assert_story(mot_trainer_get_from(run.trainer, 1, "dense1.weight", value, 64 * 128),
                 MOT_BAD_STATE, "left out");
    free(value);
    train_close(&run);
    train_set_clear(&set);
}

/* Who asks for mirrored keeps a copy on each, however slow. */
static void mirrored_leaves_nobody_out(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct train_run run = open_run("0,0", "auto", NET, MOT_STRATEGY_MIRRORED, &set, 4);

    (void)state;
    train_steps(&run, 600);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A second is no time that a machine must keep: a measurement that does not wait is over before. */
static void a_measurement_waits_until_shares_stand(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct train_run run = {train_fleet("0,0"), train_net(NET), NULL, train_data(&set, false, 64)};
    struct mot_trainer_config config = train_config();
    struct mot_bench_config bench = mot_bench_config_default();
    struct mot_bench_train seen;
    double began;

    (void)state;
    config.shares = "auto";
    config.strategy = MOT_STRATEGY_MIRRORED;
    bench.seconds = 0.01;
    bench.windows = 1;
    bench.settle = 1;
    began = now_s();
    assert_ok(mot_bench_train(run.fleet, run.net, &config, run.data, &bench, &seen, NULL));
    assert_true(now_s() - began >= 1);
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(mirrored_leaves_nobody_out),
        cmocka_unit_test(a_measurement_waits_until_shares_stand),
    };
    const struct CMUnitTest behind_the_layer[] = {
        cmocka_unit_test(a_slow_device_takes_fewer_rows),
        cmocka_unit_test(a_device_that_slows_the_whole_is_left_out),
    };

    return getenv("MOTLEY_TEST_SLOW") ? cmocka_run_group_tests(behind_the_layer, NULL, NULL)
                                      : cmocka_run_group_tests(plain, NULL, NULL);
}
