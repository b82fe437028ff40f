/* peak.cl - multiply-adds in registers and nothing else: what the arithmetic units can do at best.
 * Grid: one item per bundle of CHAINS chains, each a vector; rounds passes. The factor and the term
 * are read from memory, so that no compiler can reckon ahead, by vload, after which clang gives a
 * CPU its widest registers; the sum is written, so that nothing is dropped. */
#if CLASS_CPU
typedef float16 wide;
#define LOAD_WIDE(p) vload16(0, p)
#define STORE_WIDE(v, p) vstore16(v, 0, p)
#define LANES 16
#else
typedef float4 wide;
#define LOAD_WIDE(p) vload4(0, p)
#define STORE_WIDE(v, p) vstore4(v, 0, p)
#define LANES 4
#endif
#define CHAINS 12 /* enough to hide the latency of two units, few enough for 16 registers */

kernel void peak(const uint rounds, global const float *in, const uint in_at, global float *out,
                 const uint out_at)
{
    const wide m = LOAD_WIDE(in + in_at), c = LOAD_WIDE(in + in_at + LANES);
    wide x[CHAINS], sum = (wide)(0.0f);

#pragma unroll
    for (uint i = 0; i < CHAINS; i++)
        x[i] = (wide)(1.0f + 0.1f * (float)i);
    for (uint r = 0; r < rounds; r++)
#pragma unroll
        for (uint i = 0; i < CHAINS; i++)
            x[i] = x[i] * m + c;
#pragma unroll
    for (uint i = 0; i < CHAINS; i++)
        sum += x[i];
    STORE_WIDE(sum, out + out_at + get_global_id(0) * LANES);
}
