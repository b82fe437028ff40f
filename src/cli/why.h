/* why.h - what limits the speed of a run: asked over each epoch's steps, told in a sentence or
 * whole. */
#ifndef MOT_CLI_WHY_H
#define MOT_CLI_WHY_H

#include <motley/bench.h>
#include <stdio.h>

struct why {
    mot_trainer *trainer;
    struct mot_breakdown *part;   /* (replicas) of the last finished epoch */
    struct mot_breakdown *before; /* (replicas) what came before the epoch: not told */
    const char **label;           /* (replicas) */
    size_t replicas;
    struct mot_cure cure[MOT_CURES];
    size_t count; /* 0: nothing is known yet */
};

void why_open(struct why *why, mot_trainer *trainer);
void why_close(struct why *why);
void why_begin(struct why *why); /* from here on the time counts */
void why_end(struct why *why, const struct mot_event *event);
void why_print(const struct why *why, FILE *out, bool whole);

#endif
