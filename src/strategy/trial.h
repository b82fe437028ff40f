/* trial.h - how fast a replica is with its own plan: a few forward and backward passes over rows of
 * zeros, before the first step. Nothing that outlives a step changes. */
#ifndef MOT_STRATEGY_TRIAL_H
#define MOT_STRATEGY_TRIAL_H

#include "strategy/pace.h"
#include "strategy/replica.h"

/* Up to the rows of its training plan; slow devices stop at fewer. Waits. */
mot_status mot__trial(mot_replica *replica, struct mot__pace *out);

#endif
