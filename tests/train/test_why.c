/* test_why.c - each cause brought about for real, and the sentence that must name it: a source that
 * sleeps, many variables on the host; and behind the layer, where $MOTLEY_TEST_LAYER says which, a
 * batch of one row, a slow device, devices that are late in turn, or links so slow that one device
 * would do better alone. */
#include "support/train.h"

#include <motley/bench.h>
#include <string.h>
#include <time.h>

struct measured {
    struct mot_breakdown part[2];
    struct mot_cure cure[MOT_CURES];
    size_t cures;
};

/* So many steps after a few to warm up, and what the library makes of them. */
static void run_how(mot_fleet *fleet, enum mot_strategy strategy, const char *net_text,
                    size_t width, mot_data *data, size_t batch, size_t steps, struct measured *out)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    const char *label[2];
    size_t share[2], i;
    mot_model *net = NULL;
    mot_trainer *trainer = NULL;
    struct mot_metrics metrics;
    struct timespec begin, end;
    mot_batch *one = NULL;
    struct mot_reckoning reckoning;

    config.shares = "even";
    config.strategy = strategy;
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_input(net, MOT_SHAPE(width)));
    assert_ok(mot_model_text(net, net_text));
    assert_ok(mot_trainer_open(fleet, net, &config, &trainer));
    for (i = 0; i < steps + 10; i++) {
        if (i == 10) {
            assert_ok(mot_trainer_metrics(trainer, &metrics));
            assert_ok(mot_bench_breakdown(trainer, out->part));
            clock_gettime(CLOCK_MONOTONIC, &begin);
        }
        for (one = NULL; !one;)
            assert_ok(mot_data_next(data, &one));
        assert_ok(mot_trainer_step(trainer, one));
    }
    assert_ok(mot_bench_breakdown(trainer, out->part));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_ok(mot_trainer_split(trainer, batch, share));
    for (i = 0; i < mot_trainer_replicas(trainer); i++)
        label[i] = mot_fleet_label(fleet, i);
    reckoning = (struct mot_reckoning){
        .replicas = mot_trainer_replicas(trainer),
        .batch = batch,
        .parameters = mot_model_parameters(net),
        .share = share,
        .part = out->part,
        .label = label,
        .samples_per_s = (double)(steps * batch) / ((double)(end.tv_sec - begin.tv_sec) +
                                                    1e-9 * (double)(end.tv_nsec - begin.tv_nsec))};
    out->cures = mot_bench_limit(&reckoning, out->cure);
    mot_trainer_close(trainer);
    mot_model_close(net);
}

static void run_steps(mot_fleet *fleet, const char *net_text, size_t width, mot_data *data,
                      size_t batch, size_t steps, struct measured *out)
{
    run_how(fleet, MOT_STRATEGY_AUTO, net_text, width, data, batch, steps, out);
}

static mot_fleet *open_fleet(const char *devices)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = devices;
    config.profile = true;
    assert_ok(mot_fleet_open(&config, &fleet));
    return fleet;
}

static void parts_add_up(const struct mot_breakdown *b)
{
    const double sum = b->input + b->upload + b->forward + b->backward + b->staging + b->reduce +
                       b->update + b->waiting;

    if (!(sum > 1 - 1e-9 && sum < 1 + 1e-9))
        fail_msg("the parts add up to %g", sum);
}

static int read_slowly(void *user, const uint64_t *index, size_t rows, void *x, uint32_t *labels,
                       float *targets)
{
    const struct timespec nap = {0, 20 * 1000 * 1000};
    size_t i;

    (void)user, (void)index, (void)targets;
    nanosleep(&nap, NULL);
    memset(x, 0, rows * 4 * sizeof(float));
    for (i = 0; i < rows; i++)
        labels[i] = 0;
    return 0;
}

static void a_slow_source_is_named(void **state)
{
    const struct mot_source source = {.size = sizeof source,
                                      .count = 256,
                                      .shape = MOT_SHAPE(4),
                                      .dtype = MOT_DTYPE_F32,
                                      .classes = 2,
                                      .read = read_slowly};
    mot_fleet *fleet = open_fleet("0");
    struct measured seen;
    mot_data *data = NULL;

    (void)state;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 32));
    run_steps(fleet, "dense 2", 4, data, 32, 20, &seen);
    parts_add_up(&seen.part[0]);
    assert_true(seen.part[0].input > 0.5);
    assert_int_equal(seen.cure[0].kind, MOT_LIMIT_INPUT);
    assert_true(seen.cure[0].gain > 2);
    assert_non_null(strstr(seen.cure[0].sentence, "the data: "));
    mot_data_close(data);
    mot_fleet_close(fleet);
}

/* By the layer each launch takes 300 us. */
static void slow_launches_are_named(void **state)
{
    mot_fleet *fleet = open_fleet("0");
    struct train_set set = train_set_make(512, 64, 10, 3);
    mot_data *data = train_data(&set, false, 1);
    struct measured seen;

    (void)state;
    run_steps(fleet, "dense 32 relu, dense 10", 64, data, 1, 100, &seen);
    parts_add_up(&seen.part[0]);
    assert_int_equal(seen.cure[0].kind, MOT_LIMIT_LAUNCH);
    assert_true(seen.cure[0].gain > 1.5);
    assert_non_null(strstr(seen.cure[0].sentence, "launches: device 0 waits "));
    assert_memory_equal(seen.cure[0].cure, "--batch ", 8);
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

/* Device 1 is slower by the layer; among the cures one must name it and none may name device 0. */
static void a_slow_device_is_named(void **state)
{
    mot_fleet *fleet;
    struct train_set set;
    struct measured seen;
    mot_data *data;
    size_t i, named = 0;

    (void)state;
    fleet = open_fleet("0,1");
    set = train_set_make(1024, 256, 10, 3);
    data = train_data(&set, false, 256);
    run_steps(fleet, "dense 256 relu, dense 256 relu, dense 10", 256, data, 256, 30, &seen);
    parts_add_up(&seen.part[0]);
    parts_add_up(&seen.part[1]);
    for (i = 0; i < seen.cures; i++)
        if (seen.cure[i].kind == MOT_LIMIT_DEVICE) {
            assert_int_equal(seen.cure[i].replica, 1);
            assert_non_null(
                strstr(seen.cure[i].sentence, "device 1 is slow for its share of 128 rows"));
            named++;
        }
    assert_int_equal(named, 1);
    assert_true(seen.part[0].others > seen.part[1].others + 0.2);
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

static const struct mot_cure *cure_of(const struct measured *seen, enum mot_limit_kind kind)
{
    size_t i;

    for (i = 0; i < seen->cures; i++)
        if (seen->cure[i].kind == kind)
            return &seen->cure[i];
    fail_msg("not told; first is: %s", seen->cure[0].sentence);
    return seen->cure;
}

/* Gradients of 1 MB travel for a tenth of a second: both links are slow, and one device alone,
 * which sends none, would be faster. */
static void a_slow_link_is_named(void **state)
{
    mot_fleet *fleet = open_fleet("0,1");
    struct train_set set = train_set_make(256, 256, 10, 3);
    mot_data *data = train_data(&set, false, 16);
    const struct mot_cure *link, *many;
    struct measured seen;

    (void)state;
    run_steps(fleet, "dense 512 relu, dense 256 relu, dense 10", 256, data, 16, 20, &seen);
    link = cure_of(&seen, MOT_LIMIT_LINK);
    assert_non_null(strstr(link->sentence, "the link of device "));
    assert_non_null(strstr(link->sentence, " GB/s; --accumulate 4 would give about "));
    assert_non_null(strstr(link->sentence, ", at 0.0")); /* 0.02 GB/s at most, and not nothing */
    assert_null(strstr(link->sentence, ", at 0.0 "));
    assert_true(link->share > 0.3);
    assert_true(link->gain > 1.2);
    many = cure_of(&seen, MOT_LIMIT_MANY);
    assert_non_null(strstr(many->sentence, "batch 16 is too small for 2 devices (1: "));
    assert_memory_equal(many->cure, "--devices ", 10);
    assert_true(many->gain > 1.2);
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

/* With the variables on the host, two rows to compute and 400,000 numbers to add and update. */
static void host_memory_is_named(void **state)
{
    mot_fleet *fleet = open_fleet("0,0");
    struct train_set set = train_set_make(64, 256, 10, 3);
    mot_data *data = train_data(&set, false, 2);
    const struct mot_cure *host;
    struct measured seen;

    (void)state;
    run_how(fleet, MOT_STRATEGY_CENTRAL, "dense 1024 relu, dense 256 relu, dense 10", 256, data, 2,
            60, &seen);
    parts_add_up(&seen.part[0]);
    host = cure_of(&seen, MOT_LIMIT_HOST);
    assert_non_null(strstr(host->sentence, "host memory: gradients are added "));
    assert_string_equal(host->cure, "--accumulate 4");
    assert_true(host->gain > 1.05);
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

/* Each device is late for 20 ms, then the other one; neither is slow. */
static void waiting_for_each_other_is_named(void **state)
{
    mot_fleet *fleet = open_fleet("0,1");
    struct train_set set = train_set_make(512, 16, 10, 3);
    mot_data *data = train_data(&set, false, 32);
    const struct mot_cure *waiting;
    struct measured seen;

    (void)state;
    run_steps(fleet, "dense 16 relu, dense 10", 16, data, 32, 60, &seen);
    parts_add_up(&seen.part[0]);
    parts_add_up(&seen.part[1]);
    waiting = cure_of(&seen, MOT_LIMIT_WAITING);
    assert_true(waiting->share > 0.25);
    assert_non_null(strstr(waiting->sentence, "the devices wait for each other "));
    assert_string_equal(waiting->cure, "--accumulate 4");
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_slow_source_is_named),
        cmocka_unit_test(host_memory_is_named),
    };
    const struct CMUnitTest launch[] = {
        cmocka_unit_test(slow_launches_are_named),
    };
    const struct CMUnitTest turns[] = {
        cmocka_unit_test(waiting_for_each_other_is_named),
    };
    const struct CMUnitTest slow[] = {
        cmocka_unit_test(a_slow_device_is_named),
    };
    const struct CMUnitTest link[] = {
        cmocka_unit_test(a_slow_link_is_named),
    };
    const char *layer = getenv("MOTLEY_TEST_LAYER");

    if (layer && strcmp(layer, "launch") == 0)
        return cmocka_run_group_tests(launch, NULL, NULL);
    if (layer && strcmp(layer, "slow") == 0)
        return cmocka_run_group_tests(slow, NULL, NULL);
    if (layer && strcmp(layer, "link") == 0)
        return cmocka_run_group_tests(link, NULL, NULL);
    if (layer && strcmp(layer, "turns") == 0)
        return cmocka_run_group_tests(turns, NULL, NULL);
    return cmocka_run_group_tests(plain, NULL, NULL);
}
