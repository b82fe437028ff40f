/* staged.c - gradients on their way to the host, bucket by bucket: for the strategies that sum
 * them there. */
#include "strategy/replica.h"

struct mot__part mot__staged_part(const mot_replica *replica, const struct mot__piece *piece,
                                  size_t bucket)
{
    const struct mot__range range = mot__piece_range(piece, replica->common->bucket[bucket]);

    return (struct mot__part){range.begin - piece->begin, range.count};
}

static mot_status bring_down(mot_replica *replica, size_t bucket)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < replica->gradients->pieces && status == MOT_OK; i++) {
        const struct mot__piece *piece = &replica->gradients->piece[i];
        const struct mot__part part = mot__staged_part(replica, piece, bucket);

        if (part.count > 0)
            status = mot__stage_down(piece->stage, bucket, part.begin * sizeof(float),
                                     part.count * sizeof(float));
    }
    return status;
}

/* A buffer must not be mapped while kernels still write to another part of it (OpenCL 1.2, 5.4.3):
 * where staging is by map everything goes with the last bucket. */
mot_status mot__staged_ready(mot_replica *replica, size_t bucket)
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

mot_status mot__staged_time(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b, i;

    if (!mot__replica_timed(replica))
        return MOT_OK;
    for (b = 0; b < replica->common->buckets; b++)
        for (i = 0; i < replica->gradients->pieces; i++)
            if (mot__staged_part(replica, &replica->gradients->piece[i], b).count > 0)
                MOT_TRY(mot__stage_wait(replica->gradients->piece[i].stage, b));
    mot__replica_computed(replica);
done:
    return status;
}
