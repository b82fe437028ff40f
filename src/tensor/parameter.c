/* parameter.c - the table of learned tensors and the values they start with. */
#include "base/rng.h"
#include "base/text.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_DEVIATION 0.05

/* He, Zhang, Ren, Sun 2015: a rectifier halves the variance, so the deviation is sqrt(2 / fan in).
 */
static float start_he(const struct mot__parameter *row, uint64_t seed, uint64_t stream,
                      uint64_t index)
{
    const double deviation = sqrt(2.0 / (double)row->fan_in);

    return (float)(deviation * (double)mot__rng_normal(seed, stream, index));
}

/* Glorot, Bengio 2010: uniform within sqrt(6 / (fan in + fan out)). */
static float start_glorot(const struct mot__parameter *row, uint64_t seed, uint64_t stream,
                          uint64_t index)
{
    const double limit = sqrt(6.0 / ((double)row->fan_in + (double)row->fan_out));

    return (float)(limit * (2.0 * (double)mot__rng_unit(seed, stream, index) - 1.0));
}

static float start_normal(const struct mot__parameter *row, uint64_t seed, uint64_t stream,
                          uint64_t index)
{
    (void)row;
    return (float)(NORMAL_DEVIATION * (double)mot__rng_normal(seed, stream, index));
}

static float start_zero(const struct mot__parameter *row, uint64_t seed, uint64_t stream,
                        uint64_t index)
{
    (void)row;
    (void)seed;
    (void)stream;
    (void)index;
    return 0;
}

float mot__parameter_start(const struct mot__parameters *table, size_t p, uint64_t seed,
                           size_t index)
{
    static float (*const start[])(const struct mot__parameter *, uint64_t, uint64_t, uint64_t) = {
        [MOT_INIT_HE] = start_he,
        [MOT_INIT_GLOROT] = start_glorot,
        [MOT_INIT_NORMAL] = start_normal,
        [MOT_INIT_ZERO] = start_zero,
    };
    const uint64_t stream = (uint64_t)MOT__STREAM_INIT << 32 | p;

    return start[table->row[p].init](&table->row[p], seed, stream, index);
}

mot_status mot__parameter_find(const struct mot__parameters *table, const char *name, size_t *out)
{
    struct mot__string there = {0};

    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->row[i].name, name) == 0) {
            *out = i;
            return MOT_OK;
        }
    for (size_t i = 0; i < table->count; i++)
        mot__string_add(&there, "%s%s", i ? ", " : "", table->row[i].name);
    mot__fail(MOT_BAD_ARG, "there is no parameter \"%s\"; there are: %s", name,
              there.used ? there.text : "none");
    mot__string_clear(&there);
    return MOT_BAD_ARG;
}

void mot__parameters_clear(struct mot__parameters *table)
{
    free(table->row);
    memset(table, 0, sizeof *table);
}
