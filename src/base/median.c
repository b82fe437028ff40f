/* median.c - sorted, and the middle taken. */
#include "base/median.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double mot__median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
    return value[count / 2];
}
