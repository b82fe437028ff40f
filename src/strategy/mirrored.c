/* mirrored.c - a copy of the variables on every lane; gradients are brought to the host once,
 * summed there in a fixed order and sent down once, bucket by bucket: where they are copied, while
 * the backward pass goes on. The same update then keeps the copies equal. */
#include "base/clock.h"
#include "strategy/suspect.h"

#include <string.h>

static bool copied(const mot_replica *replica)
{
    return mot__device_facts(replica->device)->staging == MOT__STAGING_COPY;
}

/* The record comes with the first bucket's last part and goes up last of all: it tells what was
 * found in any bucket. A mapping is given back as a whole, so there its part waits with it; where
 * ranges are copied it waits alone. */
static bool holds_record(const mot_replica *replica, const struct mot__piece *piece,
                         struct mot__part part)
{
    return piece->begin + part.begin + part.count == replica->gradients->floats;
}

static mot_status send_up(const struct mot__piece *piece, struct mot__part part)
{
    return mot__stage_up(piece->stage, part.begin * sizeof(float), part.count * sizeof(float));
}

static mot_status send_record(mot_replica *replica, struct mot__finding *finding)
{
    const struct mot__piece *piece = &replica->gradients->piece[replica->gradients->pieces - 1];
    const size_t at = piece->count - MOT__RECORD_FLOATS;
    float *record = (float *)mot__stage_host(piece->stage) + at;

    record[MOT__RECORD_ODD] = replica->odd_sent = finding->odd.found;
    memcpy(finding->record, record, sizeof finding->record);
    return send_up(piece, copied(replica) && replica->common->buckets > 1
                              ? (struct mot__part){at, MOT__RECORD_FLOATS}
                              : mot__staged_part(replica, piece, 0));
}

static void merge_odd(struct mot__odd_sum odd, size_t begin, struct mot__finding *finding)
{
    odd.index += begin;
    if (odd.found && (!finding->odd.found || odd.index > finding->odd.index))
        finding->odd = odd;
}

static mot_status reduce_part(mot_replica *replica, const struct mot__piece *piece, size_t bucket,
                              struct mot__part part, struct mot__finding *finding)
{
    const bool record = holds_record(replica, piece, part);
    float *host = mot__stage_host(piece->stage);
    mot_status status = MOT_OK;
    double began_s;

    MOT_TRY(mot__stage_wait(piece->stage, bucket));
    if (record)
        finding->own_rows = host[piece->count - MOT__RECORD_FLOATS + MOT__RECORD_BAD];
    began_s = mot__clock_s();
    MOT_TRY(mot__group_all_reduce(replica->common->group, replica->seat, host + part.begin,
                                  part.count));
    replica->reduce_s += mot__clock_s() - began_s;
    merge_odd(mot__group_odd(replica->common->group, replica->seat), piece->begin + part.begin,
              finding);
    if (record)
        part.count -=
            copied(replica) && replica->common->buckets > 1 ? MOT__RECORD_FLOATS : part.count;
    if (part.count > 0)
        MOT_TRY(send_up(piece, part));
done:
    return status;
}

static mot_status reduce(mot_replica *replica)
{
    struct mot__finding finding = {.own_rows = 0};
    mot_status status = MOT_OK;
    size_t b, i;

    MOT_TRY(mot__staged_time(replica));
    for (b = 0; b < replica->common->buckets; b++)
        for (i = 0; i < replica->gradients->pieces; i++) {
            const struct mot__piece *piece = &replica->gradients->piece[i];
            const struct mot__part part = mot__staged_part(replica, piece, b);

            if (part.count > 0)
                MOT_TRY(reduce_part(replica, piece, b, part, &finding));
        }
    MOT_TRY(send_record(replica, &finding));
    if (mot__finding_bad(&finding))
        MOT_TRY(mot__suspect_look(replica, &finding));
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
