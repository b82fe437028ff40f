/* buckets.c - the gradients in the order they become final: last layer first, in pieces worth a
 * transfer; and the parts that take turns where not all layers fit. */
#include "base/size.h"
#include "model/plan.h"

#include <stdlib.h>

mot_status mot__buckets_make(const struct mot__parameters *table, size_t extra, size_t first_floats,
                             size_t bucket_floats, struct mot__range **out, size_t *count)
{
    struct mot__range *bucket = calloc(table->count + 1, sizeof *bucket);
    size_t end = table->floats + extra, p, made = 0;

    if (!bucket)
        return mot__fail(MOT_NO_MEMORY, "%zu buckets", table->count);
    for (p = table->count; p-- > 0;) {
        const size_t begin = table->row[p].offset;

        if (end - begin < (made ? bucket_floats : first_floats) && p > 0)
            continue;
        bucket[made++] = (struct mot__range){begin, end - begin};
        end = begin;
    }
    *out = bucket;
    *count = made;
    return MOT_OK;
}

/* Where the layer that the n-th node learns begins; the table is in the order of the nodes. */
static bool layer_begins(const mot_model *net, size_t n, size_t *begin)
{
    if (net->node[n].kind != MOT__NODE_DENSE)
        return false;
    *begin = net->table.row[net->node[n].weight].offset;
    return true;
}

static size_t largest_layer(const mot_model *net)
{
    size_t end = net->table.floats, most = 0, begin, n;

    for (n = net->count; n-- > 0;)
        if (layer_begins(net, n, &begin)) {
            most = mot__size_max(most, end - begin);
            end = begin;
        }
    return most;
}

mot_status mot__parts_make(const mot_model *net, struct mot__range **out, size_t *count)
{
    struct mot__range *part = calloc(net->table.count + 1, sizeof *part);
    const size_t most = largest_layer(net);
    size_t end = net->table.floats, last = end, made = 0, begin, n;

    if (!part)
        return mot__fail(MOT_NO_MEMORY, "parts of %zu parameters", net->table.count);
    for (n = net->count; n-- > 0;) {
        if (!layer_begins(net, n, &begin))
            continue;
        if (end - begin > most) { /* this layer begins another part */
            part[made++] = (struct mot__range){last, end - last};
            end = last;
        }
        last = begin;
    }
    part[made++] = (struct mot__range){last, end - last};
    *out = part;
    *count = made;
    return MOT_OK;
}
