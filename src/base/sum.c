/* sum.c - SHA-256 (FIPS 180-4) and FNV-1a. */
#include "base/sum.h"

#include <string.h>

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static void expand(const unsigned char block[64], uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void absorb(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64], v[8];

    expand(block, w);
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                            choice + round_constant[i] + w[i];
        const uint32_t t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;

        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void mot__sha256_init(struct mot__sha256 *sum)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(sum->state, start, sizeof start);
    sum->bytes = 0;
}

void mot__sha256_add(struct mot__sha256 *sum, const void *data, size_t bytes)
{
    const unsigned char *from = data;

    while (bytes > 0) {
        const size_t held = (size_t)(sum->bytes % sizeof sum->block);
        const size_t take = sizeof sum->block - held < bytes ? sizeof sum->block - held : bytes;

        memcpy(sum->block + held, from, take);
        sum->bytes += take;
        from += take;
        bytes -= take;
        if (held + take == sizeof sum->block)
            absorb(sum->state, sum->block);
    }
}

void mot__sha256_end(struct mot__sha256 *sum, char hex[65])
{
    static const unsigned char padding[64] = {0x80};
    static const char digit[] = "0123456789abcdef";
    const uint64_t bits = sum->bytes * 8;
    const size_t held = (size_t)(sum->bytes % 64);
    unsigned char length[8];

    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    mot__sha256_add(sum, padding, held < 56 ? 56 - held : 120 - held);
    mot__sha256_add(sum, length, sizeof length);
    for (size_t i = 0; i < 64; i++)
        hex[i] = digit[sum->state[i / 8] >> (28 - i % 8 * 4) & 15];
    hex[64] = '\0';
}

uint64_t mot__hash64(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *from = data;
    uint64_t hash = 0xcbf29ce484222325u ^ seed;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ from[i]) * 0x100000001b3u;
    return hash;
}
