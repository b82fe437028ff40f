/* order.h - in which order an epoch takes the samples: as they are, or a permutation that depends
 * on (seed, epoch) and on nothing else, so any epoch can be taken up again anywhere. */
#ifndef MOT_DATA_ORDER_H
#define MOT_DATA_ORDER_H

#include "base/status.h"

struct mot__order { /* zero-initialised, then count; seed and shuffled may change between epochs */
    size_t count;
    bool shuffled;
    uint64_t seed;
    uint64_t *place; /* (count), of the epoch below */
    uint64_t epoch, of_seed;
    bool ready;
};

mot_status mot__order_begin(struct mot__order *order, uint64_t epoch); /* cheap when it is that */
void mot__order_take(const struct mot__order *order, uint64_t first, size_t rows, uint64_t *index);
void mot__order_clear(struct mot__order *order);

#endif
