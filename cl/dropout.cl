/* dropout.cl - y = x * scale where a random number says keep, else 0; forward on x, backward on dy.
 * Element i has the number g = first + i in the whole batch; word g % 4 of Philox block g / 4
 * decides. Grid: one item per `each` sets of VEC blocks, so the first and last sets may reach
 * outside [0, n). */
kernel void dropout_forward(const uint n, const uint each, const uint limit, const float scale,
                            const uint seed_low, const uint seed_high, const uint stream_low,
                            const uint stream_high, const uint first_low, const uint first_high,
                            global const STORED *x, const uint x_at, global STORED *y,
                            const uint y_at)
{
    const ulong seed = upsample(seed_high, seed_low), stream = upsample(stream_high, stream_low);
    const ulong first = upsample(first_high, first_low);
    const uint skip =
        (uint)(first % 4); /* words of the first block that belong to earlier elements */
    const size_t sets = ((size_t)n + skip + 4 * VEC - 1) / (4 * VEC);
    const size_t begin = get_global_id(0) * each, end = min(begin + each, sets);

    for (size_t set = begin; set < end; set++) {
        const ulong block = first / 4 + set * VEC;
        const size_t at = set * 4 * VEC; /* element of its first word, plus skip */
        uvec word[4];
        float keep[4 * VEC];

#if CLASS_CPU
        const uvec low = (uint)block + as_uint8(VEC_INDEX);

        const uint high = (uint)(block >> 32);

        philox(low, low < (uint)block ? (uvec)(high + 1) : (uvec)(high), stream, seed, word);
        for (uint w = 0; w < 4; w++) {
            const vec factor = (word[w] >> 8) >= limit ? (vec)(scale) : (vec)(0.0f);
            float lane[VEC];

            vstore8(factor, 0, lane);
            for (uint k = 0; k < VEC; k++)
                keep[4 * k + w] = lane[k];
        }
        if (at >= skip && at - skip + 4 * VEC <= n) {
            for (uint k = 0; k < 4 * VEC; k += VEC) {
                const vec factor = vload8(0, keep + k), v = LOADV(x + x_at, at - skip + k);

                STOREV(y + y_at, at - skip + k, factor == 0.0f ? (vec)(0.0f) : v * factor);
            }
            continue;
        }
#else
        philox((uint)block, (uint)(block >> 32), stream, seed, word);
        for (uint w = 0; w < 4; w++)
            keep[w] = (word[w] >> 8) >= limit ? scale : 0.0f;
#endif
        for (uint k = 0; k < 4 * VEC; k++)
            if (at + k >= skip && at + k - skip < n) {
                const size_t i = at + k - skip;

                STORE(y + y_at, i, keep[k] == 0.0f ? 0.0f : LOAD(x + x_at, i) * keep[k]);
            }
    }
}
