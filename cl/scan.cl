/* scan.cl - integer passes over flat buffers: is a number not finite, and sums that two devices
 * with equal bits have in common. Integers alone, and only operations whose order does not matter,
 * so every device gives the same words. */
#if CLASS_CPU
#define SCAN_SPAN 4096 /* floats of one item; a multiple of 16 */
#else
#define SCAN_SPAN 4
#endif
#define ODD_FROM 0x7f800000u

/* ---- numbers that are none ---- */

/* found, four words: {now, last, kind, closed}. now becomes 1.0f where any of x (n, a multiple of
 * 16) is odd; unless closed, last grows to first + index + 1 of the last odd one, and kind gets bit
 * 1 for a NaN, bit 0 for an infinity. Nothing is written while all are finite. Grid: one item per
 * SCAN_SPAN floats. */
static void tell_odd(const uint begin, const uint end, const uint first, global const float *x,
                     volatile global uint *found)
{
    uint last = 0, kind = 0;

    for (uint i = begin; i < end; i++) {
        const uint size = as_uint(x[i]) & 0x7fffffffu;

        if (size >= ODD_FROM) {
            last = first + i + 1;
            kind |= size > ODD_FROM ? 2u : 1u;
        }
    }
    atomic_or(&found[0], 0x3f800000u);
    if (found[3] == 0) {
        atomic_max(&found[1], last);
        atomic_or(&found[2], kind);
    }
}

kernel void scan_odd(const uint n, const uint first, global const float *x, const uint x_at,
                     volatile global uint *found, const uint found_at)
{
    const uint begin = get_global_id(0) * SCAN_SPAN;
    const uint end = min(begin + SCAN_SPAN, n);
    uint sign;

    if (begin >= n)
        return;
    x += x_at;
#if CLASS_CPU
    {
        uint16 all = (uint16)(0u);
        uint part[16];

        for (uint i = begin; i < end; i += 16)
            all |= (as_uint16(vload16(0, x + i)) & 0x7fffffffu) + 0x00800000u;
        vstore16(all, 0, part);
        sign = 0;
        for (uint k = 0; k < 16; k++)
            sign |= part[k];
    }
#else
    {
        const uint4 all = (as_uint4(((global const float4 *)(x + begin))[0]) & 0x7fffffffu) +
                          0x00800000u;

        sign = all.s0 | all.s1 | all.s2 | all.s3;
    }
#endif
    if (sign >> 31)
        tell_odd(begin, end, first, x, found + found_at);
}

/* ---- sums ---- */

/* What the bits at a place add: any one bit that differs changes the first word (its factor is
 * odd); the second weighs places otherwise, so that swapped values show. */
#define ADD_FIRST(bits, place) ((bits) * (2u * (place) + 1u))
#define ADD_SECOND(bits, place) (((bits) ^ ((bits) >> 15)) * (((place) * 0x9e3779b1u) | 1u))
#if CLASS_CPU
#define TEAM_OF_SUM 1
#else
#define TEAM_OF_SUM TEAM
#endif

/* chunk (chunks): {row, place of its first float in the row, where that is in x, floats}; sums
 * (rows, 2) grow. Grid: TEAM_OF_SUM items per chunk. */
kernel void scan_sum(const uint chunks, global const uint *chunk, const uint chunk_at,
                     global const float *x, const uint x_at, volatile global uint *sums,
                     const uint sums_at)
{
    const uint c = get_global_id(0) / TEAM_OF_SUM, me = get_global_id(0) % TEAM_OF_SUM;
    uint4 what;
    uint a = 0, b = 0, i = me;

    if (c >= chunks)
        return;
    what = vload4(c, chunk + chunk_at);
    x += x_at + what.s2;
#if CLASS_CPU
    {
        const uint16 index = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        uint16 as = (uint16)(0u), bs = (uint16)(0u);
        uint part[16];

        for (; i + 16 <= what.s3; i += 16) {
            const uint16 bits = as_uint16(vload16(0, x + i)), place = index + (what.s1 + i);

            as += ADD_FIRST(bits, place);
            bs += ADD_SECOND(bits, place);
        }
        vstore16(as, 0, part);
        for (uint k = 0; k < 16; k++)
            a += part[k];
        vstore16(bs, 0, part);
        for (uint k = 0; k < 16; k++)
            b += part[k];
    }
#endif
    for (; i < what.s3; i += TEAM_OF_SUM) {
        const uint bits = as_uint(x[i]), place = what.s1 + i;

        a += ADD_FIRST(bits, place);
        b += ADD_SECOND(bits, place);
    }
    sums += sums_at + 2 * what.s0;
    atomic_add(&sums[0], a);
    atomic_add(&sums[1], b);
}
