/* test_gradients.c - the gradient of whole networks against finite differences of the loss they
 * tell. Plain descent with a rate of 1 moves the parameters by the mean gradient exactly, so the
 * gradient is read off the parameters. */
#include "support/train.h"

#define ROWS 6
#define IN 3
#define OUT 3
#define STEP 5e-3

static mot_fleet *fleet; /* one for all: opening takes most of the time */

static int open_fleet(void **state)
{
    (void)state;
    fleet = train_fleet("0");
    return 0;
}

static int close_fleet(void **state)
{
    (void)state;
    mot_fleet_close(fleet);
    return 0;
}

enum form { LABELS, HOT_ROWS, ANY_ROWS };

struct problem {
    const char *net;
    enum mot_loss loss;
    enum form form;
};

/* A fresh trainer each time: what is random depends on the number of the step, so every first step
 * of one seed draws the same. */
static struct train_run begin(const struct problem *problem, const struct train_set *set, double lr)
{
    struct mot_trainer_config config = train_config();
    struct train_run run = {fleet, train_net(problem->net), NULL,
                            train_data(set, problem->form != LABELS, ROWS)};

    config.loss = problem->loss;
    config.optimizer = mot_optimizer_default(MOT_RULE_SGD);
    config.optimizer.lr = lr;
    assert_ok(mot_trainer_open(fleet, run.net, &config, &run.trainer));
    return run;
}

static void end(struct train_run *run)
{
    run->fleet = NULL; /* the group's */
    train_close(run);
}

static struct train_set samples(enum form form)
{
    struct train_set set = train_set_make(ROWS, IN, OUT, 11);

    if (form == ANY_ROWS)
        test_fill(set.rows, ROWS * OUT, 5, -1, 1);
    return set;
}

static double loss_at(const struct problem *problem, const struct train_set *set, const float *w)
{
    struct train_run run = begin(problem, set, 0);
    struct mot_metrics metrics;

    train_set_all(&run, w);
    train_steps(&run, 1);
    metrics = train_metrics(&run);
    assert_int_equal(metrics.count, ROWS);
    end(&run);
    return metrics.loss;
}

/* The gradient at w; w is where a start of its own puts it. Both are the caller's. */
static size_t gradient(const struct problem *problem, const struct train_set *set, float **w,
                       float **g)
{
    struct train_run run = begin(problem, set, 1);
    const size_t n = train_numbers(&run);
    float *after;

    *w = train_get(&run, 0);
    for (size_t i = 0; i < n; i++) /* biases start at zero, where a fault could hide */
        (*w)[i] += 0.1f * (float)((i * 5) % 7) - 0.3f;
    train_set_all(&run, *w);
    train_steps(&run, 1);
    after = train_get(&run, 0);
    *g = test_floats(n);
    for (size_t i = 0; i < n; i++)
        (*g)[i] = (*w)[i] - after[i];
    free(after);
    end(&run);
    return n;
}

static void compare_with_differences(const struct problem *problem)
{
    struct train_set set = samples(problem->form);
    float *w, *g;
    const size_t n = gradient(problem, &set, &w, &g);

    snprintf(check_where(), CHECK_WHERE_BYTES, "%.150s, loss %d", problem->net, (int)problem->loss);
    check_seen("gradient", g, n);
    for (size_t i = 0; i < n; i++) {
        const float kept = w[i];
        double numeric;

        w[i] = kept + (float)STEP;
        numeric = loss_at(problem, &set, w);
        w[i] = kept - (float)STEP;
        numeric = (numeric - loss_at(problem, &set, w)) / (2 * STEP);
        w[i] = kept;
        if (!(fabs(numeric - (double)g[i]) <= 2e-4 + 2e-3 * fabs(numeric)))
            fail_msg("[%s] parameter %zu of %zu: analytic %g, numeric %g", check_where(), i, n,
                     (double)g[i], numeric);
    }
    free(w);
    free(g);
    train_set_clear(&set);
}

static void each_activation_matches_finite_differences(void **state)
{
    static const char *const acts[] = {"relu", "leaky_relu", "gelu", "sigmoid", "tanh", "softmax"};
    char text[128];

    (void)state;
    for (size_t a = 0; a < sizeof acts / sizeof *acts; a++) {
        const struct problem inside = {text, MOT_LOSS_CROSS_ENTROPY, LABELS};
        const struct problem last = {text, MOT_LOSS_MSE, ANY_ROWS};

        snprintf(text, sizeof text, "input 3, dense 4 %s, dense 3", acts[a]);
        compare_with_differences(&inside);
        snprintf(text, sizeof text, "input 3, dense 3 %s", acts[a]);
        compare_with_differences(&last);
    }
}

static void residual_and_branching_nets_match_finite_differences(void **state)
{
    static const char *const nets[] = {
        /* three users of one value */
        "input 3, dense 4 tanh, mark a, dense 4 sigmoid, add a, dense 4 gelu, add a, dense 3",
        /* a value added to itself, then used again */
        "input 3, dense 4 gelu, mark a, add a, tanh, add a, dense 3",
        /* two branches, joined; the input is used three times and learns nothing */
        "input 3, mark x, dense 3 tanh, mark a, goto x, dense 3, sigmoid, mark b, goto x, dense 3 "
        "gelu, add a, add b, add x, dense 3",
        /* a sum is the output; softmax and activations follow what is used elsewhere too */
        "input 3, dense 3, mark a, softmax, mark s, goto a, gelu, add s, tanh, add a",
        /* a branch that leads nowhere */
        "input 3, dense 4 tanh, mark a, dense 9 relu, goto a, dense 3",
        "input 3, mark x, softmax, add x, dense 3 tanh, mark t, dense 3, add t, softmax"};

    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const struct problem problem = {nets[i], MOT_LOSS_CROSS_ENTROPY, LABELS};

        compare_with_differences(&problem);
    }
}

static void dropout_matches_finite_differences_with_its_mask_held(void **state)
{
    static const char *const nets[] = {
        "input 3, dropout 0.3, dense 4 tanh, dropout 0.5, dense 3",
        "input 3, dense 4 gelu, mark a, dropout 0.5, dense 4 tanh, dropout 0.25, add a, dense 3",
        "input 3, dense 3 tanh, dropout 0.4"};

    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const struct problem problem = {nets[i], MOT_LOSS_CROSS_ENTROPY, LABELS};

        compare_with_differences(&problem);
    }
}

static void each_loss_matches_finite_differences(void **state)
{
    static const struct problem problems[] = {
        {"input 3, dense 4 tanh, dense 3 softmax", MOT_LOSS_CROSS_ENTROPY, HOT_ROWS},
        {"input 3, dense 3", MOT_LOSS_CROSS_ENTROPY, HOT_ROWS},
        {"input 3, dense 3 sigmoid", MOT_LOSS_CROSS_ENTROPY_PROBABILITIES, LABELS},
        {"input 3, dense 3 sigmoid", MOT_LOSS_CROSS_ENTROPY_PROBABILITIES, HOT_ROWS},
        {"input 3, dense 3 softmax, dropout 0.2", MOT_LOSS_MSE, ANY_ROWS},
        {"input 3, dense 4 tanh, dense 3", MOT_LOSS_MSE, ANY_ROWS}};

    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        compare_with_differences(&problems[i]);
}

/* However cross-entropy is written, it is one number with one gradient. */
static void ways_to_write_cross_entropy_agree(void **state)
{
    static const struct problem ways[] = {
        {"input 3, dense 4 tanh, dense 3", MOT_LOSS_CROSS_ENTROPY, LABELS},
        {"input 3, dense 4 tanh, dense 3 softmax", MOT_LOSS_CROSS_ENTROPY, LABELS},
        {"input 3, dense 4 tanh, dense 3, softmax", MOT_LOSS_CROSS_ENTROPY, HOT_ROWS},
        {"input 3, dense 4, tanh, dense 3 softmax", MOT_LOSS_CROSS_ENTROPY_PROBABILITIES, LABELS},
        {"input 3, dense 4 tanh, dense 3 softmax, flatten", MOT_LOSS_CROSS_ENTROPY_PROBABILITIES,
         HOT_ROWS}};
    struct train_set set = samples(LABELS);
    float *w[2], *g[2];
    size_t n = gradient(&ways[0], &set, &w[0], &g[0]);
    double first = loss_at(&ways[0], &set, w[0]);

    (void)state;
    for (size_t i = 1; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(gradient(&ways[i], &set, &w[1], &g[1]), n);
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s, loss %d", ways[i].net, (int)ways[i].loss);
        check_bits("parameters", w[1], w[0], n);
        check_close("gradient", g[1], g[0], n, 1e-5, 1e-6);
        assert_true(fabs(loss_at(&ways[i], &set, w[1]) - first) < 1e-6);
        free(w[1]);
        free(g[1]);
    }
    free(w[0]);
    free(g[0]);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_activation_matches_finite_differences),
        cmocka_unit_test(residual_and_branching_nets_match_finite_differences),
        cmocka_unit_test(dropout_matches_finite_differences_with_its_mask_held),
        cmocka_unit_test(each_loss_matches_finite_differences),
        cmocka_unit_test(ways_to_write_cross_entropy_agree),
    };

    return cmocka_run_group_tests(tests, open_fleet, close_fleet);
}
