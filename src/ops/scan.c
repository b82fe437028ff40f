/* scan.c - launches of cl/scan.cl, and the sums in plain C. */
#include "ops/scan.h"
#include "ops/grid.h"

#include <string.h>

mot_status mot__scan_odd(mot__device *device, struct mot__mem x, size_t n, size_t first,
                         struct mot__mem found)
{
    const struct mot__arg args[] = {MOT__U32(n), MOT__U32(first), MOT__MEM(x), MOT__MEM(found)};
    const struct mot__launch launch = {
        .program = "scan",
        .kernel = "scan_odd",
        .dims = 1,
        .global = {mot__grid_items(n, mot__grid_cpu(device) ? MOT__SCAN_SPAN_CPU
                                                            : MOT__SCAN_SPAN_GPU)},
        .args = args,
        .count = MOT__COUNT(args)};

    if (n % 16 != 0 || x.offset % 16 != 0 || n > UINT32_MAX / 2)
        return mot__fail(MOT_BAD_ARG, "scan: %zu floats from %zu on; multiples of 16 are wanted", n,
                         x.offset);
    return n > 0 ? mot__launch(device, &launch) : MOT_OK;
}

mot_status mot__scan_sum(mot__device *device, struct mot__mem x, struct mot__mem chunk,
                         size_t chunks, struct mot__mem sums)
{
    const struct mot__arg args[] = {MOT__U32(chunks), MOT__MEM(chunk), MOT__MEM(x), MOT__MEM(sums)};
    const struct mot__launch launch = {
        .program = "scan",
        .kernel = "scan_sum",
        .dims = 1,
        .global = {mot__grid_cpu(device) ? chunks : chunks * MOT__GRID_TEAM},
        .args = args,
        .count = MOT__COUNT(args)};

    return chunks > 0 ? mot__launch(device, &launch) : MOT_OK;
}

void mot__scan_sum_host(const float *x, size_t count, uint32_t sum[2])
{
    uint32_t a = 0, b = 0;

    for (size_t i = 0; i < count; i++) {
        const uint32_t place = (uint32_t)i;
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof bits);
        a += bits * (2 * place + 1);
        b += (bits ^ (bits >> 15)) * (place * 0x9e3779b1u | 1);
    }
    sum[0] += a;
    sum[1] += b;
}
