/* plan.h - a network made ready for one device: what to launch, in which order, and where
 * everything lies.
 *
 * The network is lowered (flatten vanishes, activations join their dense layer, a last softmax
 * joins a cross-entropy loss), every value and gradient gets a place in one arena by its lifetime,
 * and the work becomes three lists: forward, backward, update. An entry is a launch, or something
 * the strategy performs: ready(bucket), the gradients of that bucket are final; need(bucket), the
 * launches that follow read that bucket's parameters; fill(bucket), they write its gradients. The
 * update list is filled by the strategy, which alone knows the optimizer. A plan serves any number
 * of rows up to its capacity. */
#ifndef MOT_MODEL_PLAN_H
#define MOT_MODEL_PLAN_H

#include "model/model.h"
#include "tensor/flat.h"

typedef struct mot__plan mot__plan;

struct mot__plan_config {
    const mot_model *net; /* must outlive the plan */
    size_t rows;          /* capacity */
    bool training;        /* else forward and loss only */
    size_t segments; /* of the forward pass, run again before their backward pass; 0, 1: none */
    enum mot_loss loss;
    size_t target_width;                     /* 0: labels */
    uint64_t seed;                           /* of dropout */
    const mot__flat *parameters, *gradients; /* gradients: NULL for inference */
    struct mot__mem record;                  /* MOT__RECORD_*: where the loss is told */
    const struct mot__range *bucket; /* of the gradients, last layer first; may be NULL with 0 */
    size_t buckets;
    bool needs; /* parameters come bucket by bucket: the forward list tells when one is needed */
    bool turns; /* buckets, of whole layers, take turns in memory: need and fill before each use */
};

struct mot__step {    /* what differs from step to step */
    size_t rows;      /* of this micro-batch; 1 to capacity */
    size_t first_row; /* in the whole batch: dropout is drawn by it */
    uint64_t number;
    bool accumulate; /* gradients and record add to what is there */
    float scale;     /* of the gradient */
    bool
        given; /* the gradient of the output is there already (mot__plan_dy); no loss is computed */
};

enum mot__entry_kind { MOT__ENTRY_LAUNCH, MOT__ENTRY_READY, MOT__ENTRY_NEED, MOT__ENTRY_FILL };

struct mot__entry {
    enum mot__entry_kind kind;
    mot_status (*run)(void *user, const struct mot__step *step); /* LAUNCH */
    void *user;
    size_t bucket; /* READY, NEED, FILL */
};

struct mot__list {
    struct mot__entry *entry;
    size_t count, capacity;
};

struct mot__plan_lists {
    struct mot__list forward, backward, update;
    struct mot__list
        finish; /* after forward: the last softmax, where it was joined with the loss */
};

/* Tests the ops it takes, allocates the arena and builds every kernel; afterwards a step does none
 * of it. An op that this device computes wrongly is MOT_DEVICE_FAILED. */
mot_status mot__plan_open(mot__device *device, const struct mot__plan_config *config,
                          mot__plan **out);
void mot__plan_close(mot__plan *plan);
struct mot__plan_lists *mot__plan_lists(mot__plan *plan);
size_t mot__plan_rows(const mot__plan *plan); /* capacity */
const mot_model *mot__plan_net(const mot__plan *plan);

typedef mot_status (*mot__exchange_fn)(void *user, enum mot__entry_kind kind, size_t bucket);
/* Queue a list. exchange performs what is no launch; it may be NULL: nothing to perform. */
mot_status mot__plan_run(const struct mot__list *list, const struct mot__step *step,
                         mot__exchange_fn exchange, void *user);
mot_status mot__list_add(struct mot__list *list, struct mot__entry entry);
/* Run a list with launches switched off, so that its kernels are built. */
mot_status mot__plan_rehearse(mot__plan *plan, const struct mot__list *list);

struct mot__mem mot__plan_x(const mot__plan *plan); /* (rows, input width): the feed writes here */
struct mot__mem
mot__plan_y(const mot__plan *plan); /* words: labels (rows) or targets (rows, width) */
struct mot__mem
mot__plan_output(const mot__plan *plan); /* (rows, width), after forward and finish */
struct mot__mem
mot__plan_dy(const mot__plan *plan); /* where a given gradient of that output goes */
size_t mot__plan_output_width(const mot__plan *plan);

struct mot__plan_bytes {
    size_t arena; /* allocated */
    size_t live;  /* the most that is alive at one moment: no arena can be smaller */
};
struct mot__plan_bytes mot__plan_bytes(const mot__plan *plan);
/* What a plan of so many rows would allocate, without a device. */
mot_status mot__plan_estimate(const struct mot__plan_config *config, size_t *arena_bytes);
/* And what its products may want for packed operands, which plans on a device share. */
mot_status mot__plan_packs(mot__device *device, const struct mot__plan_config *config,
                           size_t *bytes);

/* Cut the gradients into buckets of whole parameters, last layer first: the first of at least
 * first_floats, with the record behind the gradients, each other of bucket_floats, but for the
 * last. The caller frees *out. */
mot_status mot__buckets_make(const struct mot__parameters *table, size_t extra, size_t first_floats,
                             size_t bucket_floats, struct mot__range **out, size_t *count);
/* Cut them between layers, last layer first: as few parts as there are with none larger than the
 * largest layer. The caller frees *out. */
mot_status mot__parts_make(const mot_model *net, struct mot__range **out, size_t *count);

#endif
