/* suspect.h - a step was refused because a number is not finite: which, on which device, and
 * whether the device or the data is to blame. Off the path of ordinary steps. */
#ifndef MOT_STRATEGY_SUSPECT_H
#define MOT_STRATEGY_SUSPECT_H

#include "strategy/jobs.h"

/* What the adding of a step's gradients showed; the same on every lane but own_rows. */
struct mot__finding {
    struct mot__odd_sum odd;          /* of the gradients; index in the flat order */
    float own_rows;                   /* of this lane, whose loss was not finite */
    float record[MOT__RECORD_FLOATS]; /* of all lanes */
};
bool mot__finding_bad(const struct mot__finding *finding);

/* Around a step's job: its rows may have to be computed again. */
void mot__suspect_begin(mot_replica *replica, const struct mot__job_shard *job);
void mot__suspect_end(mot_replica *replica);

/* The sums are bad: every lane comes here. The rows of the lane that brought the odd number are
 * computed again on another; a note tells the outcome. Only the first bad step between two reads of
 * the metrics is looked into. What the gradients held is lost but for the record. */
mot_status mot__suspect_look(mot_replica *replica, const struct mot__finding *finding);

/* The metrics were read: if a step was refused that nobody looked into, tell of it. */
mot_status mot__suspect_read(mot_replica *replica, const float verdict[MOT__VERDICT_FLOATS]);

#endif
