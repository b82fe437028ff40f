/* loss.h - losses of rows, their gradients, and the record of a step.
 * Everything is a sum over rows: the one division by the count happens in the update. */
#ifndef MOT_OPS_LOSS_H
#define MOT_OPS_LOSS_H

#include "tensor/tensor.h"

enum mot__loss_kind {
    MOT__LOSS_LOGITS, /* cross-entropy, x are logits: -sum t log softmax(x); dx = softmax(x) sum t -
                         t */
    MOT__LOSS_PROBABILITIES, /* cross-entropy, x are probabilities, kept in [1e-7, 1 - 1e-7] as
                                Keras does; clipped: slope 0 */
    MOT__LOSS_SQUARES        /* mean over width of (x - t)^2 */
};

struct mot__loss {
    enum mot__loss_kind kind;
    size_t rows, width;
    struct mot__mem x;       /* (rows, width) */
    struct mot__mem labels;  /* uint (rows); or buffer NULL and targets */
    struct mot__mem targets; /* (rows, width) */
    float scale;             /* of dx; 1 for the plain sum */
    struct mot__mem
        dx; /* (rows, width), d(sum of losses)/dx * scale; buffer NULL: no gradient. May be x */
    struct mot__mem row; /* (rows, 2): loss and correct of each row; scratch */
    struct mot__mem
        record; /* MOT__RECORD_* of optim.h: loss sum, correct, count, bad; the rest untouched */
    bool accumulate; /* add to the record; else overwrite it */
};
/* Two launches: rows, then the record (added in the order of rows, the same for every group size).
 * bad = number of rows whose loss is not finite (and whose loss is then not added). correct: the
 * largest output (first of equals) is the label, or is at the largest target; 0 for SQUARES. rows =
 * 0 still writes the record. */
mot_status mot__loss_launch(mot__device *device, const struct mot__loss *loss);

/* Plain C: per-row loss (rows), dx (rows, width) or NULL; returns the sum of losses, *correct the
 * count. */
double mot__loss_reference(enum mot__loss_kind kind, size_t rows, size_t width, const float *x,
                           const uint32_t *labels, const float *targets, float *row, float *dx,
                           size_t *correct);

#endif
