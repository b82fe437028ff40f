/* own.c - a lane's own copy of optimizer state and verdict, in device memory, and the update that
 * each lane then does alone: for the strategies whose every lane has all variables. */
#include "ops/scan.h"
#include "strategy/sent.h"

/* The verdict has the words that a scan fills, in its order; closed once a step was refused. */
_Static_assert((int)MOT__VERDICT_ODD_LAST - (int)MOT__VERDICT_ODD_NOW == MOT__SCAN_LAST &&
                   (int)MOT__VERDICT_ODD_KIND - (int)MOT__VERDICT_ODD_NOW == MOT__SCAN_KIND &&
                   (int)MOT__VERDICT_BAD_AT - (int)MOT__VERDICT_ODD_NOW == MOT__SCAN_CLOSED,
               "optim/optim.h and ops/scan.h differ");

static struct mot__mem whole(mot__buffer *buffer)
{
    return (struct mot__mem){buffer, 0};
}

mot_status mot__own_open(mot_replica *replica)
{
    const struct mot__common *common = replica->common;
    float verdict[MOT__VERDICT_FLOATS];
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < mot__optim_slots(&common->config.optimizer); i++)
        MOT_TRY(mot__flat_open(replica->device, &common->net->table, 0, common->piece_floats, false,
                               &replica->slot[i]));
    MOT_TRY(mot__buffer_open(replica->device, sizeof verdict, &replica->verdict));
    MOT_TRY(mot__buffer_open(replica->device, MOT__NORM_PARTS * sizeof(float), &replica->partials));
    mot__verdict_start(verdict);
    verdict[MOT__VERDICT_STOP] = common->config.on_nan == MOT_ON_NAN_STOP;
    MOT_TRY(mot__buffer_write(replica->verdict, 0, verdict, sizeof verdict));
done:
    return status;
}

/* ---- the update list ---- */

/* The flat buffers are cut alike, so a piece of one is a piece of all; the record is not a
 * parameter. */
static struct mot__update update_of(const mot_replica *replica, size_t piece)
{
    const size_t begin = replica->parameters->piece[piece].begin;
    struct mot__update update = {.n = replica->parameters->piece[piece].count,
                                 .p = mot__flat_at(replica->parameters, begin),
                                 .g = mot__flat_at(replica->gradients, begin),
                                 .verdict = whole(replica->verdict)};
    size_t i;

    for (i = 0; i < 2; i++)
        if (replica->slot[i])
            update.slot[i] = mot__flat_at(replica->slot[i], begin);
    return update;
}

/* Where nobody adds gradients up on the host, the device looks over its own; the lanes that work
 * together may change from step to step. */
static mot_status run_odd(void *user, const struct mot__step *step)
{
    mot_replica *replica = user;
    const struct mot__mem found = {replica->verdict, MOT__VERDICT_ODD_NOW};
    mot_status status = MOT_OK;
    size_t i;

    (void)step;
    if (replica->common->strategy->staged && !mot__device_rehearsing(replica->device))
        return MOT_OK;
    for (i = 0; i < replica->parameters->pieces && status == MOT_OK; i++) {
        const struct mot__piece *piece = &replica->parameters->piece[i];

        status = mot__scan_odd(replica->device, mot__flat_at(replica->gradients, piece->begin),
                               piece->count, piece->begin, found);
    }
    return status;
}

static mot_status run_norm(void *user, const struct mot__step *step)
{
    mot_replica *replica = user;
    struct mot__update piece[MOT__STAGE_SLOTS];
    size_t i;

    (void)step;
    for (i = 0; i < replica->parameters->pieces; i++)
        piece[i] = update_of(replica, i);
    return mot__norm_launch(replica->device, piece, replica->parameters->pieces,
                            whole(replica->partials));
}

static mot_status run_verdict(void *user, const struct mot__step *step)
{
    mot_replica *replica = user;

    (void)step;
    return mot__verdict_launch(replica->device, &replica->common->config.optimizer, replica->lr,
                               mot__replica_record(replica), whole(replica->partials),
                               whole(replica->verdict));
}

/* The loss writes the rest of the record anew; where the next step is a lane's alone nobody would
 * write this. */
static mot_status forget_odd(mot_replica *replica)
{
    const struct mot__mem record = mot__replica_record(replica);

    replica->odd_sent = false;
    return mot__buffer_zero(record.buffer, (record.offset + MOT__RECORD_ODD) * sizeof(float),
                            sizeof(float));
}

static mot_status run_update(void *user, const struct mot__step *step)
{
    mot_replica *replica = user;
    mot_status status = MOT_OK;
    struct mot__update update;
    size_t i;

    (void)step;
    for (i = 0; i < replica->parameters->pieces && status == MOT_OK; i++) {
        update = update_of(replica, i);
        status = mot__update_launch(replica->device, &replica->common->config.optimizer,
                                    replica->lr, &update);
    }
    return status == MOT_OK && replica->odd_sent ? forget_odd(replica) : status;
}

mot_status mot__own_plan(mot_replica *replica, mot__plan *plan)
{
    struct mot__list *list = &mot__plan_lists(plan)->update;
    mot_status status = MOT_OK;
    char why[128];
    bool good;

    if (replica->parameters->pieces > MOT__STAGE_SLOTS)
        return mot__fail(MOT_UNSUPPORTED, "parameters in %zu pieces: %d are the most",
                         replica->parameters->pieces, MOT__STAGE_SLOTS);
    MOT_TRY(mot__optim_selftest(replica->device, &replica->common->config.optimizer, false, &good,
                                why, sizeof why));
    if (!good)
        return mot__sent_plan(replica, plan, why);
    MOT_TRY(mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run_odd, replica, 0}));
    if (replica->common->config.optimizer.clip_norm > 0)
        MOT_TRY(mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run_norm, replica, 0}));
    MOT_TRY(mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run_verdict, replica, 0}));
    MOT_TRY(mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run_update, replica, 0}));
    MOT_TRY(mot__plan_rehearse(plan, list));
done:
    return status;
}

/* ---- metrics ---- */

mot_status mot__own_metrics(mot_replica *replica, float verdict[MOT__VERDICT_FLOATS])
{
    float cleared[MOT__VERDICT_FLOATS];
    mot_status status = MOT_OK;
    size_t i;

    MOT_TRY(mot__buffer_read(replica->verdict, 0, verdict, MOT__VERDICT_FLOATS * sizeof(float)));
    for (i = 0; i < MOT__VERDICT_FLOATS; i++)
        cleared[i] = verdict[i];
    mot__verdict_clear_metrics(cleared);
    MOT_TRY(mot__buffer_write(replica->verdict, 0, cleared, sizeof cleared));
done:
    return status;
}

/* ---- variables by offset ---- */

mot_status mot__own_read(mot_replica *replica, size_t offset, float *out, size_t count)
{
    return mot__flat_read(replica->parameters, offset, out, count);
}

mot_status mot__own_write(mot_replica *replica, size_t offset, const float *value, size_t count)
{
    return mot__flat_write(replica->parameters, offset, value, count);
}
