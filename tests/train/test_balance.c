/* test_balance.c - shares by measured speed: a slow device takes fewer rows, one that slows the
 * whole is left out, and what is learned stays what one device learns. $MOTLEY_TEST_SLOW: behind
 * the layer, where device 1 is slow. */
#include "support/train.h"

#include <motley/bench.h>
#include <string.h>
#include <time.h>

#define ENOUGH_S 15
#define LATE_S 60 /* shares follow what is measured, and a busy machine measures something else */
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

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Device 1 is four times slower. Whatever was moved on the way, the sum of gradients is the same.
 */
static void a_slow_device_takes_fewer_rows(void **state)
{
    struct train_set set = train_set_make(1100, 64, 10, 3);
    struct train_run one = open_run("0", NULL, NET, MOT_STRATEGY_SINGLE, &set, 512);
    struct train_run two = open_run("0,1", "auto", NET, MOT_STRATEGY_MIRRORED, &set, 512);
    const double late_s = now_s() + LATE_S;
    float *expected, *seen;

    (void)state;
    do {
        train_steps(&one, 24);
        train_steps(&two, 24); /* the third batch of an epoch has 76 rows */
    } while (rows_of_the_second(&two, 512) >= 180 && now_s() < late_s);
    assert_in_range(rows_of_the_second(&two, 512), 1, 179); /* a fifth would be 102 */
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

static int built_in(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

/* A loop of one's own: two runs, then an update. */
static void own_steps(struct train_run *run, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        assert_ok(mot_trainer_run(run->trainer, train_batch(run->data), built_in, NULL));
        if (i % 2)
            assert_ok(mot_trainer_apply(run->trainer));
    }
}

/* Train until a note of shares says this; the test fails if none does for long. */
static struct mot_note await_note(struct train_run *run, void (*steps)(struct train_run *, size_t),
                                  const char *words)
{
    const double late_s = now_s() + LATE_S;
    struct mot_note note = {.text = "nothing"};

    while (now_s() < late_s) {
        steps(run, 4); /* too few for two changes */
        while (mot_trainer_note(run->trainer, &note))
            if (note.kind == MOT_NOTE_SHARES && strstr(note.text, words))
                return note;
    }
    fail_msg("no note says \"%s\"; the last: %s", words, note.text);
    return note;
}

/* By how much the layer stretches the kernels of each device from now on; all lanes idle. */
static void slow_down(struct train_run *run, const char *slow)
{
    struct mot_metrics metrics;
    struct mot_note note;

    assert_ok(mot_trainer_metrics(run->trainer, &metrics));
    while (mot_trainer_note(run->trainer, &note))
        ;
    assert_int_equal(setenv("MOTLEY_ILL_WILL", slow, 1), 0);
}

/* In the middle of a run one device becomes six times as fast. Both sleep most of the time: two
 * that compute on the same cores have no speeds of their own. */
static struct train_run speed_up(struct train_set *set, void (*steps)(struct train_run *, size_t))
{
    const double late_s = now_s() + LATE_S;
    struct train_run run;

    assert_int_equal(setenv("MOTLEY_ILL_WILL", "slow=4:24", 1), 0);
    run = open_run("0,1", "auto", NET, MOT_STRATEGY_MIRRORED, set, 512);
    do
        steps(&run, 20);
    while (rows_of_the_second(&run, 512) > 150 && now_s() < late_s);
    assert_in_range(rows_of_the_second(&run, 512), 0, 150);
    slow_down(&run, "slow=4:4");
    do
        assert_true(await_note(&run, steps, "from here on (was ").step >= 10);
    while (rows_of_the_second(&run, 512) < 170);
    return run;
}

/* And then slow again. */
static void shares_follow_a_device_as_it_changes(void **state)
{
    struct train_set set = train_set_make(1024, 64, 10, 3);
    struct train_run run = speed_up(&set, train_steps);

    (void)state;
    slow_down(&run, "slow=4:24");
    do
        await_note(&run, train_steps, "from here on (was ");
    while (rows_of_the_second(&run, 512) > 150);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
}

static void so_they_do_in_a_loop_of_ones_own(void **state)
{
    struct train_set set = train_set_make(1024, 64, 10, 3);
    struct train_run run = speed_up(&set, own_steps);

    (void)state;
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
}

/* Device 1 is left out while its launches are slow. Then those of device 0 are: device 1 is found
 * to be worth its while, and has the variables of the one that went on. */
static void a_device_left_out_is_used_again(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct mot_metrics metrics;
    struct train_run run;
    struct mot_note note;
    double loss_before;

    (void)state;
    assert_int_equal(setenv("MOTLEY_ILL_WILL", "launch_us=0:2000", 1), 0);
    run = open_run("0,1", "auto", NET, MOT_STRATEGY_AUTO, &set, 64);
    note = await_note(&run, train_steps, "left out from here on: a step took ");
    assert_non_null(strstr(note.text, "device 1 is left out"));
    await_note(&run, train_steps, "using 1 of 2 devices");
    assert_int_equal(rows_of_the_second(&run, 64), 0);
    assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
    loss_before = metrics.loss;
    slow_down(&run, "launch_us=2000:0");
    await_note(&run, train_steps, "device 1 is used again");
    assert_true(rows_of_the_second(&run, 64) > 0);
    train_steps(&run, 20);
    assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
    if (!(metrics.loss < loss_before))
        fail_msg("loss %g after %g: it did not go on from there", metrics.loss, loss_before);
    train_close(&run);
    train_set_clear(&set);
}

/* How long that took: the next test gives twice as much time. */
static double told_s;
static size_t told_turns;

/* A batch of 4 rows is not worth two devices, one of them slow: the trainer goes on with one, says
 * so with both figures, and answers for it. */
static void a_device_that_slows_the_whole_is_left_out(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct train_run run;
    float *value = calloc(64 * 128, sizeof *value);
    struct mot_metrics metrics;
    struct mot_note note = {.text = "nothing"};
    const double began = now_s();
    size_t turns, told = 0;

    (void)state;
    assert_int_equal(setenv("MOTLEY_ILL_WILL", "slow=1:12", 1), 0);
    run = open_run("0,1", "auto", NET, MOT_STRATEGY_AUTO, &set, 4);
    for (turns = 0; turns < 200 && !told; turns++) {
        train_steps(&run, 100);
        while (mot_trainer_note(run.trainer, &note))
            told += note.kind == MOT_NOTE_SHARES && strstr(note.text, "using 1 of 2 devices") &&
                    strstr(note.text, "(1: ") && strstr(note.text, ", 2: ");
    }
    told_s = now_s() - began;
    told_turns = turns;
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

/* Who asks for mirrored keeps a copy on each, however slow: for so long that it would have been
 * left out above, several reviews at the least. */
static void mirrored_leaves_nobody_out(void **state)
{
    struct train_set set = train_set_make(512, 64, 10, 3);
    struct train_run run = open_run("0,1", "auto", NET, MOT_STRATEGY_MIRRORED, &set, 4);
    const double began = now_s();
    struct mot_note note;

    (void)state;
    assert_true(told_turns > 0);
    for (size_t turns = 0;
         (turns < 2 * told_turns || now_s() - began < 2 * told_s) && now_s() - began < ENOUGH_S;
         turns++)
        train_steps(&run, 100);
    while (mot_trainer_note(run.trainer, &note))
        if (strstr(note.text, "using 1 of 2 devices"))
            fail_msg("%s", note.text);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
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
        cmocka_unit_test(a_measurement_waits_until_shares_stand),
    };
    const struct CMUnitTest behind_the_layer[] = {
        cmocka_unit_test(a_slow_device_takes_fewer_rows),
        cmocka_unit_test(shares_follow_a_device_as_it_changes),
        cmocka_unit_test(so_they_do_in_a_loop_of_ones_own),
        cmocka_unit_test(a_device_that_slows_the_whole_is_left_out),
        cmocka_unit_test(mirrored_leaves_nobody_out),
        cmocka_unit_test(a_device_left_out_is_used_again),
    };

    return getenv("MOTLEY_TEST_SLOW") ? cmocka_run_group_tests(behind_the_layer, NULL, NULL)
                                      : cmocka_run_group_tests(plain, NULL, NULL);
}
