/* mirrored.c - a copy of the variables on every lane; gradients are brought to the host once,
 * summed there in a fixed order and sent down once, bucket by bucket, while the backward pass goes
 * on. The same update then keeps the copies equal. */
#include "base/clock.h"
#include "strategy/replica.h"

static mot_status reduce_part(mot_replica *replica, const struct mot__piece *piece, size_t bucket,
                              struct mot__part part)
{
    float *host = mot__stage_host(piece->stage);
    mot_status status = MOT_OK;
    double began_s;

    MOT_TRY(mot__stage_wait(piece->stage, bucket));
    began_s = mot__clock_s();
    MOT_TRY(mot__group_all_reduce(replica->common->group, replica->seat, host + part.begin,
                                  part.count));
    replica->reduce_s += mot__clock_s() - began_s;
    MOT_TRY(mot__stage_up(piece->stage, part.begin * sizeof(float), part.count * sizeof(float)));
done:
    return status;
}

static mot_status reduce(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b, i;

    MOT_TRY(mot__staged_time(replica));
    for (b = 0; b < replica->common->buckets; b++)
        for (i = 0; i < replica->gradients->pieces; i++) {
            const struct mot__piece *piece = &replica->gradients->piece[i];
            const struct mot__part part = mot__staged_part(replica, piece, b);

            if (part.count > 0)
                MOT_TRY(reduce_part(replica, piece, b, part));
        }
done:
    return status;
}

const struct mot__strategy mot__strategy_mirrored = {
    .name = "mirrored",
    .staged = true,
    .open = mot__own_open,
    .plan = mot__own_plan,
    .ready = mot__staged_ready,
    .reduce = reduce,
    .metrics = mot__own_metrics,
    .read = mot__own_read,
    .write = mot__own_write,
};
