/* sum.h - checksums: SHA-256 for keys and downloads, a fast 64-bit one for the rest. */
#ifndef MOT_BASE_SUM_H
#define MOT_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

struct mot__sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};
void mot__sha256_init(struct mot__sha256 *sum);
void mot__sha256_add(struct mot__sha256 *sum, const void *data, size_t bytes);
void mot__sha256_end(struct mot__sha256 *sum, char hex[65]);

uint64_t mot__hash64(const void *data, size_t bytes, uint64_t seed); /* FNV-1a, 64 bits */

#endif
