/* grid.h - how the ops cut their work: fat items on CPU-class devices, one item per element or a
 * group per wide row on GPU-class ones. The cut never changes a result. */
#ifndef MOT_OPS_GRID_H
#define MOT_OPS_GRID_H

#include "base/size.h"
#include "device/device.h"

/* Elements for one item of a CPU: enough to outweigh the start of an item (about a microsecond),
 * few enough to feed every core. */
#define MOT__GRID_LEAST 512
#define MOT__GRID_ITEMS_PER_UNIT 4

/* Elements that a CPU's item works on at a time: VEC of cl/common.cl; a GPU's has one. */
#define MOT__GRID_VEC ((size_t)8)

/* Items of a group that shares one row: TEAM of cl/common.cl; and the width from which it pays. */
#define MOT__GRID_TEAM 64
#define MOT__GRID_TEAM_WIDTH 128

static inline bool mot__grid_cpu(const mot__device *device)
{
    return mot__device_facts(device)->device_class == MOT_CLASS_CPU;
}

/* Pieces (elements, rows, blocks; each of `weight` elements) that one item takes out of n. */
static inline size_t mot__grid_each(const mot__device *device, size_t n, size_t weight, size_t step)
{
    const size_t units = mot__size_max(mot__device_facts(device)->units, 1);
    size_t each;

    if (!mot__grid_cpu(device))
        return 1;
    each = mot__size_max(n / (units * MOT__GRID_ITEMS_PER_UNIT),
                         MOT__GRID_LEAST / mot__size_max(weight, 1));
    return mot__size_round_up(mot__size_max(each, 1), step);
}

static inline size_t mot__grid_items(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

/* One group per row rather than one item? */
static inline bool mot__grid_team(const mot__device *device, size_t width)
{
    return !mot__grid_cpu(device) && width >= MOT__GRID_TEAM_WIDTH &&
           mot__device_facts(device)->max_group >= MOT__GRID_TEAM;
}

/* Kernels count in 32 bits: rows * width elements must fit. */
static inline mot_status mot__grid_fits(const char *op, size_t rows, size_t width)
{
    size_t n;

    if (mot__size_mul(rows, width, &n) && n <= UINT32_MAX && rows <= UINT32_MAX &&
        width <= UINT32_MAX)
        return MOT_OK;
    return mot__fail(MOT_UNSUPPORTED, "%s: %zu rows of %zu are more than 2^32 elements", op, rows,
                     width);
}

/* x, or where there is none any other place: kernels that do not read it still want a pointer. */
static inline struct mot__mem mot__grid_or(struct mot__mem x, struct mot__mem other)
{
    return x.buffer ? x : other;
}

#endif
