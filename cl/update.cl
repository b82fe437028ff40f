/* update.cl - what happens to the parameters once a step's gradients are reduced: norm, verdict,
 * update. One text for host and device (src/optim/update_host.c includes it), equal to the bit.
 *
 * OpenCL leaves division, square root, contraction and small numbers to the vendor. So this text
 * has + - * in a written order and nothing else: 1/x and sqrt(x) start from an integer and are
 * Newton's. Decisions are made on bits.
 *
 * A device may flush operands and results below 2^-126, and may do so before it rounds up to that.
 * Two functions make +0 of what is small, by its bits, so that this cannot be seen:
 *   settle()  below 2^-125: for a product by itself
 *   sink()    below 2^-95: for a sum, whose terms then need no settling. A term that is flushed
 *             differs by less than 2^-126, and half a unit of the other is 2^-120 at least where
 *             the sum is not sunk: it rounds to the same. Terms that are sums or were multiplied by
 *             more than 2^5 since are sunk first.
 * What is sunk is far below what moves a parameter: sqrt(v) is lost to epsilon long before, and v
 * itself is settled, not sunk.
 *
 * V is a vector of WIDTH floats on a device and one float on the host. Grid: CPU class, one item
 * per SPAN vectors; GPU class, one item per vector. n and all offsets but the record's and the
 * verdict's are multiples of 16. Gradients are sums; the verdict's scale divides. */
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define INLINE static inline
#define GLOBAL global
#define SCALAR_BITS(x) as_int(x)
#define MASK(test) (test) /* a vector's comparison is one already */
#define SCALAR(x) ((x).s0)
#if CLASS_CPU
#define WIDTH 16
#define SPAN 256
#define NORM_RUN 8
#define V float16
#define VI int16
#define BITS(x) as_int16(x)
#define FLOATS(b) as_float16(b)
#define GET(p, i) vload16(i, p)
typedef float16 V_anywhere __attribute__((aligned(4))); /* PoCL's vstore16 takes three stores */
#define PUT(p, i, x) (*(global V_anywhere *)((p) + WIDTH * (i)) = (x))
#else
#define WIDTH 4
#define SPAN 1
#define NORM_RUN 1
#define V float4
#define VI int4
#define BITS(x) as_int4(x)
#define FLOATS(b) as_float4(b)
#define GET(p, i) (((global const float4 *)(p))[i]) /* so that 16 bytes travel at once */
#define PUT(p, i, x) (((global float4 *)(p))[i] = (x))
#endif
#endif

/* src/optim/optim.h names these; update_host.c holds the two together. */
#define NORM_PARTS 16384
#define NORM_FOLDED 64
#define RECORD_LOSS 0
#define RECORD_CORRECT 1
#define RECORD_COUNT 2
#define RECORD_BAD 3
#define RECORD_ODD 4
#define VERDICT_APPLY 0
#define VERDICT_SCALE 1
#define VERDICT_WEIGHT1 2
#define VERDICT_WEIGHT2 3
#define VERDICT_RATE 4
#define VERDICT_SECOND 5
#define VERDICT_LOSS 6
#define VERDICT_LOSS_LOW 7
#define VERDICT_CORRECT 8
#define VERDICT_COUNT 9
#define VERDICT_STEPS 10
#define VERDICT_SKIPPED 11
#define VERDICT_ODD_NOW 12
#define VERDICT_BAD_AT 15
#define VERDICT_BAD_ROWS 16
#define VERDICT_SEEN 17
#define VERDICT_HALTED 18
#define VERDICT_STOP 19
#define DECAY_NONE 0
#define DECAY_GRADIENT 1
#define DECAY_PARAMETER 2

#define INFINITE 0x7f800000
#define BITS_2_60 0x5d800000 /* of 2^60 */

/* ---- arithmetic ---- */

/* Choices are masks, all ones or zero, not ?:, so that a compiler which respects floating-point
 * traps still widens the host's loops. */
#define MAGNITUDE(x) (BITS(x) & 0x7fffffff)

/* Exponents are looked at by some of their bits: one instruction tests them. */
INLINE V settle(V x)
{
    return FLOATS(BITS(x) & MASK((BITS(x) & 0x7f000000) != 0));
}

INLINE V sink(V x)
{
    return FLOATS(BITS(x) & MASK((BITS(x) & 0x70000000) != 0));
}

/* For parameters, which are compared between devices: vendors differ in the bits of a NaN. */
INLINE V keep(V x)
{
    const VI none = MASK(MAGNITUDE(x) > INFINITE);

    return FLOATS((BITS(sink(x)) & ~none) | (0x7fc00000 & none));
}

/* sqrt(x) as x * (1 / sqrt(x)) for x = 0 or 2^-125 <= x < infinity, relative error about 1e-7.
 * Three steps from a seed that is 3.4 % off; h * y first, so that nothing leaves the range: 0 gives
 * 0, though y then is only some finite number. */
INLINE V root(V x)
{
    const V h = x * 0.5f;
    V y = FLOATS(0x5f3759df - (BITS(x) >> 1));

    y = y * (1.5f - h * y * y);
    y = y * (1.5f - h * y * y);
    y = y * (1.5f - h * y * y);
    return x * y;
}

/* 1/x for 2^-126 < x < 2^125 (beyond, the seed would be too small a number), relative error about
 * 1e-7. The seed is 5 % off. */
INLINE V inverse(V x)
{
    V y = FLOATS(0x7ef311c7 - BITS(x));

    y = y * (2.0f - x * y);
    y = y * (2.0f - x * y);
    return y * (2.0f - x * y);
}

/* The same for one number. */
INLINE float settle_one(float x)
{
    return SCALAR(settle((V)(x)));
}

/* 1/x to the last bit or next to it, exact for powers of two, where x is of ordinary size: the
 * remainder 1 - x*y is computed exactly, by halves of 12 bits (Dekker 1971). Newton alone can stay
 * one bit beside 1/1. */
INLINE float inverse_one(float x)
{
    const float y = SCALAR(inverse((V)(x)));
    const float xs = 4097.0f * x, ys = 4097.0f * y;
    const float xh = xs - (xs - x), yh = ys - (ys - y);
    const float xl = x - xh, yl = y - yh;
    const float xy = x * y;
    const float low = ((xh * yh - xy) + xh * yl + xl * yh) + xl * yl;

    if (SCALAR_BITS(x) < 0x21800000 || SCALAR_BITS(x) > BITS_2_60) /* 2^-60 */
        return settle_one(y);
    return y + y * ((1.0f - xy) - low);
}

/* ---- rules; p is the parameter, g the gradient's sum, in registers ---- */

/* SGD as PyTorch has it: weight decay is added to the gradient. */
INLINE V sgd(V p, V g, float scale, float lr, float decay)
{
    p = sink(p);
    g = sink(settle(g) * scale);
    g = sink(g + p * decay);
    return keep(p - g * lr);
}

/* Momentum as PyTorch has it (Keras has the rate inside the velocity, which differs once the rate
 * changes): u = momentum * u + g, p -= lr * u; Nesterov: p -= lr * (g + momentum * u). */
INLINE V momentum_sgd(V p, V g, V *u, float scale, float lr, float decay, float momentum,
                      int nesterov)
{
    const VI ahead = (VI)(-nesterov); /* all ones or zero */
    V along;

    p = sink(p);
    g = sink(settle(g) * scale);
    g = sink(g + p * decay);
    *u = sink(*u * momentum + g);
    along = sink(g + *u * momentum);
    along = FLOATS((BITS(along) & ahead) | (BITS(*u) & ~ahead));
    return keep(p - along * lr);
}

/* Adam (Kingma, Ba 2015) as PyTorch has it: p -= lr * mhat / (sqrt(vhat) + epsilon), with rate =
 * lr over the first correction and second = 1 over the root of the other. Weight decay: Adam adds
 * it to the gradient; AdamW takes it, times lr, from p beforehand. A v that overflowed moves
 * nothing. What is multiplied by a beta or a gain, which are below or at 1, needs no settling
 * before; nor does g where no decay is added to it, since it is squared or a term of m. */
INLINE V adam(V p, V g, V *m, V *v, float scale, float rate, float second, float beta1, float gain1,
              float beta2, float gain2, float epsilon, float decay, int how)
{
    V over;

    g = settle(g) * scale;
    if (how != DECAY_NONE)
        p = sink(p);
    if (how == DECAY_GRADIENT)
        g = sink(g + p * decay);
    if (how == DECAY_PARAMETER)
        p = sink(p - p * decay);
    *m = sink(*m * beta1 + g * gain1);
    *v = settle(*v * beta2) + settle(g * g * gain2);
    over = inverse(root(*v) * second + epsilon);
    over = FLOATS(BITS(over) & MASK(MAGNITUDE(*v) < INFINITE));
    return keep(p - sink(*m * over) * rate);
}

/* ---- norm and verdict ---- */

/* The sixteen parts that end in part t: from[t], from[t + stride] ... Sums of settled squares need
 * no settling. */
INLINE float fold(GLOBAL const float *from, unsigned t, unsigned stride)
{
    float sum = from[t];
    unsigned j;

    for (j = 1; j < 16; ++j)
        sum = sum + from[t + stride * j];
    return sum;
}

/* Metrics of the rows whose loss was a number; the loss is a sum and what its additions lost
 * (Knuth's two-sum), made one again each time, so that the second stays small. */
INLINE void add_metrics(GLOBAL const float *record, GLOBAL float *verdict)
{
    const float a = verdict[VERDICT_LOSS], b = settle_one(record[RECORD_LOSS]);
    const float sum = settle_one(a + b), back = settle_one(sum - a);
    const float lost = settle_one(settle_one(a - settle_one(sum - back)) + settle_one(b - back));
    const float low = settle_one(verdict[VERDICT_LOSS_LOW] + lost), high = settle_one(sum + low);

    if ((SCALAR_BITS(b) & 0x7fffffff) >= INFINITE)
        return;
    verdict[VERDICT_LOSS] = high;
    verdict[VERDICT_LOSS_LOW] = settle_one(low - settle_one(high - sum));
    verdict[VERDICT_CORRECT] = verdict[VERDICT_CORRECT] + record[RECORD_CORRECT];
    verdict[VERDICT_COUNT] = verdict[VERDICT_COUNT] + (record[RECORD_COUNT] - record[RECORD_BAD]);
}

/* 1 / count, times clip / norm where the mean gradient's norm is above clip (0: never); -1 where
 * the gradient's norm is no finite number. partials are folded to NORM_FOLDED. */
INLINE float scale_of(float count, float clip, GLOBAL const float *partials)
{
    const float scale = inverse_one(count);
    float sum = 0.0f, norm;
    unsigned t;

    if (SCALAR_BITS(clip) == 0)
        return scale;
    for (t = 0; t < NORM_FOLDED; ++t)
        sum = sum + partials[t];
    if ((SCALAR_BITS(sum) & 0x7fffffff) >= INFINITE)
        return -1.0f;
    norm = settle_one(SCALAR(root((V)(sum))) * scale);
    if (SCALAR_BITS(norm) <= SCALAR_BITS(clip))
        return scale;
    return settle_one(scale * settle_one(clip * inverse_one(norm)));
}

/* A step was refused: the first one since somebody asked is remembered, and where asked none after
 * it is applied either. */
INLINE void refuse(GLOBAL const float *record, GLOBAL float *verdict)
{
    verdict[VERDICT_SKIPPED] = verdict[VERDICT_SKIPPED] + 1.0f;
    if (SCALAR_BITS(verdict[VERDICT_BAD_AT]) != 0)
        return;
    verdict[VERDICT_BAD_AT] = verdict[VERDICT_SEEN];
    verdict[VERDICT_BAD_ROWS] = record[RECORD_BAD];
    verdict[VERDICT_HALTED] = verdict[VERDICT_STOP];
}

/* Apply this step? Not where a loss was no number, a gradient is none, or there were no rows; no
 * rows and nothing bad is an empty step, not a skipped one. The weights 1 - beta^t follow m's and
 * v's own recurrence, so that their rounding cancels (1 - 0.999f alone is 1e-5 off). */
INLINE void decide(float lr, float clip, float beta1, float gain1, float beta2, float gain2,
                   GLOBAL const float *record, GLOBAL const float *partials, GLOBAL float *verdict)
{
    const float count = settle_one(record[RECORD_COUNT]);
    const int bad = (SCALAR_BITS(record[RECORD_BAD]) & 0x7fffffff) != 0 ||
                    SCALAR_BITS(record[RECORD_ODD]) != 0 ||
                    SCALAR_BITS(verdict[VERDICT_ODD_NOW]) != 0;
    float scale = -1.0f;

    verdict[VERDICT_ODD_NOW] = 0.0f;
    verdict[VERDICT_SEEN] = verdict[VERDICT_SEEN] + 1.0f;
    if (SCALAR_BITS(verdict[VERDICT_HALTED]) != 0) {
        verdict[VERDICT_APPLY] = 0.0f;
        return;
    }
    if (!bad && SCALAR_BITS(count) > 0 && SCALAR_BITS(count) < BITS_2_60)
        scale = scale_of(count, clip, partials);
    verdict[VERDICT_APPLY] = SCALAR_BITS(scale) >= 0 ? 1.0f : 0.0f;
    verdict[VERDICT_SCALE] = SCALAR_BITS(scale) >= 0 ? scale : 0.0f;
    if (SCALAR_BITS(scale) >= 0) {
        const float weight1 = settle_one(verdict[VERDICT_WEIGHT1] * beta1) + gain1;
        const float weight2 = settle_one(verdict[VERDICT_WEIGHT2] * beta2) + gain2;

        verdict[VERDICT_WEIGHT1] = weight1;
        verdict[VERDICT_WEIGHT2] = weight2;
        verdict[VERDICT_RATE] = settle_one(lr * inverse_one(weight1));
        verdict[VERDICT_SECOND] = inverse_one(SCALAR(root((V)(weight2))));
        verdict[VERDICT_STEPS] = verdict[VERDICT_STEPS] + 1.0f;
    } else if (bad || SCALAR_BITS(count) != 0) {
        refuse(record, verdict);
    }
    add_metrics(record, verdict);
}

#ifdef __OPENCL_C_VERSION__
/* ---- kernels ---- */

/* Add the squares of g, the elements start, start + 1 ... of the whole gradient, to the parts:
 * element e belongs to part e % NORM_PARTS, so that no split of the buffer and no device matters.
 * start is taken modulo NORM_PARTS. */
kernel void norm(const uint n, const uint start, const uint first, global const float *g,
                 const uint g_at, global float *partials, const uint partials_at)
{
    const uint item = get_global_id(0);
    const uint at = item * NORM_RUN * WIDTH; /* this item's first part */
    V sum[NORM_RUN];
    uint k, row;

    if (at >= NORM_PARTS)
        return;
    g += g_at;
    partials += partials_at + at;
    for (k = 0; k < NORM_RUN; ++k)
        sum[k] = first ? (V)(0.0f) : GET(partials, k);
    for (row = 0; row < n; row += NORM_PARTS)
        for (k = 0; k < NORM_RUN; ++k) {
            const uint i = row + (at + k * WIDTH + NORM_PARTS - start) % NORM_PARTS;

            if (i < n)
                sum[k] = sum[k] + settle(GET(g, i / WIDTH) * GET(g, i / WIDTH));
        }
    for (k = 0; k < NORM_RUN; ++k)
        PUT(partials, k, sum[k]);
}

/* Sixteen parts to one, in place: only item t touches the parts t, t + stride ... */
kernel void norm_fold(const uint stride, global float *partials, const uint partials_at)
{
    const uint t = get_global_id(0);

    if (t < stride)
        partials[partials_at + t] = fold(partials + partials_at, t, stride);
}

kernel void verdict(const float lr, const float clip, const float beta1, const float gain1,
                    const float beta2, const float gain2, global const float *record,
                    const uint record_at, global const float *partials, const uint partials_at,
                    global float *out, const uint out_at)
{
    if (get_global_id(0) == 0)
        decide(lr, clip, beta1, gain1, beta2, gain2, record + record_at, partials + partials_at,
               out + out_at);
}

kernel void update_sgd(const uint n, const float lr, const float decay,
                       global const float *restrict verdict_in, const uint verdict_at,
                       global const float *restrict g, const uint g_at, global float *restrict p,
                       const uint p_at)
{
    const float scale = verdict_in[verdict_at + VERDICT_SCALE];
    uint i = get_global_id(0) * SPAN;
    const uint end = min(i + SPAN, n / WIDTH);

    if (verdict_in[verdict_at + VERDICT_APPLY] == 0.0f)
        return;
    for (; i < end; ++i)
        PUT(p + p_at, i, sgd(GET(p + p_at, i), GET(g + g_at, i), scale, lr, decay));
}

kernel void update_momentum(const uint n, const float lr, const float decay, const float momentum,
                            const uint nesterov, global const float *restrict verdict_in,
                            const uint verdict_at, global const float *restrict g, const uint g_at,
                            global float *restrict p, const uint p_at, global float *restrict u,
                            const uint u_at)
{
    const float scale = verdict_in[verdict_at + VERDICT_SCALE];
    uint i = get_global_id(0) * SPAN;
    const uint end = min(i + SPAN, n / WIDTH);

    if (verdict_in[verdict_at + VERDICT_APPLY] == 0.0f)
        return;
    for (; i < end; ++i) {
        V along = GET(u + u_at, i);

        PUT(p + p_at, i,
            momentum_sgd(GET(p + p_at, i), GET(g + g_at, i), &along, scale, lr, decay, momentum,
                         nesterov != 0));
        PUT(u + u_at, i, along);
    }
}

kernel void update_adam(const uint n, const float beta1, const float gain1, const float beta2,
                        const float gain2, const float epsilon, const float decay, const uint how,
                        global const float *restrict verdict_in, const uint verdict_at,
                        global const float *restrict g, const uint g_at, global float *restrict p,
                        const uint p_at, global float *restrict m, const uint m_at,
                        global float *restrict v, const uint v_at)
{
    const float scale = verdict_in[verdict_at + VERDICT_SCALE];
    const float rate = verdict_in[verdict_at + VERDICT_RATE];
    const float second = verdict_in[verdict_at + VERDICT_SECOND];
    uint i = get_global_id(0) * SPAN;
    const uint end = min(i + SPAN, n / WIDTH);

    if (verdict_in[verdict_at + VERDICT_APPLY] == 0.0f)
        return;
    for (; i < end; ++i) {
        V mean = GET(m + m_at, i), square = GET(v + v_at, i);

        PUT(p + p_at, i,
            adam(GET(p + p_at, i), GET(g + g_at, i), &mean, &square, scale, rate, second, beta1,
                 gain1, beta2, gain2, epsilon, decay, (int)how));
        PUT(m + m_at, i, mean);
        PUT(v + v_at, i, square);
    }
}
#endif
