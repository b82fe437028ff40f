/* feed.h - rows of a batch onto one device. From a resident copy of the data by index, or through a
 * ring of staging buffers filled here; either way one gather launch turns them into the plan's
 * input. */
#ifndef MOT_FEED_FEED_H
#define MOT_FEED_FEED_H

#include "data/data.h"
#include "tensor/tensor.h"

typedef struct mot__feed mot__feed;

/* For shards of at most `rows` rows of such samples. Tests and builds the gather: afterwards
 * loading does not compile. */
mot_status mot__feed_open(mot__device *device, const struct mot__samples *samples, size_t rows,
                          mot__feed **out);
/* What that takes from the device's pool, in pieces of *piece bytes. */
size_t mot__feed_estimate(const mot__device *device, const struct mot__samples *samples,
                          size_t rows, size_t *piece);
/* What resident data would take; 0: such samples cannot be resident. */
size_t mot__feed_resident_estimate(const mot__device *device, const struct mot__samples *samples,
                                   size_t budget);
void mot__feed_close(mot__feed *feed);
void mot__feed_bytes(const mot__feed *feed, size_t *staging, size_t *resident); /* on the device */
bool mot__feed_fits(const mot__feed *feed, const struct mot__samples *samples, size_t rows);
/* Keep all samples on the device, if they are in memory here and fit `budget` bytes there;
 * *resident tells. Waits. */
mot_status mot__feed_resident(mot__feed *feed, const struct mot__samples *samples, size_t budget,
                              bool *resident);
/* Queue: rows [begin, begin + rows) of the batch to x (rows, width) and y (labels or targets) on
 * the device. The batch may be closed when this returns. Waits only while every staging buffer is
 * still in use. */
mot_status mot__feed_load(mot__feed *feed, const mot_batch *batch, size_t begin, size_t rows,
                          struct mot__mem x, struct mot__mem y);
/* The same with rows of no meaning, to see what it takes. */
mot_status mot__feed_any(mot__feed *feed, size_t rows, struct mot__mem x, struct mot__mem y);

#endif
