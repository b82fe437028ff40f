/* add.c - y = a + b. */
#include "ops/add.h"
#include "ops/grid.h"

mot_status mot__add_launch(mot__device *device, size_t n, struct mot__mem a, struct mot__mem b,
                           struct mot__mem y)
{
    const size_t each = mot__grid_each(device, n, 1, 64);
    const struct mot__arg args[] = {MOT__U32(n), MOT__U32(each), MOT__MEM(a), MOT__MEM(b),
                                    MOT__MEM(y)};
    const struct mot__launch launch = {.program = "add",
                                       .kernel = "add_forward",
                                       .dims = 1,
                                       .global = {mot__grid_items(n, each)},
                                       .args = args,
                                       .count = MOT__COUNT(args)};
    mot_status status = mot__grid_fits("add", n, 1);

    return status == MOT_OK ? mot__launch(device, &launch) : status;
}
