/* size.h - arithmetic on sizes that says when it would overflow. */
#ifndef MOT_BASE_SIZE_H
#define MOT_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool mot__size_add(size_t a, size_t b, size_t *out)
{
    *out = a + b;
    return *out >= a;
}

static inline bool mot__size_mul(size_t a, size_t b, size_t *out)
{
    *out = a * b;
    return a == 0 || *out / a == b;
}

static inline size_t mot__size_round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

static inline size_t mot__size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t mot__size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
