/* test_vendors.c - implementations of OpenCL that know nothing of each other keep one network equal
 * to the bit. Runs over $MOTLEY_TEST_DEVICES ("0,0,0" if unset); $MOTLEY_TEST_PLATFORMS says how
 * many different implementations those must be. */
#include "support/train.h"

#define NET "input 6, dense 8 tanh, dropout 0.1, dense 3"

static const char *devices(void)
{
    const char *text = getenv("MOTLEY_TEST_DEVICES");

    return text ? text : "0,0,0";
}

static size_t platforms(const mot_fleet *fleet)
{
    size_t different = 0;

    for (size_t i = 0; i < mot_fleet_count(fleet); i++) {
        bool seen = false;

        for (size_t j = 0; j < i; j++)
            seen = seen || strcmp(mot_fleet_get(fleet, i)->platform,
                                  mot_fleet_get(fleet, j)->platform) == 0;
        different += !seen;
    }
    return different;
}

/* Mirrored: nobody is left out, however slow. */
static double learn(const char *text, const char *shares, size_t steps, size_t *lanes)
{
    const char *wanted = getenv("MOTLEY_TEST_PLATFORMS");
    struct train_set set = train_set_make(23, 6, 3, 1); /* batches of 8: the last has 7 */
    struct mot_trainer_config config = train_config();
    struct mot_metrics metrics;
    struct train_run run;

    config.strategy = MOT_STRATEGY_MIRRORED;
    config.shares = shares;
    run = train_open(text, NET, &config, train_data(&set, false, 8));

    if (wanted && lanes)
        assert_int_equal(platforms(run.fleet), atoi(wanted));
    if (lanes)
        *lanes = mot_trainer_replicas(run.trainer);
    train_steps(&run, steps);
    metrics = train_metrics(&run);
    assert_int_equal(metrics.steps, steps);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
    return metrics.loss;
}

static void copies_stay_equal_to_the_bit_under_adam(void **state)
{
    const size_t steps = test_small() ? 40 : 200;
    size_t lanes;
    double loss = learn(devices(), "even", steps, &lanes), alone;

    (void)state;
    assert_true(lanes >= 2);
    alone = learn("0", "even", steps, NULL);
    if (!(fabs(loss - alone) <= 1e-3))
        fail_msg("loss %g together, %g on the first alone", loss, alone);
}

/* Whatever rows the clocks gave to each. */
static void copies_stay_equal_under_automatic_shares(void **state)
{
    const size_t steps = test_small() ? 60 : 200;
    double loss = learn(devices(), "auto", steps, NULL), alone = learn("0", "even", steps, NULL);

    (void)state;
    if (!(fabs(loss - alone) <= 1e-3))
        fail_msg("loss %g together, %g on the first alone", loss, alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_stay_equal_to_the_bit_under_adam),
        cmocka_unit_test(copies_stay_equal_under_automatic_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
