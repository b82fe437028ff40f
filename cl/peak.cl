/* peak.cl - multiply-adds in registers and nothing else: what the arithmetic units can do at best.
 * Grid: one item per chain bundle. rounds passes of 8 chains of VEC lanes; the result is written so
 * that nothing is dropped. */
#if CLASS_CPU
typedef float16 wide;
#define SUM(v)                                                                                     \
    (v.s0 + v.s1 + v.s2 + v.s3 + v.s4 + v.s5 + v.s6 + v.s7 + v.s8 + v.s9 + v.sa + v.sb + v.sc +    \
     v.sd + v.se + v.sf)
#else
typedef float4 wide;
#define SUM(v) (v.s0 + v.s1 + v.s2 + v.s3)
#endif

kernel void peak(const uint rounds, const float a, const float b, global float *out,
                 const uint out_at)
{
    const size_t i = get_global_id(0);
    wide x0 = (wide)(1.0f), x1 = (wide)(1.1f), x2 = (wide)(1.2f), x3 = (wide)(1.3f);
    wide x4 = (wide)(1.4f), x5 = (wide)(1.5f), x6 = (wide)(1.6f), x7 = (wide)(1.7f);
    const wide m = (wide)(a), c = (wide)(b);

    for (uint r = 0; r < rounds; r++) {
        x0 = mad(x0, m, c);
        x1 = mad(x1, m, c);
        x2 = mad(x2, m, c);
        x3 = mad(x3, m, c);
        x4 = mad(x4, m, c);
        x5 = mad(x5, m, c);
        x6 = mad(x6, m, c);
        x7 = mad(x7, m, c);
    }
    out[out_at + i] = SUM(x0) + SUM(x1) + SUM(x2) + SUM(x3) + SUM(x4) + SUM(x5) + SUM(x6) + SUM(x7);
}
