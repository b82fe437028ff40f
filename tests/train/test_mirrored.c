/* test_mirrored.c - one network on several lanes learns what it learns on one. */
#include "support/train.h"

#define NET "input 20, dense 24 relu, dropout 0.25, dense 5"
#define ROWS 66 /* batches of 32: the last one has 2 rows, fewer than some fleets have lanes */
#define STEPS 50

static const struct fleet {
    const char *devices, *shares;
    size_t lanes;
} fleets[] = {
    {"0,0", "even", 2},     {"0,0", "3,1", 2},         {"0,0", "1,0", 2},  {"0,0", "0,1", 2},
    {"0,0,0", "even", 3},   {"0,0,0", "5,0,2", 3},     {"0/2", "even", 2}, {"0/2,0", "2,1,1", 3},
    {"0,0,0,0", "even", 4}, {"0,0,0,0", "1,1,1,7", 4}, {"0", "even", 1},
};

struct result {
    double loss[2]; /* of the first half of the steps and of the second */
    float *parameters;
};

static struct result learn(const struct fleet *fleet, enum mot_strategy strategy)
{
    struct train_set set = train_set_make(ROWS, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run;
    struct result result;
    mot_data *data = train_data(&set, false, 32);

    config.strategy = strategy;
    config.shares = fleet->shares;
    assert_ok(mot_data_shuffle(data, 3));
    run = train_open(fleet->devices, NET, &config, data);
    assert_int_equal(mot_trainer_replicas(run.trainer), fleet->lanes);
    for (size_t half = 0; half < 2; half++) {
        struct mot_metrics metrics;

        train_steps(&run, STEPS / 2);
        metrics = train_metrics(&run);
        result.loss[half] = metrics.loss;
        assert_int_equal(metrics.steps, STEPS / 2);
        assert_int_equal(metrics.skipped, 0);
    }
    train_copies_agree(&run);
    result.parameters = train_get(&run, 0);
    train_close(&run);
    train_set_clear(&set);
    return result;
}

static void any_lanes_and_shares_learn_what_one_learns(void **state)
{
    const struct fleet alone = {"0", NULL, 1};
    struct result one = learn(&alone, MOT_STRATEGY_SINGLE);
    const size_t numbers = 20 * 24 + 24 + 24 * 5 + 5;

    (void)state;
    assert_true(one.loss[1] < 0.7 * one.loss[0]); /* it does learn */
    for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++) {
        struct result many;

        if (!train_can(fleets[f].devices))
            continue;
        many = learn(&fleets[f], test_strategy());
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s shares %s", fleets[f].devices,
                 fleets[f].shares);
        check_close("parameters", many.parameters, one.parameters, numbers, 0, 1e-4);
        for (size_t half = 0; half < 2; half++)
            if (!(fabs(many.loss[half] - one.loss[half]) <= 1e-4))
                fail_msg("[%s] loss %.7f, alone %.7f", check_where(), many.loss[half],
                         one.loss[half]);
        free(many.parameters);
    }
    free(one.parameters);
}

static void the_first_values_are_the_same_on_any_number_of_lanes(void **state)
{
    struct mot_trainer_config config = train_config();
    float *first = NULL;

    (void)state;
    for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++) {
        struct train_run run;
        float *now;

        if (!train_can(fleets[f].devices))
            continue;
        config.shares = fleets[f].shares;
        run = train_open(fleets[f].devices, NET, &config, NULL);
        now = train_get(&run, 0);
        train_copies_agree(&run);
        if (first)
            check_bits("first values", now, first, train_numbers(&run));
        else
            check_seen("first values", now, train_numbers(&run));
        train_close(&run);
        free(first);
        first = now;
    }
    free(first);
}

/* ---- who takes which rows ---- */

struct shards {
    size_t rows[4], first[4], calls[4];
};

static int note_shard(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    struct shards *seen = user;

    seen->rows[shard->replica] = shard->rows; /* each replica writes its own place */
    seen->first[shard->replica] = shard->first;
    seen->calls[shard->replica]++;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

static void rows_are_dealt_as_promised(void **state)
{
    static const struct {
        const char *devices, *shares;
        size_t rows, lanes, share[4];
    } deals[] = {
        {"0,0,0", "even", 4, 3, {2, 1, 1}},
        {"0,0,0,0", "even", 7, 4, {2, 2, 2, 1}},
        {"0,0,0,0", "even", 2, 4, {1, 1, 0, 0}},
        {"0,0", "3,1", 16, 2, {12, 4}},
        {"0,0", "1,0", 5, 2, {5, 0}},
        {"0,0,0", "1,1,2", 8, 3, {2, 2, 4}},
    };

    (void)state;
    for (size_t d = 0; d < sizeof deals / sizeof *deals; d++) {
        struct train_set set = train_set_make(deals[d].rows, 20, 5, 1);
        struct mot_trainer_config config = train_config();
        struct shards seen = {{0}, {0}, {0}};
        struct train_run run;
        size_t share[4], begin = 0;

        config.shares = deals[d].shares;
        run = train_open(deals[d].devices, NET, &config, train_data(&set, false, deals[d].rows));
        assert_ok(mot_trainer_split(run.trainer, deals[d].rows, share));
        assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), note_shard, &seen));
        for (size_t r = 0; r < deals[d].lanes; r++) {
            assert_int_equal(share[r], deals[d].share[r]);
            assert_int_equal(seen.rows[r], deals[d].share[r]);
            assert_int_equal(seen.first[r], begin);
            assert_int_equal(seen.calls[r], 1);
            begin += share[r];
        }
        train_close(&run);
        train_set_clear(&set);
    }
}

/* Of 11 rows by 6, 6, 2 the last replica takes 1, of the 10 that are left 2. */
static void a_smaller_batch_may_give_a_replica_more_rows(void **state)
{
    struct train_set set = train_set_make(21, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run one = train_open("0", NET, &config, train_data(&set, false, 11)), many;
    size_t share[3];
    float *a, *b;

    (void)state;
    config.shares = "6,6,2";
    many = train_open("0,0,0", NET, &config, train_data(&set, false, 11));
    assert_ok(mot_trainer_split(many.trainer, 11, share));
    assert_int_equal(share[2], 1);
    assert_ok(mot_trainer_split(many.trainer, 10, share));
    assert_int_equal(share[2], 2);
    train_steps(&one, 20);
    train_steps(&many, 20);
    a = train_get(&one, 0);
    b = train_get(&many, 0);
    check_close("parameters", b, a, train_numbers(&one), 0, 1e-4);
    train_copies_agree(&many);
    free(a);
    free(b);
    train_close(&one);
    train_close(&many);
    train_set_clear(&set);
}

/* 100 samples in batches of 16 over two replicas: 7 steps, the last with 2 rows each. */
static void an_epoch_ends_with_what_is_left(void **state)
{
    struct train_set set = train_set_make(100, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run = train_open("0,0", NET, &config, train_data(&set, false, 16));
    struct shards seen = {{0}, {0}, {0}};
    size_t steps = 0;

    (void)state;
    for (;; steps++) {
        mot_batch *batch = NULL;

        assert_ok(mot_data_next(run.data, &batch));
        if (!batch)
            break;
        assert_ok(mot_trainer_run(run.trainer, batch, note_shard, &seen));
        assert_ok(mot_trainer_apply(run.trainer));
        assert_int_equal(seen.rows[0], steps < 6 ? 8 : 2);
        assert_int_equal(seen.rows[1], steps < 6 ? 8 : 2);
    }
    assert_int_equal(steps, 7);
    assert_int_equal(train_metrics(&run).count, 100);
    train_close(&run);
    train_set_clear(&set);
}

static void shares_that_do_not_fit_the_fleet_get_a_sentence(void **state)
{
    static const struct {
        const char *shares, *words;
    } bad[] = {{"3", "1 for 2 replicas"},
               {"1,2,3", "more than the 2 replicas"},
               {"1,x", "character 3"},
               {"0,0", "sum to 0"},
               {"1,-1", "character 3"},
               {"", NULL},
               {"auto", NULL}};
    mot_fleet *fleet = train_fleet("0,0");
    mot_model *net = train_net(NET);

    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        struct mot_trainer_config config = train_config();
        mot_trainer *trainer = NULL;

        config.shares = bad[b].shares;
        if (bad[b].words)
            assert_story(mot_trainer_open(fleet, net, &config, &trainer), MOT_BAD_ARG,
                         bad[b].words);
        else
            assert_ok(mot_trainer_open(fleet, net, &config, &trainer));
        mot_trainer_close(trainer);
    }
    mot_model_close(net);
    mot_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_lanes_and_shares_learn_what_one_learns),
        cmocka_unit_test(the_first_values_are_the_same_on_any_number_of_lanes),
        cmocka_unit_test(rows_are_dealt_as_promised),
        cmocka_unit_test(a_smaller_batch_may_give_a_replica_more_rows),
        cmocka_unit_test(an_epoch_ends_with_what_is_left),
        cmocka_unit_test(shares_that_do_not_fit_the_fleet_get_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
