/* gemm.h - C = act(alpha * op(A) * op(B) + bias) or C += alpha * op(A) * op(B), row-major, on one
 * device. */
#ifndef MOT_DEVICE_GEMM_H
#define MOT_DEVICE_GEMM_H

#include "device/device.h"

struct mot__gemm {
    bool trans_a, trans_b;
    size_t m, n, k;          /* op(A) is (m, k), op(B) is (k, n), C is (m, n) */
    struct mot__mem a, b, c; /* dense rows: lda = k or m, ldb = n or k, ldc = n */
    float alpha;
    bool accumulate;      /* C += ...; then bias and act must be absent */
    struct mot__mem bias; /* (n), buffer NULL: none */
    enum mot_act act;     /* fused into the last pass; NONE, RELU, LEAKY_RELU, SIGMOID, TANH */
};

/* Queue it. Which kernel computes it was decided for the device's class or by its opener's wish; a
 * candidate is tested against plain C when an orientation is first asked for, and dropped for it
 * where it computes wrongly. Any size from 0 works. */
mot_status mot__gemm(mot__device *device, const struct mot__gemm *gemm);

/* For tests and measurements: by this candidate, without asking whether it is good. */
mot_status mot__gemm_by(mot__device *device, enum mot__gemm_kind kind,
                        const struct mot__gemm *gemm);
/* Test a candidate on this device against plain C in one orientation (tile edges, and for CLBlast a
 * size that reaches its indirect kernel); *good and a sentence that says where it went wrong.
 * Waits. */
mot_status mot__gemm_test(mot__device *device, enum mot__gemm_kind kind, bool trans_a, bool trans_b,
                          bool *good, char *why, size_t bytes);
const char *mot__gemm_name(enum mot__gemm_kind kind); /* "clblast", "tile-cpu", "tile-gpu" */
/* Choose for an orientation, if that was not done yet, and tell. Waits where it tests. */
mot_status mot__gemm_choose(mot__device *device, bool trans_a, bool trans_b,
                            enum mot__gemm_kind *out);
enum mot__gemm_kind mot__gemm_chosen(const mot__device *device, bool trans_a, bool trans_b);

/* Plain C, for tests: c (m, n) in double arithmetic. */
void mot__gemm_reference(const struct mot__gemm *gemm, const float *a, const float *b,
                         const float *bias, float *c);

#define MOT__LEAKY_SLOPE 0.01f

#endif
