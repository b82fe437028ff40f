/* odd.c - floats that are no finite number. */
#include "base/odd.h"

#include "base/wide.h"

bool mot__odd(float x)
{
    return mot__odd_bits(x) >> 31;
}

MOT__WIDE bool mot__odd_any(const float *x, size_t n)
{
    uint32_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= mot__odd_bits(x[i]);
    return all >> 31;
}

size_t mot__odd_last(const float *x, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (mot__odd(x[i]))
            return i;
    return n;
}
