/* dense.c - a fully connected layer: one GEMM forward; backward one launch for the slope and the
 * bias, then a GEMM for each gradient that is wanted. */
#include "ops/dense.h"
#include "device/gemm.h"
#include "ops/activation.h"
#include "ops/grid.h"

/* A GPU's group sums a tile of columns; its lanes share the rows. */
#define CPU_COLUMNS 64 /* of one item */

static mot_status check(const char *op, const struct mot__dense *dense)
{
    mot_status status;

    if ((int)dense->act < MOT_ACT_NONE || dense->act > MOT_ACT_TANH ||
        !mot__activation_from_output(dense->act))
        return mot__fail(MOT_BAD_ARG, "%s: activation %d cannot be fused", op, (int)dense->act);
    if (dense->in == 0 || dense->out == 0)
        return mot__fail(MOT_BAD_ARG, "%s: %zu inputs and %zu outputs", op, dense->in, dense->out);
    status = mot__grid_fits(op, dense->rows, dense->in);
    if (status == MOT_OK)
        status = mot__grid_fits(op, dense->rows, dense->out);
    return status == MOT_OK ? mot__grid_fits(op, dense->out, dense->in) : status;
}

/* The three products: outputs, gradients of weights, of inputs. */
static struct mot__gemm product_y(const struct mot__dense *dense)
{
    return (struct mot__gemm){.trans_b = true,
                              .m = dense->rows,
                              .n = dense->out,
                              .k = dense->in,
                              .a = dense->x,
                              .b = dense->w,
                              .c = dense->y,
                              .alpha = 1,
                              .bias = dense->b,
                              .act = dense->act};
}

static struct mot__gemm product_dw(const struct mot__dense *dense,
                                   const struct mot__dense_back *back)
{
    return (struct mot__gemm){.trans_a = true,
                              .m = dense->out,
                              .n = dense->in,
                              .k = dense->rows,
                              .a = back->dy,
                              .b = dense->x,
                              .c = back->dw,
                              .alpha = 1,
                              .accumulate = back->accumulate};
}

static struct mot__gemm product_dx(const struct mot__dense *dense,
                                   const struct mot__dense_back *back)
{
    return (struct mot__gemm){.m = dense->rows,
                              .n = dense->in,
                              .k = dense->out,
                              .a = back->dy,
                              .b = dense->w,
                              .c = back->dx,
                              .alpha = 1};
}

mot_status mot__dense_forward(mot__device *device, const struct mot__dense *dense)
{
    const struct mot__gemm gemm = product_y(dense);
    mot_status status = check("dense_forward", dense);

    return status == MOT_OK ? mot__gemm(device, &gemm) : status;
}

/* dy becomes dz = dy * act'(y); db = its sum over rows. */
static mot_status bias_backward(mot__device *device, const struct mot__dense *dense,
                                const struct mot__dense_back *back)
{
    const bool cpu = mot__grid_cpu(device);
    const size_t columns = mot__size_min(MOT__BIAS_COLUMNS, mot__device_facts(device)->max_group);
    size_t lanes = MOT__BIAS_LANES;

    while (lanes > 1 && lanes * columns > mot__device_facts(device)->max_group)
        lanes /= 2;
    {
        const struct mot__arg args[] = {
            MOT__U32(dense->rows),      MOT__U32(dense->out),
            MOT__U32(CPU_COLUMNS),      MOT__U32(dense->act),
            MOT__F32(MOT__LEAKY_SLOPE), MOT__U32(back->accumulate),
            MOT__MEM(dense->y),         MOT__MEM(back->dy),
            MOT__MEM(back->db),         MOT__LOCAL(columns * lanes * sizeof(float))};
        const struct mot__launch launch = {
            .program = "bias",
            .kernel = "bias_backward",
            .dims = 2,
            .global = {cpu ? mot__grid_items(dense->out, CPU_COLUMNS) : dense->out,
                       cpu ? 1 : lanes},
            .local = {cpu ? 1 : columns, cpu ? 1 : lanes},
            .args = args,
            .count = MOT__COUNT(args) - (cpu ? 1 : 0)}; /* a CPU's item needs no scratch */

        return mot__launch(device, &launch);
    }
}

mot_status mot__dense_backward(mot__device *device, const struct mot__dense *dense,
                               const struct mot__dense_back *back)
{
    const struct mot__gemm dw = product_dw(dense, back), dx = product_dx(dense, back);
    mot_status status = MOT_OK;

    MOT_TRY(check("dense_backward", dense));
    MOT_TRY(bias_backward(device, dense, back));
    MOT_TRY(mot__gemm(device, &dw));
    if (back->dx.buffer)
        MOT_TRY(mot__gemm(device, &dx));
done:
    return status;
}

mot_status mot__dense_packs(mot__device *device, const struct mot__dense *dense, bool backward,
                            size_t *bytes)
{
    const struct mot__dense_back back = {.accumulate = false};
    const struct mot__gemm product[] = {product_y(dense), product_dw(dense, &back),
                                        product_dx(dense, &back)};
    mot_status status = MOT_OK;
    size_t i, one;

    *bytes = 0;
    for (i = 0; i < (backward ? MOT__COUNT(product) : 1) && status == MOT_OK; i++) {
        status = mot__gemm_packs(device, &product[i], &one);
        *bytes = mot__size_max(*bytes, one);
    }
    return status;
}
