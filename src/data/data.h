/* data.h - what the rest of the house sees of a mot_data beyond motley.h: sources, batches,
 * cursors. */
#ifndef MOT_DATA_DATA_H
#define MOT_DATA_DATA_H

#include "base/status.h"

struct mot__samples { /* what samples look like */
    size_t count;
    struct mot_shape shape;
    size_t width; /* elements of one sample */
    enum mot_dtype dtype;
    size_t classes;      /* labels, or 0 */
    size_t target_width; /* rows, or 0 */
    /* Samples that are all in memory; NULL for a source that must be read. */
    const void *x;
    const uint32_t *labels;
    const float *targets;
    uint64_t id; /* of the memory: equal ids are equal data; never 0 */
};
const struct mot__samples *mot__data_samples(const mot_data *data);

/* A batch is numbers of samples; x, labels and targets are filled only where the source is not in
 * memory. */
struct mot_batch {
    const struct mot__samples *samples; /* lives as long as any batch of it */
    size_t rows;
    uint64_t epoch, first;  /* cursor: this batch begins at sample `first` of the epoch's order */
    const uint64_t *index;  /* (rows) */
    const void *x;          /* (rows, width) or NULL: take samples->x at index */
    const uint32_t *labels; /* (rows) or NULL */
    const float *targets;   /* (rows, target_width) or NULL */
};
void mot__batch_hold(
    mot_batch *batch); /* one more owner; mot_batch_close lets one go. Any thread */

/* Copy rows [begin, begin + rows) of the batch to the caller's memory, from wherever they are. x
 * (rows, width) in the samples' dtype; y is labels (uint32_t) or targets (float); each may be NULL.
 */
void mot__batch_copy(const mot_batch *batch, size_t begin, size_t rows, void *x, void *y);

struct mot__cursor { /* enough to go on from here in another process */
    uint64_t epoch, first, seed;
    bool shuffled;
};
void mot__data_cursor(const mot_data *data, struct mot__cursor *out);
mot_status mot__data_seek(mot_data *data, const struct mot__cursor *cursor);
size_t mot__data_rows(const mot_data *data); /* of one batch */

#endif
