/* gemm_tile.c - the grids of our own GEMM kernels, cl/gemm_cpu.cl and cl/gemm_gpu.cl. */
#include "base/size.h"
#include "device/gemm_parts.h"

#include <stdio.h>

/* ---- CPU class ---- */

/* Measured on PoCL with AVX-512 and AVX2: a thread wakes in tens of microseconds, so a group must
 * be worth it; blocks above 256 no longer pack less, below 128 they pack too often. */
#define GROUP_WORK ((size_t)320 << 10) /* multiply-adds that pay for another group */
#define GROUPS_PER_UNIT 2              /* so that a disturbed unit does not hold up the rest, ... */
#define BLOCK_MOST 256
#define PITCH_PAD 16 /* A_PITCH - DEPTH in the kernel */
/* Rows of A against rows of B, nothing packed: with AVX-512 1.1 to 2 x as fast where there are few
 * columns, and level beyond; steps enough to pay for adding up the lanes of each sum. */
#define DOTS_MOST 64
#define DOTS_STEPS 64

/* By the width of a register; rows: ROWS in the kernel. */
static const struct {
    size_t width, rows;
} widths[] = {{16, 8}, {8, 6}, {4, 6}};

/* Few passes over k where local memory has room for long ones. */
static const struct {
    size_t local_bytes, depth;
} depths[] = {{256 << 10, 384}, {96 << 10, 128}, {0, 32}};

struct blocks {
    size_t mb, nb, kc;         /* of one group */
    size_t strips, columns;    /* bytes of local memory */
    size_t groups_m, groups_n; /* the grid */
};

bool mot__gemm_cpu_variant(size_t i, char *out, size_t bytes)
{
    const size_t width = i / MOT__COUNT(depths), depth = i % MOT__COUNT(depths);

    if (width >= MOT__COUNT(widths))
        return false;
    snprintf(out, bytes, "-DWIDTH=%zu -DDEPTH=%zu", widths[width].width, depths[depth].depth);
    return true;
}

void mot__gemm_tile_shape(const mot__device *device, struct mot__gemm_state *state)
{
    cl_uint native = 0;
    size_t w, d;

    clGetDeviceInfo(device->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof native, &native, NULL);
    for (w = 0; w + 1 < MOT__COUNT(widths) && native < widths[w].width; w++)
        ;
    state->width = widths[w].width;
    for (d = 0; d + 1 < MOT__COUNT(depths) && device->facts.local_bytes < depths[d].local_bytes;
         d++)
        ;
    state->depth = depths[d].depth;
    mot__gemm_cpu_variant(MOT__COUNT(depths) * w + d, state->defines, sizeof state->defines);
}

static size_t strip_rows(size_t width)
{
    size_t i;

    for (i = 0; widths[i].width != width; i++)
        ;
    return widths[i].rows;
}

static size_t parts_of(size_t n, size_t part)
{
    return (n + part - 1) / part;
}

/* The smallest multiple of grain that cuts n into as many parts as `part` does: even parts. */
static size_t even_part(size_t n, size_t part, size_t grain)
{
    return mot__size_round_up(parts_of(n, parts_of(n, part)), grain);
}

/* Cut C into blocks: as few as keep every unit busy, since each block packs for itself; columns
 * before rows, since packing B costs more than packing A. */
static struct blocks cut(const mot__device *device, const struct mot__gemm_state *state,
                         const struct mot__gemm *gemm)
{
    const size_t rows = strip_rows(state->width), cols = 2 * state->width;
    const size_t row_bytes = (state->depth + PITCH_PAD) * sizeof(float);
    const size_t worth = (size_t)((double)gemm->m * (double)gemm->n * (double)gemm->k / GROUP_WORK);
    const size_t units = device->facts.units;
    const size_t most = units > 1 ? GROUPS_PER_UNIT * units : 1; /* ... of which one has none */
    const size_t wanted = mot__size_max(1, mot__size_min(worth, most));
    struct blocks b = {.columns = state->depth * cols * sizeof(float)};
    const size_t room = device->facts.local_bytes > b.columns + rows * row_bytes
                            ? (device->facts.local_bytes - b.columns) / row_bytes / rows * rows
                            : rows;

    b.mb = mot__size_min(mot__size_round_up(gemm->m, rows), mot__size_min(BLOCK_MOST, room));
    b.nb = mot__size_min(mot__size_round_up(gemm->n, cols), BLOCK_MOST);
    while (parts_of(gemm->m, b.mb) * parts_of(gemm->n, b.nb) < wanted) {
        if (b.nb > cols && (b.nb >= b.mb || b.mb <= rows))
            b.nb = mot__size_round_up(b.nb / 2, cols);
        else if (b.mb > rows)
            b.mb = mot__size_round_up(b.mb / 2, rows);
        else
            break;
    }
    b.mb = mot__size_min(even_part(gemm->m, b.mb, rows), b.mb);
    b.nb = mot__size_min(even_part(gemm->n, b.nb, state->width), b.nb);
    b.kc = even_part(gemm->k, state->depth, 16);
    b.strips = b.mb * row_bytes;
    b.groups_m = parts_of(gemm->m, b.mb);
    b.groups_n = parts_of(gemm->n, b.nb);
    return b;
}

/* Never by the number of rows: a row must have the same bits however many are computed with it, or
 * a cut into micro-batches would show. */
static bool by_dots(const struct mot__gemm *gemm)
{
    return !gemm->trans_a && gemm->trans_b && gemm->k >= DOTS_STEPS && gemm->n <= DOTS_MOST;
}

mot_status mot__gemm_tile_cpu(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm_state *state;
    const struct mot__mem bias = gemm->bias.buffer ? gemm->bias : gemm->c;
    mot_status status = mot__gemm_state(device, &state);
    struct blocks b;

    if (status != MOT_OK)
        return status;
    b = cut(device, state, gemm);
    {
        const struct mot__arg args[] = {
            MOT__U32(gemm->trans_a),
            MOT__U32(gemm->trans_b),
            MOT__U32(by_dots(gemm)),
            MOT__U32(gemm->m),
            MOT__U32(gemm->n),
            MOT__U32(gemm->k),
            MOT__U32(b.mb),
            MOT__U32(b.nb),
            MOT__U32(b.kc),
            MOT__F32(gemm->alpha),
            MOT__U32(gemm->accumulate),
            MOT__U32(gemm->act),
            MOT__F32(MOT__LEAKY_SLOPE),
            MOT__U32(gemm->bias.buffer != NULL),
            MOT__LOCAL(b.strips),
            MOT__LOCAL(b.columns),
            MOT__MEM(gemm->a),
            MOT__MEM(gemm->b),
            MOT__MEM(bias),
            MOT__MEM(gemm->c),
        };

        return mot__launch(device, &(struct mot__launch){
                                       .program = "gemm_cpu",
                                       .kernel = "gemm_cpu",
                                       .defines = state->defines,
                                       .dims = 2,
                                       .global = {b.groups_n, b.groups_m},
                                       .local = {1, 1},
                                       .args = args,
                                       .count = MOT__COUNT(args),
                                   });
    }
}

/* ---- GPU class ---- */

#define GPU_DEFINES(side)                                                                          \
    {                                                                                              \
        side,                                                                                      \
        {                                                                                          \
            "-DSIDE=" #side " -DTRANS_A=0 -DTRANS_B=0",                                            \
                "-DSIDE=" #side " -DTRANS_A=0 -DTRANS_B=1",                                        \
                "-DSIDE=" #side " -DTRANS_A=1 -DTRANS_B=0",                                        \
                "-DSIDE=" #side " -DTRANS_A=1 -DTRANS_B=1"                                         \
        }                                                                                          \
    }
static const struct {
    size_t side; /* of a group; it computes 4 side x 4 side of C */
    const char *defines[4];
} sides[] = {GPU_DEFINES(16), GPU_DEFINES(8), GPU_DEFINES(4), GPU_DEFINES(2), GPU_DEFINES(1)};
#define SIDE_SMALL 1 /* row of the smallest square worth its loads, where groups may be larger */

bool mot__gemm_gpu_variant(size_t i, char *out, size_t bytes)
{
    if (i / 4 >= MOT__COUNT(sides))
        return false;
    snprintf(out, bytes, "%s", sides[i / 4].defines[i % 4]);
    return true;
}

/* The largest squares that fit a group and still give every unit two of them. */
static size_t pick_side(const mot__device *device, const struct mot__gemm *gemm)
{
    const struct mot__device_facts *facts = &device->facts;
    size_t i, edge;

    for (i = 0; i + 1 < MOT__COUNT(sides); i++) {
        edge = 4 * sides[i].side;
        if (sides[i].side * sides[i].side > facts->max_group)
            continue;
        if (i >= SIDE_SMALL ||
            parts_of(gemm->m, edge) * parts_of(gemm->n, edge) >= 2 * facts->units)
            break;
    }
    return i;
}

mot_status mot__gemm_tile_gpu(mot__device *device, const struct mot__gemm *gemm)
{
    const size_t pick = pick_side(device, gemm), side = sides[pick].side;
    const struct mot__mem bias = gemm->bias.buffer ? gemm->bias : gemm->c;
    const struct mot__arg args[] = {
        MOT__U32(gemm->m),
        MOT__U32(gemm->n),
        MOT__U32(gemm->k),
        MOT__F32(gemm->alpha),
        MOT__U32(gemm->accumulate),
        MOT__U32(gemm->act),
        MOT__F32(MOT__LEAKY_SLOPE),
        MOT__U32(gemm->bias.buffer != NULL),
        MOT__MEM(gemm->a),
        MOT__MEM(gemm->b),
        MOT__MEM(bias),
        MOT__MEM(gemm->c),
    };

    return mot__launch(
        device,
        &(struct mot__launch){
            .program = "gemm_gpu",
            .kernel = "gemm_gpu",
            .defines = sides[pick].defines[2 * gemm->trans_a + gemm->trans_b],
            .dims = 2,
            .global = {parts_of(gemm->n, 4 * side) * side, parts_of(gemm->m, 4 * side) * side},
            .local = {side, side},
            .args = args,
            .count = MOT__COUNT(args),
        });
}

/* ---- after a GEMM that is not ours, or none ---- */

mot_status mot__gemm_epilogue(mot__device *device, const struct mot__gemm *gemm, bool from_zero)
{
    const struct mot__mem bias = gemm->bias.buffer ? gemm->bias : gemm->c;
    const struct mot__arg args[] = {
        MOT__U32(gemm->m),   MOT__U32(gemm->n),          MOT__U32(from_zero),
        MOT__U32(gemm->act), MOT__F32(MOT__LEAKY_SLOPE), MOT__U32(gemm->bias.buffer != NULL),
        MOT__MEM(bias),      MOT__MEM(gemm->c),
    };

    return mot__launch(device, &(struct mot__launch){
                                   .program = "gemm_epilogue",
                                   .kernel = "gemm_epilogue",
                                   .dims = 1,
                                   .global = {gemm->m * gemm->n},
                                   .local = {mot__size_min(64, device->facts.max_group)},
                                   .args = args,
                                   .count = MOT__COUNT(args),
                               });
}
