/* test_loop.c - a loop of one's own: run, apply, a loss of one's own, reduce; the golden values of
 * tf.distribute. A linear layer from an input of ones makes its weight's gradient what is given. */
#include "support/train.h"

/* "input 1, dense 2": y = w x + b; with rows of x and given dy, dw = sum dy x and db = sum dy. */
static struct train_run open_linear(const char *devices, const char *net, double lr, double clip,
                                    const struct train_set *set, size_t batch)
{
    struct mot_trainer_config config = train_config();

    config.optimizer = mot_optimizer_default(MOT_RULE_SGD);
    config.optimizer.lr = lr;
    config.optimizer.clip_norm = clip;
    config.loss = MOT_LOSS_MSE;
    return train_open(devices, net, &config, train_data(set, true, batch));
}

/* n rows of the unit vector of their number: row r makes dw[:, r] its own dy. */
static struct train_set unit_rows(size_t n, size_t classes)
{
    struct train_set set = train_set_make(n, n, classes, 1);

    memset(set.x, 0, n * n * sizeof *set.x);
    for (size_t i = 0; i < n; i++)
        set.x[i * n + i] = 1;
    return set;
}

struct given {
    const float *dy; /* (batch rows, outputs) */
    size_t width;
    size_t times;
};

static int give(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    const struct given *given = user;
    int failed = 0;

    for (size_t i = 0; i < given->times && !failed; i++)
        failed = mot_replica_forward(replica) ||
                 mot_replica_backward_from(replica, given->dy + shard->first * given->width);
    return failed;
}

/* lr 1, [[1,2],[3,4]], g = [[1,1],[2,2]]: the mean of three runs is g, and is applied once. */
static void runs_add_up_until_they_are_applied(void **state)
{
    static const char *const fleets[] = {"0", "0,0"};
    const float start[] = {1, 2, 3, 4}, once[] = {0, 1, 1, 2}, twice[] = {-1, 0, -1, 0};
    const float dy[] = {2, 4, 2, 4}; /* two rows: the mean over both is half of it */
    struct train_set set = unit_rows(2, 2);
    float w[4];

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct train_run run = open_linear(fleets[f], "input 2, dense 2", 1, 0, &set, 2);
        struct given given = {dy, 2, 1};

        assert_ok(mot_trainer_set(run.trainer, "dense1.weight", start, 4));
        for (size_t round = 0; round < 2; round++) {
            for (size_t i = 0; i < 3; i++) {
                assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), give, &given));
                assert_ok(mot_trainer_get(run.trainer, "dense1.weight", w, 4));
                check_bits("before apply", w, round ? once : start, 4);
            }
            assert_ok(mot_trainer_apply(run.trainer));
            assert_ok(mot_trainer_get(run.trainer, "dense1.weight", w, 4));
            check_close("after apply", w, round ? twice : once, 4, 0, 1e-6);
        }
        given.times = 3; /* three micro-batches in one run are the same */
        assert_ok(mot_trainer_set(run.trainer, "dense1.weight", start, 4));
        assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), give, &given));
        assert_ok(mot_trainer_apply(run.trainer));
        assert_ok(mot_trainer_get(run.trainer, "dense1.weight", w, 4));
        check_close("three in one run", w, once, 4, 0, 1e-6);
        train_copies_agree(&run);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* lr 0.5, two replicas, v = [1,2,3,4], g = [1,6,7,2] on each, summed: [0,-4,-4,2]. Our update
 * divides by the two rows, so each gives twice its g. */
static void replicas_sum_their_gradients(void **state)
{
    const float start[] = {1, 2, 3, 4}, want[] = {0, -4, -4, 2};
    const float dy[] = {2, 12, 14, 4, 2, 12, 14, 4};
    struct train_set set = unit_rows(2, 4);
    struct train_run run = open_linear("0,0", "input 2, dense 4", 0.5, 0, &set, 2);
    struct given given = {dy, 4, 1};
    float b[4];

    (void)state;
    assert_ok(mot_trainer_set(run.trainer, "dense1.bias", start, 4));
    assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), give, &given));
    assert_ok(mot_trainer_apply(run.trainer));
    assert_ok(mot_trainer_get(run.trainer, "dense1.bias", b, 4));
    check_close("bias", b, want, 4, 0, 1e-6);
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
}

/* clipnorm 1 of [100, 100] is [.7071, .7071]; the norm is of the whole mean gradient. */
static void a_long_gradient_is_clipped(void **state)
{
    const float dy[] = {100, 100}, zero[2] = {0, 0}, want[] = {-.70710678f, -.70710678f};
    const float small[] = {0.3f, 0.4f}, same[] = {-0.3f, -0.4f};
    struct train_set set = train_set_make(1, 1, 2, 1);
    struct given given = {dy, 2, 1};
    struct train_run run;
    float b[2];

    (void)state;
    set.x[0] = 0; /* the weights' gradient is zero: the biases' is all there is */
    run = open_linear("0", "input 1, dense 2", 1, 1, &set, 1);
    assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), give, &given));
    assert_ok(mot_trainer_apply(run.trainer));
    assert_ok(mot_trainer_get(run.trainer, "dense1.bias", b, 2));
    check_close("clipped", b, want, 2, 1e-5, 0);
    assert_ok(mot_trainer_set(run.trainer, "dense1.bias", zero, 2));
    given.dy = small;
    assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), give, &given));
    assert_ok(mot_trainer_apply(run.trainer));
    assert_ok(mot_trainer_get(run.trainer, "dense1.bias", b, 2));
    check_close("short enough", b, same, 2, 1e-6, 0);
    train_close(&run);
    train_set_clear(&set);
}

/* ---- a loss of one's own ---- */

struct own {
    const struct train_set *set;
    bool softmax; /* the net ends in one: its outputs are probabilities */
};

/* Cross-entropy written by hand: of probabilities -1/p at the label, of logits softmax - one-hot.
 */
static int own_loss(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    const struct own *own = user;
    const size_t classes = own->set->classes;
    float y[64] = {0}, dy[64] = {0};
    int failed = mot_replica_forward(replica) || mot_replica_output(replica, y);

    for (size_t r = 0; r < shard->rows; r++) {
        const size_t label = own->set->labels[shard->first + r];
        const float *row = y + r * classes;
        double sum = 0;

        for (size_t k = 0; k < classes; k++)
            sum += own->softmax ? (double)row[k] : exp((double)row[k]);
        if (own->softmax && fabs(sum - 1) > 1e-5)
            return 99; /* no probabilities */
        for (size_t k = 0; k < classes; k++) {
            const double t = k == label;

            dy[r * classes + k] =
                (float)(own->softmax ? -t / (double)row[k] : exp((double)row[k]) / sum - t);
        }
    }
    return failed || mot_replica_backward_from(replica, dy);
}

static int built_in(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

static void a_loss_of_ones_own_equals_the_built_in(void **state)
{
    static const char *const nets[] = {"input 6, dense 5 tanh, dense 4 softmax",
                                       "input 6, dense 5 tanh, dense 4"};
    static const char *const fleets[] = {"0", "0,0,0"};
    struct train_set set = train_set_make(10, 6, 4, 2);
    struct mot_trainer_config config = train_config();

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct own own = {&set, i % 2 == 0};
        struct train_run by_hand =
            train_open(fleets[i / 2], nets[i % 2], &config, train_data(&set, false, 10));
        struct train_run by_us = train_open("0", nets[i % 2], &config, train_data(&set, false, 10));
        float *a, *b;

        for (size_t s = 0; s < 20; s++) {
            assert_ok(mot_trainer_run(by_hand.trainer, train_batch(by_hand.data), own_loss, &own));
            assert_ok(mot_trainer_apply(by_hand.trainer));
            if (s % 2) {
                assert_ok(mot_trainer_step(by_us.trainer, train_batch(by_us.data)));
                continue; /* a step is run and apply */
            }
            assert_ok(mot_trainer_run(by_us.trainer, train_batch(by_us.data), built_in, NULL));
            assert_ok(mot_trainer_apply(by_us.trainer));
        }
        a = train_get(&by_hand, 0);
        b = train_get(&by_us, 0);
        check_close("parameters", a, b, train_numbers(&by_us), 0, 1e-4);
        train_copies_agree(&by_hand);
        free(a);
        free(b);
        train_close(&by_hand);
        train_close(&by_us);
    }
    train_set_clear(&set);
}

/* Micro-batches of 4 added up to one update are a batch of 12. */
static void accumulated_micro_batches_equal_the_whole_batch(void **state)
{
    struct train_set set = train_set_make(12, 6, 4, 2);
    struct mot_trainer_config config = train_config();
    const char *net = "input 6, dense 5 tanh, dense 4";
    struct train_run parts = train_open("0,0", net, &config, train_data(&set, false, 4));
    struct train_run whole = train_open("0", net, &config, train_data(&set, false, 12));
    float *a, *b;

    (void)state;
    for (size_t s = 0; s < 10; s++) {
        for (size_t i = 0; i < 3; i++)
            assert_ok(mot_trainer_run(parts.trainer, train_batch(parts.data), built_in, NULL));
        assert_ok(mot_trainer_apply(parts.trainer));
        train_steps(&whole, 1);
    }
    a = train_get(&parts, 0);
    b = train_get(&whole, 0);
    check_close("parameters", a, b, train_numbers(&whole), 0, 1e-5);
    assert_true(fabs(train_metrics(&parts).loss - train_metrics(&whole).loss) < 1e-5);
    free(a);
    free(b);
    train_close(&parts);
    train_close(&whole);
    train_set_clear(&set);
}

static int scaled(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard;
    return mot_replica_forward(replica) || mot_replica_backward(replica, *(const double *)user);
}

static void the_scale_scales_the_gradient_and_not_the_loss(void **state)
{
    struct train_set set = train_set_make(4, 3, 3, 2);
    struct mot_metrics metrics[2];
    float *moved[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct train_run run = open_linear("0", "input 3, dense 3", 1, 0, &set, 4);
        float *start = train_get(&run, 0);
        double scale = i ? 0.25 : 1;

        assert_ok(mot_trainer_run(run.trainer, train_batch(run.data), scaled, &scale));
        assert_ok(mot_trainer_apply(run.trainer));
        metrics[i] = train_metrics(&run);
        moved[i] = train_get(&run, 0);
        for (size_t k = 0; k < 12; k++)
            moved[i][k] = (moved[i][k] - start[k]) / (float)scale;
        free(start);
        train_close(&run);
    }
    check_seen("moved", moved[0], 12);
    check_close("a quarter of the way, four times", moved[1], moved[0], 12, 1e-4, 1e-6);
    assert_true(metrics[0].loss == metrics[1].loss && metrics[0].count == metrics[1].count);
    free(moved[0]);
    free(moved[1]);
    train_set_clear(&set);
}

/* ---- reduce ---- */

static void reduce_sums_or_means_over_replicas(void **state)
{
    const float value[] = {1, 2, 3, 10, 20, 30, 100, 200, 300};
    const float sum[] = {111, 222, 333}, mean[] = {37, 74, 111};
    struct train_set set = train_set_make(4, 3, 3, 2);
    struct train_run run = open_linear("0,0,0", "input 3, dense 3", 1, 0, &set, 4);
    float out[3];

    (void)state;
    assert_ok(mot_trainer_reduce(run.trainer, MOT_REDUCE_SUM, value, 3, out));
    check_close("sum", out, sum, 3, 1e-6, 0);
    assert_ok(mot_trainer_reduce(run.trainer, MOT_REDUCE_MEAN, value, 3, out));
    check_close("mean", out, mean, 3, 1e-6, 0);
    assert_story(mot_trainer_reduce(run.trainer, (enum mot_reduce)7, value, 3, out), MOT_BAD_ARG,
                 "neither sum nor mean");
    train_close(&run);
    train_set_clear(&set);
}

/* ---- misuse ---- */

static int backward_first(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_backward(replica, 1);
}

static int backward_twice(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1) ||
           mot_replica_backward(replica, 1);
}

static int output_late(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    float y[64];

    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1) ||
           mot_replica_output(replica, y);
}

static int bad_scale(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, NAN);
}

static int refuse(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)user;
    if (mot_replica_forward(replica) || mot_replica_backward(replica, 1))
        return 1;
    return shard->replica == 1 ? 42 : 0;
}

/* What a callback did wrong, or its wish to stop, is told; the trainer and what it learned stay. */
static void a_callback_that_fails_leaves_the_trainer_whole(void **state)
{
    static const struct {
        mot_replica_fn fn;
        mot_status status;
        const char *words;
    } rows[] = {{backward_first, MOT_BAD_STATE, "mot_replica_forward"},
                {backward_twice, MOT_BAD_STATE, "mot_replica_forward"},
                {output_late, MOT_BAD_STATE, "mot_replica_forward"},
                {bad_scale, MOT_BAD_ARG, "not a finite number"},
                {refuse, MOT_STOPPED, "the callback of replica 1 returned 42"}};
    struct train_set set = train_set_make(24, 6, 4, 2);
    struct mot_trainer_config config = train_config();
    const char *net = "input 6, dense 5 tanh, dense 4";
    struct train_run good = train_open("0,0", net, &config, train_data(&set, false, 8));
    struct train_run run = train_open("0,0", net, &config, train_data(&set, false, 8));
    float *a, *b;

    (void)state;
    assert_story(mot_trainer_apply(run.trainer), MOT_BAD_STATE, "nothing was run yet");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_story(mot_trainer_run(run.trainer, train_batch(run.data), rows[i].fn, NULL),
                     rows[i].status, rows[i].words);
        train_steps(&run, 1); /* what the failed run had added is gone */
        mot_batch_close(train_batch(good.data));
        train_steps(&good, 1);
    }
    a = train_get(&run, 0);
    b = train_get(&good, 0);
    check_bits("parameters", a, b, train_numbers(&run));
    train_copies_agree(&run);
    free(a);
    free(b);
    train_close(&good);
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_add_up_until_they_are_applied),
        cmocka_unit_test(replicas_sum_their_gradients),
        cmocka_unit_test(a_long_gradient_is_clipped),
        cmocka_unit_test(a_loss_of_ones_own_equals_the_built_in),
        cmocka_unit_test(accumulated_micro_batches_equal_the_whole_batch),
        cmocka_unit_test(the_scale_scales_the_gradient_and_not_the_loss),
        cmocka_unit_test(reduce_sums_or_means_over_replicas),
        cmocka_unit_test(a_callback_that_fails_leaves_the_trainer_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
