/* test_counts.c - what one step costs, exactly: launches, waits, transfers and bytes of the
 * presets, alone, mirrored, central and streamed. Times are noise on a busy machine; counts are
 * not. A step that grows dearer fails here; one that grows cheaper lowers the table.
 *
 * The library counts for itself. Where $MOTLEY_TEST_WITNESS is the OpenCL layer that counts the
 * driver's calls (support/witness.h), it must have seen the same. Launches are those of our tile;
 * MOTLEY_TEST_GEMM=clblast: of a card that gets CLBlast by default. */
#include "support/folder.h"
#include "support/train.h"
#include "support/witness.h"

#include <motley/bench.h>

#define WARM 12 /* steps: more than are queued ahead, so that waits have begun */
#define STEPS 12
#define BATCH 32
#define LANES 2
#define AUTO MOT_STRATEGY_AUTO
#define CENTRAL MOT_STRATEGY_CENTRAL
static const char LITTLE[] = "4500K"; /* of memory: a window each for weights and gradients */

static const struct row {
    const char *net, *devices, *staging;
    bool resident;
    enum mot_strategy strategy;
    size_t verify;
    const char *memory;     /* NULL: plenty */
    struct mot_counts step; /* of each lane: in the order of mot_counts */
} rows[] = {
    /* launches, waits, uploads, downloads, bytes up, bytes down; then: none allocated or compiled
     */
    {"mlp10", "0", "map", true, AUTO, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp64", "0", "map", true, AUTO, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp512", "0", "map", true, AUTO, 0, NULL, {17, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp10", "0", "map", false, AUTO, 0, NULL, {13, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp64", "0", "map", false, AUTO, 0, NULL, {13, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp512", "0", "map", false, AUTO, 0, NULL, {17, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp10", "0", "copy", true, AUTO, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp64", "0", "copy", true, AUTO, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp512", "0", "copy", true, AUTO, 0, NULL, {17, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp512", "0", "copy", false, AUTO, 0, NULL, {17, 2, 1, 0, 25216, 0, 0, 0, 0}},
    /* gradients go up and down once, and one launch less: the host finds odd sums. By copy those of
     * mlp512 go in two buckets. */
    {"mlp10", "0,0", "map", true, AUTO, 0, NULL, {12, 3, 2, 1, 32064, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", true, AUTO, 0, NULL, {12, 3, 2, 1, 203712, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", true, AUTO, 0, NULL, {16, 3, 2, 1, 2678976, 2678912, 0, 0, 0}},
    {"mlp10", "0,0", "copy", true, AUTO, 0, NULL, {12, 3, 2, 1, 32064, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, AUTO, 0, NULL, {12, 3, 2, 1, 203712, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "copy", true, AUTO, 0, NULL, {16, 4, 4, 2, 2678976, 2678912, 0, 0, 0}},
    {"mlp10", "0,0", "map", false, AUTO, 0, NULL, {12, 3, 2, 1, 44608, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", false, AUTO, 0, NULL, {12, 3, 2, 1, 216256, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", false, AUTO, 0, NULL, {16, 3, 2, 1, 2691520, 2678912, 0, 0, 0}},
    {"mlp512", "0,0", "copy", false, AUTO, 0, NULL, {16, 4, 4, 2, 2691520, 2678912, 0, 0, 0}},
    /* the update is the host's: two launches less, a wait for the weights' host side more */
    {"mlp10", "0,0", "map", true, CENTRAL, 0, NULL, {10, 4, 2, 1, 32000, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", true, CENTRAL, 0, NULL, {10, 4, 2, 1, 203648, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", true, CENTRAL, 0, NULL, {14, 4, 2, 1, 2678912, 2678912, 0, 0, 0}},
    {"mlp10", "0,0", "copy", true, CENTRAL, 0, NULL, {10, 4, 2, 1, 32000, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, CENTRAL, 0, NULL, {10, 4, 2, 1, 203648, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "copy", true, CENTRAL, 0, NULL, {14, 5, 3, 2, 2678912, 2678912, 0, 0, 0}},
    {"mlp10", "0,0", "map", false, CENTRAL, 0, NULL, {10, 4, 2, 1, 44544, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", false, CENTRAL, 0, NULL, {10, 4, 2, 1, 216192, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", false, CENTRAL, 0, NULL, {14, 4, 2, 1, 2691456, 2678912, 0, 0, 0}},
    {"mlp512", "0,0", "copy", false, CENTRAL, 0, NULL, {14, 5, 3, 2, 2691456, 2678912, 0, 0, 0}},
    /* with one device the copy lives there */
    {"mlp10", "0", "map", true, CENTRAL, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp64", "0", "map", true, CENTRAL, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp512", "0", "map", true, CENTRAL, 0, NULL, {17, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp64", "0", "copy", true, CENTRAL, 0, NULL, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    /* the replicas compared after each step */
    {"mlp64", "0,0", "map", true, AUTO, 1, NULL, {17, 4, 2, 2, 203712, 203752, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, AUTO, 1, NULL, {17, 4, 2, 2, 203712, 203752, 0, 0, 0}},
    {"mlp64", "0,0", "map", true, CENTRAL, 1, NULL, {12, 5, 2, 2, 203648, 203752, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, CENTRAL, 1, NULL, {12, 5, 2, 2, 203648, 203752, 0, 0, 0}},
    /* weights and gradients come and go layer by layer */
    {"mlp512", "0", "map", true, CENTRAL, 0, LITTLE, {16, 7, 3, 3, 2678976, 2678912, 0, 0, 0}},
    {"mlp512", "0", "copy", true, CENTRAL, 0, LITTLE, {16, 7, 3, 3, 2678976, 2678912, 0, 0, 0}},
    {"mlp512", "0,0", "map", true, CENTRAL, 0, LITTLE, {16, 7, 3, 3, 2678912, 2678912, 0, 0, 0}},
    {"mlp512", "0,0", "copy", true, CENTRAL, 0, LITTLE, {16, 7, 3, 3, 2678912, 2678912, 0, 0, 0}},
};

/* Opening devices takes longer than the steps: rows that want the same share them. */
static struct shared {
    const struct row *row; /* the first that wanted them */
    mot_fleet *fleet;
} shared[8];

static mot_fleet *fleet_of(const struct row *row)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    struct shared *one = shared;

    while (one->fleet &&
           (strcmp(one->row->devices, row->devices) != 0 ||
            strcmp(one->row->staging, row->staging) != 0 || one->row->memory != row->memory))
        one++;
    if (one->fleet)
        return one->fleet;
    config.devices = row->devices;
    config.memory = row->memory;
    config.deadline_s = 120;
    config.gemm = row->memory ? "tile" : NULL; /* CLBlast's own test wants more than there is */
    assert_int_equal(setenv("MOTLEY_STAGING", row->staging, 1), 0);
    assert_ok(mot_fleet_open(&config, &one->fleet));
    unsetenv("MOTLEY_STAGING");
    one->row = row;
    return one->fleet;
}

static int close_fleets(void **state)
{
    (void)state;
    for (struct shared *one = shared; one->fleet; one++)
        mot_fleet_close(one->fleet);
    return 0;
}

static struct train_run open_row(const struct row *row, const char *shares)
{
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = {.fleet = fleet_of(row)};

    config.strategy = row->strategy;
    if (strcmp(shares, "auto") == 0 && row->strategy == AUTO)
        config.strategy = MOT_STRATEGY_MIRRORED; /* leaves nobody out */
    config.verify = row->verify;
    config.shares = shares;
    assert_ok(mot_data_digits(1, BATCH * STEPS, &run.data));
    assert_ok(mot_data_batch(run.data, BATCH));
    assert_ok(mot_model_open(&run.net));
    assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
    assert_ok(mot_model_text(run.net, row->net));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    fit.batch = BATCH;
    fit.resident = row->resident;
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    return run;
}

/* ---- the witness ---- */

static void agree(const char *what, uint64_t counted, const char *how, uint64_t seen)
{
    if (strcmp(how, "==") == 0 ? counted != seen : counted < seen)
        fail_msg("[%s] %llu %s counted, the driver was called %llu times", check_where(),
                 (unsigned long long)counted, what, (unsigned long long)seen);
}

/* Of all lanes together. A wait counts though what it is for has ended, and the driver is not
 * asked; taking a mapped buffer back moves nothing and is no transfer. */
static void hear_witness(bool copied, const struct mot_counts *lane)
{
    struct mot_counts sum = lane[0];

    sum.launches += lane[1].launches;
    sum.waits += lane[1].waits;
    sum.uploads += lane[1].uploads;
    sum.downloads += lane[1].downloads;
    assert_true(witness_calls("clEnqueueNDRangeKernel") > 0);
    agree("launches", sum.launches,
          "==", witness_calls("clEnqueueNDRangeKernel clEnqueueFillBuffer clEnqueueCopyBuffer"));
    agree("waits", sum.waits, ">=", witness_calls("clWaitForEvents clFinish"));
    agree("mappings", witness_calls("clEnqueueMapBuffer"),
          "==", witness_calls("clEnqueueUnmapMemObject"));
    agree("uploads", sum.uploads, copied ? "==" : ">=", witness_calls("clEnqueueWriteBuffer"));
    agree("downloads", sum.downloads, copied ? "==" : ">=", witness_calls("clEnqueueReadBuffer"));
    if (copied)
        agree("mappings", 0, "==", witness_calls("clEnqueueMapBuffer"));
    agree("objects", 0, "==",
          witness_calls("clCreateBuffer clCreateKernel clCreateProgramWithSource "
                        "clCreateProgramWithBinary clBuildProgram"));
}

/* ---- the table ---- */

/* $MOTLEY_TEST_SMALL: one net of each way, where devices are slow. */
static const char *one_net(void)
{
    return getenv("MOTLEY_TEST_SMALL") && !getenv("MOTLEY_TEST_GEMM") ? "mlp10" : "mlp512";
}

static bool is_wanted(const struct row *row)
{
    return !getenv("MOTLEY_TEST_SMALL") || (!row->memory && strcmp(row->net, one_net()) == 0);
}

/* Bytes, which are exact: activations lie where others are not needed any more, with little room
 * between them. */
static void check_arena(mot_trainer *trainer, size_t lanes)
{
    for (size_t lane = 0; lane < lanes; lane++) {
        struct mot_bytes b;

        assert_ok(mot_bench_bytes(trainer, lane, &b));
        assert_true(b.live > 0 && b.parameters > 0);
        if (10 * b.arena > 11 * b.live + 10 * 65536)
            fail_msg("[%s] lane %zu: an arena of %llu bytes for %llu that live", check_where(),
                     lane, (unsigned long long)b.arena, (unsigned long long)b.live);
    }
}

static void measure(const struct row *row, const char *shares, struct mot_counts out[LANES])
{
    struct train_run run;
    size_t lane, lanes;

    snprintf(check_where(), CHECK_WHERE_BYTES, "row %zu, %s on %s by %s, %s shares",
             (size_t)(row - rows), row->net, row->devices, row->staging, shares);
    run = open_row(row, shares);
    lanes = mot_fleet_count(run.fleet);
    memset(out, 0, LANES * sizeof *out);
    train_steps(&run, WARM);
    for (lane = 0; lane < lanes; lane++)
        assert_ok(mot_bench_counts(run.fleet, lane, &out[lane])); /* starts anew, and all idle */
    if (witness())
        witness()->arm(NULL, 0, FAULT_NONE, 0); /* counts anew */
    train_steps(&run, STEPS);
    for (lane = 0; lane < lanes; lane++)
        assert_ok(mot_bench_counts(run.fleet, lane, &out[lane]));
    if (witness())
        hear_witness(strcmp(row->staging, "copy") == 0, out);
    check_arena(run.trainer, mot_trainer_replicas(run.trainer));
    run.fleet = NULL; /* others want it, too */
    train_close(&run);
}

struct field {
    const char *name;
    size_t offset;
};
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(struct mot_counts, name)                                                   \
    }
static const struct field fields[] = {
    FIELD(launches),    FIELD(waits),           FIELD(uploads),
    FIELD(downloads),   FIELD(upload_bytes),    FIELD(download_bytes),
    FIELD(allocations), FIELD(allocated_bytes), FIELD(compiles)};

static uint64_t field_of(const struct mot_counts *counts, size_t f)
{
    uint64_t value;

    memcpy(&value, (const char *)counts + fields[f].offset, sizeof value);
    return value;
}

/* CLBlast leaves bias and activation of each dense layer to a launch of its own. */
static struct mot_counts wanted(const struct row *row)
{
    struct mot_counts step = row->step;

    if (getenv("MOTLEY_TEST_GEMM"))
        step.launches += strcmp(row->net, "mlp512") == 0 ? 3 : 2;
    return step;
}

/* How many figures of a lane's steps are not the table's. */
static size_t differences(const struct row *row, size_t lane, const struct mot_counts *seen)
{
    const struct mot_counts step = wanted(row);
    size_t wrong = 0;

    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const uint64_t want = field_of(&step, f) * STEPS, got = field_of(seen, f);

        if (got == want)
            continue;
        wrong++;
        print_error("[%s] lane %zu: %g %s a step, the table says %llu\n", check_where(), lane,
                    (double)got / STEPS, fields[f].name, (unsigned long long)field_of(&step, f));
    }
    return wrong;
}

static void a_step_costs_what_the_table_says(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct mot_counts seen[LANES];

        if (!is_wanted(&rows[r]))
            continue;
        measure(&rows[r], "even", seen);
        for (size_t lane = 0; lane < (strchr(rows[r].devices, ',') ? 2 : 1); lane++)
            wrong += differences(&rows[r], lane, &seen[lane]);
    }
    assert_int_equal(wrong, 0);
}

/* Shares by speed split the rows of the batches otherwise, and that is all. Where the machine stood
 * still for a second they may change on the way, or one lane get no row: then once more. */
static void automatic_shares_cost_a_step_nothing(void **state)
{
    size_t tried = 0;

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct row *row = &rows[r];
        struct mot_counts seen[LANES];
        size_t wrong = 1;

        if (!is_wanted(row) || strcmp(row->net, one_net()) != 0 || !strchr(row->devices, ',') ||
            !row->resident || row->memory)
            continue;
        for (size_t turn = 0; turn < 5 && wrong > 0; turn++) {
            measure(row, "auto", seen);
            seen[0].upload_bytes += seen[1].upload_bytes;
            seen[0].upload_bytes /= 2;
            seen[1].upload_bytes = seen[0].upload_bytes;
            wrong = differences(row, 0, &seen[0]) + differences(row, 1, &seen[1]);
        }
        assert_int_equal(wrong, 0);
        tried++;
    }
    assert_true(tried > 0);
}

static void an_arena_is_little_more_than_what_lives(void **state)
{
    static const size_t batch[] = {1, 33, 128, 1000};
    static const enum mot_strategy strategy[] = {MOT_STRATEGY_SINGLE, MOT_STRATEGY_MIRRORED,
                                                 MOT_STRATEGY_CENTRAL};
    struct mot_trainer_config config = train_config();
    static const struct row two = {.devices = "0,0", .staging = "map"};
    struct train_run run = {.fleet = fleet_of(&two)};
    const char *net;

    (void)state;
    for (size_t n = 0, last = 0; !last; n++) {
        net = mot_preset(n / 12, NULL);
        if (!net) { /* presets leave little to share a place; this does */
            net = "dense 600 gelu, dense 600 tanh, dense 600 gelu, dense 600 relu, dense 10";
            last = n % 12 == 11;
        }
        if (getenv("MOTLEY_TEST_SMALL") && n % 4 != 1)
            continue;
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s, strategy %d, batch %zu", net,
                 (int)strategy[n / 4 % 3], batch[n % 4]);
        config.strategy = strategy[n / 4 % 3];
        assert_ok(mot_data_digits(1, batch[n % 4], &run.data));
        assert_ok(mot_data_batch(run.data, batch[n % 4]));
        assert_ok(mot_model_open(&run.net));
        assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
        assert_ok(mot_model_text(run.net, net));
        assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
        train_steps(&run, 1);
        check_arena(run.trainer, mot_trainer_replicas(run.trainer));
        mot_trainer_close(run.trainer);
        mot_model_close(run.net);
        mot_data_close(run.data);
    }
}

/* Whatever the size of the batches, as long as a larger one came first. */
static void a_step_allocates_and_compiles_nothing(void **state)
{
    static const char *const nets[] = {
        "input 20, dense 24 gelu, dropout 0.25, dense 5 softmax",
        "input 20, dense 20 tanh, mark a, dense 20 leaky_relu, add a, softmax, dense 5"};
    struct train_set set = train_set_make(66, 20, 5, 1);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.optimizer.clip_norm = 1;
    for (size_t n = 0; n < 4; n++) {
        struct train_run run =
            train_open(n / 2 ? "0,0,0" : "0", nets[n % 2], &config, train_data(&set, n % 2, 32));

        struct mot_counts seen;

        train_steps(&run, WARM);
        for (size_t lane = 0; lane < mot_fleet_count(run.fleet); lane++)
            assert_ok(mot_bench_counts(run.fleet, lane, &seen)); /* opening did both */
        train_steps(&run, WARM);
        for (size_t lane = 0; lane < mot_fleet_count(run.fleet); lane++) {
            assert_ok(mot_bench_counts(run.fleet, lane, &seen));
            assert_int_equal(seen.allocations, 0);
            assert_int_equal(seen.allocated_bytes, 0);
            assert_int_equal(seen.compiles, 0);
            assert_true(seen.launches >= WARM);
        }
        train_close(&run);
    }
    train_set_clear(&set);
}

/* Opening built everything, the feed's gather too: also where the self-tests, which build what they
 * test, are remembered from an earlier start. */
static void the_first_step_allocates_and_compiles_nothing(void **state)
{
    static const char *const devices[] = {"0", "0,0"};
    struct mot_trainer_config config = train_config();
    struct mot_bench_config bench = mot_bench_config_default();
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct folder folder;

    (void)state;
    assert_true(folder_open(&folder));
    bench.seconds = 0.01;
    bench.windows = 1;
    fleet.cache_dir = folder.path;
    for (size_t i = 0; i < 4; i++) {
        struct train_run run = {0};
        struct mot_bench_train seen;

        bench.resident = i / 2;
        fleet.devices = devices[i % 2];
        assert_ok(mot_fleet_open(&fleet, &run.fleet));
        assert_ok(mot_data_digits(1, BATCH * STEPS, &run.data));
        assert_ok(mot_data_batch(run.data, BATCH));
        assert_ok(mot_model_open(&run.net));
        assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
        assert_ok(mot_model_text(run.net, "mlp64"));
        assert_ok(mot_bench_train(run.fleet, run.net, &config, run.data, &bench, &seen, NULL));
        assert_int_equal(seen.first.allocations, 0);
        assert_int_equal(seen.first.compiles, 0);
        assert_true(seen.first.launches >= 12);
        train_close(&run);
    }
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_costs_what_the_table_says),
        cmocka_unit_test(automatic_shares_cost_a_step_nothing),
        cmocka_unit_test(an_arena_is_little_more_than_what_lives),
        cmocka_unit_test(a_step_allocates_and_compiles_nothing),
        cmocka_unit_test(the_first_step_allocates_and_compiles_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, close_fleets);
}
