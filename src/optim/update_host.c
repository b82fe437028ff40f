/* update_host.c - cl/update.cl compiled for the host: a vector is one float, and the loops around
 * it are the compiler's to widen (lane by lane the same operations, so the same bits). */
#include "base/wide.h"
#include "optim/numbers.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "float arithmetic must round to float (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif /* gcc has no such pragma: CMakeLists.txt gives -ffp-contract=off */

static inline int32_t bits_of(float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(int32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#define INLINE static inline
#define GLOBAL
#define V float
#define VI int32_t
#define BITS(x) bits_of(x)
#define FLOATS(b) float_of(b)
#define MASK(test) (-(int32_t)(test))
#define SCALAR_BITS(x) bits_of(x)
#define SCALAR(x) (x)
#include "cl/update.cl"

#define SAME(name) _Static_assert((int)name == (int)MOT__##name, "cl/update.cl and optim.h differ")
SAME(NORM_PARTS);
SAME(NORM_FOLDED);
SAME(RECORD_LOSS);
SAME(RECORD_CORRECT);
SAME(RECORD_COUNT);
SAME(RECORD_BAD);
SAME(RECORD_ODD);
SAME(VERDICT_APPLY);
SAME(VERDICT_SCALE);
SAME(VERDICT_WEIGHT1);
SAME(VERDICT_WEIGHT2);
SAME(VERDICT_RATE);
SAME(VERDICT_SECOND);
SAME(VERDICT_LOSS);
SAME(VERDICT_LOSS_LOW);
SAME(VERDICT_CORRECT);
SAME(VERDICT_COUNT);
SAME(VERDICT_STEPS);
SAME(VERDICT_SKIPPED);
SAME(VERDICT_ODD_NOW);
SAME(VERDICT_BAD_AT);
SAME(VERDICT_BAD_ROWS);
SAME(VERDICT_SEEN);
SAME(VERDICT_HALTED);
SAME(VERDICT_STOP);
SAME(DECAY_NONE);
SAME(DECAY_GRADIENT);
SAME(DECAY_PARAMETER);

MOT__WIDE static void add_squares(size_t n, const float *restrict g, float *restrict part)
{
    size_t i;

    for (i = 0; i < n; ++i)
        part[i] = part[i] + settle(g[i] * g[i]);
}

void mot__norm_host(const float *g, size_t n, float partials[MOT__NORM_PARTS], size_t start)
{
    if (start == 0)
        memset(partials, 0, MOT__NORM_PARTS * sizeof *partials);
    while (n > 0) {
        const size_t at = start % MOT__NORM_PARTS;
        const size_t run = n < MOT__NORM_PARTS - at ? n : MOT__NORM_PARTS - at;

        add_squares(run, g, partials + at);
        g += run;
        n -= run;
        start += run;
    }
}

void mot__norm_host_parts(const float *g, size_t n, float partials[MOT__NORM_PARTS], size_t from,
                          size_t to)
{
    size_t row;

    memset(partials + from, 0, (to - from) * sizeof *partials);
    for (row = from; row < n; row += MOT__NORM_PARTS)
        add_squares(n - row < to - from ? n - row : to - from, g + row, partials + from);
}

/* The kernel norm_fold runs twice, 16384 to 1024 to 64; here both in one go. */
static void fold_parts(const float *partials, float folded[NORM_FOLDED])
{
    float once[16];
    unsigned t, k;

    for (t = 0; t < NORM_FOLDED; ++t) {
        for (k = 0; k < 16; ++k)
            once[k] = fold(partials, t + NORM_FOLDED * k, NORM_FOLDED * 16);
        folded[t] = fold(once, 0, 1);
    }
}

void mot__verdict_host(const struct mot_optimizer *optimizer, double lr, const float *record,
                       const float *partials, float *verdict)
{
    const struct mot__numbers with = mot__numbers_of(optimizer, lr);
    float folded[NORM_FOLDED] = {0};

    if (with.clip > 0)
        fold_parts(partials, folded);
    decide(with.lr, with.clip, with.beta1, with.gain1, with.beta2, with.gain2, record, folded,
           verdict);
}

MOT__WIDE static void host_sgd(const struct mot__numbers *with, float scale, size_t n,
                               const float *restrict p, const float *restrict g,
                               float *restrict new_p)
{
    const float lr = with->lr, decay = with->decay;
    size_t i;

    for (i = 0; i < n; ++i)
        new_p[i] = sgd(p[i], g[i], scale, lr, decay);
}

MOT__WIDE static void host_momentum(const struct mot__numbers *with, int nesterov, float scale,
                                    size_t n, const float *restrict p, const float *restrict u,
                                    const float *restrict g, float *restrict new_p,
                                    float *restrict new_u)
{
    const float lr = with->lr, decay = with->decay, momentum = with->momentum;
    size_t i;

    for (i = 0; i < n; ++i) {
        float along = u[i];

        new_p[i] = momentum_sgd(p[i], g[i], &along, scale, lr, decay, momentum, nesterov);
        new_u[i] = along;
    }
}

/* One loop for each kind of decay, so that none decides inside: such a loop is not widened. */
#define ADAM_LOOP(name, how)                                                                       \
    MOT__WIDE static void name(                                                                    \
        const struct mot__numbers *with, const float *verdict, size_t n, const float *restrict p,  \
        const float *restrict m, const float *restrict v, const float *restrict g,                 \
        float *restrict new_p, float *restrict new_m, float *restrict new_v)                       \
    {                                                                                              \
        const struct mot__numbers x = *with;                                                       \
        const float scale = verdict[VERDICT_SCALE];                                                \
        const float rate = verdict[VERDICT_RATE], second = verdict[VERDICT_SECOND];                \
        size_t i;                                                                                  \
                                                                                                   \
        for (i = 0; i < n; ++i) {                                                                  \
            float mean = m[i], square = v[i];                                                      \
                                                                                                   \
            new_p[i] = adam(p[i], g[i], &mean, &square, scale, rate, second, x.beta1, x.gain1,     \
                            x.beta2, x.gain2, x.epsilon, x.decay, how);                            \
            new_m[i] = mean;                                                                       \
            new_v[i] = square;                                                                     \
        }                                                                                          \
    }
ADAM_LOOP(host_adam, DECAY_NONE)
ADAM_LOOP(host_adam_gradient, DECAY_GRADIENT)
ADAM_LOOP(host_adam_parameter, DECAY_PARAMETER)

void mot__update_beside(const struct mot_optimizer *optimizer, double lr, size_t n,
                        const struct mot__beside *rows, const float *g, const float *verdict)
{
    static void (*const adams[])(const struct mot__numbers *, const float *, size_t, const float *,
                                 const float *, const float *, const float *, float *, float *,
                                 float *) = {[DECAY_NONE] = host_adam,
                                             [DECAY_GRADIENT] = host_adam_gradient,
                                             [DECAY_PARAMETER] = host_adam_parameter};
    const struct mot__numbers with = mot__numbers_of(optimizer, lr);
    const float scale = verdict[VERDICT_SCALE];
    const float *const *old = rows->old;
    float *const *new = rows->new;

    if (verdict[VERDICT_APPLY] == 0)
        return;
    if (optimizer->rule != MOT_RULE_SGD)
        adams[with.how](&with, verdict, n, old[0], old[1], old[2], g, new[0], new[1], new[2]);
    else if (mot__optim_slots(optimizer) == 0)
        host_sgd(&with, scale, n, old[0], g, new[0]);
    else if (optimizer->nesterov)
        host_momentum(&with, 1, scale, n, old[0], old[1], g, new[0], new[1]);
    else
        host_momentum(&with, 0, scale, n, old[0], old[1], g, new[0], new[1]);
}

/* The loops are told that nothing overlaps: what is replaced is read from a block beside it. */
void mot__update_host(const struct mot_optimizer *optimizer, double lr, size_t n, float *p,
                      const float *g, float *slot0, float *slot1, const float *verdict)
{
    const size_t used = 1 + mot__optim_slots(optimizer);
    float kept[MOT__BESIDE_ROWS][512], *row[MOT__BESIDE_ROWS] = {p, slot0, slot1};
    struct mot__beside rows;
    size_t at, k, count;

    for (at = 0; at < n; at += count) {
        count = n - at < 512 ? n - at : 512;
        for (k = 0; k < used; ++k) {
            memcpy(kept[k], row[k] + at, count * sizeof *p);
            rows.old[k] = kept[k];
            rows.new[k] = row[k] + at;
        }
        mot__update_beside(optimizer, lr, count, &rows, g + at, verdict);
    }
}
