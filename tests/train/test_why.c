/* test_why.c - each cause brought about for real, the sentence that must name it, and what its cure
 * then gives: a source that sleeps, many variables on the host; and behind the layer, where
 * $MOTLEY_TEST_LAYER says which, launches or kernels' starts that a batch of one row is too small
 * for, a slow device, devices that are late by chance, or links so slow that one device would do
 * better alone. */
#include "support/train.h"

#include <motley/bench.h>
#include <string.h>
#include <time.h>

enum { WARM = 4, LANES_MOST = 4 };

struct measured {
    struct mot_breakdown part[LANES_MOST];
    double samples_per_s;
    struct mot_cure cure[MOT_CURES];
    size_t cures;
};

/* What a cure may change is what a run is made of. */
struct setup {
    const char *devices, *net, *shares; /* shares: NULL is even */
    size_t width, batch, accumulate, steps;
    enum mot_strategy strategy;
    int nap_ms; /* of the source, a batch; 0: data in memory */
};

static int read_slowly(void *user, const uint64_t *index, size_t rows, void *x, uint32_t *labels,
                       float *targets)
{
    const struct setup *setup = user;
    const struct timespec nap = {0, setup->nap_ms * 1000L * 1000};
    size_t i;

    (void)index, (void)targets;
    nanosleep(&nap, NULL);
    memset(x, 0, rows * setup->width * sizeof(float));
    for (i = 0; i < rows; i++)
        labels[i] = 0;
    return 0;
}

static mot_data *open_data(const struct setup *setup, const struct train_set *set)
{
    const struct mot_source source = {.size = sizeof source,
                                      .count = set->count,
                                      .shape = MOT_SHAPE(setup->width),
                                      .dtype = MOT_DTYPE_F32,
                                      .classes = 10,
                                      .read = read_slowly,
                                      .user = (void *)(uintptr_t)setup};
    mot_data *data = NULL;

    if (setup->nap_ms == 0)
        return train_data(set, false, setup->batch);
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, setup->batch));
    return data;
}

static void step_on(mot_trainer *trainer, mot_data *data, size_t steps)
{
    struct mot_metrics metrics;
    mot_batch *one;
    size_t i;

    for (i = 0; i < steps; i++) {
        for (one = NULL; !one;)
            assert_ok(mot_data_next(data, &one));
        assert_ok(mot_trainer_step(trainer, one));
    }
    assert_ok(mot_trainer_metrics(trainer, &metrics));
}

static void reckon(const struct setup *setup, mot_fleet *fleet, mot_trainer *trainer,
                   const mot_model *net, struct measured *out)
{
    const char *label[LANES_MOST];
    size_t share[LANES_MOST], i;
    const struct mot_reckoning reckoning = {.replicas = mot_trainer_replicas(trainer),
                                            .batch = setup->batch,
                                            .parameters = mot_model_parameters(net),
                                            .share = share,
                                            .part = out->part,
                                            .label = label,
                                            .accumulate = setup->accumulate,
                                            .samples_per_s = out->samples_per_s};

    assert_ok(mot_trainer_split(trainer, setup->batch, share));
    for (i = 0; i < reckoning.replicas; i++)
        label[i] = mot_fleet_label(fleet, i);
    out->cures = mot_bench_limit(&reckoning, out->cure);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

/* So many steps after a few to warm up, and what the library makes of them. */
static void run_steps(const struct setup *setup, struct measured *out)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    mot_fleet *fleet = open_fleet(setup->devices);
    struct train_set set = train_set_make(1024, setup->width, 10, 3);
    mot_data *data = open_data(setup, &set);
    mot_trainer *trainer = NULL;
    mot_model *net = NULL;
    double began_s;

    config.shares = setup->shares ? setup->shares : "even";
    config.strategy = setup->strategy;
    config.accumulate = setup->accumulate;
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_input(net, MOT_SHAPE(setup->width)));
    assert_ok(mot_model_text(net, setup->net));
    assert_ok(mot_trainer_open(fleet, net, &config, &trainer));
    step_on(trainer, data, WARM);
    assert_ok(mot_bench_breakdown(trainer, out->part));
    began_s = now_s();
    step_on(trainer, data, setup->steps);
    assert_ok(mot_bench_breakdown(trainer, out->part));
    out->samples_per_s = (double)(setup->steps * setup->batch) / (now_s() - began_s);
    assert_ok(mot_bench_steady(trainer, out->part));
    reckon(setup, fleet, trainer, net, out);
    mot_trainer_close(trainer);
    mot_model_close(net);
    mot_data_close(data);
    train_set_clear(&set);
    mot_fleet_close(fleet);
}

static void parts_add_up(const struct mot_breakdown *b)
{
    const double sum = b->input + b->upload + b->forward + b->backward + b->staging + b->reduce +
                       b->update + b->waiting;

    if (!(sum > 1 - 1e-9 && sum < 1 + 1e-9))
        fail_msg("the parts add up to %g", sum);
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

/* The sentence a user reads. */
static void first_is(const struct measured *seen, enum mot_limit_kind kind, const char *words)
{
    if (seen->cure[0].kind != kind || !strstr(seen->cure[0].sentence, words))
        fail_msg("no \"%s\" in: %s", words, seen->cure[0].sentence);
}

/* ---- what a cure gives ---- */

static struct setup cured(struct setup setup, const char *cure)
{
    if (strncmp(cure, "--batch ", 8) == 0)
        setup.batch = (size_t)strtoul(cure + 8, NULL, 10);
    else if (strncmp(cure, "--accumulate ", 13) == 0)
        setup.accumulate = (size_t)strtoul(cure + 13, NULL, 10);
    else if (strncmp(cure, "--devices ", 10) == 0)
        setup.devices = cure + 10;
    else if (strcmp(cure, "--shares auto") == 0)
        setup.shares = "auto";
    else if (strcmp(cure, "faster data") == 0)
        setup.nap_ms = 0;
    else
        fail_msg("no such cure here: %s", cure);
    return setup;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Where a step is mostly sleep, the gain of a cure is what was predicted, whatever else the machine
 * does: by turns, so that what disturbs one disturbs the other. seen: of the last turn. */
static void gain_comes_true(const struct setup *setup, enum mot_limit_kind kind,
                            struct measured *seen)
{
    enum { TURNS = 3 };
    double predicted[TURNS], real[TURNS];
    const struct mot_cure *cure = NULL;
    struct measured after;
    struct setup other;
    size_t i;

    for (i = 0; i < TURNS; i++) {
        run_steps(setup, seen);
        cure = cure_of(seen, kind);
        other = cured(*setup, cure->cure);
        run_steps(&other, &after);
        predicted[i] = cure->gain;
        real[i] = after.samples_per_s / seen->samples_per_s;
    }
    qsort(predicted, TURNS, sizeof *predicted, by_value);
    qsort(real, TURNS, sizeof *real, by_value);
    print_message("%s: predicted %.2f, came %.2f\n", cure->cure, predicted[1], real[1]);
    if (!(predicted[1] > 1.2 && real[1] > 1.1))
        fail_msg("%s: predicted %g, came %g: no gain", cure->sentence, predicted[1], real[1]);
    if (!(predicted[1] / real[1] > 0.75 && predicted[1] / real[1] < 1.25))
        fail_msg("%s\npredicted %g, came %g", cure->sentence, predicted[1], real[1]);
}

/* Where others take the machine, data or launches may be late for a moment: once more. The other
 * cures are not told then, or told behind. */
static void run_until(const struct setup *setup, enum mot_limit_kind kind, struct measured *seen)
{
    bool told = false;
    size_t turn, i;

    for (turn = 0; turn < 4 && !told; turn++) {
        run_steps(setup, seen);
        for (i = 0; i < seen->cures; i++)
            told = told || (seen->cure[i].kind == kind && (kind != MOT_LIMIT_COMPUTE || i == 0));
    }
}

/* ---- without the layer ---- */

static void a_slow_source_is_named(void **state)
{
    const struct setup setup = {.devices = "0",
                                .net = "dense 10",
                                .width = 4,
                                .batch = 32,
                                .steps = 20,
                                .accumulate = 1,
                                .nap_ms = 20};
    struct measured seen;

    (void)state;
    run_steps(&setup, &seen);
    parts_add_up(&seen.part[0]);
    assert_true(seen.part[0].input > 0.5);
    first_is(&seen, MOT_LIMIT_INPUT, "the data: ");
    assert_true(seen.cure[0].gain > 2);
}

/* With the variables on the host, two rows to compute and 400,000 numbers to add and update. */
static void host_memory_is_named(void **state)
{
    const struct setup setup = {.devices = "0,0",
                                .net = "dense 1024 relu, dense 256 relu, dense 10",
                                .width = 256,
                                .batch = 2,
                                .steps = 400,
                                .accumulate = 1,
                                .strategy = MOT_STRATEGY_CENTRAL};
    const struct mot_cure *host;
    struct measured seen;

    (void)state;
    gain_comes_true(&setup, MOT_LIMIT_HOST, &seen);
    parts_add_up(&seen.part[0]);
    host = cure_of(&seen, MOT_LIMIT_HOST);
    assert_non_null(strstr(host->sentence, "host memory: gradients are added "));
    assert_string_equal(host->cure, "--accumulate 4");
    assert_true(host->gain > 1.05);
}

/* ---- what is tried ---- */

/* A small network after some steps on device 0, under a limit of its memory. */
struct small {
    struct train_set set;
    mot_fleet *fleet;
    mot_model *net;
    mot_data *data;
    mot_trainer *trainer;
};

static struct small open_small(const char *memory, size_t rows)
{
    struct mot_fleet_config fleet_config = mot_fleet_config_default();
    struct mot_trainer_config config = mot_trainer_config_default();
    struct small small = {.set = train_set_make(2 * rows, 16, 4, 3)};

    fleet_config.devices = "0";
    fleet_config.memory = memory;
    fleet_config.profile = true;
    small.net = train_net("input 16, dense 64 relu, dense 4");
    small.data = train_data(&small.set, false, rows);
    assert_ok(mot_fleet_open(&fleet_config, &small.fleet));
    assert_ok(mot_trainer_open(small.fleet, small.net, &config, &small.trainer));
    step_on(small.trainer, small.data, WARM);
    return small;
}

static void close_small(struct small *small)
{
    mot_trainer_close(small->trainer);
    mot_model_close(small->net);
    mot_data_close(small->data);
    train_set_clear(&small->set);
    mot_fleet_close(small->fleet);
}

/* What a device holds, and that a trial of more rows leaves it as it was: with a plan beside, where
 * there is room for one. */
static size_t try_under(const char *memory, bool room)
{
    struct small small = open_small(memory, 8);
    struct mot_bytes before, after;
    struct mot_breakdown part;
    struct mot_counts count;

    assert_ok(mot_bench_breakdown(small.trainer, &part));
    assert_ok(mot_bench_bytes(small.trainer, 0, &before));
    assert_ok(mot_bench_counts(small.fleet, 0, &count)); /* starts anew */
    assert_ok(mot_bench_steady(small.trainer, &part));
    assert_ok(mot_bench_counts(small.fleet, 0, &count));
    if (room)
        assert_true(count.allocations > 0);
    else
        assert_int_equal(count.allocations, 0);
    assert_ok(mot_bench_bytes(small.trainer, 0, &after));
    assert_memory_equal(&before, &after, sizeof before);
    assert_true(part.steady > 0 && part.steady <= 1 && part.steady_far <= 1);
    assert_true(part.cold >= 0 && part.cold < 1);
    close_small(&small);
    return before.total;
}

static void a_trial_leaves_memory_as_it_was(void **state)
{
    const size_t plenty = try_under(NULL, true);
    char memory[32];

    (void)state;
    snprintf(memory, sizeof memory, "%zu", plenty + 1024); /* there is no room for more rows */
    assert_int_equal(try_under(memory, false), plenty);
}

static struct mot_bytes step_under(const char *memory, bool *cut)
{
    struct small small = open_small(memory, 256);
    struct mot_breakdown part = {0};
    struct mot_bytes bytes;

    assert_ok(mot_bench_breakdown(small.trainer, &part));
    assert_ok(mot_bench_bytes(small.trainer, 0, &bytes));
    close_small(&small);
    *cut = part.cut;
    return bytes;
}

static void rows_that_do_not_fit_are_cut(void **state)
{
    struct mot_bytes plenty;
    char memory[32];
    bool cut = true;

    (void)state;
    plenty = step_under(NULL, &cut);
    assert_false(cut);
    snprintf(memory, sizeof memory, "%zu", plenty.total - plenty.arena / 2);
    step_under(memory, &cut);
    assert_true(cut);
}

static int pass_thrice(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    int turn, failed = 0;

    (void)shard, (void)user;
    for (turn = 0; turn < 3 && !failed; turn++)
        failed = mot_replica_forward(replica) || mot_replica_backward(replica, 1);
    return failed;
}

/* Several passes over the same rows are a loop of one's own: the rows fit. */
static void passes_of_ones_own_are_no_cut(void **state)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct train_set set = train_set_make(64, 16, 4, 3);
    struct train_run run =
        train_open("0", "input 16, dense 4", &config, train_data(&set, false, 8));
    struct mot_breakdown part = {.cut = true};
    mot_batch *batch = NULL;

    (void)state;
    assert_ok(mot_data_next(run.data, &batch));
    assert_ok(mot_trainer_run(run.trainer, batch, pass_thrice, NULL));
    assert_ok(mot_trainer_apply(run.trainer));
    assert_ok(mot_bench_breakdown(run.trainer, &part));
    assert_false(part.cut);
    train_close(&run);
    train_set_clear(&set);
}

/* No times, no trial. */
static void without_profiling_nothing_is_told(void **state)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct train_set set = train_set_make(64, 16, 4, 3);
    struct train_run run =
        train_open("0", "input 16, dense 4", &config, train_data(&set, false, 8));
    struct mot_breakdown part = {.cold = NAN};

    (void)state;
    step_on(run.trainer, run.data, WARM);
    assert_ok(mot_bench_steady(run.trainer, &part));
    assert_true(part.steady == 0 && part.steady_far == 0 && part.cold == 0 &&
                part.steady_upload == 0);
    train_close(&run);
    train_set_clear(&set);
}

/* ---- launches take 5 ms ---- */

static const struct setup launching = {.devices = "0",
                                       .net = "dense 32 relu, dense 10",
                                       .width = 64,
                                       .batch = 1,
                                       .steps = 10,
                                       .accumulate = 1};

static void slow_launches_are_named(void **state)
{
    struct measured seen;

    (void)state;
    gain_comes_true(&launching, MOT_LIMIT_LAUNCH, &seen);
    parts_add_up(&seen.part[0]);
    first_is(&seen, MOT_LIMIT_LAUNCH, "launches: device 0 waits ");
    assert_memory_equal(seen.cure[0].cure, "--batch ", 8);
}

/* A source twice as slow as the launches: what a faster one gives is known from these. */
static void faster_data_give_what_was_said(void **state)
{
    struct setup setup = launching;
    struct measured seen;

    (void)state;
    setup.nap_ms = 150;
    gain_comes_true(&setup, MOT_LIMIT_INPUT, &seen);
    first_is(&seen, MOT_LIMIT_INPUT, "the data: ");
}

/* ---- every kernel takes 5 ms to start ---- */

static void kernels_are(double part, double kernels, double wanted)
{
    if (!(fabs(part * kernels - wanted) < 0.3))
        fail_msg("%g kernels, wanted %g", part * kernels, wanted);
}

/* Each kernel's 5 ms are its own part's: 13 launches, as test_counts has them. */
static void kernels_count_where_they_belong(const struct setup *setup, const struct measured *seen)
{
    const struct mot_breakdown *b = &seen->part[0];
    const double kernels = (double)setup->batch * 1000 / (5 * seen->samples_per_s); /* of a step */

    kernels_are(b->upload, kernels, 1);
    kernels_are(b->forward, kernels, 2);
    kernels_are(b->backward, kernels, 7);
    kernels_are(b->update, kernels, 3);
}

/* Of two rows, so that one row beside them tells what rows cost. */
static void a_batch_too_small_is_named(void **state)
{
    struct setup setup = launching;
    struct measured seen;

    (void)state;
    setup.batch = 2;
    gain_comes_true(&setup, MOT_LIMIT_BATCH, &seen);
    parts_add_up(&seen.part[0]);
    kernels_count_where_they_belong(&setup, &seen);
    first_is(&seen, MOT_LIMIT_BATCH, "batch 2 is small: ");
    assert_memory_equal(seen.cure[0].cure, "--batch ", 8);
}

/* ---- device 1 is slower ---- */

static const struct setup shared = {.devices = "0,1",
                                    .net = "dense 256 relu, dense 256 relu, dense 10",
                                    .width = 256,
                                    .batch = 256,
                                    .steps = 16,
                                    .accumulate = 1};

static void a_slow_device_is_named(void **state)
{
    struct measured seen;
    size_t i;

    (void)state;
    run_steps(&shared, &seen);
    parts_add_up(&seen.part[0]);
    parts_add_up(&seen.part[1]);
    first_is(&seen, MOT_LIMIT_DEVICE, "device 1 is slow for its share of 128 rows");
    assert_int_equal(seen.cure[0].replica, 1);
    for (i = 1; i < seen.cures; i++)
        assert_true(seen.cure[i].kind != MOT_LIMIT_DEVICE);
    assert_true(seen.part[0].others > seen.part[1].others + 0.2);
}

/* Its kernels take 8 times as long to start as the other's: no share of the rows would do. */
static void a_device_better_left_out_is_named(void **state)
{
    struct setup setup = shared;
    const struct mot_cure *cure;
    struct measured seen;

    (void)state;
    setup.batch = 8;
    gain_comes_true(&setup, MOT_LIMIT_DEVICE, &seen);
    cure = cure_of(&seen, MOT_LIMIT_DEVICE);
    assert_non_null(strstr(cure->sentence, "device 1 is slow for its share of 4 rows"));
    assert_string_equal(cure->cure, "--devices 0");
}

/* So slow that launching is next to nothing. */
static void a_busy_device_is_told_so(void **state)
{
    struct setup setup = shared;
    struct measured seen;

    (void)state;
    setup.devices = "1";
    setup.steps = 6;
    run_until(&setup, MOT_LIMIT_COMPUTE, &seen);
    first_is(&seen, MOT_LIMIT_COMPUTE, "the network itself: device 1 computes ");
    assert_int_equal(seen.cures, 1);
}

/* ---- one link is slow, or both ---- */

/* Gradients of 68 KB travel up and down at 2 MB/s, for 34 ms each way. */
static const struct setup travelling = {.devices = "0,1",
                                        .net = "dense 64 relu, dense 10",
                                        .width = 256,
                                        .batch = 2,
                                        .steps = 12,
                                        .accumulate = 1};

static void a_slow_link_is_named(void **state)
{
    struct measured seen;

    (void)state;
    gain_comes_true(&travelling, MOT_LIMIT_LINK, &seen);
    first_is(&seen, MOT_LIMIT_LINK, "the link of device 1: gradients travel ");
    assert_int_equal(seen.cure[0].replica, 1);
    assert_string_equal(seen.cure[0].cure, "--devices 0"); /* one alone sends none */
    assert_non_null(strstr(seen.cure[0].sentence, " GB/s; --devices 0 would give about "));
    assert_non_null(strstr(seen.cure[0].sentence, " x, --accumulate 4 about "));
    assert_non_null(strstr(seen.cure[0].sentence, ", at 0.00")); /* 2 MB/s at most ... */
    assert_null(strstr(seen.cure[0].sentence, ", at 0.000"));    /* ... and not nothing */
    assert_true(seen.cure[0].share > 0.3);
    for (size_t i = 0; i < seen.cures; i++)
        assert_true(seen.cure[i].kind != MOT_LIMIT_DEVICE); /* it computes as fast as the other */
}

static void slow_links_are_named(void **state)
{
    const struct mot_cure *link;
    struct measured seen;

    (void)state;
    gain_comes_true(&travelling, MOT_LIMIT_MANY, &seen);
    gain_comes_true(&travelling, MOT_LIMIT_LINK, &seen);
    first_is(&seen, MOT_LIMIT_MANY, "batch 2 is too small for 2 devices (1: ");
    assert_memory_equal(seen.cure[0].cure, "--devices ", 10);
    link = cure_of(&seen, MOT_LIMIT_LINK);
    assert_non_null(strstr(link->sentence, "the link of device "));
    assert_non_null(strstr(link->sentence, " GB/s; --accumulate 4 would give about "));
    assert_true(link->share > 0.3);
}

/* ---- each device is late by chance ---- */

/* Most of a step one of four is later than the others, and none is slow. */
static void waiting_for_each_other_is_named(void **state)
{
    const struct setup setup = {.devices = "0,1,2,3",
                                .net = "dense 16 relu, dense 10",
                                .width = 16,
                                .batch = 32,
                                .steps = 60,
                                .accumulate = 1};
    const struct mot_cure *waiting;
    struct measured seen;
    size_t i;

    (void)state;
    gain_comes_true(&setup, MOT_LIMIT_WAITING, &seen);
    for (i = 0; i < 4; i++)
        parts_add_up(&seen.part[i]);
    waiting = cure_of(&seen, MOT_LIMIT_WAITING);
    assert_true(waiting->share > 0.25);
    assert_non_null(strstr(waiting->sentence, "the devices wait for each other "));
    assert_string_equal(waiting->cure, "--accumulate 4");
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_slow_source_is_named),
        cmocka_unit_test(host_memory_is_named),
        cmocka_unit_test(a_trial_leaves_memory_as_it_was),
        cmocka_unit_test(rows_that_do_not_fit_are_cut),
        cmocka_unit_test(passes_of_ones_own_are_no_cut),
        cmocka_unit_test(without_profiling_nothing_is_told),
    };
    const struct CMUnitTest launch[] = {
        cmocka_unit_test(slow_launches_are_named),
        cmocka_unit_test(faster_data_give_what_was_said),
    };
    const struct CMUnitTest start[] = {
        cmocka_unit_test(a_batch_too_small_is_named),
    };
    const struct CMUnitTest leave[] = {
        cmocka_unit_test(a_device_better_left_out_is_named),
    };
    const struct CMUnitTest chance[] = {
        cmocka_unit_test(waiting_for_each_other_is_named),
    };
    const struct CMUnitTest slow[] = {
        cmocka_unit_test(a_slow_device_is_named),
        cmocka_unit_test(a_busy_device_is_told_so),
    };
    const struct CMUnitTest link[] = {
        cmocka_unit_test(a_slow_link_is_named),
    };
    const struct CMUnitTest links[] = {
        cmocka_unit_test(slow_links_are_named),
    };
    const char *layer = getenv("MOTLEY_TEST_LAYER");

    if (layer && strcmp(layer, "launch") == 0)
        return cmocka_run_group_tests(launch, NULL, NULL);
    if (layer && strcmp(layer, "slow") == 0)
        return cmocka_run_group_tests(slow, NULL, NULL);
    if (layer && strcmp(layer, "link") == 0)
        return cmocka_run_group_tests(link, NULL, NULL);
    if (layer && strcmp(layer, "links") == 0)
        return cmocka_run_group_tests(links, NULL, NULL);
    if (layer && strcmp(layer, "start") == 0)
        return cmocka_run_group_tests(start, NULL, NULL);
    if (layer && strcmp(layer, "leave") == 0)
        return cmocka_run_group_tests(leave, NULL, NULL);
    if (layer && strcmp(layer, "chance") == 0)
        return cmocka_run_group_tests(chance, NULL, NULL);
    return cmocka_run_group_tests(plain, NULL, NULL);
}
