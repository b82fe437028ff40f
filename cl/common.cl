/* common.cl - goes in front of every kernel file. Baseline OpenCL C 1.2: no fp64, no subgroups, no
 * float atomics. Storage type: kernels read and write through LOAD and STORE and compute in float.
 * A device place is (pointer, offset in elements): kernels take both. */
#ifndef STORED
#define STORED float
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define LOAD8(p, i) vload8(0, (p) + (i))
#define STORE8(p, i, v) vstore8(v, 0, (p) + (i))
#endif
#if !defined(LOAD) || !defined(STORE) || !defined(LOAD8) || !defined(STORE8)
#error "STORED needs LOAD, STORE, LOAD8 and STORE8"
#endif
#ifndef CLASS_CPU
#error "CLASS_CPU must be 0 or 1"
#endif

/* ---- vec: what one item works on at a time. A CPU's item is fat and walks VEC elements a turn; a
 * GPU's has one, and the neighbours next door have the rest. A kernel written with vec suits both.
 * ---- */
#if CLASS_CPU
#define VEC 8
typedef float8 vec;
typedef int8 ivec;
typedef uint8 uvec;
#define VEC_INDEX ((ivec)(0, 1, 2, 3, 4, 5, 6, 7))
#define LOADV(p, i) LOAD8(p, i)
#define STOREV(p, i, v) STORE8(p, i, v)
#else
#define VEC 1
typedef float vec;
typedef int ivec;
typedef uint uvec;
#define VEC_INDEX 0
#define LOADV(p, i) LOAD(p, i)
#define STOREV(p, i, v) STORE(p, i, v)
#endif

/* Elements i, i + 1, ... of p, with fill in place of those from end on. */
static vec load_part(global const STORED *p, const size_t i, const size_t end, const float fill)
{
#if CLASS_CPU
    if (i + VEC > end) {
        float part[VEC];

        for (uint k = 0; k < VEC; k++)
            part[k] = i + k < end ? LOAD(p, i + k) : fill;
        return vload8(0, part);
    }
#endif
    return LOADV(p, i);
}

static void store_part(global STORED *p, const size_t i, const size_t end, const vec v)
{
#if CLASS_CPU
    if (i + VEC > end) {
        float part[VEC];

        vstore8(v, 0, part);
        for (uint k = 0; i + k < end; k++)
            STORE(p, i + k, part[k]);
        return;
    }
#endif
    STOREV(p, i, v);
}

/* In memory, which compilers see through; sums of .s0 to .s7 crash Oclgrind's look for
 * uninitialised values. */
static float vec_sum(const vec v)
{
#if CLASS_CPU
    float part[VEC];

    vstore8(v, 0, part);
    for (uint width = VEC / 2; width > 0; width /= 2)
        for (uint k = 0; k < width; k++)
            part[k] += part[k + width];
    return part[0];
#else
    return v;
#endif
}

static float vec_max(const vec v)
{
#if CLASS_CPU
    return fmax(fmax(fmax(v.s0, v.s4), fmax(v.s2, v.s6)), fmax(fmax(v.s1, v.s5), fmax(v.s3, v.s7)));
#else
    return v;
#endif
}

/* ---- a team: the items that share one row. Alone (size 1), or a whole group with TEAM floats of
 * scratch; the tree is fixed, so the same group size gives the same bits. ---- */
#define TEAM 64

struct team {
    uint me, size;
    local float *scratch;
};

static float team_reduce(const struct team team, const float v, const bool largest)
{
    float all;

    if (team.size == 1)
        return v;
    team.scratch[team.me] = v;
    for (uint half_size = team.size / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (team.me < half_size) {
            const float other = team.scratch[team.me + half_size];

            team.scratch[team.me] =
                largest ? fmax(team.scratch[team.me], other) : team.scratch[team.me] + other;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    all = team.scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* all have read it before the next one writes */
    return all;
}
#define team_sum(team, v) team_reduce(team, vec_sum(v), false)
#define team_max(team, v) team_reduce(team, vec_max(v), true)

/* ---- activations that more than one file needs; numbers as in enum mot_act ---- */
#define ACT_NONE 0
#define ACT_RELU 1
#define ACT_LEAKY_RELU 2
#define ACT_GELU 3
#define ACT_SIGMOID 4
#define ACT_TANH 5

/* act(x) of one number; a NaN stays one. */
static float act_one(const uint act, const float leaky, const float x)
{
    switch (act) {
    case ACT_RELU:
        return x < 0.0f ? 0.0f : x;
    case ACT_LEAKY_RELU:
        return x < 0.0f ? leaky * x : x;
    case ACT_SIGMOID:
        return 1.0f / (1.0f + exp(-x));
    case ACT_TANH:
        return tanh(x);
    default:
        return x;
    }
}

/* d act / d x, told by the output y alone. */
static vec act_slope(const uint act, const float leaky, const vec y)
{
    switch (act) {
    case ACT_RELU:
        return y > 0.0f ? (vec)(1.0f) : (vec)(0.0f);
    case ACT_LEAKY_RELU:
        return y > 0.0f ? (vec)(1.0f) : (vec)(leaky);
    case ACT_SIGMOID:
        return y * (1.0f - y);
    case ACT_TANH:
        return 1.0f - y * y;
    default:
        return (vec)(1.0f);
    }
}

/* ---- Philox 4x32-10, the values of src/base/rng.h. A lane of c0, c1 is one block. ---- */
static void philox(uvec c0, uvec c1, const ulong stream, const ulong seed, uvec out[4])
{
    uvec c2 = (uvec)((uint)stream), c3 = (uvec)((uint)(stream >> 32));
    uint k0 = (uint)seed, k1 = (uint)(seed >> 32);

    for (uint turn = 0; turn < 10; turn++) {
        const uvec high0 = mul_hi(c0, (uvec)(0xD2511F53u)), low0 = c0 * 0xD2511F53u;
        const uvec high1 = mul_hi(c2, (uvec)(0xCD9E8D57u)), low1 = c2 * 0xCD9E8D57u;

        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
