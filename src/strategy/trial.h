/* trial.h - how fast a replica is with its own plan: a few forward and backward passes over rows of
 * zeros, before the first step. Nothing that outlives a step changes. */
#ifndef MOT_STRATEGY_TRIAL_H
#define MOT_STRATEGY_TRIAL_H

#include "strategy/pace.h"
#include "strategy/replica.h"

/* Up to the rows of its training plan; slow devices stop at fewer. Waits. */
mot_status mot__trial(mot_replica *replica, struct mot__pace *out);
/* The rows of passes that tell what does not depend on rows, of shards of so many in a plan for
 * `most`: as many, twice and eight times as many, or what there is room for, else half of them; of
 * large shards two bounded parts. low 0: it cannot be told. */
struct mot__trial_rows {
    size_t low, twice, high;
};
struct mot__trial_rows mot__trial_rows(size_t rows, size_t most);
/* The part of forward and backward passes over so many rows that more do not add to, by the
 * device's clock; 0 without profiling. Waits. */
mot_status mot__trial_steady(mot_replica *replica, size_t rows, struct mot__steady *out);

#endif
