/* selftest.h - does this device compute? GEMM through its chosen candidate, softmax with loss,
 * reduction, update, against plain C. */
#ifndef MOT_OPS_SELFTEST_H
#define MOT_OPS_SELFTEST_H

#include "tensor/tensor.h"

/* Waits. *good = false with a sentence in why: leave the device out. Remembered in the device's
 * store, so that the next start is fast; fresh = true tests anew. */
mot_status mot__selftest(mot__device *device, bool fresh, bool *good, char *why, size_t bytes);

#endif
