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

enum { LANES_MOST = 8, BATCH = 8 };

/* Steps, and how many rows of whole batches each replica took. */
static void count_steps(struct train_run *run, size_t steps, size_t rows[LANES_MOST])
{
    size_t share[LANES_MOST];

    assert_in_range(mot_trainer_replicas(run->trainer), 1, LANES_MOST);
    while (steps-- > 0) {
        train_steps(run, 1);
        assert_ok(mot_trainer_split(run->trainer, BATCH, share));
        for (size_t i = 0; i < mot_trainer_replicas(run->trainer); i++)
            rows[i] += share[i];
    }
}

/* Mirrored: nobody is left out, however slow. */
static double learn(const char *text, const char *shares, size_t steps, size_t *lanes,
                    size_t rows[LANES_MOST])
{
    const char *wanted = getenv("MOTLEY_TEST_PLATFORMS");
    struct train_set set = train_set_make(23, 6, 3, 1); /* batches of 8: the last has 7 */
    struct mot_trainer_config config = train_config();
    struct mot_metrics metrics;
    struct train_run run;

    config.strategy = MOT_STRATEGY_MIRRORED;
    config.shares = shares;
    run = train_open(text, NET, &config, train_data(&set, false, BATCH));

    if (wanted && lanes)
        assert_int_equal(platforms(run.fleet), atoi(wanted));
    if (lanes)
        *lanes = mot_trainer_replicas(run.trainer);
    count_steps(&run, steps, rows);
    metrics = train_metrics(&run);
    assert_int_equal(metrics.steps, steps);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
    return metrics.loss;
}

/* The loss of all together and of the first alone agree; every implementation took rows. */
static void compare(const char *shares, size_t steps, bool uneven)
{
    size_t lanes, rows[LANES_MOST] = {0}, first[LANES_MOST] = {0};
    double loss = learn(devices(), shares, steps, &lanes, rows),
           alone = learn("0", "even", steps, NULL, first);

    assert_true(lanes >= 2);
    if (!(fabs(loss - alone) <= 1e-3))
        fail_msg("loss %g together, %g on the first alone", loss, alone);
    assert_int_equal(first[0], steps * BATCH);
    for (size_t i = 0; i < lanes; i++)
        if (rows[i] == 0 || (uneven && i > 0 && rows[i] >= rows[i - 1]))
            fail_msg("with shares %s, replica %zu took %zu rows", shares, i, rows[i]);
}

static void copies_stay_equal_to_the_bit_under_adam(void **state)
{
    (void)state;
    compare("even", test_small() ? 40 : 200, false);
}

static void copies_stay_equal_under_uneven_shares(void **state)
{
    mot_fleet *fleet = train_fleet(devices());
    char shares[32] = "";

    (void)state;
    for (size_t i = mot_fleet_count(fleet); i > 0; i--) /* "3,2,1" */
        snprintf(shares + strlen(shares), sizeof shares - strlen(shares), "%s%zu",
                 shares[0] ? "," : "", i);
    mot_fleet_close(fleet);
    compare(shares, test_small() ? 20 : 100, true);
}

/* Whatever rows the clocks gave to each: a device that is very slow may get none. */
static void copies_stay_equal_under_automatic_shares(void **state)
{
    const size_t steps = test_small() ? 60 : 200;
    size_t lanes, rows[LANES_MOST] = {0}, first[LANES_MOST] = {0};
    double loss = learn(devices(), "auto", steps, &lanes, rows),
           alone = learn("0", "even", steps, NULL, first);

    (void)state;
    if (!(fabs(loss - alone) <= 1e-3))
        fail_msg("loss %g together, %g on the first alone", loss, alone);
    for (size_t i = 0; i < lanes; i++)
        print_message("replica %zu took %zu rows\n", i, rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_stay_equal_to_the_bit_under_adam),
        cmocka_unit_test(copies_stay_equal_under_uneven_shares),
        cmocka_unit_test(copies_stay_equal_under_automatic_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
