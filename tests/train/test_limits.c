/* test_limits.c - little memory: a share that does not fit is cut into micro-batches or computes
 * its activations again, and learns the same; the plan says beforehand what the pool then holds. */
#include "support/train.h"

#include <motley/bench.h>

#define DEEP                                                                                       \
    "input 20, dense 48 tanh, mark a, dense 48 relu, dropout 0.2, dense 48 gelu, add a, "          \
    "dense 48 tanh, dense 48 relu, dense 48 tanh, dropout 0.1, dense 48 relu, dense 5 softmax"

static mot_fleet *limited(const char *devices, const char *memory)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = devices;
    config.memory = memory;
    config.deadline_s = 120;
    assert_ok(mot_fleet_open(&config, &fleet));
    return fleet;
}

static struct train_run open_limited(const char *devices, const char *memory, const char *net,
                                     const struct mot_trainer_config *config, mot_data *data)
{
    struct train_run run = {limited(devices, memory), train_net(net), NULL, data};

    assert_ok(mot_trainer_open(run.fleet, run.net, config, &run.trainer));
    return run;
}

/* Train with little memory and with plenty; the plan of replica 0 under the limit comes back. */
static struct mot_plan compare(const char *devices, const char *memory, size_t batch, bool bits)
{
    struct train_set set = train_set_make(256, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run little =
        open_limited(devices, memory, DEEP, &config, train_data(&set, false, batch));
    struct train_run plenty = /* as little as makes no other GEMM be chosen */
        open_limited(devices, "2M", DEEP, &config, train_data(&set, false, batch));
    struct mot_plan plan = train_plan(&little, 0);
    struct mot_bytes bytes;
    float *a, *b;

    train_steps(&little, 12);
    train_steps(&plenty, 12);
    a = train_get(&little, 0);
    b = train_get(&plenty, 0);
    if (bits)
        check_bits("parameters", a, b, train_numbers(&plenty));
    else
        check_close("parameters", a, b, train_numbers(&plenty), 0, 2e-5);
    train_copies_agree(&little);
    assert_true(fabs(train_metrics(&little).loss - train_metrics(&plenty).loss) < 1e-5);
    assert_ok(mot_bench_bytes(little.trainer, 0, &bytes));
    assert_true(bytes.peak <= plan.limit);
    free(a);
    free(b);
    train_close(&little);
    train_close(&plenty);
    train_set_clear(&set);
    return plan;
}

static void micro_batches_learn_what_the_whole_batch_would(void **state)
{
    struct mot_plan plan;

    (void)state;
    plan = compare("0", "560K", 256, false);
    assert_true(plan.micros > 1 && plan.micro * plan.micros >= 256);
    plan = compare("0,0", "560K", 256, false);
    assert_true(plan.micros > 1);
    plan = compare("0", "2M", 256, true);
    assert_int_equal(plan.micros, 1);
    assert_string_equal(plan.why, "256 rows at once");
}

/* The same launches on the same numbers: equal to the bit. */
static void recomputed_activations_are_the_same_bits(void **state)
{
    static const char *const fleets[] = {"0", "0,0"};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        const struct mot_plan plan = compare(fleets[f], "384K", 32 * (f + 1), true);

        assert_true(plan.recompute);
        assert_int_equal(plan.micros, 1);
        assert_non_null(strstr(plan.why, "32 rows at once with activations computed again, since"));
    }
}

/* Two devices, one with little memory: it gets no more rows than it has room for at once. */
static void shares_by_speed_keep_to_the_room_there_is(void **state)
{
    struct train_set set = train_set_make(256, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    size_t share[2];

    (void)state;
    if (train_devices() < 2)
        skip();
    for (size_t i = 0; i < 2; i++) {
        struct train_run run;
        struct mot_plan plan;

        config.strategy = MOT_STRATEGY_MIRRORED;
        config.shares = i ? "auto" : "even";
        run = open_limited("0,1", "0=450K,1=64M", DEEP, &config, train_data(&set, false, 256));
        train_steps(&run, 2);
        (void)train_metrics(&run);
        plan = train_plan(&run, 0);
        assert_ok(mot_trainer_split(run.trainer, 256, share));
        assert_int_equal(share[0] + share[1], 256);
        assert_int_equal(plan.micros > 1 || plan.recompute, i == 0);
        assert_true(i == 0 || share[0] < 128);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* ---- a loop of one's own ---- */

struct visits {
    size_t calls, rows;
    unsigned char seen[256];
};

static int visit(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    struct visits *visits = user;

    visits->calls++;
    visits->rows += shard->rows;
    for (size_t r = 0; r < shard->rows; r++)
        visits->seen[shard->first + r]++;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

static void a_callback_is_called_for_each_micro_batch(void **state)
{
    struct train_set set = train_set_make(256, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run = open_limited("0", "560K", DEEP, &config, train_data(&set, false, 256));
    struct train_run steps = open_limited("0", "560K", DEEP, &config, train_data(&set, false, 256));
    const struct mot_plan plan = train_plan(&run, 0);
    struct visits visits = {0};
    float *a, *b;

    (void)state;
    assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), visit, &visits));
    assert_ok(mot_trainer_apply(run.trainer));
    train_steps(&steps, 1);
    assert_int_equal(visits.calls, plan.micros);
    assert_int_equal(visits.rows, 256);
    for (size_t r = 0; r < 256; r++)
        assert_int_equal(visits.seen[r], 1);
    a = train_get(&run, 0);
    b = train_get(&steps, 0);
    check_bits("run and apply are a step", a, b, train_numbers(&run));
    free(a);
    free(b);
    train_close(&run);
    train_close(&steps);
    train_set_clear(&set);
}

/* Where only a few rows at a time would fit beside the state, it goes to the host; not on one
 * device, nor where mirrored was asked for. */
static void few_rows_at_a_time_move_the_state_to_the_host(void **state)
{
    static const struct {
        const char *devices;
        enum mot_strategy strategy;
        bool host;
    } rows[] = {{"0,0", MOT_STRATEGY_AUTO, true}, {"0,0", MOT_STRATEGY_MIRRORED, false}};
    struct train_set set = train_set_make(256, 20, 5, 1);
    struct mot_trainer_config config = train_config();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_run run;
        struct mot_plan plan;

        config.strategy = rows[i].strategy;
        run = open_limited(rows[i].devices, "336K", DEEP, &config, train_data(&set, false, 256));
        plan = train_plan(&run, 0);
        assert_int_equal(plan.bytes.state == 0, rows[i].host);
        assert_true(rows[i].host ? plan.micro >= 16 : plan.micro < 16);
        train_steps(&run, 2);
        train_copies_agree(&run);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* ---- evaluation in what is left ---- */

static void evaluation_and_prediction_take_what_is_left(void **state)
{
    struct train_set set = train_set_make(1000, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct mot_metrics with[2];
    float *out[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct train_run run =
            open_limited("0,0", i ? "420K" : "64M", DEEP, &config, train_data(&set, false, 64));

        train_steps(&run, 1);
        assert_ok(mot_evaluate(run.trainer, run.data, &with[i]));
        out[i] = test_floats(5000);
        assert_ok(mot_predict(run.trainer, run.data, out[i], 5000));
        train_steps(&run, 1);
        train_close(&run);
    }
    assert_int_equal(with[1].count, 1000);
    assert_true(fabs(with[0].loss - with[1].loss) < 1e-5);
    check_close("outputs", out[1], out[0], 5000, 0, 1e-5);
    free(out[0]);
    free(out[1]);
    train_set_clear(&set);
}

/* ---- the plan against the pool ---- */

static void agree(const char *net, const char *devices, const char *memory, size_t batch,
                  bool resident, enum mot_strategy strategy)
{
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = {.fleet = limited(devices, memory)};
    struct mot_plan plan[4];
    mot_data *test = NULL;

    snprintf(check_where(), CHECK_WHERE_BYTES, "%s on %s, strategy %d, %s, batch %zu%s", net,
             devices, (int)strategy, memory ? memory : "no limit", batch,
             resident ? ", resident" : "");
    config.strategy = strategy;
    assert_ok(mot_data_digits(1, 600, &run.data));
    assert_ok(mot_data_digits(2, 200, &test));
    assert_ok(mot_model_open(&run.net));
    assert_ok(mot_model_input(run.net, mot_data_shape(run.data)));
    assert_ok(mot_model_text(run.net, net));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    fit.batch = batch;
    fit.resident = resident;
    assert_ok(mot_fit_plan(run.trainer, run.data, test, &fit, plan));
    assert_ok(mot_fit(run.trainer, run.data, test, &fit, NULL));
    for (size_t r = 0; r < mot_trainer_replicas(run.trainer); r++) {
        const struct mot_bytes *want = &plan[r].bytes;
        struct mot_bytes seen;
        double ratio;

        assert_ok(mot_bench_bytes(run.trainer, r, &seen));
        ratio = (double)want->total / (double)seen.peak;
        if (!(ratio > 0.95 && ratio < 1.05))
            fail_msg("[%s] replica %zu: planned %llu bytes, the pool held %llu", check_where(), r,
                     (unsigned long long)want->total, (unsigned long long)seen.peak);
        assert_true(seen.peak <= plan[r].limit);
        assert_int_equal(want->parameters + want->gradients + want->state + want->arena +
                             want->packs + want->staging + want->data + want->evaluation +
                             want->other,
                         want->total);
    }
    mot_data_close(test);
    train_close(&run);
}

static void the_plan_agrees_with_the_pool(void **state)
{
    static const struct {
        const char *net, *memory;
        size_t batch;
    } rows[] = {
        {"mlp10", NULL, 128},      {"mlp10", "1M", 600},   {"mlp10", "400K", 600},
        {"mlp64", NULL, 32},       {"mlp64", "4M", 600},   {"mlp64", "1100K", 300},
        {"mlp512", NULL, 128},     {"mlp512", "13M", 600}, {"mlp512", "11M", 600},
        {"mlp512", "10800K", 600},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        agree(rows[i].net, "0", rows[i].memory, rows[i].batch, i % 2, MOT_STRATEGY_SINGLE);
        agree(rows[i].net, "0,0", rows[i].memory, rows[i].batch, true, MOT_STRATEGY_MIRRORED);
        agree(rows[i].net, "0,0", rows[i].memory, rows[i].batch, true, MOT_STRATEGY_CENTRAL);
    }
    for (size_t i = 0; i < 2; i++) /* weights stream through windows */
        agree("mlp512", i ? "0,0" : "0", "4500K", 300, true, MOT_STRATEGY_CENTRAL);
}

/* ---- too little ---- */

/* A product of 1024 x 1024 x 1024 is one that CLBlast packs for. */
static void packed_operands_are_in_the_plan_and_can_be_done_without(void **state)
{
    static const char net[] = "input 20, dense 1024 relu, dense 1024 relu, dense 5";
    const char *const wish = getenv("MOTLEY_GEMM"), *const given = getenv("MOTLEY_TEST_GEMM");
    struct train_set set = train_set_make(1024, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct mot_plan plan;
    struct mot_bytes bytes;
    char memory[32] = "";
    double loss[2];

    (void)state;
    if (strcmp(wish ? wish : given ? given : "", "clblast") != 0)
        skip();
    for (size_t i = 0; i < 2; i++) { /* with plenty, then without room for the packs */
        struct train_run run =
            open_limited("0", i ? memory : NULL, net, &config, train_data(&set, false, 1024));

        plan = train_plan(&run, 0);
        assert_int_equal(plan.micros, 1);
        train_steps(&run, 2);
        loss[i] = train_metrics(&run).loss;
        assert_ok(mot_bench_bytes(run.trainer, 0, &bytes));
        assert_int_equal(bytes.packs, plan.bytes.packs);
        assert_int_equal(bytes.packs > 0, i == 0);
        assert_int_equal(bytes.total, plan.bytes.total);
        if (i)
            assert_true(bytes.peak <= plan.limit);
        snprintf(memory, sizeof memory, "%llu",
                 (unsigned long long)(plan.bytes.total - plan.bytes.packs / 2));
        train_close(&run);
    }
    if (!(fabs(loss[0] - loss[1]) < 1e-4))
        fail_msg("loss %g with packs, %g without", loss[0], loss[1]);
    train_set_clear(&set);
}

/* The sentence names the least that does, whether there is data yet or not; a kilobyte less does
 * not do. */
static void check_least(const char *devices, enum mot_strategy strategy)
{
    const bool central = strategy == MOT_STRATEGY_CENTRAL; /* refused when it opens, not later */
    struct train_set set = train_set_make(64, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run = {limited(devices, "20K"), train_net(DEEP), NULL, NULL};
    const char *told;
    char memory[64];
    size_t least = 0;

    config.strategy = strategy;
    assert_story(mot_trainer_open(run.fleet, run.net, &config, &run.trainer), MOT_NO_MEMORY,
                 "the limit is 20.0 KiB; a");
    told = strstr(mot_error(), "a memory limit of ");
    assert_non_null(told);
    assert_int_equal(sscanf(told, "a memory limit of %zuK would do", &least), 1);
    train_close(&run);
    for (size_t i = 0; i < 2; i++) {
        snprintf(memory, sizeof memory, "%zuK", least - i);
        run = (struct train_run){limited(devices, memory), train_net(DEEP), NULL,
                                 train_data(&set, false, 64)};
        snprintf(memory, sizeof memory, "a memory limit of %zuK would do", least);
        if (i == 1 && central) {
            assert_story(mot_trainer_open(run.fleet, run.net, &config, &run.trainer), MOT_NO_MEMORY,
                         memory);
            train_close(&run);
            break;
        }
        assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
        if (i == 0)
            train_steps(&run, 3);
        else
            assert_story(mot_trainer_step(run.trainer, train_batch(run.data)), MOT_NO_MEMORY,
                         memory);
        train_close(&run);
    }
    train_set_clear(&set);
}

static void a_limit_below_the_smallest_plan_is_told_with_what_would_do(void **state)
{
    (void)state;
    check_least("0", MOT_STRATEGY_SINGLE);
    check_least("0,0", MOT_STRATEGY_MIRRORED);
    check_least("0,0", MOT_STRATEGY_CENTRAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(micro_batches_learn_what_the_whole_batch_would),
        cmocka_unit_test(recomputed_activations_are_the_same_bits),
        cmocka_unit_test(shares_by_speed_keep_to_the_room_there_is),
        cmocka_unit_test(a_callback_is_called_for_each_micro_batch),
        cmocka_unit_test(few_rows_at_a_time_move_the_state_to_the_host),
        cmocka_unit_test(evaluation_and_prediction_take_what_is_left),
        cmocka_unit_test(the_plan_agrees_with_the_pool),
        cmocka_unit_test(packed_operands_are_in_the_plan_and_can_be_done_without),
        cmocka_unit_test(a_limit_below_the_smallest_plan_is_told_with_what_would_do),
    };

    setenv("POCL_DEVICES", "pthread pthread", 0); /* two devices with a limit each */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
