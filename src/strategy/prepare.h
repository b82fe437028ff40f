/* prepare.h - plans and feeds of one replica, and what they take. On the lane's own thread, but for
 * reckoning, which idle lanes permit to anyone. */
#ifndef MOT_STRATEGY_PREPARE_H
#define MOT_STRATEGY_PREPARE_H

#include "strategy/replica.h"

/* Plans and feeds for shards of so many rows, which may run as micro-batches; keeps what serves
 * already. resident: keep the data on the device if it fits. */
mot_status mot__replica_prepare(mot_replica *replica, const struct mot__samples *samples,
                                size_t rows, bool training, bool resident);
void mot__replica_release(mot_replica *replica, bool training); /* plan and feed of that mode */
/* Rows of the next micro-batch where so many are left: equal parts that the plan holds. */
size_t mot__replica_micro(const mot_replica *replica, bool training, size_t rows);

/* A further training plan for a trial. Closing gives back all that it took and leaves the peak and
 * the choice of kernels as they were. */
struct mot__spare_plan {
    mot__plan *plan; /* NULL: there is no room */
    size_t peak, asked;
};
mot_status mot__spare_plan_open(const mot_replica *replica, size_t rows,
                                struct mot__spare_plan *out);
void mot__spare_plan_close(const mot_replica *replica, struct mot__spare_plan *beside);

/* Of so many rows of a training batch, the most that run at once on its device. */
size_t mot__replica_most(const mot_replica *replica, const struct mot__samples *samples,
                         size_t rows);

struct mot__job_plan {                       /* a training with these data */
    const struct mot__samples *train, *test; /* test: NULL for none */
    size_t rows, test_rows;                  /* of this replica's shards */
    bool resident;
    struct mot_plan *out; /* by rank */
};
mot_status mot__replica_plan(const mot_replica *replica, const struct mot__job_plan *job,
                             struct mot_plan *out);
void mot__replica_bytes(const mot_replica *replica, struct mot_bytes *out); /* as it is now */

#endif
