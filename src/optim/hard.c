/* hard.c - values that show whether two machines compute alike. */
#include "base/rng.h"
#include "optim/optim.h"

#include <string.h>

/* Of sixteen: four close to the smallest numbers, two zeros and subnormals of both signs, two of
 * any size, one whose square overflows, one whose square is close to the smallest, six ordinary. */
static float hard_value(uint32_t kind, uint32_t bits)
{
    const uint32_t sign = bits & 0x80000000u, fraction = bits & 0x007fffffu;
    uint32_t word;
    float value;

    if (kind < 4)
        word = sign | (1 + (bits >> 23) % 16) << 23 | fraction;
    else if (kind < 6)
        word = sign | (kind == 4 ? 0 : fraction);
    else if (kind < 8)
        word = sign | ((bits >> 23) % 254) << 23 | fraction;
    else if (kind < 9)
        word = sign | (200 + (bits >> 23) % 50) << 23 | fraction;
    else if (kind < 10)
        word = sign | (60 + (bits >> 23) % 8) << 23 | fraction;
    else
        word = sign | (110 + (bits >> 23) % 20) << 23 | fraction;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Every other place is of one kind for all seeds, so that small meets small in all arrays. */
void mot__optim_hard_values(uint64_t seed, size_t n, float *out)
{
    size_t i;

    for (i = 0; i < n; ++i)
        out[i] = hard_value(mot__rng_u32(i % 2 ? 0 : seed, MOT__STREAM_TEST, 2 * i) % 16,
                            mot__rng_u32(seed, MOT__STREAM_TEST, 2 * i + 1));
}
