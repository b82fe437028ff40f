/* streamed.c - a lane of central storage whose device has no room for all weights and gradients:
 * the layers' parts take turns in windows (tensor/flat.h). Weights come from the copy on the host
 * when a launch needs them, gradients go to the host when they are final and come back where more
 * is to be added to them. So every launch sees what it would see without windows, and the bits are
 * the same; the sums, the update and the verdict are central's. */
#include "base/clock.h"
#include "base/size.h"
#include "strategy/suspect.h"

static struct mot__turns turns_of(const mot_replica *replica, size_t windows, bool gradients)
{
    return (struct mot__turns){.part = replica->common->part,
                               .parts = replica->common->parts,
                               .windows = mot__size_min(windows, replica->common->parts),
                               .extra = gradients ? MOT__RECORD_FLOATS : 0};
}

size_t mot__streamed_bytes(const mot_replica *replica, size_t windows)
{
    const struct mot__turns parameters = turns_of(replica, windows, false),
                            gradients = turns_of(replica, windows, true);

    return mot__turns_bytes(replica->device, &parameters) +
           mot__turns_bytes(replica->device, &gradients);
}

mot_status mot__streamed_open(mot_replica *replica)
{
    struct mot__turns parameters = turns_of(replica, replica->windows, false);
    const struct mot__turns gradients = turns_of(replica, replica->windows, true);
    mot_status status = MOT_OK;

    parameters.home = mot__variables_now(replica->common->variables, replica->rank);
    MOT_TRY(mot__flat_open_turns(replica->device, &parameters, &replica->parameters));
    MOT_TRY(mot__flat_open_turns(replica->device, &gradients, &replica->gradients));
done:
    return status;
}

/* ---- a step ---- */

static mot_status bring(mot_replica *replica, mot__flat *flat, size_t part, bool keep)
{
    mot_status status;

    mot__device_phase(replica->device, MOT__PHASE_STAGING);
    status = mot__flat_bring(flat, part, keep);
    mot__device_phase(replica->device, replica->phase);
    return status;
}

static mot_status need(mot_replica *replica, size_t part)
{
    return bring(replica, replica->parameters, part, true);
}

static mot_status fill(mot_replica *replica, size_t part)
{
    return bring(replica, replica->gradients, part, replica->step.accumulate);
}

static mot_status ready(mot_replica *replica, size_t part)
{
    return mot__flat_leave(replica->gradients, part);
}

/* The other lanes add up bucket by bucket and piece by piece, the last piece first: so does this.
 */
static mot_status reduce_bucket(mot_replica *replica, size_t bucket)
{
    const struct mot__common *common = replica->common;
    mot_status status = MOT_OK;
    size_t i;

    for (i = common->pieces; i-- > 0 && status == MOT_OK;) {
        const struct mot__range part = mot__range_inside(common->piece[i], common->bucket[bucket]);

        if (part.count > 0)
            status =
                mot__variables_reduce(common->variables, replica->rank, replica->lr, part.begin,
                                      replica->gradients->own + part.begin, NULL, part.count);
    }
    return status;
}

static mot_status reduce_all(mot_replica *replica)
{
    const double began_s = mot__clock_s();
    mot_status status = MOT_OK;
    size_t b;

    for (b = 0; b < replica->common->buckets && status == MOT_OK; b++)
        status = reduce_bucket(replica, b);
    replica->reduce_s += mot__clock_s() - began_s;
    return status;
}

static mot_status reduce(mot_replica *replica)
{
    const size_t floats = replica->common->net->table.floats;
    struct mot__finding finding = {.own_rows = 0};
    mot_status status = MOT_OK;
    bool given;

    MOT_TRY(mot__flat_settle(replica->gradients));
    if (mot__replica_timed(replica))
        mot__replica_computed(replica);
    finding.own_rows = replica->gradients->own[floats + MOT__RECORD_BAD];
    MOT_TRY(reduce_all(replica));
    MOT_TRY(mot__central_commit(replica, &finding, &given));
    mot__flat_rehome(replica->parameters,
                     mot__variables_now(replica->common->variables, replica->rank));
    if (mot__finding_bad(&finding))
        MOT_TRY(mot__suspect_look(replica, &finding));
done:
    return status;
}

/* ---- variables by offset: the host's are the only ones ---- */

static mot_status read_from(mot_replica *replica, size_t offset, float *out, size_t count)
{
    return mot__flat_read(replica->parameters, offset, out, count);
}

static mot_status write_to(mot_replica *replica, size_t offset, const float *value, size_t count)
{
    const mot_status status = mot__group_barrier(replica->common->group, replica->rank);

    if (status != MOT_OK)
        return status;
    if (replica->rank == 0)
        mot__variables_write(replica->common->variables, offset, value, count);
    mot__flat_rehome(replica->parameters, NULL);
    return MOT_OK;
}

const struct mot__strategy mot__strategy_streamed = {
    .name = "streamed",
    .staged = true,
    .central = true,
    .open = mot__central_open,
    .plan = mot__central_plan,
    .ready = ready,
    .need = need,
    .fill = fill,
    .reduce = reduce,
    .metrics = mot__central_metrics,
    .read = read_from,
    .write = write_to,
};
