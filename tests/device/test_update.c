/* test_update.c - the update on each device, in both classes, against the host's bits: hard values,
 * every rule, several steps, the flat buffers in two pieces with guards around them. */
#include "support/device.h"

#include "optim/optim.h"

enum { G, P, SLOT0, SLOT1, ARRAYS, EDGE = 16 };

struct side { /* one array on host and device, EDGE floats of guard on both ends of the device's */
    float *host, *back;
    mot__buffer *buffer;
};

struct run {
    mot__device *device;
    size_t n, cut; /* two pieces: [0, cut) and [cut, n) */
    struct side side[ARRAYS];
    mot__buffer *small; /* record, verdict, the norm's parts */
    float record[MOT__RECORD_FLOATS], verdict[MOT__VERDICT_FLOATS], parts[MOT__NORM_PARTS];
};

static struct mot__mem at(const struct run *run, size_t offset)
{
    return (struct mot__mem){run->small, offset};
}
#define RECORD_AT 3 /* any offset will do */
#define VERDICT_AT (RECORD_AT + MOT__RECORD_FLOATS)
#define PARTS_AT 64

static size_t size_of_test(void)
{
    return test_small() ? 2 * 4096 + 48 : 65536;
}

static struct run *run_open(mot__device *device, size_t n)
{
    struct run *run = test_alloc(1, sizeof *run);

    run->device = device;
    run->n = n;
    run->cut = n / 3 / 16 * 16;
    for (size_t a = 0; a < ARRAYS; a++) {
        run->side[a].host = test_floats(n);
        run->side[a].back = test_floats(n + 2 * EDGE);
        assert_ok(mot__buffer_open(device, (n + 2 * EDGE) * 4, &run->side[a].buffer));
    }
    assert_ok(mot__buffer_open(device, (PARTS_AT + MOT__NORM_PARTS) * 4, &run->small));
    return run;
}

static void run_close(struct run *run)
{
    for (size_t a = 0; a < ARRAYS; a++) {
        mot__buffer_close(run->side[a].buffer);
        free(run->side[a].host);
        free(run->side[a].back);
    }
    mot__buffer_close(run->small);
    free(run);
}

static void put(struct run *run, size_t a)
{
    struct side *side = &run->side[a];

    for (size_t i = 0; i < EDGE; i++)
        side->back[i] = side->back[EDGE + run->n + i] = 7 + (float)a;
    memcpy(side->back + EDGE, side->host, run->n * 4);
    assert_ok(mot__buffer_write(side->buffer, 0, side->back, (run->n + 2 * EDGE) * 4));
}

static void compare(struct run *run)
{
    static const char *const name[ARRAYS] = {"gradient", "parameter", "slot 0", "slot 1"};
    float verdict[MOT__VERDICT_FLOATS];

    assert_ok(mot__buffer_read(run->small, VERDICT_AT * 4, verdict, sizeof verdict));
    check_bits("verdict", verdict, run->verdict, MOT__VERDICT_FLOATS);
    for (size_t a = 0; a < ARRAYS; a++) {
        struct side *side = &run->side[a];

        assert_ok(mot__buffer_read(side->buffer, 0, side->back, (run->n + 2 * EDGE) * 4));
        check_bits(name[a], side->back + EDGE, side->host, run->n);
        for (size_t i = 0; i < EDGE; i++)
            if (side->back[i] != 7 + (float)a || side->back[EDGE + run->n + i] != 7 + (float)a)
                fail_msg("[%s] %s was written outside its ends", check_where(), name[a]);
    }
}

static void begin(struct run *run, uint64_t seed)
{
    mot__verdict_start(run->verdict);
    mot__optim_hard_values(seed, run->n, run->side[P].host);
    memset(run->side[SLOT0].host, 0, run->n * 4);
    memset(run->side[SLOT1].host, 0, run->n * 4);
    for (size_t a = P; a < ARRAYS; a++)
        put(run, a);
    assert_ok(mot__buffer_write(run->small, VERDICT_AT * 4, run->verdict, sizeof run->verdict));
}

static void fill_gradient(struct run *run, const struct mot_optimizer *optimizer, uint64_t seed)
{
    float *g = run->side[G].host;

    mot__optim_hard_values(seed, run->n, g);
    if (optimizer->clip_norm > 0) /* else the norm overflows and the step is refused */
        for (size_t i = 0; i < run->n; i++)
            g[i] = fabsf(g[i]) > 1e15f ? 1e-39f : g[i];
    put(run, G);
}

static void launch_step(struct run *run, const struct mot_optimizer *optimizer)
{
    struct mot__update piece[2];

    for (size_t k = 0; k < 2; k++) {
        const size_t first = EDGE + (k ? run->cut : 0);

        piece[k] = (struct mot__update){
            .n = k ? run->n - run->cut : run->cut,
            .p = {run->side[P].buffer, first},
            .g = {run->side[G].buffer, first},
            .slot = {{run->side[SLOT0].buffer, first}, {run->side[SLOT1].buffer, first}},
            .verdict = at(run, VERDICT_AT)};
    }
    assert_ok(mot__buffer_write(run->small, RECORD_AT * 4, run->record, sizeof run->record));
    if (optimizer->clip_norm > 0)
        assert_ok(mot__norm_launch(run->device, piece, 2, at(run, PARTS_AT)));
    assert_ok(mot__verdict_launch(run->device, optimizer, optimizer->lr, at(run, RECORD_AT),
                                  optimizer->clip_norm > 0 ? at(run, PARTS_AT)
                                                           : (struct mot__mem){NULL, 0},
                                  at(run, VERDICT_AT)));
    for (size_t k = 0; k < 2; k++)
        assert_ok(mot__update_launch(run->device, optimizer, optimizer->lr, &piece[k]));
}

static void host_step(struct run *run, const struct mot_optimizer *optimizer)
{
    mot__norm_host(run->side[G].host, run->n, run->parts, 0); /* in one piece: the same bits */
    mot__verdict_host(optimizer, optimizer->lr, run->record, run->parts, run->verdict);
    mot__update_host(optimizer, optimizer->lr, run->n, run->side[P].host, run->side[G].host,
                     run->side[SLOT0].host, run->side[SLOT1].host, run->verdict);
}

static const struct {
    const char *name;
    struct mot_optimizer optimizer;
} rules[] = {
    {"sgd", {.rule = MOT_RULE_SGD, .lr = 0.1}},
    {"sgd, decay, clip", {.rule = MOT_RULE_SGD, .lr = 0.3, .weight_decay = 1e-3, .clip_norm = 0.7}},
    {"momentum", {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4}},
    {"nesterov",
     {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .nesterov = true, .clip_norm = 5}},
    {"adam", {.rule = MOT_RULE_ADAM, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
    {"adam, decay, clip",
     {.rule = MOT_RULE_ADAM,
      .lr = 1e-3,
      .beta1 = 0.9,
      .beta2 = 0.99,
      .epsilon = 1e-7,
      .weight_decay = 0.1,
      .clip_norm = 1}},
    {"adamw",
     {.rule = MOT_RULE_ADAMW,
      .lr = 1e-2,
      .beta1 = 0.8,
      .beta2 = 0.999,
      .epsilon = 1e-8,
      .weight_decay = 0.05}},
};

static void count_moved(const struct run *run, const float *before, const char *name)
{
    size_t moved = 0;

    for (size_t i = 0; i < run->n; i++)
        moved += run->side[P].host[i] != before[i];
    if (moved < run->n / 8)
        fail_msg("[%s] %s: only %zu of %zu moved", check_where(), name, moved, run->n);
}

/* $MOTLEY_TEST_PLATFORMS: how many implementations this run is to compare. */
static void the_implementations_asked_for_are_here(void **state)
{
    const char *wanted = getenv("MOTLEY_TEST_PLATFORMS");
    const char *seen[TEST_DEVICES_MAX];
    size_t count = 0;

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        const char *platform = mot__device_facts(device)->info.platform;
        size_t i = 0;

        while (i < count && strcmp(seen[i], platform) != 0)
            i++;
        if (i == count)
            seen[count++] = platform;
    }
    if (wanted && count != strtoul(wanted, NULL, 10))
        fail_msg("%zu implementations, wanted %s", count, wanted);
}

static void every_rule_has_the_hosts_bits(void **state)
{
    const size_t steps = test_small() ? 5 : 6; /* the second is refused, the third empty */

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct run *run = run_open(device, size_of_test());
        float *before = test_floats(run->n);

        for (size_t r = 0; r < MOT__COUNT(rules); r++) {
            const struct mot_optimizer *optimizer = &rules[r].optimizer;

            begin(run, 100 * r);
            memcpy(before, run->side[P].host, run->n * 4);
            for (uint64_t s = 1; s <= steps; s++) {
                const bool refused = s == 2, empty = s == 3;

                memset(run->record, 0, sizeof run->record);
                run->record[MOT__RECORD_LOSS] = 0.1f * (float)s;
                run->record[MOT__RECORD_CORRECT] = (float)(s % 3);
                run->record[MOT__RECORD_COUNT] = empty ? 0 : 1 + 2 * (float)s;
                run->record[MOT__RECORD_BAD] = refused ? 1 : 0;
                fill_gradient(run, optimizer, 100 * r + s);
                launch_step(run, optimizer);
                host_step(run, optimizer);
                assert_true(run->verdict[MOT__VERDICT_APPLY] == !(refused || empty));
                compare(run);
            }
            count_moved(run, before, rules[r].name);
        }
        free(before);
        run_close(run);
    }
}

/* What is refused stays, to the bit: subnormals and negative zeros too, which the update would not
 * keep. */
static void a_refused_step_changes_no_bit(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct run *run = run_open(device, 4096 + 48);

        for (size_t r = 0; r < MOT__COUNT(rules); r++) {
            begin(run, r + 1);
            for (size_t a = SLOT0; a < ARRAYS; a++) {
                mot__optim_hard_values(r + 20 + a, run->n, run->side[a].host);
                put(run, a);
            }
            fill_gradient(run, &rules[r].optimizer, r + 40);
            memset(run->record, 0, sizeof run->record);
            run->record[MOT__RECORD_COUNT] = 4;
            run->record[MOT__RECORD_BAD] = 1;
            launch_step(run, &rules[r].optimizer);
            run->verdict[MOT__VERDICT_SKIPPED] = 1; /* all that changes */
            run->verdict[MOT__VERDICT_COUNT] = 3;
            run->verdict[MOT__VERDICT_SEEN] = 1;
            run->verdict[MOT__VERDICT_BAD_AT] = 1;
            run->verdict[MOT__VERDICT_BAD_ROWS] = 1;
            compare(run);
        }
        run_close(run);
    }
}

static void a_gradient_that_is_no_number_is_refused_when_clipping(void **state)
{
    const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f};
    struct mot_optimizer optimizer = rules[1].optimizer;

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct run *run = run_open(device, 4096 + 48);

        begin(run, 1);
        for (size_t i = 0; i < MOT__COUNT(odd); i++) {
            memset(run->record, 0, sizeof run->record);
            run->record[MOT__RECORD_COUNT] = 4;
            fill_gradient(run, &optimizer, 9);
            run->side[G].host[1000 * i + 5] = odd[i];
            put(run, G);
            launch_step(run, &optimizer);
            host_step(run, &optimizer);
            assert_true(run->verdict[MOT__VERDICT_SKIPPED] == (float)(i + 1));
            compare(run);
        }
        run_close(run);
    }
}

static void the_smallest_sizes_work(void **state)
{
    const size_t sizes[] = {16, 32, 4080, 4096, 4112};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t i = 0; i < MOT__COUNT(sizes); i++) {
        struct run *run = run_open(device, sizes[i]);

        begin(run, i);
        memset(run->record, 0, sizeof run->record);
        run->record[MOT__RECORD_COUNT] = 4;
        fill_gradient(run, &rules[5].optimizer, i + 1);
        launch_step(run, &rules[5].optimizer); /* the first piece of 16 floats is empty */
        host_step(run, &rules[5].optimizer);
        compare(run);
        run_close(run);
    }
}

static void a_size_that_is_not_whole_gets_a_sentence(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct run *run = run_open(device, 64);
        struct mot__update piece = {.n = 24,
                                    .p = {run->side[P].buffer, 0},
                                    .g = {run->side[G].buffer, 0},
                                    .verdict = at(run, VERDICT_AT)};

        assert_story(mot__update_launch(device, &rules[0].optimizer, 0.1, &piece), MOT_BAD_ARG,
                     "multiples of 16");
        piece.n = 16;
        piece.g.offset = 4;
        assert_story(mot__norm_launch(device, &piece, 1, at(run, PARTS_AT)), MOT_BAD_ARG,
                     "multiples of 16");
        assert_story(mot__verdict_launch(device, &rules[1].optimizer, 0.1, at(run, RECORD_AT),
                                         (struct mot__mem){NULL, 0}, at(run, VERDICT_AT)),
                     MOT_BAD_ARG, "clipping needs");
        run_close(run);
    }
}

static void the_self_test_is_passed_and_remembered(void **state)
{
    const struct mot_optimizer *rule = NULL;

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t r = 0; r < MOT__COUNT(rules); r++) {
        struct mot_counts before, *after = mot__device_counts(device);
        char why[256] = "untouched";
        bool good = false;

        rule = &rules[r].optimizer;
        assert_ok(mot__optim_selftest(device, rule, true, &good, why, sizeof why));
        if (!good)
            fail_msg("[%s] %s", check_where(), why);
        assert_string_equal(why, "");
        before = *after;
        assert_ok(mot__optim_selftest(device, rule, false, &good, why, sizeof why));
        assert_true(good);
        assert_int_equal(after->launches, before.launches);
    }
}

static void spoil_sgd(mot__device *device, enum mot_device_class class)
{
    char key[80];

    snprintf(key, sizeof key, "optim.%s.SGD.%016llx", class == MOT_CLASS_CPU ? "cpu" : "gpu",
             (unsigned long long)mot__program_sum("update"));
    assert_ok(mot__store_set(device, key, "SGD: a story"));
}

/* The classes are different code. */
static void a_kept_verdict_speaks_for_its_rule_and_class_alone(void **state)
{
    const struct mot_optimizer sgd = mot_optimizer_default(MOT_RULE_SGD);
    const struct mot_optimizer adam = mot_optimizer_default(MOT_RULE_ADAM);
    char why[256];
    bool good = true;

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        const enum mot_device_class own = mot__device_facts(device)->device_class;

        spoil_sgd(device, own == MOT_CLASS_CPU ? MOT_CLASS_GPU : MOT_CLASS_CPU);
        assert_ok(mot__optim_selftest(device, &sgd, false, &good, why, sizeof why));
        assert_true(good);
        spoil_sgd(device, own);
        assert_ok(mot__optim_selftest(device, &sgd, false, &good, why, sizeof why));
        assert_false(good);
        assert_string_equal(why, "SGD: a story");
        assert_ok(mot__optim_selftest(device, &adam, false, &good, why, sizeof why));
        assert_true(good);
        assert_ok(mot__optim_selftest(device, &sgd, true, &good, why, sizeof why));
        assert_true(good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_implementations_asked_for_are_here),
        cmocka_unit_test(every_rule_has_the_hosts_bits),
        cmocka_unit_test(a_refused_step_changes_no_bit),
        cmocka_unit_test(a_gradient_that_is_no_number_is_refused_when_clipping),
        cmocka_unit_test(the_smallest_sizes_work),
        cmocka_unit_test(a_size_that_is_not_whole_gets_a_sentence),
        cmocka_unit_test(the_self_test_is_passed_and_remembered),
        cmocka_unit_test(a_kept_verdict_speaks_for_its_rule_and_class_alone),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
