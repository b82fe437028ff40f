/* lane.c - the launch thread of one device and its queue of jobs. */
#include "strategy/lane.h"

#include "base/clock.h"
#include "base/thread.h"
#include "ops/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    mot__job_fn run;
    void *user;
    _Alignas(16) unsigned char payload[MOT__JOB_BYTES];
};

struct mot__lane {
    struct mot__lane_config config;
    mot__thread *thread;
    mot__device *device;
    struct mot__lock lock; /* guards what follows */
    struct job queue[MOT__LANE_QUEUE];
    uint64_t posted, begun, ended;
    double deadline_s;         /* of silence */
    double begun_s;            /* when the running job began, or its device last did something */
    double starved_s, since_s; /* without a job: in all, and since when (0: it has one) */
    bool leaving, tainted;
    bool asleep;             /* the running job waits for other lanes */
    struct mot__story story; /* the first failure not yet told */
};

static void run_lane(void *user)
{
    mot__lane *lane = user;
    struct job job;
    mot_status status;

    mot__lock_take(&lane->lock);
    for (;;) {
        if (lane->begun == lane->posted)
            lane->since_s = mot__clock_s();
        while (lane->begun == lane->posted && !lane->leaving && !lane->tainted)
            mot__lock_wait(&lane->lock, INFINITY);
        if (lane->begun == lane->posted || lane->tainted)
            break;
        job = lane->queue[lane->begun++ % MOT__LANE_QUEUE];
        lane->begun_s = mot__clock_s();
        if (lane->since_s > 0)
            lane->starved_s += lane->begun_s - lane->since_s;
        lane->since_s = 0;
        mot__lock_signal(&lane->lock);
        mot__lock_give(&lane->lock);
        status = job.run(lane, job.user, job.payload);
        mot__lock_take(&lane->lock);
        if (status != MOT_OK && lane->story.status == MOT_OK)
            mot__story_take(status, &lane->story);
        lane->ended++;
        mot__lock_signal(&lane->lock);
    }
    mot__lock_give(&lane->lock);
}

/* ---- opening and closing, on the lane's own thread ---- */

/* The device did something: its deadline begins anew. */
static void on_beat(void *user)
{
    mot__lane *lane = user;

    mot__lock_take(&lane->lock);
    lane->begun_s = mot__clock_s();
    mot__lock_give(&lane->lock);
}

/* What every network needs is tested while the device can still be left out; the rest when a plan
 * takes it. */
static mot_status job_open(mot__lane *lane, void *user, void *payload)
{
    mot_status status;

    (void)user, (void)payload;
    status = mot__device_open(lane->config.inventory, &lane->config.pick, &lane->config.options,
                              &lane->device);
    return status != MOT_OK ? status : mot__selftest_need(lane->device, MOT__OP_DENSE);
}

static mot_status job_close(mot__lane *lane, void *user, void *payload)
{
    (void)user, (void)payload;
    mot__device_close(lane->device);
    lane->device = NULL;
    return MOT_OK;
}

mot_status mot__lane_open(const struct mot__lane_config *config, mot__lane **out)
{
    mot_status status = MOT_OK;
    mot__lane *lane = calloc(1, sizeof *lane);
    char name[16];

    if (!lane)
        return mot__fail(MOT_NO_MEMORY, "a lane's %zu bytes", sizeof *lane);
    lane->config = *config;
    lane->deadline_s = config->deadline_s;
    lane->config.options.beat = on_beat;
    lane->config.options.beat_user = lane;
    status = mot__lock_init(&lane->lock);
    if (status != MOT_OK) {
        free(lane);
        return status;
    }
    snprintf(name, sizeof name, "motley %.8s", config->pick.label);
    MOT_TRY(mot__thread_open(name, run_lane, lane, &lane->thread));
    MOT_TRY(mot__lane_post(lane, job_open, NULL, NULL, 0));
    *out = lane;
    lane = NULL;
done:
    mot__lane_close(lane);
    return status;
}

void mot__lane_close(mot__lane *lane)
{
    if (!lane)
        return;
    if (lane->thread && mot__lane_post(lane, job_close, NULL, NULL, 0) == MOT_OK)
        mot__lane_wait(lane);
    if (lane->tainted) { /* its thread may come back at any time: all it can touch stays */
        mot__thread_abandon(lane->thread);
        return;
    }
    mot__lock_take(&lane->lock);
    lane->leaving = true;
    mot__lock_signal(&lane->lock);
    mot__lock_give(&lane->lock);
    mot__thread_join(lane->thread);
    mot__lock_clear(&lane->lock);
    free(lane);
}

/* ---- jobs ---- */

/* A lane without a job and one that waits for others are not silent. */
static double silent_since(const mot__lane *lane)
{
    return lane->begun > lane->ended && !lane->asleep ? lane->begun_s : mot__clock_s();
}

/* Wait, with the lock taken, until there is news or the running job is past its deadline. */
static void wait_for_news(mot__lane *lane)
{
    if (!mot__lock_wait(&lane->lock, silent_since(lane) + lane->deadline_s) &&
        mot__clock_s() - silent_since(lane) >= lane->deadline_s)
        lane->tainted = true;
}

static mot_status silent(const mot__lane *lane)
{
    return mot__fail(MOT_DEVICE_LOST, "device %s did not answer for %g s and was given up",
                     lane->config.pick.label, lane->deadline_s);
}

mot_status mot__lane_post(mot__lane *lane, mot__job_fn run, void *user, const void *payload,
                          size_t bytes)
{
    mot_status status = MOT_OK;
    struct job *job;

    if (bytes > MOT__JOB_BYTES)
        return mot__fail(MOT_BAD_ARG, "a job's payload of %zu bytes", bytes);
    mot__lock_take(&lane->lock);
    while (!lane->tainted && lane->posted - lane->begun == MOT__LANE_QUEUE)
        wait_for_news(lane);
    if (lane->tainted) {
        status = silent(lane);
        goto done;
    }
    job = &lane->queue[lane->posted++ % MOT__LANE_QUEUE];
    job->run = run;
    job->user = user;
    if (bytes > 0)
        memcpy(job->payload, payload, bytes);
    mot__lock_signal(&lane->lock);
done:
    mot__lock_give(&lane->lock);
    return status;
}

mot_status mot__lane_wait(mot__lane *lane)
{
    struct mot__story story = {MOT_OK, ""};
    bool tainted;

    mot__lock_take(&lane->lock);
    while (!lane->tainted && lane->ended < lane->posted)
        wait_for_news(lane);
    tainted = lane->tainted;
    if (!tainted) {
        story = lane->story;
        lane->story.status = MOT_OK;
    }
    mot__lock_give(&lane->lock);
    return tainted ? silent(lane) : mot__story_tell(&story);
}

mot_status mot__lane_call(mot__lane *lane, mot__job_fn run, void *user, const void *payload,
                          size_t bytes)
{
    mot_status status = mot__lane_post(lane, run, user, payload, bytes);

    return status != MOT_OK ? status : mot__lane_wait(lane);
}

mot__device *mot__lane_device(mot__lane *lane)
{
    return lane->device;
}

const char *mot__lane_label(const mot__lane *lane)
{
    return lane->config.pick.label;
}

void mot__lane_sleeps(void *user, bool begins)
{
    mot__lane *lane = user;

    mot__lock_take(&lane->lock);
    lane->asleep = begins;
    lane->begun_s = mot__clock_s();
    mot__lock_give(&lane->lock);
}

void mot__lane_deadline(mot__lane *lane, double deadline_s)
{
    mot__lock_take(&lane->lock);
    lane->deadline_s = deadline_s;
    mot__lock_give(&lane->lock);
}

double mot__lane_starved(mot__lane *lane)
{
    const double now = mot__clock_s();
    double starved;

    mot__lock_take(&lane->lock);
    if (lane->since_s > 0) {
        lane->starved_s += now - lane->since_s;
        lane->since_s = now;
    }
    starved = lane->starved_s;
    lane->starved_s = 0;
    mot__lock_give(&lane->lock);
    return starved;
}

bool mot__lane_tainted(mot__lane *lane)
{
    bool tainted;

    mot__lock_take(&lane->lock);
    tainted = lane->tainted;
    mot__lock_give(&lane->lock);
    return tainted;
}
