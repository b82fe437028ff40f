/* rng.c - Philox 4x32-10 and the draws made from it. */
#include "base/rng.h"

#include <math.h>

#define ROUNDS 10

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    const uint64_t product = (uint64_t)a * b;

    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

/* Multipliers and Weyl increments as published with the generator. */
void mot__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < ROUNDS; round++) {
        uint32_t high0, low0, high1, low1;

        multiply(0xD2511F53u, c0, &high0, &low0);
        multiply(0xCD9E8D57u, c2, &high1, &low1);
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

static void block_of(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};

    mot__philox(counter, key, out);
}

uint32_t mot__rng_u32(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t word[4];

    block_of(seed, stream, index / 4, word);
    return word[index % 4];
}

float mot__rng_unit(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(mot__rng_u32(seed, stream, index) >> 8) * 0x1p-24f;
}

/* Box and Muller's cosine branch, two words a value. In double, so that the last bit of one libm's
 * log or cos almost never reaches the float. */
float mot__rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    const double turn = 6.283185307179586476925286766559;
    uint32_t word[4];
    double radius, angle;

    block_of(seed, stream, index / 2, word);
    radius = sqrt(-2.0 * log(((double)word[index % 2 * 2] + 0.5) * 0x1p-32)); /* never log(0) */
    angle = turn * ((double)word[index % 2 * 2 + 1] * 0x1p-32);
    return (float)(radius * cos(angle));
}
