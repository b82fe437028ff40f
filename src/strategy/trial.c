/* trial.c - time growing shards until a device has had its say. */
#include "strategy/trial.h"

#include "base/clock.h"
#include "base/size.h"

#include <math.h>

#define FIRST 8           /* rows */
#define ENOUGH_S 0.1      /* no larger shard once so much time is gone */
#define OFTEN 3           /* a shard is timed so often, the shortest counts, ... */
#define OFTEN_S 0.15      /* ... unless that would take longer than this */
#define QUANTUM_LEAST 256 /* rows: with fewer, whole quanta would cost more than they save */
#define STEADY_ROWS 512   /* no larger shard is passed to see what does not depend on its rows */
#define QUANTUM_S 0.02    /* a pass may take so long to be worth asking for the quantum */

/* Rows of zeros: legal labels, and numbers that no device is slow with. */
static mot_status clear_input(mot_replica *replica, size_t rows)
{
    const struct mot__mem x = mot__plan_x(replica->train), y = mot__plan_y(replica->train);
    const size_t width = replica->common->net->node[0].width;
    const size_t words = mot__size_max(replica->target_width[true], 1);
    mot_status status = MOT_OK;

    MOT_TRY(mot__buffer_zero(x.buffer, x.offset * sizeof(float), rows * width * sizeof(float)));
    MOT_TRY(mot__buffer_zero(y.buffer, y.offset * sizeof(float), rows * words * sizeof(float)));
done:
    return status;
}

static mot_status run_lists(mot_replica *replica, size_t rows, double *seconds)
{
    const struct mot__step step = {.rows = rows, .scale = 1};
    struct mot__plan_lists *lists = mot__plan_lists(replica->train);
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

    MOT_TRY(clear_input(replica, rows)); /* an earlier pass may have written there */
    MOT_TRY(mot__device_finish(replica->device));
    MOT_TRY(run_lists(replica, rows, seconds));
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

static mot_status busy_for(mot_replica *replica, size_t rows, double *seconds)
{
    struct mot__phases phases;
    mot_status status = MOT_OK;
    double unused, one;
    int turn;

    *seconds = INFINITY;
    for (turn = 0; turn < 3; turn++) {
        mot__device_phase(replica->device, MOT__PHASE_OTHER);
        MOT_TRY(clear_input(replica, rows));
        MOT_TRY(mot__device_finish(replica->device));
        mot__device_phases(replica->device, &phases);
        mot__device_phase(replica->device, replica->phase = MOT__PHASE_FORWARD);
        MOT_TRY(run_lists(replica, rows, &unused));
        mot__device_phases(replica->device, &phases);
        one = phases.s[MOT__PHASE_FORWARD];
        *seconds = fmin(*seconds, one);
    }
done:
    return status;
}

void mot__trial_rows(size_t rows, size_t most, size_t *low, size_t *high)
{
    *high = mot__size_min(2 * rows, most);
    *low = *high > rows ? rows : rows / 2;
    if (*high > STEADY_ROWS) { /* far apart, so that noise weighs little */
        *high = STEADY_ROWS;
        *low = STEADY_ROWS / 4;
    }
}

/* One row in a plan of one: what a row adds cannot be told, and next to what any launch costs it is
 * nothing. */
mot_status mot__trial_steady(mot_replica *replica, size_t rows, double *part)
{
    const size_t most = mot__plan_rows(replica->train);
    mot_status status = MOT_OK;
    double high_s, low_s, row_s, fixed_s;
    size_t low, high;

    mot__trial_rows(rows, most, &low, &high);
    *part = rows == 1 && most == 1 ? 1 : 0;
    if (low == 0 || rows > most)
        return MOT_OK;
    MOT_TRY(busy_for(replica, low, &low_s));
    MOT_TRY(busy_for(replica, high, &high_s));
    row_s = fmax(high_s - low_s, 0) / (double)(high - low);
    fixed_s = fmax(low_s - row_s * (double)low, 0);
    if (fixed_s > 0)
        *part = fixed_s / (fixed_s + row_s * (double)rows);
done:
    return status;
}
