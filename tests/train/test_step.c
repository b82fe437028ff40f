/* test_step.c - the smallest training there is, for devices that are thousands of times too slow
 * for more: steps from the host and from resident data, alone, mirrored and central, to the same
 * parameters. On a simulator ($MOTLEY_TEST_SMALL) by one lane each: Oclgrind keeps the commands of
 * all queues in tables that nothing guards, and two threads get each other's.
 * $MOTLEY_TEST_COUNTS: as in support/device.h. */
#include "support/train.h"

#include <motley/bench.h>

#define NET "input 6, dense 9 relu, dropout 0.25, mark a, dense 9 tanh, add a, softmax, dense 3"
#define ROWS 12
#define BATCH 8 /* the second one has 4 rows */

static void tell(const struct train_run *run)
{
    const char *path = getenv("MOTLEY_TEST_COUNTS");
    FILE *file = path ? fopen(path, "a") : NULL;
    mot_inventory *inventory = NULL;
    struct mot_counts counts;

    assert_ok(mot_inventory_open(NULL, &inventory));
    for (size_t lane = 0; lane < mot_fleet_count(run->fleet); lane++) {
        assert_ok(mot_bench_counts(run->fleet, lane, &counts));
        assert_true(counts.launches > 0);
        if (file)
            fprintf(file, "%s: %llu launches\n", mot_inventory_get(inventory, 0)->platform,
                    (unsigned long long)counts.launches);
    }
    if (file)
        fclose(file);
    mot_inventory_close(inventory);
}

/* Two epochs and a test. The caller frees the parameters. */
static float *learn(const char *devices, const struct mot_optimizer *optimizer,
                    enum mot_strategy strategy, const struct train_set *set)
{
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run;
    struct mot_metrics metrics;
    float *parameters;

    config.optimizer = *optimizer;
    config.strategy = strategy;
    config.verify = 1;
    run = train_open(devices, NET, &config, train_data(set, false, BATCH));
    fit.epochs = 1;
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL)); /* on the device, gathered */
    train_steps(&run, 2);                                        /* from the host */
    assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
    assert_int_equal(metrics.count, ROWS);
    assert_true(isfinite(metrics.loss));
    train_copies_agree(&run);
    parameters = train_get(&run, 0);
    tell(&run);
    train_close(&run);
    return parameters;
}

static void alone_and_mirrored_are_one(void **state)
{
    struct mot_optimizer optimizer[] = {mot_optimizer_default(MOT_RULE_ADAM),
                                        mot_optimizer_default(MOT_RULE_SGD)};
    struct train_set set = train_set_make(ROWS, 6, 3, 1);
    const size_t numbers = 6 * 9 + 9 + 9 * 9 + 9 + 9 * 3 + 3;

    (void)state;
    optimizer[1].momentum = 0.9;
    optimizer[1].clip_norm = 0.1;
    for (size_t o = 0; o < 2; o++) {
        float *one = learn("0", &optimizer[o], MOT_STRATEGY_SINGLE, &set);
        float *two = learn(test_small() ? "0" : "0,0", &optimizer[o],
                           o ? MOT_STRATEGY_CENTRAL : MOT_STRATEGY_MIRRORED, &set);

        check_seen("parameters", one, numbers);
        check_close("parameters", two, one, numbers, 0, 1e-4);
        free(one);
        free(two);
    }
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_and_mirrored_are_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
