/* fleet.h - the opened devices, a lane each. */
#ifndef MOT_STRATEGY_FLEET_H
#define MOT_STRATEGY_FLEET_H

#include "collective/collective.h"
#include "strategy/lane.h"

mot__lane *mot__fleet_lane(const mot_fleet *fleet, size_t lane);
/* Run a job on one lane and wait for it; MOT_BAD_ARG where there is no such lane. The job works on
 * a copy of user's bytes, which comes back: a lane that is given up may go on with it. What it
 * points to must stay unless the fleet is idle. */
mot_status mot__fleet_call(mot_fleet *fleet, size_t lane, mot__job_fn run, void *user,
                           size_t bytes);
/* Run a job on all lanes, who meet in the group, and wait for them; its payload is the lane's rank,
 * a size_t. A job that fails must abort the group. user and group must stay unless the fleet is
 * idle. */
mot_status mot__fleet_meet(mot_fleet *fleet, mot__group *group, mot__job_fn run, void *user);
/* No lane was given up: nobody else looks at what jobs were handed any more. Between jobs. */
bool mot__fleet_idle(const mot_fleet *fleet);
double mot__fleet_deadline(const mot_fleet *fleet);
void mot__fleet_patience(mot_fleet *fleet, double deadline_s); /* from now on; all lanes idle */
/* Engines opened from here on sum as this says, whatever the store does; NULL ends it. The caller's
 * memory. */
struct mot__fleet_choice;
void mot__fleet_try(mot_fleet *fleet, const struct mot__fleet_choice *choice);
const struct mot__fleet_choice *mot__fleet_tried(const mot_fleet *fleet);

#endif
