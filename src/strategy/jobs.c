/* jobs.c - the lane's side of what the engine asks. A replica that failed does nothing any more but
 * let its batches go, and tells every job how it failed: whoever waits for a lane takes what it has
 * to tell, and that may be somebody who does not keep it. */
#include "strategy/jobs.h"

#include "strategy/suspect.h"
#include "strategy/verify.h"

#include "strategy/trial.h"

/* How an earlier job failed, told anew; MOT_OK: none did. */
static mot_status earlier(const mot_replica *replica)
{
    return mot__story_tell(&replica->failed);
}

/* The others of the group must not wait for a replica that failed. */
static mot_status ended(mot_replica *replica, mot_status status)
{
    if (status == MOT_OK)
        return MOT_OK;
    if (replica->failed.status == MOT_OK)
        mot__story_take(status, &replica->failed);
    if (replica->common->group && replica->seat != MOT__NO_SEAT)
        mot__group_abort(replica->common->group, replica->seat, status);
    return status;
}

mot_status mot__job_open(mot__lane *lane, void *user, void *payload)
{
    const float *const *start = payload;

    (void)lane;
    return ended(user, mot__replica_open(user, *start));
}

mot_status mot__job_close(mot__lane *lane, void *user, void *payload)
{
    (void)lane, (void)payload;
    mot__replica_close(user);
    return MOT_OK;
}

mot_status mot__job_prepare(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_prepare *job = payload;
    const mot_status status = earlier(user);

    (void)lane;
    return status != MOT_OK
               ? status
               : mot__replica_prepare(user, job->samples, job->rows, job->training, job->resident);
}

/* Gradients that have added up are worth more than a trial. */
mot_status mot__job_trial(mot__lane *lane, void *user, void *payload)
{
    struct mot__pace *pace = *(struct mot__pace **)payload;
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    return status != MOT_OK || replica->dirty ? status : mot__trial(replica, &pace[replica->rank]);
}

mot_status mot__job_retry(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    struct mot__pace pace;
    mot_status status = earlier(replica);

    (void)lane, (void)payload;
    if (status != MOT_OK || replica->dirty || !replica->train)
        return status;
    MOT_TRY(mot__trial(replica, &pace));
    mot__balance_tried(replica->common->balance, replica->rank, &pace);
done:
    return ended(replica, status);
}

mot_status mot__job_most(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_most *job = payload;
    const mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    if (status == MOT_OK)
        job->out[replica->rank] = mot__replica_most(replica, job->samples, job->rows);
    return status;
}

mot_status mot__job_plan(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_plan *job = payload;
    const mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    return status != MOT_OK ? status : mot__replica_plan(replica, job, job->out + replica->rank);
}

mot_status mot__job_steady(mot__lane *lane, void *user, void *payload)
{
    struct mot__steady *steady = *(struct mot__steady **)payload;
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    if (status != MOT_OK || replica->dirty || !replica->train)
        return status;
    return mot__trial_steady(replica, &steady[replica->rank]);
}

mot_status mot__job_release(mot__lane *lane, void *user, void *payload)
{
    (void)lane;
    mot__replica_release(user, *(const bool *)payload);
    return earlier(user);
}

/* Rows of the shard's next micro-batch onto the device; dropout goes by the row of the group. */
static mot_status load(mot_replica *replica, const struct mot__job_shard *job, size_t done,
                       size_t *rows)
{
    mot_status status;

    *rows = mot__replica_micro(replica, true, job->rows - done);
    status = mot__replica_load(replica, job->batch, job->begin + done, *rows, job->number);
    replica->step.first_row += job->before;
    return status;
}

static mot_status step(mot_replica *replica, const struct mot__job_shard *job)
{
    mot_status status = MOT_OK;
    size_t done = 0, rows;

    replica->lr = job->lr;
    mot__replica_begins(replica, job->rows);
    do { /* once for an empty shard too: it takes part */
        MOT_TRY(load(replica, job, done, &rows));
        done += rows;
        MOT_TRY(mot__replica_forward(replica));
        MOT_TRY(mot__replica_backward(replica, 1, false, job->commit && done == job->rows));
    } while (done < job->rows);
    MOT_TRY(job->commit ? mot__replica_commit(replica) : mot__device_flush(replica->device));
    if (!job->commit)
        mot__replica_pauses(replica);
done:
    return status;
}

mot_status mot__job_step(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_shard *job = payload;
    mot_replica *replica = user;
    mot_status status = earlier(replica);

    (void)lane;
    if (status == MOT_OK) {
        mot__suspect_begin(replica, job);
        status = ended(replica, step(replica, job));
    }
    mot_batch_close(job->batch);
    return status;
}

static mot_status run(mot_replica *replica, const struct mot__job_shard *job)
{
    mot_status status = MOT_OK;
    size_t done = 0, rows;
    int asked;

    replica->told = MOT_OK;
    mot__replica_begins(replica, job->rows);
    do {
        status = load(replica, job, done, &rows);
        if (status != MOT_OK)
            return status;
        asked = job->fn(replica, &(struct mot_shard){replica->rank, rows, job->begin + done},
                        job->user);
        done += rows;
    } while (asked == 0 && done < job->rows);
    if (asked == 0)
        return mot__device_flush(replica->device);
    if (replica->told != MOT_OK)
        return replica->told; /* it passed our own failure on; the story is that one's */
    return mot__fail(MOT_STOPPED, "the callback of replica %zu returned %d", replica->rank, asked);
}

bool mot__job_run_refused(mot_status status)
{
    return status == MOT_STOPPED || status == MOT_BAD_ARG || status == MOT_BAD_STATE;
}

mot_status mot__job_run(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_shard *job = payload;
    mot_replica *replica = user;
    mot_status status = earlier(replica);

    (void)lane;
    if (status == MOT_OK) {
        mot__suspect_begin(replica, job);
        status = run(replica, job);
        mot__replica_pauses(replica);
        if (!mot__job_run_refused(status))
            status = ended(replica, status);
    }
    mot_batch_close(job->batch);
    return status;
}

mot_status mot__job_drop(mot__lane *lane, void *user, void *payload)
{
    (void)lane, (void)payload;
    ((mot_replica *)user)->dirty = false;
    return earlier(user);
}

static mot_status apply(mot_replica *replica, double lr)
{
    mot_status status = MOT_OK;
    size_t b;

    replica->lr = lr;
    mot__replica_resumes(replica);
    if (!replica->dirty)
        MOT_TRY(mot__flat_zero(replica->gradients));
    for (b = 0; b < mot__replica_buckets(replica); b++)
        MOT_TRY(mot__replica_ready(replica, b));
    MOT_TRY(mot__replica_commit(replica));
done:
    return status;
}

mot_status mot__job_apply(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    return status != MOT_OK ? status : ended(replica, apply(replica, *(const double *)payload));
}

mot_status mot__job_metrics(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    float unused[MOT__VERDICT_FLOATS], *verdict;
    mot_status status = earlier(replica);

    (void)lane;
    if (status != MOT_OK)
        return status;
    verdict = replica->seat == 0 ? *(float **)payload : unused;
    MOT_TRY(mot__strategy_of(replica)->metrics(replica, verdict));
    MOT_TRY(mot__suspect_read(replica, verdict));
    MOT_TRY(mot__verify_now(replica, false));
done:
    return ended(replica, status);
}

mot_status mot__job_verify(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane, (void)payload;
    return status != MOT_OK ? status : ended(replica, mot__verify_now(replica, true));
}

mot_status mot__job_spent(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    struct mot__spent *spent = *(struct mot__spent **)payload + replica->rank;
    mot_status status = earlier(replica);

    if (status != MOT_OK)
        return status;
    status = mot__device_finish(replica->device);
    mot__device_phases(replica->device, &spent->device);
    spent->cut = replica->passed.cut;
    replica->passed.told_s =
        spent->device.s[MOT__PHASE_FORWARD] + spent->device.s[MOT__PHASE_BACKWARD];
    replica->passed.told_rows = replica->passed.rows;
    replica->passed.told_passes = replica->passed.passes;
    replica->passed.rows = replica->passed.passes = 0;
    replica->passed.cut = false;
    spent->seated = replica->seat != MOT__NO_SEAT;
    spent->hosted = replica->common->strategy->central;
    spent->streams = replica->windows > 0;
    spent->whole = replica->whole;
    spent->starved_s = mot__lane_starved(lane);
    spent->waited_s = 0;
    if (replica->common->group)
        spent->waited_s = mot__group_waited(replica->common->group, replica->seat);
    spent->reduce_s = replica->reduce_s - spent->waited_s;
    replica->reduce_s = 0;
    spent->copied_s = replica->parameters->copied_s + replica->gradients->copied_s;
    replica->parameters->copied_s = replica->gradients->copied_s = 0;
    return status;
}

mot_status mot__job_tally_begin(mot__lane *lane, void *user, void *payload)
{
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane, (void)payload;
    return status != MOT_OK ? status : ended(replica, mot__replica_tally_begin(replica));
}

mot_status mot__job_tally(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_shard *job = payload;
    mot_replica *replica = user;
    mot_status status = earlier(replica);
    size_t done, rows;

    (void)lane;
    for (done = 0; status == MOT_OK && done < job->rows; done += rows) {
        rows = mot__replica_micro(replica, false, job->rows - done);
        status = ended(replica, mot__replica_tally(replica, job->batch, job->begin + done, rows));
    }
    mot_batch_close(job->batch);
    return status;
}

mot_status mot__job_tally_end(mot__lane *lane, void *user, void *payload)
{
    float(*record)[MOT__RECORD_FLOATS] = *(float(**)[MOT__RECORD_FLOATS])payload;
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    return status != MOT_OK
               ? status
               : ended(replica, mot__replica_tally_end(replica, record[replica->rank]));
}

mot_status mot__job_predict(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_shard *job = payload;
    mot_replica *replica = user;
    mot_status status = earlier(replica);
    const size_t width = mot__plan_output_width(replica->infer);
    size_t done, rows;

    (void)lane;
    for (done = 0; status == MOT_OK && done < job->rows; done += rows) {
        rows = mot__replica_micro(replica, false, job->rows - done);
        status = ended(replica, mot__replica_predict(replica, job->batch, job->begin + done, rows,
                                                     job->out + (job->begin + done) * width));
    }
    mot_batch_close(job->batch);
    return status;
}

mot_status mot__job_read(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_flat *job = payload;
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    if (status != MOT_OK)
        return status;
    return mot__strategy_of(replica)->read(replica, job->offset, job->out, job->count);
}

mot_status mot__job_write(mot__lane *lane, void *user, void *payload)
{
    const struct mot__job_flat *job = payload;
    mot_replica *replica = user;
    const mot_status status = earlier(replica);

    (void)lane;
    if (status != MOT_OK)
        return status;
    return ended(replica,
                 mot__strategy_of(replica)->write(replica, job->offset, job->value, job->count));
}
