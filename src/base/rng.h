/* rng.h - Philox 4x32-10, a counter in place of a state: a value depends on (seed, stream, index)
 * and on nothing else, so nothing random depends on how many replicas there are. Salmon, Moraes,
 * Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. cl/common.cl has the same
 * function for devices. */
#ifndef MOT_BASE_RNG_H
#define MOT_BASE_RNG_H

#include <stdint.h>

void mot__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The 32 bits that belong to (seed, stream, index): word index % 4 of block index / 4.
 * key = seed (low, high); counter = block (low, high), stream (low, high). */
uint32_t mot__rng_u32(uint64_t seed, uint64_t stream, uint64_t index);
float mot__rng_unit(uint64_t seed, uint64_t stream, uint64_t index);   /* [0, 1), 24 bits */
float mot__rng_normal(uint64_t seed, uint64_t stream, uint64_t index); /* mean 0, deviation 1 */

/* Streams that must not meet. */
enum mot__stream {
    MOT__STREAM_INIT = 1,    /* << 32 | parameter */
    MOT__STREAM_SHUFFLE = 2, /* << 32 | epoch */
    MOT__STREAM_DROPOUT = 3, /* << 32 | node, xored with the step << 40 */
    MOT__STREAM_DIGITS = 4,
    MOT__STREAM_TEST = 5
};

#endif
