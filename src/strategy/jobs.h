/* jobs.h - what the engine asks of a lane: one function and one payload for each. user is the
 * replica. */
#ifndef MOT_STRATEGY_JOBS_H
#define MOT_STRATEGY_JOBS_H

#include "strategy/prepare.h"

struct mot__job_shard { /* rows of a batch; the job closes its hold on it */
    mot_batch *batch;
    size_t begin, rows;
    size_t before; /* rows of the group's earlier steps: dropout counts on */
    uint64_t number;
    bool commit; /* the group's last step */
    double lr;
    mot_replica_fn fn;
    void *user;
    float *out; /* prediction: (batch rows, outputs) */
};
struct mot__job_prepare {
    const struct mot__samples *samples;
    size_t rows;
    bool training, resident;
};
struct mot__job_most {
    const struct mot__samples *samples;
    size_t rows;
    size_t *out; /* by rank */
};
struct mot__job_flat {
    size_t offset, count;
    float *out;
    const float *value;
};

mot_status mot__job_open(mot__lane *lane, void *user, void *payload); /* const float *start */
mot_status mot__job_close(mot__lane *lane, void *user, void *payload);
mot_status mot__job_prepare(mot__lane *lane, void *user,
                            void *payload); /* struct mot__job_prepare */
mot_status mot__job_trial(mot__lane *lane, void *user,
                          void *payload); /* struct mot__pace *: by rank */
mot_status mot__job_retry(mot__lane *lane, void *user, void *payload); /* an idle one */
mot_status mot__job_most(mot__lane *lane, void *user, void *payload);  /* struct mot__job_most */
mot_status mot__job_plan(mot__lane *lane, void *user, void *payload);  /* struct mot__job_plan */
mot_status mot__job_steady(mot__lane *lane, void *user,
                           void *payload); /* struct mot__steady *: by rank */
mot_status mot__job_release(mot__lane *lane, void *user, void *payload); /* bool training */
mot_status mot__job_step(mot__lane *lane, void *user, void *payload);    /* struct mot__job_shard */
mot_status mot__job_run(mot__lane *lane, void *user, void *payload);     /* struct mot__job_shard */
/* The user's function asked to stop or called wrongly: no device failed, the replica is whole. */
bool mot__job_run_refused(mot_status status);
mot_status mot__job_drop(mot__lane *lane, void *user, void *payload); /* what was not applied yet */
mot_status mot__job_apply(mot__lane *lane, void *user, void *payload); /* double lr */
mot_status mot__job_metrics(mot__lane *lane, void *user,
                            void *payload); /* float *verdict: of seat 0 */
mot_status mot__job_verify(mot__lane *lane, void *user, void *payload);
mot_status mot__job_spent(mot__lane *lane, void *user,
                          void *payload); /* struct mot__spent *: by rank */
mot_status mot__job_tally_begin(mot__lane *lane, void *user, void *payload);
mot_status mot__job_tally(mot__lane *lane, void *user, void *payload); /* struct mot__job_shard */
mot_status mot__job_tally_end(mot__lane *lane, void *user,
                              void *payload); /* float (*)[RECORD]: by rank */
mot_status mot__job_predict(mot__lane *lane, void *user, void *payload); /* struct mot__job_shard */
mot_status mot__job_read(mot__lane *lane, void *user, void *payload);    /* struct mot__job_flat */
mot_status mot__job_write(mot__lane *lane, void *user, void *payload);   /* struct mot__job_flat */

#endif
