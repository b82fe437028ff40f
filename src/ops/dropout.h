/* dropout.h - y = x / (1 - rate) where a random number says keep, else 0. The mask is drawn from
 * Philox by (seed, stream, step, global row, column): not stored, and the same for every split of
 * the batch. */
#ifndef MOT_OPS_DROPOUT_H
#define MOT_OPS_DROPOUT_H

#include "tensor/tensor.h"

struct mot__dropout {
    size_t rows, width;
    double rate; /* [0, 1) */
    uint64_t seed;
    uint32_t node; /* of the network: a stream of its own */
    uint64_t step;
    size_t first_row; /* of this shard in the whole batch */
};
/* Forward on x, backward on dy: the same map. y may be x. */
mot_status mot__dropout_launch(mot__device *device, const struct mot__dropout *dropout,
                               struct mot__mem x, struct mot__mem y);
void mot__dropout_reference(const struct mot__dropout *dropout, const float *x, float *y);

#endif
