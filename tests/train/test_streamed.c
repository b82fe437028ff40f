/* test_streamed.c - a network whose parameters do not fit a device trains on it all the same: the
 * layers' weights and gradients take turns in windows of its memory, and the bits are those of
 * plenty of memory. */
#include "support/train.h"

#include <math.h>
#include <motley/bench.h>

#define NET                                                                                        \
    "input 20, dense 96 relu, dropout 0.25, dense 96 tanh, mark a, dense 96 relu, dense 96 gelu, " \
    "add a, dense 96 relu, dense 5"
#define LITTLE "230K" /* all weights and gradients need 310 KB, the largest layer's 75 KB */
#define ROWS 66       /* batches of 16: the last one has 2 rows */
#define BATCH 16
#define STEPS 12
#define RECORD_BYTES 64 /* loss, correct, count and so on, of a step */

struct case_of { /* what is varied */
    const char *devices, *memory, *shares;
    enum mot_strategy strategy;
    struct mot_optimizer optimizer;
    size_t accumulate, batch;
};

static struct case_of plain_case(const char *devices)
{
    struct case_of c = {.devices = devices,
                        .memory = LITTLE,
                        .shares = "even",
                        .strategy = MOT_STRATEGY_CENTRAL,
                        .optimizer = mot_optimizer_default(MOT_RULE_ADAM),
                        .accumulate = 1,
                        .batch = BATCH};

    c.optimizer.lr = 0.01;
    return c;
}

static struct train_run open_case(const struct case_of *c, const struct train_set *set)
{
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_trainer_config config = train_config();
    struct train_run run = {.net = train_net(NET), .data = train_data(set, false, c->batch)};

    fleet.devices = c->devices;
    fleet.memory = c->memory;
    fleet.deadline_s = 120;
    fleet.gemm = "tile"; /* CLBlast's own test wants more memory than there is */
    config.strategy = c->strategy;
    config.shares = c->shares;
    config.optimizer = c->optimizer;
    config.accumulate = c->accumulate;
    assert_ok(mot_data_shuffle(run.data, 3));
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    return run;
}

static struct case_of with_plenty(const struct case_of *c)
{
    struct case_of plenty = *c;

    plenty.memory = "64M";
    plenty.strategy = MOT_STRATEGY_AUTO;
    return plenty;
}

/* Everything a caller can see of what was learned is the same to the bit. */
static void same(struct train_run *little, struct train_run *plenty)
{
    const struct mot_metrics a = train_metrics(little), b = train_metrics(plenty);
    struct mot_metrics tested[2];
    float *seen[2], *out[2];

    assert_memory_equal(&a, &b, sizeof a);
    seen[0] = train_get(little, 0);
    seen[1] = train_get(plenty, 0);
    check_bits("parameters", seen[0], seen[1], train_numbers(plenty));
    train_copies_agree(little);
    for (size_t i = 0; i < 2; i++) {
        struct train_run *run = i ? plenty : little;

        assert_ok(mot_evaluate(run->trainer, run->data, &tested[i]));
        out[i] = test_floats(5 * ROWS);
        assert_ok(mot_predict(run->trainer, run->data, out[i], 5 * ROWS));
    }
    assert_true(fabs(tested[0].loss - tested[1].loss) < 1e-6);
    check_bits("outputs", out[0], out[1], 5 * ROWS);
    for (size_t i = 0; i < 2; i++) {
        free(seen[i]);
        free(out[i]);
    }
}

static void compare(const struct case_of *c, size_t streams)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    const struct case_of more = with_plenty(c);
    struct train_run little = open_case(c, &set), plenty = open_case(&more, &set);
    size_t seen = 0;

    for (size_t r = 0; r < mot_trainer_replicas(little.trainer); r++) {
        const struct mot_plan plan = train_plan(&little, r);

        seen += plan.windows > 0;
        assert_int_equal(plan.micros, 1); /* else the order of addition is another */
    }
    assert_int_equal(seen, streams);
    train_steps(&little, STEPS);
    train_steps(&plenty, STEPS);
    same(&little, &plenty);
    train_steps(&little, 3); /* training goes on after an evaluation */
    train_steps(&plenty, 3);
    same(&little, &plenty);
    train_close(&little);
    train_close(&plenty);
    train_set_clear(&set);
}

/* ---- bits ---- */

#define RULES 6
static struct mot_optimizer rule_at(size_t index)
{
    static const enum mot_rule rules[RULES] = {MOT_RULE_ADAM, MOT_RULE_SGD,   MOT_RULE_SGD,
                                               MOT_RULE_SGD,  MOT_RULE_ADAMW, MOT_RULE_ADAM};
    struct mot_optimizer made = mot_optimizer_default(rules[index]);

    made.lr = 0.01;
    made.momentum = rules[index] == MOT_RULE_SGD && index > 1 ? 0.9 : 0;
    made.nesterov = index == 3;
    made.clip_norm = index == 2 || index == 5 ? 0.05 : 0;
    return made;
}

static void every_rule_learns_the_bits_of_plenty(void **state)
{
    (void)state;
    for (size_t r = 0; r < RULES; r++) {
        struct case_of c = plain_case("0");

        c.optimizer = rule_at(r);
        snprintf(check_where(), CHECK_WHERE_BYTES, "rule %zu", r);
        compare(&c, 1);
    }
}

static void so_do_several_devices_with_any_split(void **state)
{
    static const char *const shares[] = {"even", "3,1", "1,0"};

    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t clip = 0; clip < 2; clip++) {
            struct case_of c = plain_case("0,0");

            c.shares = shares[s];
            c.optimizer.clip_norm = clip ? 0.05 : 0;
            snprintf(check_where(), CHECK_WHERE_BYTES, "shares %s", shares[s]);
            compare(&c, 2);
        }
}

/* One card is small, the other is not: each has what it has room for. */
static void one_of_two_devices_streams(void **state)
{
    struct case_of c = plain_case("0,1");

    (void)state;
    if (train_devices() < 2)
        skip();
    for (size_t i = 0; i < 2; i++) {
        c.memory = i ? "0=64M,1=" LITTLE : "0=" LITTLE ",1=64M";
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", c.memory);
        compare(&c, 1);
    }
}

/* Gradients that add up over steps go home and come back. */
static void gradients_add_up_through_windows(void **state)
{
    static const char *const fleets[] = {"0", "0,0"};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct case_of c = plain_case(fleets[f]);

        c.accumulate = 3;
        snprintf(check_where(), CHECK_WHERE_BYTES, "accumulate 3 on %s", fleets[f]);
        compare(&c, f + 1);
    }
}

static void micro_batches_stream_too(void **state)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    struct case_of c = plain_case("0"), more;
    struct train_run little, plenty;
    struct mot_plan plan;
    float *a, *b;

    (void)state;
    c.memory = "180K";
    c.batch = 64;
    more = with_plenty(&c);
    little = open_case(&c, &set);
    plenty = open_case(&more, &set);
    plan = train_plan(&little, 0);
    assert_true(plan.windows > 0 && (plan.micros > 1 || plan.recompute));
    assert_non_null(strstr(plan.why, "weights and gradients of some layers at a time"));
    train_steps(&little, STEPS);
    train_steps(&plenty, STEPS);
    a = train_get(&little, 0);
    b = train_get(&plenty, 0);
    check_close("parameters", a, b, train_numbers(&plenty), 0, 2e-5);
    free(a);
    free(b);
    train_close(&little);
    train_close(&plenty);
    train_set_clear(&set);
}

/* ---- what else a trainer does ---- */

static int one_pass(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

static void a_loop_of_ones_own_and_given_weights(void **state)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    const struct case_of c = plain_case("0,0"), more = with_plenty(&c);
    struct train_run little = open_case(&c, &set), plenty = open_case(&more, &set);
    float *start = test_floats(train_numbers(&little));
    size_t differing;

    (void)state;
    test_fill(start, train_numbers(&little), 4, -0.2F, 0.2F);
    for (size_t i = 0; i < 2; i++) {
        struct train_run *run = i ? &plenty : &little;

        train_steps(run, 1);
        train_set_all(run, start);
        for (size_t k = 0; k < 3; k++) {
            assert_ok(mot_trainer_run(run->trainer, train_batch(run->data), one_pass, NULL));
            if (k != 1)
                assert_ok(mot_trainer_apply(run->trainer));
        }
        assert_ok(mot_trainer_verify(run->trainer, &differing));
        assert_int_equal(differing, 0);
    }
    same(&little, &plenty);
    free(start);
    train_close(&little);
    train_close(&plenty);
    train_set_clear(&set);
}

/* A bad sample: the step is refused, and told of in the same words. */
static void a_number_that_is_not_finite_is_found(void **state)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    const struct case_of c = plain_case("0,0");
    struct train_run run;
    struct mot_metrics metrics;
    struct mot_note note;

    (void)state;
    set.x[7] = NAN;
    run = open_case(&c, &set);
    while (mot_trainer_note(run.trainer, &note)) { /* of the windows */
    }
    for (size_t i = 0; i < 5 && mot_error_status() != MOT_BAD_NUMBER; i++)
        (void)mot_trainer_step(run.trainer, train_batch(run.data));
    (void)mot_trainer_metrics(run.trainer, &metrics);
    assert_true(mot_trainer_note(run.trainer, &note));
    assert_int_equal(note.kind, MOT_NOTE_NUMBER);
    assert_non_null(strstr(note.text, "(sample 0) has an input that is not finite"));
    train_close(&run);
    train_set_clear(&set);
}

/* ---- which rung ---- */

static void the_strategy_follows_the_room_there_is(void **state)
{
    static const struct {
        const char *memory;
        bool central;
        size_t windows;
    } rows[] = {{"64M", false, 0}, {"450K", true, 0}, {LITTLE, true, 1}};
    struct train_set set = train_set_make(ROWS, 20, 5, 1);

    (void)state;
    for (size_t r = 0; r < 3; r++) {
        struct case_of c = plain_case("0");
        struct train_run run;
        struct mot_note note;
        struct mot_bytes bytes;
        size_t notes = 0;

        c.memory = rows[r].memory;
        c.strategy = MOT_STRATEGY_AUTO;
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", c.memory);
        run = open_case(&c, &set);
        train_steps(&run, 2);
        (void)train_metrics(&run);
        assert_ok(mot_bench_bytes(run.trainer, 0, &bytes));
        assert_int_equal(bytes.state == 0, rows[r].central);
        assert_int_equal(train_plan(&run, 0).windows > 0, rows[r].windows > 0);
        for (; mot_trainer_note(run.trainer, &note); notes++)
            assert_int_equal(note.kind, MOT_NOTE_MEMORY);
        assert_int_equal(notes, rows[r].central + (rows[r].windows > 0));
        assert_true(bytes.peak <= train_plan(&run, 0).limit);
        train_close(&run);
    }
    train_set_clear(&set);
}

static void who_asks_for_mirrored_is_told_what_needs_less(void **state)
{
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_trainer_config config = train_config();
    struct train_run run = {.net = train_net(NET)};

    (void)state;
    fleet.devices = "0";
    fleet.memory = LITTLE;
    fleet.gemm = "tile";
    config.strategy = MOT_STRATEGY_SINGLE;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_story(mot_trainer_open(run.fleet, run.net, &config, &run.trainer), MOT_NO_MEMORY,
                 "would do for a row at a time with --strategy central");
    train_close(&run);
}

/* ---- counts ---- */

/* With one window: every part comes once for the forward pass and once for the backward pass, but
 * for the last layer's, which is still there, and the first one's, which nobody reads; every
 * gradient leaves once, and then the record. Nothing is allocated. */
static void a_step_moves_each_part_as_often_as_it_must(void **state)
{
    struct train_set set = train_set_make(64, 20, 5, 1);
    struct case_of c = plain_case("0");
    const uint64_t layer = 96 * 96 + 96, first = 20 * 96 + 96, last = 96 * 5 + 16;
    /* Parts, the first layers first: none is larger than the largest layer. */
    const uint64_t parts[] = {first, layer, layer, layer, layer, last};
    struct mot_counts before, seen;
    uint64_t down = 0, up;
    struct train_run run;

    (void)state;
    run = open_case(&c, &set);
    if (train_plan(&run, 0).windows != 1) { /* by copy there are two */
        train_close(&run);
        train_set_clear(&set);
        skip();
    }
    assert_false(train_plan(&run, 0).recompute);
    train_steps(&run, 3);
    (void)train_metrics(&run);
    assert_ok(mot_bench_counts(run.fleet, 0, &before));
    train_steps(&run, 10);
    (void)train_metrics(&run);
    assert_ok(mot_bench_counts(run.fleet, 0, &seen));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        down += parts[i] * sizeof(float);
    up = 2 * down - (first + last) * sizeof(float) + BATCH * (20 + 1) * sizeof(float);
    assert_int_equal(seen.allocations, 0);
    assert_int_equal(seen.compiles, 0);
    assert_int_equal(seen.upload_bytes / 10, up);
    assert_int_equal(seen.download_bytes / 10, down + RECORD_BYTES);
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_learns_the_bits_of_plenty),
        cmocka_unit_test(so_do_several_devices_with_any_split),
        cmocka_unit_test(one_of_two_devices_streams),
        cmocka_unit_test(gradients_add_up_through_windows),
        cmocka_unit_test(micro_batches_stream_too),
        cmocka_unit_test(a_loop_of_ones_own_and_given_weights),
        cmocka_unit_test(a_number_that_is_not_finite_is_found),
        cmocka_unit_test(the_strategy_follows_the_room_there_is),
        cmocka_unit_test(who_asks_for_mirrored_is_told_what_needs_less),
        cmocka_unit_test(a_step_moves_each_part_as_often_as_it_must),
    };

    setenv("POCL_DEVICES", "pthread pthread", 0); /* two devices with a limit each */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
