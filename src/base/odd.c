/* odd.c - the exponent test: a magnitude from infinity's on, plus 2^23, reaches the sign bit. */
#include "base/odd.h"

#include "base/wide.h"

#include <stdint.h>
#include <string.h>

static uint32_t test(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fffffffu) + 0x00800000u;
}

bool mot__odd(float x)
{
    return test(x) >> 31;
}

MOT__WIDE bool mot__odd_any(const float *x, size_t n)
{
    uint32_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= test(x[i]);
    return all >> 31;
}

size_t mot__odd_last(const float *x, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (mot__odd(x[i]))
            return i;
    return n;
}
