/* activation.c - y = act(x) element by element, and its gradient. */
#include "ops/activation.h"
#include "device/gemm.h"
#include "ops/grid.h"

#include <math.h>

_Static_assert(MOT_ACT_NONE == 0 && MOT_ACT_RELU == 1 && MOT_ACT_LEAKY_RELU == 2 &&
                   MOT_ACT_GELU == 3 && MOT_ACT_SIGMOID == 4 && MOT_ACT_TANH == 5,
               "cl/common.cl has the same numbers");

static mot_status check(const char *op, enum mot_act act, size_t n)
{
    if ((int)act < MOT_ACT_NONE || act > MOT_ACT_TANH)
        return mot__fail(MOT_BAD_ARG, "%s: activation %d is not one of single elements", op,
                         (int)act);
    return mot__grid_fits(op, n, 1);
}

mot_status mot__activation_forward(mot__device *device, enum mot_act act, size_t n,
                                   struct mot__mem x, struct mot__mem y)
{
    const size_t each = mot__grid_each(device, n, 1, 64);
    const struct mot__arg args[] = {MOT__U32(n),   MOT__U32(each),
                                    MOT__U32(act), MOT__F32(MOT__LEAKY_SLOPE),
                                    MOT__MEM(x),   MOT__MEM(y)};
    const struct mot__launch launch = {.program = "activation",
                                       .kernel = "activation_forward",
                                       .dims = 1,
                                       .global = {mot__grid_items(n, each)},
                                       .args = args,
                                       .count = MOT__COUNT(args)};
    mot_status status = check("activation_forward", act, n);

    return status == MOT_OK ? mot__launch(device, &launch) : status;
}

mot_status mot__activation_backward(mot__device *device, enum mot_act act, size_t n,
                                    struct mot__mem x, struct mot__mem y, struct mot__mem dy,
                                    struct mot__mem dx)
{
    const size_t each = mot__grid_each(device, n, 1, 64);
    const struct mot__mem from = mot__activation_from_output(act) ? y : x;
    const struct mot__arg args[] = {
        MOT__U32(n),    MOT__U32(each), MOT__U32(act), MOT__F32(MOT__LEAKY_SLOPE),
        MOT__MEM(from), MOT__MEM(dy),   MOT__MEM(dx)};
    const struct mot__launch launch = {.program = "activation",
                                       .kernel = "activation_backward",
                                       .dims = 1,
                                       .global = {mot__grid_items(n, each)},
                                       .args = args,
                                       .count = MOT__COUNT(args)};
    mot_status status = check("activation_backward", act, n);

    return status == MOT_OK ? mot__launch(device, &launch) : status;
}

bool mot__activation_from_output(enum mot_act act)
{
    return act != MOT_ACT_GELU;
}

double mot__activation_reference(enum mot_act act, double x)
{
    switch (act) {
    case MOT_ACT_NONE:
        return x;
    case MOT_ACT_RELU:
        return x < 0 ? 0 : x;
    case MOT_ACT_LEAKY_RELU:
        return x < 0 ? (double)MOT__LEAKY_SLOPE * x : x;
    case MOT_ACT_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case MOT_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case MOT_ACT_TANH:
        return tanh(x);
    case MOT_ACT_SOFTMAX:
        break; /* of rows, not of elements */
    }
    return NAN;
}

double mot__activation_slope_reference(enum mot_act act, double x)
{
    const double y = mot__activation_reference(act, x);

    switch (act) {
    case MOT_ACT_NONE:
        return 1;
    case MOT_ACT_RELU:
        return x > 0 ? 1 : 0;
    case MOT_ACT_LEAKY_RELU:
        return x > 0 ? 1 : (double)MOT__LEAKY_SLOPE;
    case MOT_ACT_GELU:
        return 0.5 * erfc(-x * 0.70710678118654752440) +
               x * 0.39894228040143267794 * exp(-0.5 * x * x);
    case MOT_ACT_SIGMOID:
        return y * (1 - y);
    case MOT_ACT_TANH:
        return 1 - y * y;
    case MOT_ACT_SOFTMAX:
        break;
    }
    return NAN;
}
