/* dropout.c - the same random mask forward and backward, drawn where it is used. */
#include "ops/dropout.h"
#include "base/rng.h"
#include "ops/grid.h"

#include <math.h>

#define WORDS 4 /* of one Philox block */

static uint64_t stream_of(const struct mot__dropout *dropout)
{
    return ((uint64_t)MOT__STREAM_DROPOUT << 32 | dropout->node) ^ dropout->step << 40;
}

/* Kept are the 24-bit numbers from here on. */
static uint32_t limit_of(const struct mot__dropout *dropout)
{
    return (uint32_t)ceil(dropout->rate * 0x1p24);
}

mot_status mot__dropout_launch(mot__device *device, const struct mot__dropout *dropout,
                               struct mot__mem x, struct mot__mem y)
{
    const size_t n = dropout->rows * dropout->width;
    const uint64_t stream = stream_of(dropout);
    const uint64_t first = (uint64_t)dropout->first_row * dropout->width;
    const size_t vec = mot__grid_cpu(device) ? MOT__GRID_VEC : 1;
    const size_t sets = n ? (n + first % WORDS + WORDS * vec - 1) / (WORDS * vec) : 0;
    const size_t each = mot__grid_each(device, sets, WORDS * vec, 1);
    const struct mot__arg args[] = {MOT__U32(n),
                                    MOT__U32(each),
                                    MOT__U32(limit_of(dropout)),
                                    MOT__F32(1 / (1 - dropout->rate)),
                                    MOT__U32(dropout->seed),
                                    MOT__U32(dropout->seed >> 32),
                                    MOT__U32(stream),
                                    MOT__U32(stream >> 32),
                                    MOT__U32(first),
                                    MOT__U32(first >> 32),
                                    MOT__MEM(x),
                                    MOT__MEM(y)};
    const struct mot__launch launch = {.program = "dropout",
                                       .kernel = "dropout_forward",
                                       .dims = 1,
                                       .global = {mot__grid_items(sets, each)},
                                       .args = args,
                                       .count = MOT__COUNT(args)};
    mot_status status = mot__grid_fits("dropout", dropout->rows, dropout->width);

    if (status != MOT_OK)
        return status;
    if (!(dropout->rate >= 0 && dropout->rate < 1))
        return mot__fail(MOT_BAD_ARG, "dropout: rate %g is not in [0, 1)", dropout->rate);
    return mot__launch(device, &launch);
}

void mot__dropout_reference(const struct mot__dropout *dropout, const float *x, float *y)
{
    const uint64_t stream = stream_of(dropout);
    const uint64_t first = (uint64_t)dropout->first_row * dropout->width;
    const float scale = (float)(1 / (1 - dropout->rate));

    for (size_t i = 0; i < dropout->rows * dropout->width; i++) {
        const double draw = mot__rng_unit(dropout->seed, stream, first + i);

        y[i] = draw >= dropout->rate ? x[i] * scale : 0;
    }
}
