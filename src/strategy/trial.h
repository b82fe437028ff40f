/* trial.h - how fast a replica is with its own plan: a few forward and backward passes over rows of
 * zeros, before the first step. Nothing that outlives a step changes. */
#ifndef MOT_STRATEGY_TRIAL_H
#define MOT_STRATEGY_TRIAL_H

#include "strategy/pace.h"
#include "strategy/replica.h"

/* Up to the rows of its training plan; slow devices stop at fewer. Waits. */
mot_status mot__trial(mot_replica *replica, struct mot__pace *out);
/* The part of forward and backward passes over so many rows that does not depend on the rows, by
 * the device's clock; 0 without profiling. Waits. */
mot_status mot__trial_steady(mot_replica *replica, size_t rows, double *part);

#endif
