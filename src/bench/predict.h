/* predict.h - how long a step would take with other rows, other devices, fewer reductions. */
#ifndef MOT_BENCH_PREDICT_H
#define MOT_BENCH_PREDICT_H

#include <motley/bench.h>

#define MOT__ALL SIZE_MAX

struct mot__change { /* what would be changed; {1, 1, false, MOT__ALL, MOT__ALL}: as it is */
    size_t times;    /* rows of a batch */
    size_t fewer;    /* updates and reductions come so many times more rarely */
    bool balanced;   /* rows by speed, not as they are */
    size_t without;  /* this replica; MOT__ALL: keep all */
    size_t only;     /* this replica alone; MOT__ALL: all */
};

bool mot__absent(const struct mot_reckoning *r, size_t replica); /* left out of the run */
size_t mot__present(const struct mot_reckoning *r);              /* replicas that are not */
/* The replica that is idle least: the others wait for it. */
size_t mot__slowest(const struct mot_reckoning *r);
/* Parts of a step: that even the last to come waits for the others; that late data costs. */
double mot__meeting(const struct mot_reckoning *r);
double mot__late(const struct mot_reckoning *r);
/* Where all memory is the host's, an update is reckoned by its bytes, though arithmetic may bind it
 * as well. Numbers that move for each parameter: on the device parameter, gradient and state are
 * read, and written but for the gradient; with one copy of the variables each lane has its part of
 * that, but what is written lies beside what is read, and is fetched, too, and the weights are
 * copied. */
double mot__moved(const struct mot_reckoning *r);
double mot__moved_hosted(const struct mot_reckoning *r, double lanes);
/* Samples/s then over samples/s now. */
double mot__gain(const struct mot_reckoning *r, const struct mot__change *change);

#endif
