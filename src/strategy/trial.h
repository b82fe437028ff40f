/* trial.h - how fast a replica is: a few forward and backward passes over rows of zeros, before the
 * first step or between two updates, with its own plan or one for more rows beside it. Nothing that
 * outlives a step changes. */
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
/* What passes over t's rows took, alone, tells of passes over so many, which took stepped_s in the
 * steps (0: not known); cold and upload are not told. */
struct mot__steady mot__trial_told(const struct mot__trial_rows *t, const double seconds[3],
                                   double rows, double stepped_s);
/* Of passes as the last steps had them. Waits. */
mot_status mot__trial_steady(mot_replica *replica, struct mot__steady *out);

#endif
