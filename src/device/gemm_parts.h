/* gemm_parts.h - what the files of GEMM share: the candidates behind one signature. */
#ifndef MOT_DEVICE_GEMM_PARTS_H
#define MOT_DEVICE_GEMM_PARTS_H

#include "device/gemm.h"
#include "device/internal.h"

typedef mot_status mot__gemm_run(mot__device *device, const struct mot__gemm *gemm);

struct mot__gemm_row { /* a product that was rehearsed; sizes rounded up to powers of two */
    bool trans_a, trans_b;
    size_t m, n, k;
    enum mot__gemm_kind kind; /* AUTO: the usual one */
};

struct mot__gemm_state {
    enum mot__gemm_kind chosen[4];       /* by 2 trans_a + trans_b; AUTO: nobody asked yet */
    mot__gemm_run *run[MOT__GEMM_KINDS]; /* the candidates; tests put a wrong one here */
    size_t width, depth; /* of the CPU tile: floats in a register, steps of k in one pass */
    char defines[64];    /* of the CPU tile */
    bool warm;           /* CLBlast's first call on this device is over */
    bool begun;          /* which parameters CLBlast uses here is known: */
    size_t set;          /* 0: those it has for the device */
    enum mot__gemm_kind spare[4]; /* chosen where the usual one has no memory; AUTO: never was */
    mot__buffer *packs;           /* NULL: no product wanted any */
    struct mot__gemm_row *tuned;
    size_t tuned_count;
};

/* Made when it is first asked for. */
mot_status mot__gemm_state(mot__device *device, struct mot__gemm_state **out);

/* Each queues C = ... for m, n and k above 0. */
mot__gemm_run mot__gemm_tile_cpu, mot__gemm_tile_gpu, mot__gemm_clblast;
/* The device's packs, of so many bytes or more; 0: NULL. MOT_NO_MEMORY where they are not allowed
 * or not to be had. Growing waits. */
mot_status mot__gemm_packs_take(mot__device *device, size_t bytes, mot__buffer **out);
void mot__gemm_packs_drop(mot__device *device); /* nothing queued may need them */
/* The most bytes that CLBlast may want for this product, or one with fewer rows of the batch. */
mot_status mot__gemm_clblast_packs(mot__device *device, const struct mot__gemm *gemm,
                                   size_t *bytes);
/* Let CLBlast use the parameters that tuning found, before its first call on this device. */
mot_status mot__gemm_begin_set(mot__device *device);
/* What was remembered of this product, once it was rehearsed; AUTO: nothing. */
mot_status mot__gemm_tuned(mot__device *device, const struct mot__gemm *gemm,
                           enum mot__gemm_kind *out);
/* The same from the store, untested and whatever was rehearsed. */
mot_status mot__gemm_remembered(mot__device *device, const struct mot__gemm *gemm,
                                enum mot__gemm_kind *out);
/* Fill in width, depth and defines of the CPU tile. */
void mot__gemm_tile_shape(const mot__device *device, struct mot__gemm_state *state);
/* The i-th defines that a tile may be launched with; false past the last. */
bool mot__gemm_cpu_variant(size_t i, char *out, size_t bytes);
bool mot__gemm_gpu_variant(size_t i, char *out, size_t bytes);
/* C = act(C + bias), or of 0 + bias. */
mot_status mot__gemm_epilogue(mot__device *device, const struct mot__gemm *gemm, bool from_zero);

#endif
