/* buckets.c - the gradients in the order they become final: last layer first, in pieces worth a
 * transfer. */
#include "model/plan.h"

#include <stdlib.h>

mot_status mot__buckets_make(const struct mot__parameters *table, size_t extra,
                             size_t bucket_floats, struct mot__range **out, size_t *count)
{
    struct mot__range *bucket = calloc(table->count + 1, sizeof *bucket);
    size_t end = table->floats + extra, p, made = 0;

    if (!bucket)
        return mot__fail(MOT_NO_MEMORY, "%zu buckets", table->count);
    for (p = table->count; p-- > 0;) {
        const size_t begin = table->row[p].offset;

        if (end - begin < bucket_floats && p > 0)
            continue;
        bucket[made++] = (struct mot__range){begin, end - begin};
        end = begin;
    }
    *out = bucket;
    *count = made;
    return MOT_OK;
}
