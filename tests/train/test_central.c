/* test_central.c - variables and state on the host: the same bits as mirrored, for every optimizer,
 * split and way of staging, and nothing but weights, gradients and activations on the devices. */
#include "support/train.h"

#include <motley/bench.h>

#define NET "input 20, dense 24 relu, dropout 0.25, dense 33 tanh, dense 5"
#define ROWS 66 /* batches of 32: the last one has 2 rows, fewer than some fleets have lanes */
#define STEPS 10

static struct mot_optimizer rule(enum mot_rule rule, double momentum, bool nesterov, double decay,
                                 double clip)
{
    struct mot_optimizer made = mot_optimizer_default(rule);

    made.lr = 0.01;
    made.momentum = momentum;
    made.nesterov = nesterov;
    made.weight_decay = decay;
    made.clip_norm = clip;
    return made;
}

#define RULES 8
static struct mot_optimizer rule_at(size_t index)
{
    const struct mot_optimizer rules[RULES] = {
        rule(MOT_RULE_SGD, 0, false, 0, 0),     rule(MOT_RULE_SGD, 0.9, false, 0.01, 0),
        rule(MOT_RULE_SGD, 0.9, true, 0, 0),    rule(MOT_RULE_ADAM, 0, false, 0, 0),
        rule(MOT_RULE_ADAM, 0, false, 0.01, 0), rule(MOT_RULE_ADAMW, 0, false, 0.01, 0),
        rule(MOT_RULE_ADAM, 0, false, 0, 0.05), rule(MOT_RULE_SGD, 0.9, false, 0, 0.05),
    };

    return rules[index];
}

static const struct fleet {
    const char *devices, *shares;
} fleets[] = {
    {"0/2", "even"}, {"0/2", "3,1"}, {"0,0", "1,0"}, {"0,0,0", "even"}, {"0/2,0", "2,1,1"},
};

/* All of them, or $MOTLEY_TEST_DEVICES alone. */
static size_t fleets_given(struct fleet *out)
{
    const char *devices = getenv("MOTLEY_TEST_DEVICES");
    size_t count = 0;

    if (devices) {
        out[0] = (struct fleet){devices, "even"};
        return 1;
    }
    for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++)
        if (train_can(fleets[f].devices))
            out[count++] = fleets[f];
    return count;
}

struct result {
    float *parameters;
    struct mot_metrics metrics;
};

static struct result learn(const struct fleet *fleet, const struct mot_optimizer *optimizer,
                           enum mot_strategy strategy, const char *net)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    mot_data *data = train_data(&set, false, 32);
    struct train_run run;
    struct result result;

    config.strategy = strategy;
    config.shares = fleet->shares;
    config.optimizer = *optimizer;
    assert_ok(mot_data_shuffle(data, 3));
    run = train_open(fleet->devices, net, &config, data);
    train_steps(&run, STEPS);
    result.metrics = train_metrics(&run);
    assert_int_equal(result.metrics.steps, STEPS);
    train_copies_agree(&run);
    result.parameters = train_get(&run, 0);
    train_close(&run);
    train_set_clear(&set);
    return result;
}

static size_t numbers_of(const char *text)
{
    mot_model *net = train_net(text);
    const size_t numbers = mot_model_parameters(net);

    mot_model_close(net);
    return numbers;
}

static void compare(const struct fleet *fleet, size_t r, const char *net)
{
    const struct mot_optimizer optimizer = rule_at(r);
    struct result mirrored, central;

    mirrored = learn(fleet, &optimizer, MOT_STRATEGY_MIRRORED, net);
    central = learn(fleet, &optimizer, MOT_STRATEGY_CENTRAL, net);
    snprintf(check_where(), CHECK_WHERE_BYTES, "%s shares %s rule %zu", fleet->devices,
             fleet->shares, r);
    check_bits("parameters", central.parameters, mirrored.parameters, numbers_of(net));
    assert_memory_equal(&central.metrics, &mirrored.metrics, sizeof central.metrics);
    free(mirrored.parameters);
    free(central.parameters);
}

static void the_bits_are_those_of_mirrored(void **state)
{
    struct fleet fleet[sizeof fleets / sizeof *fleets];
    const size_t count = fleets_given(fleet);

    (void)state;
    for (size_t f = 0; f < count; f++)
        for (size_t r = 0; r < RULES; r++)
            compare(&fleet[f], r, NET);
}

/* A million numbers: by copy in buckets, and cut into pieces by the largest allocation. */
static void so_they_are_in_buckets_and_pieces(void **state)
{
    static const char large[] = "input 20, dense 1024 relu, dense 1024 relu, dense 5";
    const struct fleet two = {"0,0", "3,1"};

    (void)state;
    if (getenv("MOTLEY_TEST_DEVICES")) /* they are about the bits across vendors alone */
        skip();
    for (size_t r = 3; r < RULES; r += 3) { /* Adam, and clipped */
        assert_int_equal(setenv("MOTLEY_STAGING", "copy", 1), 0);
        compare(&two, r, large);
        assert_int_equal(setenv("MOTLEY_LARGEST", "4456448", 1), 0);
        compare(&two, r, large);
        assert_int_equal(setenv("MOTLEY_STAGING", "map", 1), 0);
        compare(&two, r, large);
        unsetenv("MOTLEY_LARGEST");
        unsetenv("MOTLEY_STAGING");
    }
}

/* ---- what devices hold ---- */

static struct mot_bytes bytes_of(const char *devices, enum mot_strategy strategy)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct mot_bytes bytes;
    struct train_run run;

    config.strategy = strategy;
    run = train_open(devices, NET, &config, train_data(&set, false, 32));
    train_steps(&run, 2);
    (void)train_metrics(&run);
    assert_ok(mot_bench_bytes(run.trainer, 0, &bytes));
    train_close(&run);
    train_set_clear(&set);
    return bytes;
}

#define GRAIN 4096 /* what the pool and a mapping round up to, for each of the few buffers */

static void devices_hold_no_state(void **state)
{
    const char *given = getenv("MOTLEY_TEST_DEVICES"), *devices = given ? given : "0,0";
    const struct mot_bytes mirrored = bytes_of(devices, MOT_STRATEGY_MIRRORED);
    const struct mot_bytes central = bytes_of(devices, MOT_STRATEGY_CENTRAL);
    const uint64_t needed = central.parameters + central.gradients + central.arena;

    (void)state;
    assert_int_equal(central.state, 0);
    assert_int_equal(mirrored.state, 2 * mirrored.parameters);
    assert_true(central.total + mirrored.state <= mirrored.total + GRAIN);
    assert_true(central.total >= needed);
    if (!(central.total <= needed + central.staging + 4 * GRAIN))
        fail_msg("%llu bytes, but parameters, gradients and activations are %llu",
                 (unsigned long long)central.total, (unsigned long long)needed);
}

/* With one device the copy is on that device: it is as if alone. */
static void one_device_has_it_all(void **state)
{
    const struct mot_bytes alone = bytes_of("0", MOT_STRATEGY_SINGLE);
    const struct mot_bytes central = bytes_of("0", MOT_STRATEGY_CENTRAL);

    (void)state;
    assert_int_equal(central.total, alone.total);
    assert_int_equal(central.state, alone.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_are_those_of_mirrored),
        cmocka_unit_test(so_they_are_in_buckets_and_pieces),
        cmocka_unit_test(devices_hold_no_state),
        cmocka_unit_test(one_device_has_it_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
