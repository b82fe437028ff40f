/* odd.h - floats that are no finite number, found by their bits. */
#ifndef MOT_BASE_ODD_H
#define MOT_BASE_ODD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The sign bit is set where x is NaN or infinite: a magnitude from infinity's on, plus 2^23,
 * reaches it. Any number of them may be joined by |. */
static inline uint32_t mot__odd_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fffffffu) + 0x00800000u;
}

bool mot__odd(float x);                         /* NaN or infinite */
bool mot__odd_any(const float *x, size_t n);    /* one pass that the compiler widens */
size_t mot__odd_last(const float *x, size_t n); /* the index of the last one; n: there is none */

#endif
