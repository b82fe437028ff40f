/* trial.c - time growing shards until a device has had its say. */
#include "strategy/trial.h"

#include "base/clock.h"
#include "base/size.h"

#include <math.h>

#define FIRST 8           /* rows */
#define ENOUGH_S 0.1      /* no larger shard once so much time is gone */
#define OFTEN_S 0.01      /* shards quicker than this are timed three times */
#define QUANTUM_LEAST 256 /* rows: with fewer, whole quanta would cost more than they save */
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

static mot_status pass(mot_replica *replica, size_t rows, double *seconds)
{
    const struct mot__step step = {.rows = rows, .scale = 1};
    struct mot__plan_lists *lists = mot__plan_lists(replica->train);
    mot_status status = MOT_OK;
    double began_s;

    MOT_TRY(clear_input(replica, rows)); /* an earlier pass may have written there */
    MOT_TRY(mot__device_finish(replica->device));
    began_s = mot__clock_s();
    MOT_TRY(mot__plan_run(&lists->forward, &step, NULL, NULL));
    MOT_TRY(mot__plan_run(&lists->backward, &step, NULL, NULL));
    MOT_TRY(mot__device_finish(replica->device));
    *seconds = mot__clock_s() - began_s;
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
    for (turn = 0; turn < 3 && (turn == 0 || *seconds < OFTEN_S); turn++) {
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
