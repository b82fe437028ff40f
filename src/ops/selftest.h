/* selftest.h - does this device compute? Each op against plain C on small hard inputs, before it is
 * first used; what no plan takes is neither built nor tested. */
#ifndef MOT_OPS_SELFTEST_H
#define MOT_OPS_SELFTEST_H

#include "tensor/tensor.h"

enum mot__op {
    MOT__OP_DENSE, /* forward, through the chosen GEMM: what every network needs */
    MOT__OP_DENSE_BACK,
    MOT__OP_SOFTMAX,
    MOT__OP_ACTIVATION,
    MOT__OP_DROPOUT,
    MOT__OP_ADD,
    MOT__OP_GATHER_F32,
    MOT__OP_GATHER_U8,
    MOT__OP_LOSS, /* + enum mot__loss_kind */
    MOT__OPS = MOT__OP_LOSS + 3
};

/* Waits. *good = false with a sentence in why: nothing may be computed with this op here.
 * Remembered in the device's store, so that the next start is fast; fresh = true tests anew. */
mot_status mot__selftest(mot__device *device, enum mot__op op, bool fresh, bool *good, char *why,
                         size_t bytes);
/* The same as one call: an op that is wrong is MOT_DEVICE_FAILED with the device's name and why. */
mot_status mot__selftest_need(mot__device *device, enum mot__op op);

#endif
