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
#define SHORT_S 0.02        /* longer passes are not worth a plan beside for more rows */
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

struct busy {
    double least_s, mean_s;
};

/* Three turns; many where they are short. */
static mot_status busy_for(mot_replica *replica, mot__plan *plan, size_t rows, struct busy *out)
{
    struct mot__phases phases;
    const double began_s = mot__clock_s();
    mot_status status = MOT_OK;
    double unused, sum = 0, least = INFINITY;
    int turn;

    for (turn = 0; turn < OFTEN || mot__clock_s() - began_s < SHORT_TURNS_S; turn++) {
        mot__device_phase(replica->device, MOT__PHASE_OTHER);
        MOT_TRY(clear_input(replica, plan, rows));
        MOT_TRY(mot__device_finish(replica->device));
        mot__device_phases(replica->device, &phases);
        mot__device_phase(replica->device, replica->phase = MOT__PHASE_FORWARD);
        MOT_TRY(run_lists(replica, plan, rows, &unused));
        mot__device_phases(replica->device, &phases);
        least = fmin(least, phases.s[MOT__PHASE_FORWARD]);
        sum += phases.s[MOT__PHASE_FORWARD];
    }
    *out = (struct busy){least, sum / turn};
done:
    return status;
}

struct mot__trial_rows mot__trial_rows(size_t rows, size_t most)
{
    const size_t high = mot__size_min(most, STEADY_ROWS);

    if (4 * rows >= 3 * high) /* far apart, so that noise weighs little */
        return (struct mot__trial_rows){most > STEADY_ROWS ? high / 4 : high / 2, high, high};
    return (struct mot__trial_rows){mot__size_min(rows, STEADY_ROWS / 4),
                                    mot__size_min(MOT__NEAR * rows, high),
                                    mot__size_min(MOT__FAR * rows, high)};
}

/* Two lines, bent at twice the rows: tiles fill up, then other kernels or caches serve. */
struct mot__steady mot__trial_told(const struct mot__trial_rows *t, const double seconds[3],
                                   double rows, double stepped_s)
{
    const double low = (double)t->low, twice = (double)t->twice, high = (double)t->high;
    const double near_s = fmax(seconds[1] - seconds[0], 0) / (twice - low);
    const double far_s =
        t->high > t->twice ? fmax(seconds[2] - seconds[1], 0) / (high - twice) : near_s;
    const double whole_s = fmax(stepped_s, seconds[0] + near_s * (rows - low));
    const double bend = MOT__NEAR * rows;
    const double more_s = near_s * (bend - rows) + far_s * (MOT__FAR * rows - bend);

    if (!(whole_s > 0))
        return (struct mot__steady){0};
    return (struct mot__steady){.near = fmax(1 - near_s * rows / whole_s, 0),
                                .far = fmax(1 - more_s / ((MOT__FAR - 1) * whole_s), 0)};
}

/* One row in a plan of one: what a row adds cannot be told, and next to what any launch costs it is
 * nothing. Of a shard larger than any that is tried nothing is told to be cold: the lines do not
 * say well enough what it takes alone. */
static mot_status tell_steady(mot_replica *replica, mot__plan *plan, size_t rows,
                              struct mot__steady *out)
{
    const struct mot__trial_rows t = mot__trial_rows(rows, mot__plan_rows(plan));
    const size_t told_rows = rows <= t.high ? replica->passed.told_rows : 0;
    const double stepped_s =
        told_rows ? replica->passed.told_s * (double)rows / (double)told_rows : 0;
    struct busy low, twice, high;
    mot_status status = MOT_OK;
    double mean_s;

    out->near = out->far = 1;
    if (t.low == 0)
        return MOT_OK;
    MOT_TRY(busy_for(replica, plan, t.low, &low));
    MOT_TRY(busy_for(replica, plan, t.high, &high));
    twice = high;
    if (t.twice != t.high)
        MOT_TRY(busy_for(replica, plan, t.twice, &twice));
    *out = mot__trial_told(&t, (double[]){low.least_s, twice.least_s, high.least_s}, (double)rows,
                           stepped_s);
    mean_s = low.mean_s + (twice.mean_s - low.mean_s) * ((double)rows - (double)t.low) /
                              (double)(t.twice - t.low);
    out->cold = stepped_s > mean_s ? 1 - mean_s / stepped_s : 0;
done:
    return status;
}

/* What a plan beside has no memory or no kernel for tells nothing and ends nothing: the replica's
 * own plan goes on. */
static mot_status forgiven(mot_status status)
{
    return status == MOT_NO_MEMORY || status == MOT_UNSUPPORTED || status == MOT_DEVICE_FAILED
               ? MOT_OK
               : status;
}

/* Few rows are rounded up to whole tiles, which tells nothing of more: a plan for more beside the
 * replica's own, where a pass is short and there is room. *told is false where there is not, or
 * where a driver has less than it said. */
static mot_status try_more(mot_replica *replica, size_t rows, struct mot__steady *out, bool *told)
{
    const size_t more = mot__size_min(MOT__FAR * rows, STEADY_ROWS);
    struct mot__spare_plan beside;
    struct busy now;
    mot_status status;

    *told = false;
    if (mot__plan_rows(replica->train) >= more)
        return MOT_OK;
    status = busy_for(replica, replica->train, rows, &now);
    if (status != MOT_OK || now.least_s * (double)more > SHORT_S * (double)rows)
        return status;
    status = mot__spare_plan_open(replica, more, &beside);
    if (status == MOT_OK && beside.plan)
        status = tell_steady(replica, beside.plan, rows, out);
    *told = status == MOT_OK && beside.plan;
    mot__spare_plan_close(replica, &beside);
    return forgiven(status);
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

    MOT_TRY(upload_for(replica, 1, &one_s));
    MOT_TRY(upload_for(replica, rows, &all_s));
    row_s = rows > 1 ? fmax(all_s - one_s, 0) / (double)(rows - 1) : 0;
    *part = all_s > 0 ? fmax(1 - row_s * (double)rows / all_s, 0) : 0;
done:
    return status;
}

/* As the steps' passes had them, not as the last of an epoch had. */
static size_t rows_of(const mot_replica *replica)
{
    const size_t passes = replica->passed.told_passes;
    const size_t rows =
        passes ? (replica->passed.told_rows + passes / 2) / passes : replica->step.rows;

    return mot__size_min(rows, mot__plan_rows(replica->train));
}

mot_status mot__trial_steady(mot_replica *replica, struct mot__steady *out)
{
    const size_t rows = rows_of(replica);
    mot_status status = MOT_OK;
    bool told;

    *out = (struct mot__steady){0};
    if (rows == 0 || !mot__device_profiles(replica->device))
        return MOT_OK;
    MOT_TRY(try_more(replica, rows, out, &told));
    if (!told)
        MOT_TRY(tell_steady(replica, replica->train, rows, out));
    MOT_TRY(tell_upload(replica, rows, &out->upload));
done:
    return status;
}
