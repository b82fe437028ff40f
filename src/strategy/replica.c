/* replica.c - variables, plans and feed of one lane, and the parts of a step. */
#include "strategy/sent.h"
#include "strategy/suspect.h"
#include "strategy/verify.h"

#include "base/clock.h"
#include "base/size.h"
#include "strategy/rungs.h"

#include <string.h>

static const struct mot__parameters *table_of(const mot_replica *replica)
{
    return &replica->common->net->table;
}

struct mot__mem mot__replica_record(const mot_replica *replica)
{
    return mot__flat_at(replica->gradients, table_of(replica)->floats);
}

size_t mot__replica_buckets(const mot_replica *replica)
{
    return replica->windows ? replica->common->parts : replica->common->buckets;
}

/* ---- opening ---- */

static mot_status open_flats(mot_replica *replica, const float *start)
{
    const struct mot__common *common = replica->common;
    const struct mot__parameters *table = table_of(replica);
    mot_status status = MOT_OK;

    MOT_TRY(mot__flat_open(replica->device, table, 0, common->piece_floats,
                           common->strategy->central, &replica->parameters));
    MOT_TRY(mot__flat_write(replica->parameters, 0, start, table->floats));
    MOT_TRY(mot__flat_open(replica->device, table, MOT__RECORD_FLOATS, common->piece_floats,
                           common->strategy->staged, &replica->gradients));
done:
    return status;
}

mot_status mot__replica_open(mot_replica *replica, const float *start)
{
    mot_status status = MOT_OK;

    mot__device_trim(replica->device);
    mot__device_peak_set(replica->device, 0);
    MOT_TRY(replica->windows ? mot__streamed_open(replica) : open_flats(replica, start));
    MOT_TRY(mot__buffer_open(replica->device, MOT__RECORD_FLOATS * sizeof(float), &replica->tally));
    MOT_TRY(mot__strategy_of(replica)->open(replica));
    if (replica->common->replicas > 1)
        MOT_TRY(mot__verify_open(replica, &replica->verify));
done:
    return status == MOT_NO_MEMORY ? mot__rung_story(replica) : status;
}

void mot__replica_close(mot_replica *replica)
{
    mot__feed_close(replica->train_feed);
    mot__feed_close(replica->infer_feed);
    mot__plan_close(replica->train);
    mot__plan_close(replica->infer);
    mot__buffer_close(replica->verdict);
    mot__buffer_close(replica->partials);
    mot__buffer_close(replica->tally);
    mot__flat_close(replica->parameters);
    mot__flat_close(replica->gradients);
    mot__flat_close(replica->slot[0]);
    mot__flat_close(replica->slot[1]);
    mot__suspect_forget(replica);
    mot__verify_close(replica->verify);
    mot__sent_close(replica->sent);
}

/* ---- being left out, and coming back ---- */

static void come_back(mot_replica *replica, const mot_replica *like)
{
    mot__verify_forget(replica->verify);
    replica->reduce_s = 0;
    mot__lane_starved(replica->lane);
    replica->looked = like->looked;
    replica->read_at = like->read_at;
    memcpy(replica->trouble, like->trouble, sizeof replica->trouble);
}

void mot__replica_reseat(mot_replica *replica, size_t seat, const mot_replica *like)
{
    if (replica->seat == MOT__NO_SEAT && seat != MOT__NO_SEAT)
        come_back(replica, like);
    mot__suspect_forget(replica);
    replica->seat = seat;
}

/* ---- the parts of a step ---- */

mot_status mot__replica_load(mot_replica *replica, const mot_batch *batch, size_t begin,
                             size_t rows, uint64_t number)
{
    replica->step =
        (struct mot__step){.rows = rows, .first_row = begin, .number = number, .scale = 1};
    replica->forwarded = false;
    if (rows == 0)
        return MOT_OK;
    mot__device_phase(replica->device, MOT__PHASE_UPLOAD);
    return mot__feed_load(replica->train_feed, batch, begin, rows, mot__plan_x(replica->train),
                          mot__plan_y(replica->train));
}

mot_status mot__replica_ready(mot_replica *replica, size_t bucket)
{
    mot_status status;

    mot__device_phase(replica->device, MOT__PHASE_STAGING);
    status = mot__strategy_of(replica)->ready(replica, bucket);
    mot__device_phase(replica->device, replica->phase);
    return status;
}

static mot_status perform(void *user, enum mot__entry_kind kind, size_t bucket)
{
    mot_replica *replica = user;

    if (kind == MOT__ENTRY_READY)
        return mot__replica_ready(replica, bucket);
    return kind == MOT__ENTRY_NEED ? mot__strategy_of(replica)->need(replica, bucket)
                                   : mot__strategy_of(replica)->fill(replica, bucket);
}

mot_status mot__replica_needs(void *user, enum mot__entry_kind kind, size_t bucket)
{
    const mot_replica *replica = user;

    return kind == MOT__ENTRY_READY && !replica->windows ? MOT_OK : perform(user, kind, bucket);
}

mot_status mot__replica_forward(mot_replica *replica)
{
    replica->forwarded = true;
    if (replica->step.rows == 0)
        return MOT_OK;
    replica->passed.rows += replica->step.rows;
    replica->passed.passes++;
    mot__device_phase(replica->device, replica->phase = MOT__PHASE_FORWARD);
    return mot__plan_run(&mot__plan_lists(replica->train)->forward, &replica->step,
                         mot__replica_needs, replica);
}

/* An empty shard adds nothing; its zeros still take part. */
static mot_status backward_nothing(mot_replica *replica)
{
    if (replica->dirty)
        return MOT_OK;
    replica->dirty = true;
    return mot__flat_zero(replica->gradients);
}

mot_status mot__replica_backward(mot_replica *replica, float scale, bool given, bool ready)
{
    mot_status status = MOT_OK;
    size_t b;

    mot__device_phase(replica->device, replica->phase = MOT__PHASE_BACKWARD);
    replica->forwarded = false; /* values may have been overwritten by gradients */
    replica->step.scale = scale;
    replica->step.given = given;
    replica->step.accumulate = replica->dirty;
    if (replica->step.rows > 0) {
        replica->dirty = true;
        return mot__plan_run(&mot__plan_lists(replica->train)->backward, &replica->step,
                             ready ? perform : mot__replica_needs, replica);
    }
    status = backward_nothing(replica);
    for (b = 0; ready && b < mot__replica_buckets(replica) && status == MOT_OK; b++)
        status = mot__replica_ready(replica, b);
    return status;
}

void mot__replica_begins(mot_replica *replica, size_t rows)
{
    if (replica->train && rows > mot__plan_rows(replica->train))
        replica->passed.cut = true;
    if (!replica->dirty) {
        replica->timed.ran_s = 0;
        replica->timed.rows = replica->timed.steps = 0;
    }
    replica->timed.rows += rows;
    replica->timed.steps++;
    mot__replica_resumes(replica);
}

void mot__replica_pauses(mot_replica *replica)
{
    replica->timed.ran_s += mot__clock_s() - replica->timed.began_s;
}

void mot__replica_resumes(mot_replica *replica)
{
    replica->timed.began_s = mot__clock_s();
}

/* Of the steps so far that the next update ends. */
static double worked_s(const mot_replica *replica)
{
    return replica->timed.ran_s + mot__clock_s() - replica->timed.began_s;
}

/* Where buckets leave during the backward pass, waiting for the last of them costs something: one
 * step in four is enough. */
bool mot__replica_timed(const mot_replica *replica)
{
    return replica->common->balance && replica->timed.steps > 0 &&
           (replica->steps % 4 == 0 ||
            mot__device_facts(replica->device)->staging == MOT__STAGING_MAP);
}

void mot__replica_computed(mot_replica *replica)
{
    replica->timed.own_s = worked_s(replica);
}

/* Who works alone waits for no gradients: with steps queued ahead its own time is what it waited
 * for the oldest of them, and nothing more need be measured. */
static void tell_pace(mot_replica *replica)
{
    const double steps = (double)replica->timed.steps, whole_s = worked_s(replica);

    if (!mot__strategy_of(replica)->staged && replica->steps > MOT__AHEAD)
        replica->timed.own_s = whole_s;
    if (replica->common->balance && replica->timed.own_s > 0 && steps > 0)
        mot__balance_told(replica->common->balance, replica->rank,
                          replica->timed.rows / replica->timed.steps, replica->timed.own_s / steps,
                          whole_s / steps);
    replica->timed.own_s = 0;
    replica->timed.steps = 0;
}

mot_status mot__replica_commit(mot_replica *replica)
{
    uint64_t *mark = &replica->mark[replica->steps % MOT__AHEAD];
    mot_status status = MOT_OK;

    mot__device_phase(replica->device, MOT__PHASE_STAGING);
    MOT_TRY(mot__verify_before(replica));
    MOT_TRY(mot__strategy_of(replica)->reduce(replica));
    mot__device_phase(replica->device, MOT__PHASE_UPDATE);
    MOT_TRY(mot__plan_run(&mot__plan_lists(replica->train)->update, &replica->step, NULL, NULL));
    MOT_TRY(mot__verify_after(replica));
    replica->dirty = false;
    if (replica->steps >= MOT__AHEAD)
        MOT_TRY(mot__device_reached(replica->device, *mark));
    MOT_TRY(mot__device_mark(replica->device, mark));
    replica->steps++;
    tell_pace(replica);
done:
    return status;
}

/* ---- evaluation and prediction ---- */

static mot_status infer(mot_replica *replica, const mot_batch *batch, size_t begin,
                        const struct mot__step *step)
{
    mot_status status = mot__feed_load(replica->infer_feed, batch, begin, step->rows,
                                       mot__plan_x(replica->infer), mot__plan_y(replica->infer));

    return status != MOT_OK ? status
                            : mot__plan_run(&mot__plan_lists(replica->infer)->forward, step,
                                            mot__replica_needs, replica);
}

mot_status mot__replica_tally_begin(mot_replica *replica)
{
    return mot__buffer_zero(replica->tally, 0, MOT__RECORD_FLOATS * sizeof(float));
}

mot_status mot__replica_tally(mot_replica *replica, const mot_batch *batch, size_t begin,
                              size_t rows)
{
    const struct mot__step step = {.rows = rows, .scale = 1, .accumulate = true};
    struct mot__plan_lists *lists = mot__plan_lists(replica->infer);
    mot_status status = MOT_OK;

    MOT_TRY(infer(replica, batch, begin, &step));
    MOT_TRY(mot__plan_run(&lists->backward, &step, NULL, NULL));
    MOT_TRY(mot__device_flush(replica->device));
done:
    return status;
}

mot_status mot__replica_tally_end(mot_replica *replica, float record[MOT__RECORD_FLOATS])
{
    return mot__buffer_read(replica->tally, 0, record, MOT__RECORD_FLOATS * sizeof(float));
}

mot_status mot__replica_predict(mot_replica *replica, const mot_batch *batch, size_t begin,
                                size_t rows, float *out)
{
    const struct mot__step step = {.rows = rows, .scale = 1};
    struct mot__plan_lists *lists = mot__plan_lists(replica->infer);
    const struct mot__mem output = mot__plan_output(replica->infer);
    mot_status status = MOT_OK;

    MOT_TRY(infer(replica, batch, begin, &step));
    MOT_TRY(mot__plan_run(&lists->finish, &step, NULL, NULL));
    MOT_TRY(mot__buffer_read(output.buffer, output.offset * sizeof(float), out,
                             rows * mot__plan_output_width(replica->infer) * sizeof(float)));
done:
    return status;
}
