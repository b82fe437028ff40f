/* mirrored.c - a copy of the variables on every lane; gradients are brought to the host once,
 * summed there in a fixed order and sent down once, bucket by bucket, while the backward pass goes
 * on. The same update then keeps the copies equal. */
#include "base/clock.h"
#include "strategy/replica.h"

/* The part of a bucket that lies in one piece. */
struct part {
    size_t begin, count; /* floats inside the piece */
};

static struct part part_of(const mot_replica *replica, const struct mot__piece *piece,
                           size_t bucket)
{
    const struct mot__range range = mot__piece_range(piece, replica->common->bucket[bucket]);

    return (struct part){range.begin - piece->begin, range.count};
}

static mot_status bring_down(mot_replica *replica, size_t bucket)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < replica->gradients->pieces && status == MOT_OK; i++) {
        const struct mot__piece *piece = &replica->gradients->piece[i];
        const struct part part = part_of(replica, piece, bucket);

        if (part.count > 0)
            status = mot__stage_down(piece->stage, bucket, part.begin * sizeof(float),
                                     part.count * sizeof(float));
    }
    return status;
}

/* A buffer must not be mapped while kernels still write to another part of it (OpenCL 1.2, 5.4.3):
 * where staging is by map everything goes with the last bucket. */
static mot_status ready(mot_replica *replica, size_t bucket)
{
    const size_t buckets = replica->common->buckets;
    mot_status status = MOT_OK;
    size_t b;

    if (mot__device_facts(replica->device)->staging == MOT__STAGING_COPY)
        return bring_down(replica, bucket);
    if (++replica->ready < buckets)
        return MOT_OK;
    replica->ready = 0;
    for (b = 0; b < buckets && status == MOT_OK; b++)
        status = bring_down(replica, b);
    return status;
}

static mot_status reduce_part(mot_replica *replica, const struct mot__piece *piece, size_t bucket,
                              struct part part)
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

static mot_status wait_for_own(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b, i;

    for (b = 0; b < replica->common->buckets; b++)
        for (i = 0; i < replica->gradients->pieces; i++)
            if (part_of(replica, &replica->gradients->piece[i], b).count > 0)
                MOT_TRY(mot__stage_wait(replica->gradients->piece[i].stage, b));
    mot__replica_computed(replica);
done:
    return status;
}

static mot_status reduce(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b, i;

    if (mot__replica_timed(replica))
        MOT_TRY(wait_for_own(replica));
    for (b = 0; b < replica->common->buckets; b++)
        for (i = 0; i < replica->gradients->pieces; i++) {
            const struct mot__piece *piece = &replica->gradients->piece[i];
            const struct part part = part_of(replica, piece, b);

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
    .ready = ready,
    .reduce = reduce,
    .metrics = mot__own_metrics,
};
