/* store.h - samples, and the pool of batches that point into them. Counted: whoever lets go last
 * frees, so a batch may be closed by any thread, even after its mot_data. */
#ifndef MOT_DATA_STORE_H
#define MOT_DATA_STORE_H

#include "base/thread.h"
#include "data/data.h"

#include <stdatomic.h>

struct mot__slot {   /* one batch and the memory it is made of; goes back to its store's pool */
    mot_batch batch; /* first: a mot_batch * is a slot * */
    atomic_size_t owners;
    struct mot__store *store;
    struct mot__slot *next; /* in the pool, or in a reader's queue */
    size_t capacity;        /* rows */
    uint64_t *index;        /* (capacity) */
    void *x;                /* (capacity, width); this and the next two only where data is read */
    uint32_t *labels;
    float *targets;
};

struct mot__store {
    struct mot__samples samples;
    void *x; /* ours to free, or NULL: the caller's memory */
    uint32_t *labels;
    float *targets;
    atomic_size_t owners;
    struct mot__lock lock; /* of the pool */
    struct mot__slot *pool;
};

/* Check shape, dtype, classes and target_width of like and work out its width; where names the
 * public call in the story. */
mot_status mot__samples_check(const char *where, struct mot__samples *like);
/* Check that labels are below classes and targets are finite; index (rows) tells the samples'
 * numbers, NULL: 0, 1, 2 ... */
mot_status mot__samples_judge(const struct mot__samples *like, const uint64_t *index, size_t rows,
                              const uint32_t *labels, const float *targets);
size_t mot__samples_bytes(const struct mot__samples *like); /* of one sample's x */

/* like has been checked; its pointers are the caller's memory, or NULL. */
mot_status mot__store_open(const struct mot__samples *like, struct mot__store **out);
/* The same with memory of its own for all samples, not yet filled. */
mot_status mot__store_open_own(const struct mot__samples *like, struct mot__store **out);
void mot__store_hold(struct mot__store *store);
void mot__store_close(struct mot__store *store); /* lets one owner go; accepts NULL */

/* A batch of that many rows from the pool, with memory for x, labels and targets where the samples
 * are not in memory. Allocates only while the pool grows. */
mot_status mot__store_batch(struct mot__store *store, size_t capacity, struct mot__slot **out);

/* A mot_data over the store; takes the caller's hold of it, also when it fails. */
mot_status mot__data_of(struct mot__store *store, mot_data **out);

#endif
