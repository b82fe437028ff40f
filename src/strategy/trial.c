/* trial.c - time growing shards until a device has had its say. */
#include "strategy/trial.h"

#include "base/clock.h"
#include "base/size.h"
#include "strategy/prepare.h"

#include <math.h>

#define FIRST 8             /* rows */
#define ENOUGH_S 0.1        /* no larger shard once so much time is gone */
#define OFTEN 3             /* a shard is timed so often, the shortest counts, ... */
#define OFTEN_S 0.15        /* ... unless that would take longer than this */
#define QUANTUM_LEAST 256   /* rows: with fewer, whole quanta would cost more than they save */
#define STEADY_ROWS 512     /* no larger shard is passed to see what does not depend on its rows */
#define FAR 8               /* times its rows are passed where there is room */
#define SHORT_S 0.02        /* a pass over so many may take so long to be worth a plan beside */
#define SHORT_TURNS_S 0.004 /* turns go on for so long */
#define UPLOADS 5
#define QUANTUM_S 0.02 /* a pass may take so long to be worth asking for the quantum */

/* Rows of zeros: legal labels, and numbers that no device is slow with. */
static mot_status clear_input(mot_replica *replica, const mot__plan *plan, size_t rows)
{
    const struct mot__mem x = mot__plan_x(plan), y = mot__plan_y(plan);
    const size_t width = replica->common->net->node[0].width;
    const size_t words = mot__size_max(replica->target_width[true], 1);
    mot_status status = MOT_OK;

    MOT_TRY(mot__buffer_zero(x.buffer, x.offset * sizeof(float), rows * width * sizeof(float)));
    MOT_TRY(mot__buffer_zero(y.buffer, y.offset * sizeof(float), rows * words * sizeof(float)));
done:
    return status;
}

static mot_status run_lists(mot_replica *replica, mot__plan *plan, size_t rows, double *seconds)
{
    const struct mot__step step = {.rows = rows, .scale = 1};
    struct mot__plan_lists *lists = mot__plan_lists(plan);
    mot_status status = MOT_OK;
    double began_s;

    began_s = mot__clock_s();
    MOT_TRY(mot__plan_run(&lists->forward, &step, mot__replica_needs, replica));
    MOT_TRY(mot__plan_run(&lists->backward, &step, mot__replica_needs, replica));
    MOT_TRY(mot__device_finish(replica->device));
    *seconds = mot__clock_s() - began_s;
done:
    return status;
}

static mot_status pass(mot_replica *replica, size_t rows, double *seconds)
{
    mot_status status = MOT_OK;

    MOT_TRY(
        clear_input(replica, replica->train, rows)); /* an earlier pass may have written there */
    MOT_TRY(mot__device_finish(replica->device));
    MOT_TRY(run_lists(replica, replica->train, rows, seconds));
done:
    return status;
}

/* The shortest of up to three passes, and how far the others were from it. */
static mot_status time_rows(mot_replica *replica, size_t rows, double *seconds, double *noise)
{
    double one, longest = 0;
    mot_status status = MOT_OK;
    int turn;

    *seconds = INFINITY;
    for (turn = 0; turn < OFTEN && (turn == 0 || OFTEN * *seconds < OFTEN_S); turn++) {
        MOT_TRY(pass(replica, rows, &one));
        *seconds = fmin(*seconds, one);
        longest = fmax(longest, one);
    }
    *noise = longest - *seconds;
done:
    return status;
}

static mot_status find_quantum(mot_replica *replica, size_t rows, struct mot__pace *pace)
{
    static const size_t more[] = {0, 1, 16, 64};
    const size_t base = rows / 2 / 64 * 64;
    double seconds[4], noise, most_noise = 0;
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < 4; i++) {
        MOT_TRY(time_rows(replica, base + more[i], &seconds[i], &noise));
        most_noise = fmax(most_noise, noise);
    }
    pace->quantum = mot__pace_quantum(seconds[1] - seconds[0], seconds[2] - seconds[0],
                                      seconds[3] - seconds[0], most_noise);
done:
    return status;
}

mot_status mot__trial(mot_replica *replica, struct mot__pace *out)
{
    const size_t rows = mot__plan_rows(replica->train);
    const double began_s = mot__clock_s();
    size_t now = mot__size_min(rows, FIRST);
    mot_status status = MOT_OK;
    double seconds, noise;

    mot__pace_start(out);
    MOT_TRY(pass(replica, now, &seconds)); /* what a first launch costs is not its pace */
    for (;;) {
        MOT_TRY(time_rows(replica, now, &seconds, &noise));
        mot__pace_add(out, now, seconds);
        if (now == rows || mot__clock_s() - began_s > ENOUGH_S)
            break;
        now = mot__size_min(2 * now, rows);
    }
    if (now == rows && rows >= QUANTUM_LEAST && seconds < QUANTUM_S)
        MOT_TRY(find_quantum(replica, rows, out));
done:
    return status;
}

/* ---- by the device's clock ---- */

/* The shortest of three; of many where they are short. */
static mot_status busy_for(mot_replica *replica, mot__plan *plan, size_t rows, double *seconds)
{
    struct mot__phases phases;
    const double began_s = mot__clock_s();
    mot_status status = MOT_OK;
    double unused;
    int turn;

    *seconds = INFINITY;
    for (turn = 0; turn < OFTEN || mot__clock_s() - began_s < SHORT_TURNS_S; turn++) {
        mot__device_phase(replica->device, MOT__PHASE_OTHER);
        MOT_TRY(clear_input(replica, plan, rows));
        MOT_TRY(mot__device_finish(replica->device));
        mot__device_phases(replica->device, &phases);
        mot__device_phase(replica->device, replica->phase = MOT__PHASE_FORWARD);
        MOT_TRY(run_lists(replica, plan, rows, &unused));
        mot__device_phases(replica->device, &phases);
        *seconds = fmin(*seconds, phases.s[MOT__PHASE_FORWARD]);
    }
done:
    return status;
}

struct mot__trial_rows mot__trial_rows(size_t rows, size_t most)
{
    const size_t high = mot__size_min(most, STEADY_ROWS);

    if (rows >= high) /* far apart, so that noise weighs little */
        return (struct mot__trial_rows){most > STEADY_ROWS ? high / 4 : high / 2, high, high};
    return (struct mot__trial_rows){mot__size_min(rows, STEADY_ROWS / 4),
                                    mot__size_min(2 * rows, high), mot__size_min(FAR * rows, high)};
}

/* Few rows are rounded up to whole tiles, which tells nothing of more: a plan for more beside the
 * replica's own, where a pass is short and there is room; else *out stays. */
static mot_status plan_for_more(mot_replica *replica, size_t rows, mot__plan **out)
{
    const size_t more = mot__size_min(FAR * rows, STEADY_ROWS);
    double seconds;
    mot_status status;

    if (mot__plan_rows(replica->train) >= more || replica->windows)
        return MOT_OK;
    status = busy_for(replica, replica->train, rows, &seconds);
    if (status != MOT_OK || seconds * (double)more > SHORT_S * (double)rows)
        return status;
    status = mot__replica_plan_beside(replica, more, out);
    return status == MOT_NO_MEMORY ? MOT_OK : status;
}

/* The part of a pass of `whole` seconds that its rows do not add to, by the line through both. */
static double steady_of(size_t low, double low_s, size_t high, double high_s, double rows,
                        double whole_s)
{
    const double row_s = fmax(high_s - low_s, 0) / (double)(high - low);

    return fmax(1 - row_s * rows / whole_s, 0);
}

/* What passes of so many rows took in the steps: longer than in a trial, where nothing else was in
 * the caches. Without steps, what a trial takes. */
static double stepped_s(const mot_replica *replica, size_t rows, double trial_s)
{
    if (replica->passed.told_rows == 0)
        return trial_s;
    return fmax(replica->passed.told_s * (double)rows / (double)replica->passed.told_rows, trial_s);
}

/* One row in a plan of one: what a row adds cannot be told, and next to what any launch costs it is
 * nothing. A shard larger than any that is tried: the line through both says what a trial of it
 * would take, which tells nothing of what is cold. */
static mot_status tell_steady(mot_replica *replica, mot__plan *plan, size_t rows,
                              struct mot__steady *out)
{
    const struct mot__trial_rows t = mot__trial_rows(rows, mot__plan_rows(plan));
    mot_status status = MOT_OK;
    double low_s, twice_s, high_s, trial_s, whole_s;

    if (t.low == 0) {
        out->near = out->far = 1;
        return MOT_OK;
    }
    MOT_TRY(busy_for(replica, plan, t.low, &low_s));
    MOT_TRY(busy_for(replica, plan, t.high, &high_s));
    twice_s = high_s;
    if (t.twice != t.high)
        MOT_TRY(busy_for(replica, plan, t.twice, &twice_s));
    trial_s =
        low_s + (twice_s - low_s) * ((double)rows - (double)t.low) / (double)(t.twice - t.low);
    whole_s = rows > t.high ? trial_s : stepped_s(replica, rows, trial_s);
    out->near = steady_of(t.low, low_s, t.twice, twice_s, (double)rows, whole_s);
    out->far = steady_of(t.low, low_s, t.high, high_s, (double)rows, whole_s);
    out->cold = 1 - trial_s / whole_s;
done:
    return status;
}

/* The shortest of some. */
static mot_status upload_for(mot_replica *replica, size_t rows, double *seconds)
{
    const struct mot__mem x = mot__plan_x(replica->train), y = mot__plan_y(replica->train);
    struct mot__phases phases;
    mot_status status = MOT_OK;
    int turn;

    *seconds = INFINITY;
    for (turn = 0; turn < UPLOADS; turn++) {
        MOT_TRY(mot__device_finish(replica->device));
        mot__device_phases(replica->device, &phases);
        mot__device_phase(replica->device, MOT__PHASE_UPLOAD);
        MOT_TRY(mot__feed_any(replica->train_feed, rows, x, y));
        MOT_TRY(mot__device_finish(replica->device));
        mot__device_phases(replica->device, &phases);
        *seconds = fmin(*seconds, phases.s[MOT__PHASE_UPLOAD]);
    }
done:
    return status;
}

/* By one row and all; one row alone is nothing beside what it costs to begin. */
static mot_status tell_upload(mot_replica *replica, size_t rows, double *part)
{
    double one_s, all_s, row_s;
    mot_status status = MOT_OK;

    *part = 1;
    if (rows == 1)
        return MOT_OK;
    MOT_TRY(upload_for(replica, 1, &one_s));
    MOT_TRY(upload_for(replica, rows, &all_s));
    row_s = fmax(all_s - one_s, 0) / (double)(rows - 1);
    *part = all_s > 0 ? fmin(fmax(1 - row_s * (double)rows / all_s, 0), 1) : 0;
done:
    return status;
}

mot_status mot__trial_steady(mot_replica *replica, size_t rows, struct mot__steady *out)
{
    const size_t peak = mot__device_peak(replica->device);
    mot__plan *beside = NULL;
    mot_status status = MOT_OK;

    *out = (struct mot__steady){0};
    if (rows > mot__plan_rows(replica->train))
        return MOT_OK;
    MOT_TRY(tell_upload(replica, rows, &out->upload));
    MOT_TRY(plan_for_more(replica, rows, &beside));
    MOT_TRY(tell_steady(replica, beside ? beside : replica->train, rows, out));
done:
    mot__replica_plan_gone(replica, beside, peak);
    return status;
}
