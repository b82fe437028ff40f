/* lane.h - one device's launch thread: the only one that enters its driver. Others hand it jobs and
 * wait with a deadline.
 *
 * Jobs run in order. A job's failure is kept and told by the next mot__lane_wait. A lane that is
 * silent past the deadline is given up: it is told lost, runs no further job, its thread is
 * abandoned when it closes, and what it holds is leaked on purpose. The job that hangs may still
 * come back: what that one reads and writes must stay. */
#ifndef MOT_STRATEGY_LANE_H
#define MOT_STRATEGY_LANE_H

#include "device/device.h"

typedef struct mot__lane mot__lane;

#define MOT__JOB_BYTES                                                                             \
    128                   /* of a job's payload, copied into the queue: posting allocates nothing */
#define MOT__LANE_QUEUE 8 /* jobs waiting; a poster waits while it is full */

typedef mot_status (*mot__job_fn)(mot__lane *lane, void *user, void *payload);

struct mot__lane_config {
    const mot_inventory *inventory; /* must outlive the lane */
    struct mot__pick pick;
    struct mot__device_options options; /* its strings must outlive the lane */
    double deadline_s;                  /* to begin with */
};

/* Starts the thread, which opens and tests the device; mot__lane_wait tells how that went. */
mot_status mot__lane_open(const struct mot__lane_config *config, mot__lane **out);
void mot__lane_close(mot__lane *lane);          /* finishes what was posted; accepts NULL */
mot__device *mot__lane_device(mot__lane *lane); /* for jobs; elsewhere only its facts */
const char *mot__lane_label(const mot__lane *lane);

mot_status mot__lane_post(mot__lane *lane, mot__job_fn run, void *user, const void *payload,
                          size_t bytes);
mot_status mot__lane_wait(mot__lane *lane); /* until idle; the first failure since the last wait */
mot_status mot__lane_call(mot__lane *lane, mot__job_fn run, void *user, const void *payload,
                          size_t bytes);
/* Told from inside a job: it sleeps for other lanes, who have a deadline of their own to come;
 * until it sleeps no more, its own rests. As mot__group_on_sleep wants it: a mot__lane, untyped. */
void mot__lane_sleeps(void *user, bool begins);
void mot__lane_deadline(mot__lane *lane, double deadline_s); /* from now on */
double mot__lane_starved(mot__lane *lane); /* seconds it had no job, since the last call */
bool mot__lane_tainted(mot__lane *lane);   /* given up */

#endif
