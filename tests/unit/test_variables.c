/* test_variables.c - central storage without devices: threads as lanes, against a plain sum and one
 * update over everything; refused steps leave all as it was. */
#include "support/check.h"

#include "base/rng.h"
#include "base/thread.h"
#include "strategy/variables.h"

#include <stdlib.h>

#define FLOATS 36000 /* more than the norm has parts; no multiple of a block */
#define ALL (FLOATS + MOT__RECORD_FLOATS)
#define LANES_MAX 3
#define STEPS 6
#define ROWS 8 /* of each lane */

/* The step in which something is not finite, and where. */
static const struct trouble {
    size_t step, index;
} no_trouble = {STEPS, 0}, in_gradient = {2, 20001}, in_record = {3, FLOATS + MOT__RECORD_BAD},
  everywhere = {STEPS + 1, 0};

/* Ranges as buckets come: last ones first, the record with them. */
static const size_t cuts[] = {ALL, 30000 / 16 * 16, 1600, 0};

static float gradient_at(size_t lane, size_t step, size_t k, const struct trouble *trouble)
{
    const float ordinary = mot__rng_normal(lane * 100 + step, MOT__STREAM_TEST, k);

    if (trouble->step == step && trouble->index == k && lane == 0)
        return k < FLOATS ? NAN : 1;
    if (trouble->step > STEPS)
        return k < FLOATS ? INFINITY : (float)(k == FLOATS + MOT__RECORD_COUNT);
    if (k < FLOATS)
        return ordinary * (k % 3 ? 1e-3f : 1e2f);
    return k == FLOATS + MOT__RECORD_COUNT ? ROWS : k == FLOATS + MOT__RECORD_LOSS ? 2.5f : 0;
}

struct worker {
    mot__variables *variables;
    const struct trouble *trouble;
    size_t rank;
    float *g;       /* (ALL) */
    float *weights; /* (FLOATS) */
    float *seen;    /* (STEPS, FLOATS): the weights after each step */
    struct mot__odd_sum odd[STEPS];
    float verdict[MOT__VERDICT_FLOATS];
    mot_status status;
};

static mot_status step(struct worker *worker, size_t number)
{
    mot_status status = MOT_OK;
    bool given = false;
    size_t c;

    for (size_t k = 0; k < ALL; k++)
        worker->g[k] = gradient_at(worker->rank, number, k, worker->trouble);
    for (c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++)
        MOT_TRY(mot__variables_reduce(worker->variables, worker->rank, 0.01, cuts[c + 1],
                                      worker->g + cuts[c + 1], worker->weights + cuts[c + 1],
                                      cuts[c] - cuts[c + 1]));
    MOT_TRY(mot__variables_commit(worker->variables, worker->rank, 0.01, &given));
    worker->odd[number] = mot__variables_odd(worker->variables, worker->rank);
    if (!given)
        memcpy(worker->weights, mot__variables_now(worker->variables, worker->rank),
               FLOATS * sizeof *worker->weights);
    memcpy(worker->seen + number * FLOATS, worker->weights, FLOATS * sizeof *worker->seen);
done:
    return status;
}

static void run_worker(void *user)
{
    struct worker *worker = user;

    for (size_t s = 0; s < STEPS && worker->status == MOT_OK; s++)
        worker->status = step(worker, s);
    mot__variables_metrics(worker->variables, worker->rank, worker->verdict);
}

/* ---- the same by one thread, plainly ---- */

struct plain {
    float p[FLOATS], slot[2][FLOATS], g[ALL], partials[MOT__NORM_PARTS];
    float verdict[MOT__VERDICT_FLOATS];
};

static void plain_step(struct plain *plain, const struct mot_optimizer *optimizer, size_t lanes,
                       size_t number, const struct trouble *trouble)
{
    bool odd = false;

    for (size_t k = 0; k < ALL; k++) {
        plain->g[k] = gradient_at(0, number, k, trouble);
        for (size_t i = 1; i < lanes; i++)
            plain->g[k] = plain->g[k] + gradient_at(i, number, k, trouble);
        odd = odd || (k < FLOATS && !isfinite(plain->g[k]));
    }
    plain->g[FLOATS + MOT__RECORD_ODD] = odd;
    mot__norm_host(plain->g, FLOATS, plain->partials, 0);
    mot__verdict_host(optimizer, 0.01, plain->g + FLOATS, plain->partials, plain->verdict);
    mot__update_host(optimizer, 0.01, FLOATS, plain->p, plain->g, plain->slot[0], plain->slot[1],
                     plain->verdict);
}

/* ---- comparing ---- */

static void run_lanes(struct worker *worker, size_t lanes, mot__variables *variables,
                      const struct trouble *trouble)
{
    mot__thread *thread[LANES_MAX] = {NULL};

    memset(worker, 0, lanes * sizeof *worker);
    for (size_t i = 0; i < lanes; i++) {
        worker[i].variables = variables;
        worker[i].trouble = trouble;
        worker[i].rank = i;
        worker[i].g = test_floats(ALL);
        worker[i].weights = test_floats(ALL);
        worker[i].seen = test_floats(STEPS * FLOATS);
        assert_ok(mot__thread_open("lane", run_worker, &worker[i], &thread[i]));
    }
    for (size_t i = 0; i < lanes; i++)
        mot__thread_join(thread[i]);
}

static size_t compare(const struct mot_optimizer *optimizer, size_t lanes,
                      const struct trouble *trouble)
{
    struct plain *plain = test_alloc(1, sizeof *plain);
    struct mot__variables_config config = {NULL, *optimizer, FLOATS, false};
    struct worker worker[LANES_MAX];
    mot__variables *variables = NULL;
    size_t refused = 0;

    test_fill(plain->p, FLOATS, 9, -1, 1);
    mot__verdict_start(plain->verdict);
    assert_ok(mot__group_open(lanes, ALL, MOT__ALGORITHM_AUTO, 60, &config.group));
    assert_ok(mot__variables_open(&config, plain->p, &variables));
    run_lanes(worker, lanes, variables, trouble);
    for (size_t s = 0; s < STEPS; s++) {
        plain_step(plain, optimizer, lanes, s, trouble);
        refused += plain->verdict[MOT__VERDICT_APPLY] == 0;
        for (size_t i = 0; i < lanes; i++) {
            assert_int_equal(worker[i].status, MOT_OK);
            snprintf(check_where(), CHECK_WHERE_BYTES, "lane %zu of %zu, step %zu", i, lanes, s);
            check_bits("weights", worker[i].seen + s * FLOATS, plain->p, FLOATS);
            if (trouble->step <= STEPS)
                assert_int_equal(worker[i].odd[s].found, trouble == &in_gradient && s == 2);
            if (worker[i].odd[s].found && trouble == &in_gradient) {
                assert_int_equal(worker[i].odd[s].index, trouble->index);
                assert_int_equal(worker[i].odd[s].lane, 0);
            }
        }
    }
    for (size_t i = 0; i < lanes; i++) {
        check_bits("verdict", worker[i].verdict, plain->verdict, MOT__VERDICT_FLOATS);
        free(worker[i].g);
        free(worker[i].weights);
        free(worker[i].seen);
    }
    mot__variables_close(variables);
    mot__group_close(config.group);
    free(plain);
    return refused;
}

static void every_rule_gives_the_bits_of_one_plain_update(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= LANES_MAX; lanes++)
        for (int clip = 0; clip < 2; clip++)
            for (int r = 0; r < 3; r++) {
                struct mot_optimizer optimizer = mot_optimizer_default((enum mot_rule)r);

                optimizer.momentum = r == 0 && clip ? 0.9 : 0;
                optimizer.weight_decay = 0.01;
                optimizer.clip_norm = clip ? 1e-2 : 0;
                assert_int_equal(compare(&optimizer, lanes, &no_trouble), 0);
            }
}

/* A gradient may show late that it is not finite: by then new values stand beside the old ones. */
static void a_refused_step_leaves_everything(void **state)
{
    struct mot_optimizer optimizer = mot_optimizer_default(MOT_RULE_ADAM);

    (void)state;
    for (int clip = 0; clip < 2; clip++) {
        optimizer.clip_norm = clip ? 1e-2 : 0;
        assert_int_equal(compare(&optimizer, 2, &in_gradient), 1);
        assert_int_equal(compare(&optimizer, 3, &in_record), 1);
        assert_int_equal(compare(&optimizer, 2, &everywhere), STEPS);
    }
}

static void values_may_be_written_between_steps(void **state)
{
    const struct mot_optimizer optimizer = mot_optimizer_default(MOT_RULE_SGD);
    struct mot__variables_config config = {NULL, optimizer, 32, false};
    const float start[32] = {1}, value[2] = {5, 6};
    mot__variables *variables = NULL;
    const float *now;

    (void)state;
    assert_ok(mot__group_open(2, 48, MOT__ALGORITHM_AUTO, 60, &config.group));
    assert_ok(mot__variables_open(&config, start, &variables));
    mot__variables_write(variables, 3, value, 2);
    now = mot__variables_now(variables, 1);
    assert_true(now[0] == 1 && now[2] == 0 && now[3] == 5 && now[4] == 6 && now[5] == 0);
    assert_int_equal(mot__variables_bytes(&config), 2 * 32 * sizeof(float));
    mot__variables_close(variables);
    mot__group_close(config.group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_gives_the_bits_of_one_plain_update),
        cmocka_unit_test(a_refused_step_leaves_everything),
        cmocka_unit_test(values_may_be_written_between_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
