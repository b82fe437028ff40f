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

/* Before a step's job: its rows may have to be computed again. The first MOT__HELD_MOST steps of an
 * update are held. */
void mot__suspect_begin(mot_replica *replica, const struct mot__job_shard *job);
void mot__suspect_forget(mot_replica *replica);

/* The sums are bad: every lane comes here. The rows of the lane that brought the odd number are
 * computed again on another, which names the layer and blames the device or the data; a note tells
 * the outcome. Only the first bad step between two reads of the metrics is looked into. What the
 * gradients held is lost but for the record.
 *
 * What cannot be told: of an update of more steps than are held, a device is not accused; nor of a
 * loop of the user's own, whose gradients nobody else can compute: there only the forward pass is
 * run again, for the layer. */
mot_status mot__suspect_look(mot_replica *replica, const struct mot__finding *finding);

/* The metrics were read: if a step was refused that nobody looked into, tell of it. A lane alone
 * learns of it only now: it looks for the layer in the rows of the last update, then, where the
 * variables are still those of the refused step, in samples that are in memory. */
mot_status mot__suspect_read(mot_replica *replica, const float verdict[MOT__VERDICT_FLOATS]);

#endif
