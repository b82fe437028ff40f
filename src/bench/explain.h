/* explain.h - where the seconds of one replica went. */
#ifndef MOT_BENCH_EXPLAIN_H
#define MOT_BENCH_EXPLAIN_H

#include "strategy/replica.h"

#include <motley/bench.h>

/* What the device did is what its clock says. What is left is explained by what the host did
 * meanwhile: adding, waiting for others, having nothing to do; the remainder is launching and
 * waking up. */
struct mot_breakdown mot__explain(const struct mot__spent *spent, double seconds);

#endif
