/* test_optim.c - the update's text on the host: known values, a reference in double, the verdict's
 * decisions, and a sentence for each optimizer that makes no sense. */
#include "support/check.h"

#include "optim/optim.h"

#include <float.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

enum { N = 4096 };

static float parts[MOT__NORM_PARTS];

static void host_step(const struct mot_optimizer *optimizer, size_t n, float count, float *p,
                      const float *g, float *m, float *v, float *verdict)
{
    const float record[MOT__RECORD_FLOATS] = {[MOT__RECORD_COUNT] = count};

    mot__norm_host(g, n, parts, 0);
    mot__verdict_host(optimizer, optimizer->lr, record, parts, verdict);
    mot__update_host(optimizer, optimizer->lr, n, p, g, m, v, verdict);
}

static struct mot_optimizer sgd(double lr)
{
    struct mot_optimizer optimizer = mot_optimizer_default(MOT_RULE_SGD);

    optimizer.lr = lr;
    return optimizer;
}

/* ---- golden values ---- */

static void two_replicas_summed_gradients_step_as_published(void **state)
{
    const struct mot_optimizer optimizer = sgd(0.5);
    const float one[4] = {1, 6, 7, 2}, want[4] = {0, -4, -4, 2};
    float verdict[MOT__VERDICT_FLOATS], p[16] = {1, 2, 3, 4}, g[16] = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        g[i] = one[i] + one[i];
    mot__verdict_start(verdict);
    host_step(&optimizer, 16, 1, p, g, NULL, NULL, verdict);
    check_bits("p", p, want, 4);
}

static void three_steps_accumulated_step_once_as_published(void **state)
{
    const struct mot_optimizer optimizer = sgd(1);
    const float one[4] = {1, 1, 2, 2}, want[4] = {-1, 0, -1, 0};
    float verdict[MOT__VERDICT_FLOATS], p[16] = {1, 2, 3, 4}, g[16] = {0};

    (void)state;
    for (int replica = 0; replica < 2; replica++) /* each brings a mean of three; they are summed */
        for (int micro = 0; micro < 3; micro++)
            for (size_t i = 0; i < 4; i++)
                g[i] += one[i];
    mot__verdict_start(verdict);
    host_step(&optimizer, 16, 3, p, g, NULL, NULL, verdict);
    check_bits("p", p, want, 4);
}

static void clipping_scales_the_whole_gradient(void **state)
{
    struct mot_optimizer optimizer = sgd(1);
    const float want[2] = {-0.70710678f, -0.70710678f};
    float verdict[MOT__VERDICT_FLOATS], p[16] = {0}, g[16] = {200, 200};

    (void)state;
    optimizer.clip_norm = 1;
    mot__verdict_start(verdict);
    host_step(&optimizer, 16, 2, p, g, NULL, NULL, verdict); /* the mean of two: [100, 100] */
    check_close("p", p, want, 2, 3e-7, 0);
}

static void clipping_judges_the_mean_not_the_sum(void **state)
{
    struct mot_optimizer optimizer = sgd(1);
    const float want[2] = {-0.5f, -0.25f};
    float verdict[MOT__VERDICT_FLOATS], p[16] = {0}, g[16] = {32, 16};

    (void)state;
    optimizer.clip_norm = 1; /* the sum's norm is 36, the mean's 0.56 */
    mot__verdict_start(verdict);
    host_step(&optimizer, 16, 64, p, g, NULL, NULL, verdict);
    check_bits("p", p, want, 2);
}

/* ---- against double ---- */

struct state64 {
    double p, m, v;
};

/* The rules as PyTorch's documentation writes them. */
static void reference(const struct mot_optimizer *o, int t, double g, struct state64 *s)
{
    const bool adam = o->rule != MOT_RULE_SGD;

    if (o->rule == MOT_RULE_ADAMW)
        s->p -= o->lr * o->weight_decay * s->p;
    else
        g += o->weight_decay * s->p;
    if (adam) {
        s->m = o->beta1 * s->m + (1 - o->beta1) * g;
        s->v = o->beta2 * s->v + (1 - o->beta2) * g * g;
        s->p -= o->lr * (s->m / (1 - pow(o->beta1, t))) /
                (sqrt(s->v / (1 - pow(o->beta2, t))) + o->epsilon);
        return;
    }
    s->m = o->momentum * s->m + g;
    s->p -= o->lr * (o->nesterov ? g + o->momentum * s->m : s->m);
}

/* The change of p over the steps, relative to its own size: p itself would hide a wrong rate. */
static void compare_with_double(const char *name, const struct mot_optimizer *optimizer, int steps)
{
    float verdict[MOT__VERDICT_FLOATS];
    float *p = test_floats(N), *g = test_floats(N), *m = test_floats(N), *v = test_floats(N);
    struct state64 *s = test_alloc(N, sizeof *s);
    double start[2] = {0, 0};

    test_fill_away(p, N, 11, 1e-3, 1e-4); /* small, so that the steps' own rounding shows */
    for (size_t i = 0; i < N; i++)
        s[i].p = (double)p[i];
    start[0] = s[0].p;
    mot__verdict_start(verdict);
    for (int t = 1; t <= steps; t++) {
        double norm = 0, factor;

        test_fill_away(g, N, (uint64_t)t, 40, 2);
        for (size_t i = 0; i < N; i++)
            norm += pow((double)g[i] / 32, 2);
        norm = sqrt(norm);
        factor = optimizer->clip_norm > 0 && norm > optimizer->clip_norm
                     ? optimizer->clip_norm / norm
                     : 1;
        for (size_t i = 0; i < N; i++)
            reference(optimizer, t, factor * (double)g[i] / 32, &s[i]);
        host_step(optimizer, N, 32, p, g, m, v, verdict);
    }
    start[1] = s[0].p;
    assert_true(fabs(start[1] - start[0]) > 1e-5); /* it moved */
    for (size_t i = 0; i < N; i++) {
        const double size = fabs(s[i].p) + optimizer->lr * steps;
        const double error = fabs((double)p[i] - s[i].p);

        if (!(error <= 1e-6 * size))
            fail_msg("%s: p[%zu] = %.9g, in double %.9g", name, i, (double)p[i], s[i].p);
    }
    free(p);
    free(g);
    free(m);
    free(v);
    free(s);
}

static void every_rule_agrees_with_double(void **state)
{
    struct mot_optimizer o = sgd(0.01);

    (void)state;
    compare_with_double("sgd", &o, 20);
    o.weight_decay = 0.1;
    compare_with_double("sgd, decay", &o, 20);
    o.clip_norm = 0.5;
    compare_with_double("sgd, clipped", &o, 20);
    o.momentum = 0.9;
    o.clip_norm = 0;
    compare_with_double("momentum", &o, 20);
    o.nesterov = true;
    compare_with_double("nesterov", &o, 20);
    o = mot_optimizer_default(MOT_RULE_ADAM);
    compare_with_double("adam, first step", &o, 1);
    compare_with_double("adam", &o, 50);
    o.weight_decay = 0.1;
    o.beta1 = 0.8;
    o.beta2 = 0.95;
    compare_with_double("adam, decay", &o, 20);
    o = mot_optimizer_default(MOT_RULE_ADAMW);
    o.weight_decay = 0.3;
    compare_with_double("adamw", &o, 20);
}

static void a_power_of_two_count_divides_exactly(void **state)
{
    const struct mot_optimizer optimizer = sgd(1);
    float verdict[MOT__VERDICT_FLOATS];

    (void)state;
    for (int count = 1; count < 100000; count++) {
        const float record[MOT__RECORD_FLOATS] = {[MOT__RECORD_COUNT] = (float)count};
        const float want = 1.0f / (float)count;

        mot__verdict_start(verdict);
        mot__verdict_host(&optimizer, 1, record, NULL, verdict);
        if (verdict[MOT__VERDICT_SCALE] != want) /* correctly rounded for the others too */
            fail_msg("1 / %d = %.9g", count, (double)verdict[MOT__VERDICT_SCALE]);
    }
}

static void an_unmoved_parameter_of_adam_stays(void **state)
{
    const struct mot_optimizer o = mot_optimizer_default(MOT_RULE_ADAM);
    float verdict[MOT__VERDICT_FLOATS];
    float p[16], g[16] = {0}, m[16] = {0}, v[16] = {0}, want[16];

    (void)state;
    test_fill_away(p, 16, 3, 1, 0.1);
    memcpy(want, p, sizeof p);
    mot__verdict_start(verdict);
    host_step(&o, 16, 8, p, g, m, v, verdict);
    check_bits("p", p, want, 16); /* 0 / (sqrt(0) + epsilon) is 0, not NaN */
}

static void a_square_that_overflows_does_not_make_nan(void **state)
{
    const struct mot_optimizer o = mot_optimizer_default(MOT_RULE_ADAM);
    float verdict[MOT__VERDICT_FLOATS];
    float p[16] = {1}, g[16] = {1e30f}, m[16] = {0}, v[16] = {0};

    (void)state;
    mot__verdict_start(verdict);
    host_step(&o, 16, 1, p, g, m, v, verdict);
    assert_true(isinf(v[0]));
    assert_true(p[0] == 1); /* m / infinity */
}

/* ---- the verdict ---- */

struct case_of_verdict {
    const char *name;
    float count, bad, square; /* of one element of the gradient, summed into the norm */
    double clip;
    float apply, skipped, scale;
};

static void the_verdict_refuses_what_is_not_finite(void **state)
{
    static const struct case_of_verdict row[] = {
        {"usual", 4, 0, 1, 0, 1, 0, 0.25f},
        {"one bad row", 4, 1, 1, 0, 0, 1, 0},
        {"bad is no number", 4, NAN, 1, 0, 0, 1, 0},
        {"no rows", 0, 0, 1, 0, 0, 0, 0},
        {"no rows of minus zero", -0.0f, 0, 1, 0, 0, 0, 0},
        {"too few rows to count", 1e-40f, 0, 1, 0, 0, 0, 0},
        {"no rows, yet bad", 0, 2, 1, 0, 0, 1, 0},
        {"fewer than no rows", -3, 0, 1, 0, 0, 1, 0},
        {"rows without end", INFINITY, 0, 1, 0, 0, 1, 0},
        {"rows that are no number", NAN, 0, 1, 0, 0, 1, 0},
        {"infinite norm", 4, 0, INFINITY, 1, 0, 1, 0},
        {"norm no number", 4, 0, NAN, 1, 0, 1, 0},
        {"norm not looked at", 4, 0, NAN, 0, 1, 0, 0.25f},
        {"zero norm", 4, 0, 0, 1, 1, 0, 0.25f},
        {"norm at the clip", 1, 0, 4, 2, 1, 0, 1},
        {"norm above it", 1, 0, 16, 2, 1, 0, 0.5f},
    };

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(row); i++) {
        struct mot_optimizer optimizer = mot_optimizer_default(MOT_RULE_ADAM);
        const float record[MOT__RECORD_FLOATS] = {1, 1, row[i].count, row[i].bad};
        float verdict[MOT__VERDICT_FLOATS];

        optimizer.clip_norm = row[i].clip;
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", row[i].name);
        memset(parts, 0, sizeof parts);
        parts[4711] = row[i].square;
        mot__verdict_start(verdict);
        mot__verdict_host(&optimizer, 0.1, record, parts, verdict);
        check_bits("apply", &verdict[MOT__VERDICT_APPLY], &row[i].apply, 1);
        check_bits("skipped", &verdict[MOT__VERDICT_SKIPPED], &row[i].skipped, 1);
        check_bits("steps", &verdict[MOT__VERDICT_STEPS], &row[i].apply, 1);
        check_close("scale", &verdict[MOT__VERDICT_SCALE], &row[i].scale, 1, 2e-7, 0);
        assert_true((verdict[MOT__VERDICT_WEIGHT1] != 0) == (row[i].apply != 0));
        assert_true((verdict[MOT__VERDICT_WEIGHT2] != 0) == (row[i].apply != 0));
    }
}

/* Either way an odd gradient is told, the step is refused; the first refused one is remembered; and
 * where asked none after it is applied until the metrics are read. */
static void an_odd_gradient_is_refused_and_halts_where_asked(void **state)
{
    struct mot_optimizer optimizer = mot_optimizer_default(MOT_RULE_SGD);

    (void)state;
    for (size_t how = 0; how < 4; how++) {
        const bool by_record = how % 2, stop = how / 2;
        float record[MOT__RECORD_FLOATS] = {1, 1, 4}, verdict[MOT__VERDICT_FLOATS];

        mot__verdict_start(verdict);
        verdict[MOT__VERDICT_STOP] = stop;
        mot__verdict_host(&optimizer, 0.1, record, parts, verdict);
        assert_true(verdict[MOT__VERDICT_APPLY] == 1);
        (by_record ? record
                   : verdict)[by_record ? (int)MOT__RECORD_ODD : (int)MOT__VERDICT_ODD_NOW] = 1;
        mot__verdict_host(&optimizer, 0.1, record, parts, verdict);
        record[MOT__RECORD_ODD] = 0;
        assert_true(verdict[MOT__VERDICT_APPLY] == 0 && verdict[MOT__VERDICT_SKIPPED] == 1);
        assert_true(verdict[MOT__VERDICT_BAD_AT] == 2 && verdict[MOT__VERDICT_BAD_ROWS] == 0);
        assert_true(verdict[MOT__VERDICT_COUNT] == 8); /* the losses were numbers */
        mot__verdict_host(&optimizer, 0.1, record, parts, verdict);
        assert_true(verdict[MOT__VERDICT_APPLY] == !stop && verdict[MOT__VERDICT_HALTED] == stop);
        assert_true(verdict[MOT__VERDICT_COUNT] == (stop ? 8 : 12));
        assert_true(verdict[MOT__VERDICT_BAD_AT] == 2);
        mot__verdict_clear_metrics(verdict);
        mot__verdict_host(&optimizer, 0.1, record, parts, verdict);
        assert_true(verdict[MOT__VERDICT_APPLY] == 1 && verdict[MOT__VERDICT_STOP] == stop);
        assert_true(verdict[MOT__VERDICT_BAD_AT] == 0 && verdict[MOT__VERDICT_STEPS] == 1);
    }
}

static void a_refused_step_changes_no_bit(void **state)
{
    const enum mot_rule rules[] = {MOT_RULE_SGD, MOT_RULE_ADAM, MOT_RULE_ADAMW};
    float *all[4], *was[4];

    (void)state;
    for (size_t a = 0; a < 4; a++) {
        all[a] = test_floats(N);
        was[a] = test_floats(N);
    }
    for (size_t r = 0; r < MOT__COUNT(rules); r++) {
        struct mot_optimizer optimizer = mot_optimizer_default(rules[r]);
        const float record[MOT__RECORD_FLOATS] = {1, 1, 8, 1};
        float verdict[MOT__VERDICT_FLOATS];

        optimizer.momentum = 0.5;
        for (size_t a = 0; a < 4; a++) {
            mot__optim_hard_values(a + 10 * r, N, all[a]);
            memcpy(was[a], all[a], N * sizeof(float));
        }
        mot__verdict_start(verdict);
        mot__verdict_host(&optimizer, 1, record, NULL, verdict);
        mot__update_host(&optimizer, 1, N, all[1], all[0], all[2], all[3], verdict);
        for (size_t a = 0; a < 4; a++)
            check_bits("array", all[a], was[a], N);
    }
    for (size_t a = 0; a < 4; a++) {
        free(all[a]);
        free(was[a]);
    }
}

static void small_losses_are_not_lost_in_a_large_sum(void **state)
{
    const struct mot_optimizer optimizer = sgd(0.1);
    float record[MOT__RECORD_FLOATS] = {1e6f, 3, 4, 0};
    float verdict[MOT__VERDICT_FLOATS];
    double want = 1e6, got;

    (void)state;
    mot__verdict_start(verdict);
    mot__verdict_host(&optimizer, 0.1, record, NULL, verdict);
    record[MOT__RECORD_LOSS] = 0.01f;
    for (int i = 0; i < 10000; i++, want += (double)0.01f)
        mot__verdict_host(&optimizer, 0.1, record, NULL, verdict);
    got = (double)verdict[MOT__VERDICT_LOSS] + (double)verdict[MOT__VERDICT_LOSS_LOW];
    if (!(fabs(got - want) < 1e-3))
        fail_msg("loss %.9g, wanted %.9g", got, want);
    assert_true(verdict[MOT__VERDICT_CORRECT] == 30003);
    assert_true(verdict[MOT__VERDICT_COUNT] == 40004);
    assert_true(verdict[MOT__VERDICT_STEPS] == 10001);

    mot__verdict_clear_metrics(verdict);
    assert_true(verdict[MOT__VERDICT_LOSS] == 0 && verdict[MOT__VERDICT_COUNT] == 0);
    assert_true(verdict[MOT__VERDICT_LOSS_LOW] == 0 && verdict[MOT__VERDICT_CORRECT] == 0);
    assert_true(verdict[MOT__VERDICT_STEPS] == 0 && verdict[MOT__VERDICT_WEIGHT1] != 0);
}

static void metrics_leave_bad_rows_out(void **state)
{
    const struct mot_optimizer optimizer = sgd(0.1);
    const float bad[MOT__RECORD_FLOATS] = {6, 2, 8, 5}, lost[MOT__RECORD_FLOATS] = {NAN, 2, 8, 0};
    float verdict[MOT__VERDICT_FLOATS];

    (void)state;
    mot__verdict_start(verdict);
    mot__verdict_host(&optimizer, 0.1, bad, NULL, verdict);
    mot__verdict_host(&optimizer, 0.1, lost, NULL, verdict);
    assert_true(verdict[MOT__VERDICT_LOSS] == 6 && verdict[MOT__VERDICT_COUNT] == 3);
}

/* ---- the norm ---- */

static void the_norm_does_not_depend_on_the_cut(void **state)
{
    static float other[MOT__NORM_PARTS];
    const size_t n = 3 * MOT__NORM_PARTS + 4096 + 16, cuts[] = {16, 4096, 20000, 33040};
    float *g = test_floats(n);
    double sum = 0, want = 0;

    (void)state;
    test_fill(g, n, 5, -1, 1);
    mot__norm_host(g, n, parts, 0);
    for (size_t c = 0; c < MOT__COUNT(cuts); c++) {
        for (size_t at = 0; at < n; at += cuts[c])
            mot__norm_host(g + at, n - at < cuts[c] ? n - at : cuts[c], other, at);
        check_bits("parts", other, parts, MOT__NORM_PARTS);
    }
    for (size_t i = 0; i < MOT__NORM_PARTS; i++)
        sum += (double)parts[i];
    for (size_t i = 0; i < n; i++)
        want += (double)g[i] * (double)g[i];
    assert_true(fabs(sum - want) < 1e-6 * want);
    free(g);
}

/* ---- small numbers ---- */

static void nothing_below_the_normal_numbers_survives(void **state)
{
    struct mot_optimizer o = mot_optimizer_default(MOT_RULE_ADAM);
    float verdict[MOT__VERDICT_FLOATS];
    float *all[4];

    (void)state;
    for (size_t a = 0; a < 4; a++)
        all[a] = test_floats(N);
    mot__optim_hard_values(1, N, all[1]);
    mot__verdict_start(verdict);
    for (uint64_t s = 2; s < 6; s++) {
        mot__optim_hard_values(s, N, all[0]);
        host_step(&o, N, 3, all[1], all[0], all[2], all[3], verdict);
        for (size_t a = 1; a < 4; a++)
            for (size_t i = 0; i < N; i++)
                if (isnan(all[a][i]) || (fabsf(all[a][i]) <= FLT_MIN && all[a][i] != 0) ||
                    (all[a][i] == 0 && signbit(all[a][i])))
                    fail_msg("array %zu: [%zu] = %a", a, i, (double)all[a][i]);
    }
    for (size_t a = 0; a < 4; a++)
        free(all[a]);
}

/* No implementation at hand flushes, many GPUs do: let this processor do as they do. */
#ifdef __SSE2__
static void run_hard_steps(const struct mot_optimizer *o, float *all[4], float *verdict)
{
    memset(all[2], 0, N * sizeof(float));
    memset(all[3], 0, N * sizeof(float));
    mot__optim_hard_values(1, N, all[1]);
    mot__verdict_start(verdict);
    for (uint64_t s = 2; s < 6; s++) {
        mot__optim_hard_values(s, N, all[0]);
        for (size_t i = 0; o->clip_norm > 0 && i < N; i++)
            all[0][i] = fabsf(all[0][i]) > 1e15f ? 1e-39f : all[0][i];
        host_step(o, N, 3, all[1], all[0], all[2], all[3], verdict);
    }
}

static void a_processor_that_flushes_has_the_same_bits(void **state)
{
    const struct mot_optimizer row[] = {
        {.rule = MOT_RULE_SGD, .lr = 0.1, .weight_decay = 1e-2, .clip_norm = 1},
        {.rule = MOT_RULE_SGD, .lr = 3, .weight_decay = 0.9},
        {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9},
        {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .nesterov = true},
        {.rule = MOT_RULE_ADAM, .lr = 99, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 64},
        {.rule = MOT_RULE_ADAM, .lr = 0.1, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 1},
        {.rule = MOT_RULE_ADAM, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        {.rule = MOT_RULE_ADAMW,
         .lr = 1e-3,
         .beta1 = 0.9,
         .beta2 = 0.99,
         .epsilon = 1e-30,
         .weight_decay = 0.1}};
    const unsigned usual = _mm_getcsr();
    float *plain[4], *flushed[4], one[MOT__VERDICT_FLOATS], two[MOT__VERDICT_FLOATS];

    (void)state;
    for (size_t a = 0; a < 4; a++) {
        plain[a] = test_floats(N);
        flushed[a] = test_floats(N);
    }
    for (size_t r = 0; r < MOT__COUNT(row); r++) {
        run_hard_steps(&row[r], plain, one);
        _mm_setcsr(usual | 0x8040); /* results and operands below 2^-126 are 0 */
        run_hard_steps(&row[r], flushed, two);
        _mm_setcsr(usual);
        snprintf(check_where(), CHECK_WHERE_BYTES, "rule %zu", r);
        assert_true(one[MOT__VERDICT_STEPS] == 4);
        check_bits("verdict", two, one, MOT__VERDICT_FLOATS);
        for (size_t a = 0; a < 4; a++)
            check_bits("array", flushed[a], plain[a], N);
    }
    for (size_t a = 0; a < 4; a++) {
        free(plain[a]);
        free(flushed[a]);
    }
}
#endif

/* ---- bad values ---- */

static void a_value_that_makes_no_sense_gets_a_sentence(void **state)
{
    static const struct {
        enum mot_rule rule;
        size_t field;
        double value;
        const char *words;
    } row[] = {
#define ROW(rule, field, value, words)                                                             \
    {MOT_RULE_##rule, offsetof(struct mot_optimizer, field), value, words}
        ROW(ADAM, lr, NAN, "learning rate nan"),
        ROW(ADAM, lr, -0.1, "learning rate -0.1"),
        ROW(SGD, lr, INFINITY, "learning rate inf"),
        ROW(SGD, lr, 1e39, "learning rate 1e+39"),
        ROW(SGD, lr, 1e-40, "learning rate 1e-40"),
        ROW(SGD, momentum, -0.5, "momentum -0.5: it must be at least 0 and below 1"),
        ROW(SGD, momentum, 1, "momentum 1"),
        ROW(SGD, momentum, NAN, "momentum nan"),
        ROW(ADAM, beta1, 1, "beta1 1"),
        ROW(ADAM, beta1, 0.99999999999, "beta1 1"),
        ROW(ADAM, beta1, -0.1, "beta1 -0.1"),
        ROW(ADAMW, beta2, 1.5, "beta2 1.5"),
        ROW(ADAMW, beta2, NAN, "beta2 nan"),
        ROW(ADAM, epsilon, 0, "epsilon 0: it must be above 0"),
        ROW(ADAM, epsilon, -1e-8, "epsilon -1e-08"),
        ROW(ADAM, epsilon, NAN, "epsilon nan"),
        ROW(SGD, weight_decay, -1, "weight decay -1"),
        ROW(ADAMW, weight_decay, INFINITY, "weight decay inf"),
        ROW(SGD, clip_norm, -1, "clip norm -1"),
        ROW(SGD, clip_norm, NAN, "clip norm nan"),
#undef ROW
    };
    struct mot_optimizer o;

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(row); i++) {
        o = mot_optimizer_default(row[i].rule);
        assert_ok(mot__optim_check(&o));
        memcpy((char *)&o + row[i].field, &row[i].value, sizeof(double));
        assert_story(mot__optim_check(&o), MOT_BAD_ARG, row[i].words);
    }
    o = sgd(0.1);
    o.nesterov = true;
    assert_story(mot__optim_check(&o), MOT_BAD_ARG, "Nesterov needs a momentum");
    o = sgd(0.1);
    o.rule = (enum mot_rule)7;
    assert_story(mot__optim_check(&o), MOT_BAD_ARG, "rule 7");
    o = sgd(0); /* a schedule may begin there */
    assert_ok(mot__optim_check(&o));
    o = mot_optimizer_default(MOT_RULE_ADAM);
    o.momentum = -1; /* not Adam's */
    assert_ok(mot__optim_check(&o));
}

static void each_rule_has_its_slots(void **state)
{
    struct mot_optimizer o = sgd(0.1);

    (void)state;
    assert_int_equal(mot__optim_slots(&o), 0);
    o.momentum = 0.9;
    assert_int_equal(mot__optim_slots(&o), 1);
    o = mot_optimizer_default(MOT_RULE_ADAM);
    assert_int_equal(mot__optim_slots(&o), 2);
    o = mot_optimizer_default(MOT_RULE_ADAMW);
    assert_int_equal(mot__optim_slots(&o), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_replicas_summed_gradients_step_as_published),
        cmocka_unit_test(three_steps_accumulated_step_once_as_published),
        cmocka_unit_test(clipping_scales_the_whole_gradient),
        cmocka_unit_test(clipping_judges_the_mean_not_the_sum),
        cmocka_unit_test(every_rule_agrees_with_double),
        cmocka_unit_test(a_power_of_two_count_divides_exactly),
        cmocka_unit_test(an_unmoved_parameter_of_adam_stays),
        cmocka_unit_test(a_square_that_overflows_does_not_make_nan),
        cmocka_unit_test(the_verdict_refuses_what_is_not_finite),
        cmocka_unit_test(an_odd_gradient_is_refused_and_halts_where_asked),
        cmocka_unit_test(a_refused_step_changes_no_bit),
        cmocka_unit_test(small_losses_are_not_lost_in_a_large_sum),
        cmocka_unit_test(metrics_leave_bad_rows_out),
        cmocka_unit_test(the_norm_does_not_depend_on_the_cut),
        cmocka_unit_test(nothing_below_the_normal_numbers_survives),
#ifdef __SSE2__
        cmocka_unit_test(a_processor_that_flushes_has_the_same_bits),
#endif
        cmocka_unit_test(a_value_that_makes_no_sense_gets_a_sentence),
        cmocka_unit_test(each_rule_has_its_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
