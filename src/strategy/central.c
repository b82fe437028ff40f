/* central.c - one copy of the variables and of the optimizer's state, on the host. Gradients come
 * up as in mirrored, one pass sums and updates them there, new weights go down: first layers first,
 * and the next forward pass waits for those it reads alone. Devices hold no state. */
#include "base/clock.h"
#include "strategy/suspect.h"

#include <string.h>

#define TAKE                                                                                       \
    (MOT__STAGE_SLOTS - 1) /* the slot of the weights' host side; buckets have the first           \
                            */

static mot_status share(struct mot__common *common, const float *start)
{
    const struct mot__variables_config config = {common->group, common->config.optimizer,
                                                 common->net->table.floats,
                                                 common->config.on_nan == MOT_ON_NAN_STOP};

    return mot__variables_open(&config, start, &common->variables);
}

mot_status mot__central_open(mot_replica *replica)
{
    (void)replica;
    return MOT_OK;
}

/* The host does the update. */
mot_status mot__central_plan(mot_replica *replica, mot__plan *plan)
{
    (void)replica, (void)plan;
    return MOT_OK;
}

static bool mapped(const mot_replica *replica)
{
    return mot__device_facts(replica->device)->staging == MOT__STAGING_MAP;
}

/* ---- weights ---- */

static mot_status each_stage(mot_replica *replica, mot_status (*call)(mot__stage *, size_t),
                             size_t slot)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < replica->parameters->pieces && status == MOT_OK; i++)
        status = call(replica->parameters->piece[i].stage, slot);
    return status;
}

static mot_status need(mot_replica *replica, size_t bucket)
{
    return each_stage(replica, mot__stage_arrive, bucket);
}

static mot_status need_all(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b;

    for (b = 0; b < replica->common->buckets && status == MOT_OK; b++)
        status = need(replica, b);
    return status;
}

/* From the copy on the host to this lane's host sides. */
static void fetch_weights(mot_replica *replica)
{
    const float *now = mot__variables_now(replica->common->variables, replica->rank);
    size_t i;

    for (i = 0; i < replica->parameters->pieces; i++) {
        const struct mot__piece *piece = &replica->parameters->piece[i];

        memcpy(mot__stage_host(piece->stage), now + piece->begin, piece->count * sizeof *now);
    }
}

static mot_status send_bucket(mot_replica *replica, size_t bucket)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < replica->parameters->pieces && status == MOT_OK; i++) {
        const struct mot__piece *piece = &replica->parameters->piece[i];
        const struct mot__part part = mot__staged_part(replica, piece, bucket);

        if (part.count > 0)
            status = mot__stage_send(piece->stage, bucket, part.begin * sizeof(float),
                                     part.count * sizeof(float));
    }
    return status;
}

/* The last bucket holds the first layers. A mapping is given back as a whole: nothing travels. */
static mot_status send_weights(mot_replica *replica)
{
    mot_status status = MOT_OK;
    size_t b, i;

    for (i = 0; mapped(replica) && i < replica->parameters->pieces; i++) {
        const struct mot__piece *piece = &replica->parameters->piece[i];

        MOT_TRY(mot__stage_send(piece->stage, 0, 0, piece->count * sizeof(float)));
    }
    for (b = replica->common->buckets; !mapped(replica) && b-- > 0;)
        MOT_TRY(send_bucket(replica, b));
done:
    return status;
}

/* ---- a step ---- */

static mot_status reduce_part(mot_replica *replica, size_t bucket, size_t i, float *own_rows)
{
    const struct mot__piece *piece = &replica->gradients->piece[i];
    const struct mot__part part = mot__staged_part(replica, piece, bucket);
    float *g = mot__stage_host(piece->stage);
    float *weights = mot__stage_host(replica->parameters->piece[i].stage);
    mot_status status = MOT_OK;
    double began_s;

    if (part.count == 0)
        return MOT_OK;
    MOT_TRY(mot__stage_wait(piece->stage, bucket));
    if (piece->begin + part.begin + part.count == replica->gradients->floats)
        *own_rows = g[piece->count - MOT__RECORD_FLOATS + MOT__RECORD_BAD];
    began_s = mot__clock_s();
    MOT_TRY(mot__variables_reduce(replica->common->variables, replica->rank, replica->lr,
                                  piece->begin + part.begin, g + part.begin, weights + part.begin,
                                  part.count));
    replica->reduce_s += mot__clock_s() - began_s;
    MOT_TRY(mot__stage_give(piece->stage, part.begin * sizeof(float), part.count * sizeof(float)));
done:
    return status;
}

mot_status mot__central_commit(mot_replica *replica, struct mot__finding *finding, bool *given)
{
    mot__variables *variables = replica->common->variables;
    const double began_s = mot__clock_s();
    mot_status status = mot__variables_commit(variables, replica->rank, replica->lr, given);

    replica->reduce_s += mot__clock_s() - began_s;
    if (status != MOT_OK)
        return status;
    finding->odd = mot__variables_odd(variables, replica->rank);
    memcpy(finding->record, mot__variables_record(variables, replica->rank),
           sizeof finding->record);
    return MOT_OK;
}

static mot_status reduce(mot_replica *replica)
{
    struct mot__finding finding = {.own_rows = 0};
    mot_status status = MOT_OK;
    bool given = false;
    size_t b, i;

    /* The weights' host sides, to be written to: behind the launches that read the old ones. */
    MOT_TRY(each_stage(replica, mot__stage_take, TAKE));
    MOT_TRY(mot__staged_time(replica));
    MOT_TRY(each_stage(replica, mot__stage_wait, TAKE));
    for (b = 0; b < replica->common->buckets; b++)
        for (i = replica->gradients->pieces;
             i-- > 0;) /* the record is at the end, and goes first */
            MOT_TRY(reduce_part(replica, b, i, &finding.own_rows));
    MOT_TRY(mot__central_commit(replica, &finding, &given));
    if (!given)
        fetch_weights(replica);
    MOT_TRY(send_weights(replica));
    if (mot__finding_bad(&finding))
        MOT_TRY(mot__suspect_look(replica, &finding));
done:
    return status;
}

mot_status mot__central_metrics(mot_replica *replica, float verdict[MOT__VERDICT_FLOATS])
{
    mot__variables_metrics(replica->common->variables, replica->rank, verdict);
    return mot__device_finish(replica->device);
}

/* ---- variables by offset ---- */

static mot_status read_from(mot_replica *replica, size_t offset, float *out, size_t count)
{
    mot_status status = need_all(replica);

    return status != MOT_OK ? status : mot__own_read(replica, offset, out, count);
}

/* Nobody may still fetch what is written over. */
static mot_status write_to(mot_replica *replica, size_t offset, const float *value, size_t count)
{
    mot_status status = MOT_OK;

    MOT_TRY(mot__group_barrier(replica->common->group, replica->rank));
    if (replica->rank == 0)
        mot__variables_write(replica->common->variables, offset, value, count);
    MOT_TRY(need_all(replica));
    MOT_TRY(mot__own_write(replica, offset, value, count));
done:
    return status;
}

const struct mot__strategy mot__strategy_central = {
    .name = "central",
    .staged = true,
    .central = true,
    .share = share,
    .open = mot__central_open,
    .plan = mot__central_plan,
    .ready = mot__staged_ready,
    .need = need,
    .reduce = reduce,
    .metrics = mot__central_metrics,
    .read = read_from,
    .write = write_to,
};
