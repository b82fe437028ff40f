/* optim.h - the update: one text (cl/update.cl) compiled for host and device, equal to the bit
 * everywhere.
 *
 * Per step two launches follow the reduced gradients: the verdict (one item: reads the record,
 * decides {apply, scale}, advances Adam's powers, adds the record to the running metrics) and the
 * update (one item per vector of the flat buffers). Gradients are sums; the verdict's scale holds
 * the one division by the count of loss terms. */
#ifndef MOT_OPTIM_OPTIM_H
#define MOT_OPTIM_OPTIM_H

#include "base/status.h"
#include "device/device.h"

/* The step's record: the last floats of the gradient buffer; summed over micro-batches and lanes
 * like gradients. */
enum mot__record {
    MOT__RECORD_LOSS,
    MOT__RECORD_CORRECT,
    MOT__RECORD_COUNT,
    MOT__RECORD_BAD, /* rows whose loss is not finite */
    MOT__RECORD_ODD, /* set after the sum, where the host adds: a gradient is not finite */
    MOT__RECORD_FLOATS = 16
};

/* Floats in device memory that outlive the step. */
enum mot__verdict {
    MOT__VERDICT_APPLY,   /* 1 or 0 */
    MOT__VERDICT_SCALE,   /* times the summed gradient */
    MOT__VERDICT_WEIGHT1, /* 1 - beta1^t, t the applied steps: the weight of what m has seen */
    MOT__VERDICT_WEIGHT2, /* 1 - beta2^t */
    MOT__VERDICT_RATE,    /* lr over Adam's first correction */
    MOT__VERDICT_SECOND,  /* 1 over the root of Adam's second correction */
    /* Running metrics of the rows whose loss was a number, in refused steps too. */
    MOT__VERDICT_LOSS,
    MOT__VERDICT_LOSS_LOW, /* what the additions to LOSS lost: the loss is the sum of both */
    MOT__VERDICT_CORRECT,
    MOT__VERDICT_COUNT, /* exact below 2^24 a read */
    MOT__VERDICT_STEPS, /* applied */
    MOT__VERDICT_SKIPPED,
    /* Four words for mot__scan_odd (ops/scan.h), where the device looks over its gradients: NOW
     * refuses the step like a record's ODD. */
    MOT__VERDICT_ODD_NOW,
    MOT__VERDICT_ODD_LAST,
    MOT__VERDICT_ODD_KIND,
    MOT__VERDICT_BAD_AT,   /* the first refused step: which of SEEN, from 1; 0: none */
    MOT__VERDICT_BAD_ROWS, /* its record's BAD */
    MOT__VERDICT_SEEN,     /* steps decided, applied or not; exact below 2^24 a read */
    MOT__VERDICT_HALTED,   /* 1: nothing is applied until this is cleared */
    MOT__VERDICT_STOP,     /* 1: a refused step halts; set once by the host */
    MOT__VERDICT_FLOATS = 32
};

size_t mot__optim_slots(const struct mot_optimizer
                            *optimizer); /* state buffers as large as the parameters: 0, 1 or 2 */
mot_status mot__optim_check(
    const struct mot_optimizer *optimizer); /* a sentence for each value that makes no sense */
void mot__verdict_start(float verdict[MOT__VERDICT_FLOATS]);         /* before the first step */
void mot__verdict_clear_metrics(float verdict[MOT__VERDICT_FLOATS]); /* after they were read */

struct mot__update { /* one piece of the flat buffers; n and all offsets multiples of 16 */
    size_t n;
    struct mot__mem p, g;    /* parameters, gradients */
    struct mot__mem slot[2]; /* momentum or m, v; buffer NULL where unused */
    struct mot__mem verdict; /* any offset */
};
/* Norm first over every piece, then verdict, then updates. Norm is needed when clip_norm > 0 alone,
 * and so are partials, MOT__NORM_PARTS floats of scratch (else buffer NULL).
 * Refused: record BAD > 0 or ODD set, ODD_NOW set, COUNT negative or 2^60 and more, or the norm not
 * finite. COUNT == 0 and nothing bad is an empty step: nothing changes, nothing is counted as
 * skipped. */
#define MOT__NORM_PARTS 16384
mot_status mot__norm_launch(mot__device *device, const struct mot__update *piece, size_t pieces,
                            struct mot__mem partials);
mot_status mot__verdict_launch(mot__device *device, const struct mot_optimizer *optimizer,
                               double lr, struct mot__mem record, struct mot__mem partials,
                               struct mot__mem verdict);
mot_status mot__update_launch(mot__device *device, const struct mot_optimizer *optimizer, double lr,
                              const struct mot__update *piece);

/* The same on the host, from the same text: for central storage, tests and lanes that fail the bit
 * test. start: which element of the whole gradient g[0] is, a multiple of 16; 0 begins anew. The
 * parts are the same for every way to cut the gradient. n a multiple of 16 here too. */
void mot__norm_host(const float *g, size_t n, float partials[MOT__NORM_PARTS], size_t start);
/* The parts [from, to) alone, of a whole gradient: so that several threads make one norm. */
void mot__norm_host_parts(const float *g, size_t n, float partials[MOT__NORM_PARTS], size_t from,
                          size_t to);
void mot__verdict_host(const struct mot_optimizer *optimizer, double lr, const float *record,
                       const float *partials, float *verdict);
void mot__update_host(const struct mot_optimizer *optimizer, double lr, size_t n, float *p,
                      const float *g, float *slot0, float *slot1, const float *verdict);
/* The same from old values to new ones that lie elsewhere; refused: nothing is written. */
#define MOT__BESIDE_ROWS 3
struct mot__beside { /* parameters, then the state that the rule has */
    const float *old[MOT__BESIDE_ROWS];
    float *new[MOT__BESIDE_ROWS];
};
void mot__update_beside(const struct mot_optimizer *optimizer, double lr, size_t n,
                        const struct mot__beside *rows, const float *g, const float *verdict);

/* Hard values (next to the smallest and largest, zeros of both signs, ordinary) through the norm
 * where this optimizer clips, the verdict and the update by its rule, against the host's bits.
 * *good = false with a sentence in why: send this lane weights, not gradients. Remembered in the
 * device's store; fresh = true tests anew. Waits. */
mot_status mot__optim_selftest(mot__device *device, const struct mot_optimizer *optimizer,
                               bool fresh, bool *good, char *why, size_t bytes);
void mot__optim_hard_values(uint64_t seed, size_t n, float *out); /* never NaN or infinite */

#endif
