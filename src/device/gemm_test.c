/* gemm_test.c - is a GEMM candidate right on this device? Plain C says. Small shapes around the
 * edges of the tiles are compared number by number; a large one, which reaches CLBlast's indirect
 * kernel, by Freivalds' check: C x must be A (B x) for a random x. */
#include "base/size.h"
#include "base/text.h"
#include "device/gemm_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct shape {
    size_t m, n, k;
    float alpha;
    bool accumulate, bias;
    enum mot_act act;
};

/* Tiles have 2 to 64 rows, 4 to 64 columns and up to 384 steps; groups get up to 256. Each shape
 * is long in few directions: a simulator must get through them too. */
static const struct shape small[] = {
    {1, 1, 1, 1, false, true, MOT_ACT_NONE},          {9, 17, 5, -0.5f, false, true, MOT_ACT_TANH},
    {3, 300, 4, 1, false, false, MOT_ACT_LEAKY_RELU}, {9, 15, 401, 1, false, true, MOT_ACT_RELU},
    {67, 37, 18, 1, false, true, MOT_ACT_SIGMOID},    {130, 69, 5, 2, true, false, MOT_ACT_NONE},
};
/* Above 896 x 896 x 896 CLBlast changes to the kernel that failed elsewhere (CLBlast #533). */
static const struct shape large = {904, 912, 900, 1, false, false, MOT_ACT_NONE};

/* One shape on its way through the device. */
struct trial {
    mot__device *device;
    struct mot__gemm gemm;
    float *a, *b, *bias, *c; /* on the host */
    float *got;              /* C from the device */
};

static double activated(enum mot_act act, double x)
{
    switch (act) {
    case MOT_ACT_RELU:
        return x < 0 ? 0 : x;
    case MOT_ACT_LEAKY_RELU:
        return x < 0 ? (double)MOT__LEAKY_SLOPE * x : x;
    case MOT_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case MOT_ACT_TANH:
        return tanh(x);
    default:
        return x;
    }
}

void mot__gemm_reference(const struct mot__gemm *gemm, const float *a, const float *b,
                         const float *bias, float *c)
{
    const size_t m = gemm->m, n = gemm->n, k = gemm->k;
    const size_t a_row = gemm->trans_a ? 1 : k, a_step = gemm->trans_a ? m : 1;
    const size_t b_step = gemm->trans_b ? 1 : n, b_col = gemm->trans_b ? k : 1;

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t p = 0; p < k; p++)
                sum += (double)a[i * a_row + p * a_step] * (double)b[p * b_step + j * b_col];
            sum *= (double)gemm->alpha;
            sum += gemm->accumulate ? (double)c[i * n + j] : 0;
            sum += bias ? (double)bias[j] : 0;
            c[i * n + j] = (float)activated(gemm->act, sum);
        }
}

/* Evenly spread over [-1, 1); seeded by the place alone. */
static void fill(float *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static mot_status send(mot__device *device, const float *from, size_t count, struct mot__mem *to)
{
    mot_status status = mot__buffer_open(device, count * sizeof *from, &to->buffer);

    return status == MOT_OK ? mot__buffer_write(to->buffer, 0, from, count * sizeof *from) : status;
}

static void trial_clear(struct trial *trial)
{
    const struct mot__mem mem[] = {trial->gemm.a, trial->gemm.b, trial->gemm.bias, trial->gemm.c};

    for (size_t i = 0; i < MOT__COUNT(mem); i++)
        mot__buffer_close(mem[i].buffer);
    free(trial->a); /* the others lie behind it */
}

static mot_status trial_init(mot__device *device, const struct shape *shape, bool trans_a,
                             bool trans_b, struct trial *trial)
{
    const size_t m = shape->m, n = shape->n, k = shape->k;
    mot_status status = MOT_OK;

    *trial = (struct trial){.device = device,
                            .gemm = {.trans_a = trans_a,
                                     .trans_b = trans_b,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .alpha = shape->alpha,
                                     .accumulate = shape->accumulate,
                                     .act = shape->act}};
    trial->a = malloc((m * k + k * n + n + 2 * m * n) * sizeof(float));
    if (!trial->a)
        return mot__fail(MOT_NO_MEMORY, "testing a GEMM of %zu x %zu x %zu", m, n, k);
    trial->b = trial->a + m * k;
    trial->bias = trial->b + k * n;
    trial->c = trial->bias + n;
    trial->got = trial->c + m * n;
    fill(trial->a, m * k + k * n + n + m * n, (uint32_t)(m * 31 + n * 7 + k));
    MOT_TRY(send(device, trial->a, m * k, &trial->gemm.a));
    MOT_TRY(send(device, trial->b, k * n, &trial->gemm.b));
    MOT_TRY(send(device, trial->c, m * n, &trial->gemm.c));
    if (shape->bias)
        MOT_TRY(send(device, trial->bias, n, &trial->gemm.bias));
done:
    return status;
}

static mot_status trial_run(struct trial *trial, enum mot__gemm_kind kind)
{
    mot_status status = mot__gemm_by(trial->device, kind, &trial->gemm);

    if (status == MOT_OK)
        status = mot__device_finish(trial->device);
    return status == MOT_OK ? mot__buffer_read(trial->gemm.c.buffer, 0, trial->got,
                                               trial->gemm.m * trial->gemm.n * sizeof(float))
                            : status;
}

static void describe(const struct trial *trial, size_t index, double got, double want, char *why,
                     size_t bytes)
{
    const struct mot__gemm *gemm = &trial->gemm;

    mot__text_into(why, bytes, "%zu x %zu x %zu %c%c is wrong at %zu: %g, not %g", gemm->m, gemm->n,
                   gemm->k, gemm->trans_a ? 'T' : 'N', gemm->trans_b ? 'T' : 'N', index, got, want);
}

static bool right_everywhere(struct trial *trial, char *why, size_t bytes)
{
    const struct mot__gemm *gemm = &trial->gemm;
    const double tolerance = 1e-6 * (double)(gemm->k + 20);

    mot__gemm_reference(gemm, trial->a, trial->b, gemm->bias.buffer ? trial->bias : NULL, trial->c);
    for (size_t i = 0; i < gemm->m * gemm->n; i++)
        if (!(fabs((double)trial->got[i] - (double)trial->c[i]) <= tolerance)) {
            describe(trial, i, (double)trial->got[i], (double)trial->c[i], why, bytes);
            return false;
        }
    return true;
}

/* y (rows) = M x for M (rows, cols), or stored (cols, rows). */
static void times(const float *matrix, bool transposed, size_t rows, size_t cols, const double *x,
                  double *y)
{
    const size_t row = transposed ? 1 : cols, col = transposed ? rows : 1;

    for (size_t i = 0; i < rows; i++) {
        y[i] = 0;
        for (size_t j = 0; j < cols; j++)
            y[i] += (double)matrix[i * row + j * col] * x[j];
    }
}

static mot_status right_in_sum(struct trial *trial, bool *good, char *why, size_t bytes)
{
    const struct mot__gemm *g = &trial->gemm;
    const double tolerance = 1e-6 * (double)(g->k + 20) * sqrt((double)g->n);
    double *x = malloc((g->n + g->k + 2 * g->m) * sizeof *x);
    double *bx, *abx, *cx;

    if (!x)
        return mot__fail(MOT_NO_MEMORY, "testing a GEMM of %zu x %zu x %zu", g->m, g->n, g->k);
    bx = x + g->n, abx = bx + g->k, cx = abx + g->m;
    for (size_t j = 0; j < g->n; j++)
        x[j] = trial->bias[j] < 0 ? -1 : 1; /* random, and used by nothing else here */
    times(trial->b, g->trans_b, g->k, g->n, x, bx);
    times(trial->a, g->trans_a, g->m, g->k, bx, abx);
    times(trial->got, false, g->m, g->n, x, cx);
    *good = true;
    for (size_t i = 0; i < g->m && *good; i++)
        if (!(fabs(cx[i] - abx[i]) <= tolerance)) {
            describe(trial, i * g->n, cx[i], abx[i], why, bytes);
            *good = false;
        }
    free(x);
    return MOT_OK;
}

/* A candidate that cannot run here is as bad as a wrong one; a lost device is another matter. */
static mot_status judge(struct trial *trial, enum mot__gemm_kind kind, bool *good, char *why,
                        size_t bytes)
{
    mot_status status = trial_run(trial, kind);

    if (status == MOT_DEVICE_FAILED) {
        *good = false;
        snprintf(why, bytes, "%s", mot_error());
        return MOT_OK;
    }
    if (status != MOT_OK)
        return status;
    if (trial->gemm.m >= large.m)
        return right_in_sum(trial, good, why, bytes);
    *good = right_everywhere(trial, why, bytes);
    return MOT_OK;
}

mot_status mot__gemm_test(mot__device *device, enum mot__gemm_kind kind, bool trans_a, bool trans_b,
                          bool *good, char *why, size_t bytes)
{
    /* A simulator would take hours for the large one. */
    const bool deep = kind == MOT__GEMM_CLBLAST && !device->facts.info.simulator;
    const size_t shapes = MOT__COUNT(small) + (deep ? 1 : 0);
    const bool rehearsing = device->rehearsing;
    const size_t packs_most = device->packs_most;
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);
    mot__buffer *packs;
    struct trial trial;

    if (status != MOT_OK)
        return status;
    packs = state->packs; /* a plan's; the test has its own */
    state->packs = NULL;
    device->packs_most = SIZE_MAX;
    device->rehearsing = false;
    if (!deep) /* the large one is a matter of memory */
        mot__device_aside_begin(device);
    *good = true;
    snprintf(why, bytes, "right");
    for (size_t i = 0; i < shapes && *good && status == MOT_OK; i++) {
        const struct shape *shape = i < MOT__COUNT(small) ? &small[i] : &large;

        status = trial_init(device, shape, trans_a, trans_b, &trial);
        if (status == MOT_OK)
            status = judge(&trial, kind, good, why, bytes);
        trial_clear(&trial);
    }
    mot__gemm_packs_drop(device);
    state->packs = packs;
    device->packs_most = packs_most;
    if (!deep)
        mot__device_aside_end(device);
    device->rehearsing = rehearsing;
    return status;
}
