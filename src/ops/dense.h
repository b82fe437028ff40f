/* dense.h - y = act(x W^T + b): a fully connected layer and its gradients. W (out, in), b (out). */
#ifndef MOT_OPS_DENSE_H
#define MOT_OPS_DENSE_H

#include "tensor/tensor.h"

struct mot__dense {
    size_t rows, in, out;
    enum mot_act act;           /* fused: NONE or one for which mot__activation_from_output holds */
    struct mot__mem x, w, b, y; /* (rows, in), (out, in), (out), (rows, out) */
};
mot_status mot__dense_forward(mot__device *device, const struct mot__dense *dense);

struct mot__dense_back {
    struct mot__mem dy;     /* (rows, out); becomes the gradient before the activation, in place */
    struct mot__mem dw, db; /* (out, in), (out) */
    struct mot__mem dx;     /* (rows, in); buffer NULL: not wanted (the first layer) */
    bool accumulate;        /* add to dw and db; else overwrite */
};
/* The group that sums db on a GPU, where the device takes so many items; each has a float of local
 * memory. */
#define MOT__BIAS_COLUMNS 32
#define MOT__BIAS_LANES 8
/* rows = 0 writes zeros to dw and db unless it accumulates. */
mot_status mot__dense_backward(mot__device *device, const struct mot__dense *dense,
                               const struct mot__dense_back *back);

/* The most bytes that a pass of this layer may want besides what it is given: packed operands. */
mot_status mot__dense_packs(mot__device *device, const struct mot__dense *dense, bool backward,
                            size_t *bytes);

#endif
