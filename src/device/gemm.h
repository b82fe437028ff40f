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

/* Queue it. Which kernel computes it was decided by the opener's wish, by tuning or for the
 * device's class; a candidate is tested against plain C when an orientation is first asked for, and
 * dropped for it where it computes wrongly. Any size from 0 works. */
mot_status mot__gemm(mot__device *device, const struct mot__gemm *gemm);

/* What a product may want besides its operands, by the candidate that will likely compute it; 0 for
 * ours. Does not wait. */
mot_status mot__gemm_packs(mot__device *device, const struct mot__gemm *gemm, size_t *bytes);
/* No more than so many bytes in all from now on; without a word, whatever the pool gives. */
void mot__gemm_packs_allow(mot__device *device, size_t bytes);
size_t mot__gemm_packs_held(const mot__device *device);
/* Somebody will call mot__gemm until _leave; the last one's leaving gives the packs back. */
void mot__gemm_packs_enter(mot__device *device);
void mot__gemm_packs_leave(mot__device *device);

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

/* ---- tuning ---- */

/* By the store, else by testing: does this candidate compute rightly here in this orientation? */
mot_status mot__gemm_trusted(mot__device *device, enum mot__gemm_kind kind, bool trans_a,
                             bool trans_b, bool *good);
/* What the store knows the product by: "gemm.nt.128.512.1024", sizes rounded up to powers of two.
 */
#define MOT__GEMM_WHAT 80
void mot__gemm_what(const struct mot__gemm *gemm, char out[MOT__GEMM_WHAT]);
/* CLBlast can be given parameters of ours, in sets 1 ... mot__gemm_sets(); 0: its own. CLBlast
 * keeps them for the device as long as the process lives, and there is no way back to its own. */
size_t mot__gemm_sets(void);
mot_status mot__gemm_use_set(mot__device *device, size_t set);
size_t mot__gemm_set(const mot__device *device); /* in use */
/* "tile-cpu", "clblast", "clblast-2", and back. */
#define MOT__GEMM_LABEL 24
void mot__gemm_label(enum mot__gemm_kind kind, size_t set, char out[MOT__GEMM_LABEL]);
bool mot__gemm_parse(const char *label, enum mot__gemm_kind *kind, size_t *set);
/* Ask the store anew when a plan is next rehearsed. */
void mot__gemm_anew(mot__device *device);
/* Forget what was asked of the store since the table had so many rows: of a plan for a moment. */
size_t mot__gemm_asked(const mot__device *device);
void mot__gemm_unask(mot__device *device, size_t rows);
bool mot__gemm_wished(const mot__device *device); /* its opener named a candidate */

/* Plain C, for tests: c (m, n) in double arithmetic. */
void mot__gemm_reference(const struct mot__gemm *gemm, const float *a, const float *b,
                         const float *bias, float *c);

#define MOT__LEAKY_SLOPE 0.01f

#endif
