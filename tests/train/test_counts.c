/* test_counts.c - what one step costs, exactly: launches, waits, transfers and bytes of the
 * presets, alone, mirrored and central. Times are noise on a busy machine; counts are not. A step
 * that grows dearer fails here; one that grows cheaper lowers the table. */
#include "support/folder.h"
#include "support/train.h"

#include <motley/bench.h>

#define WARM 12 /* steps: more than are queued ahead, so that waits have begun */
#define STEPS 10
#define BATCH 32
#define LANES 2

static const struct row {
    const char *net, *devices, *staging;
    bool resident, central;
    struct mot_counts step; /* of each lane: in the order of mot_counts */
} rows[] = {
    /* launches, waits, uploads, downloads, bytes up, bytes down; then: none allocated or compiled
     */
    {"mlp10", "0", "map", true, false, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp64", "0", "map", true, false, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp512", "0", "map", true, false, {17, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp10", "0", "map", false, false, {13, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp512", "0", "map", false, false, {17, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp64", "0", "map", false, false, {13, 2, 1, 0, 25216, 0, 0, 0, 0}},
    {"mlp64", "0", "copy", true, false, {13, 2, 1, 0, 128, 0, 0, 0, 0}},
    {"mlp10", "0,0", "map", true, false, {12, 3, 2, 1, 32064, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", true, false, {12, 3, 2, 1, 203712, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", true, false, {16, 3, 2, 1, 2678976, 2678912, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, false, {12, 3, 2, 1, 203712, 203648, 0, 0, 0}},
    {"mlp10", "0,0", "map", false, false, {12, 3, 2, 1, 44608, 32000, 0, 0, 0}},
    {"mlp512", "0,0", "map", false, false, {16, 3, 2, 1, 2691520, 2678912, 0, 0, 0}},
    /* the update is the host's: two launches less, a wait for the weights' host side more */
    {"mlp10", "0,0", "map", true, true, {10, 4, 2, 1, 32000, 32000, 0, 0, 0}},
    {"mlp64", "0,0", "map", true, true, {10, 4, 2, 1, 203648, 203648, 0, 0, 0}},
    {"mlp512", "0,0", "map", true, true, {14, 4, 2, 1, 2678912, 2678912, 0, 0, 0}},
    {"mlp64", "0,0", "copy", true, true, {10, 4, 2, 1, 203648, 203648, 0, 0, 0}},
    {"mlp10", "0,0", "map", false, true, {10, 4, 2, 1, 44544, 32000, 0, 0, 0}},
    {"mlp512", "0,0", "map", false, true, {14, 4, 2, 1, 2691456, 2678912, 0, 0, 0}},
};

static void measure(const struct row *row, struct mot_counts out[LANES])
{
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = {.fleet = train_fleet(row->devices)};
    size_t lane, lanes = mot_fleet_count(run.fleet);

    memset(out, 0, LANES * sizeof *out);
    config.strategy = row->central ? MOT_STRATEGY_CENTRAL : MOT_STRATEGY_AUTO;
    assert_ok(mot_data_digits(1, BATCH * STEPS, &run.data));
    assert_ok(mot_data_batch(run.data, BATCH));
    assert_ok(mot_model_open(&run.net));
    assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
    assert_ok(mot_model_text(run.net, row->net));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    fit.batch = BATCH;
    fit.resident = row->resident;
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    train_steps(&run, WARM);
    for (lane = 0; lane < lanes; lane++)
        assert_ok(mot_bench_counts(run.fleet, lane, &out[lane])); /* starts anew */
    train_steps(&run, STEPS);
    for (lane = 0; lane < lanes; lane++)
        assert_ok(mot_bench_counts(run.fleet, lane, &out[lane]));
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

/* How many figures of a lane's steps are not the table's. */
static size_t differences(const struct row *row, size_t lane, const struct mot_counts *seen)
{
    size_t wrong = 0;

    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const uint64_t want = field_of(&row->step, f) * STEPS, got = field_of(seen, f);

        if (got == want)
            continue;
        wrong++;
        print_error("%s on %s by %s%s%s, lane %zu: %g %s a step, the table says %llu\n", row->net,
                    row->devices, row->staging, row->resident ? ", resident" : "",
                    row->central ? ", central" : "", lane, (double)got / STEPS, fields[f].name,
                    (unsigned long long)field_of(&row->step, f));
    }
    return wrong;
}

static void a_step_costs_what_the_table_says(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const size_t lanes = strchr(rows[r].devices, ',') ? 2 : 1;
        struct mot_counts seen[LANES];

        assert_int_equal(setenv("MOTLEY_STAGING", rows[r].staging, 1), 0);
        measure(&rows[r], seen);
        for (size_t lane = 0; lane < lanes; lane++)
            wrong += differences(&rows[r], lane, &seen[lane]);
    }
    unsetenv("MOTLEY_STAGING");
    assert_int_equal(wrong, 0);
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
        cmocka_unit_test(a_step_allocates_and_compiles_nothing),
        cmocka_unit_test(the_first_step_allocates_and_compiles_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
