/* why.h - what limits the speed of a run: asked over each epoch's steps, told in a sentence or
 * whole. */
#ifndef MOT_CLI_WHY_H
#define MOT_CLI_WHY_H

#include "cli/json.h"
#include "cli/session.h"

#include <motley/bench.h>
#include <stdio.h>

struct why {
    mot_trainer *trainer;
    struct mot_breakdown *part;   /* (replicas) of the last finished epoch */
    struct mot_breakdown *before; /* (replicas) what came before the epoch: not told */
    const char **label;           /* (replicas) */
    size_t replicas;
    bool shares_auto;
    size_t *share;                  /* (replicas) of that epoch */
    struct mot_reckoning reckoning; /* of that epoch; points into this struct */
    struct mot_cure cure[MOT_CURES];
    size_t count;            /* 0: nothing is known yet */
    double tried[MOT_CURES]; /* the gain that came when it was tried; NaN: it was not */
};

void why_open(struct why *why, mot_trainer *trainer, bool shares_auto);
void why_close(struct why *why);
void why_begin(struct why *why); /* from here on the time counts */
void why_end(struct why *why, const struct mot_event *event);
/* After the last epoch: measure what the links and the host's memory can, where they limit; and
 * try each cure where the whole is asked for. */
void why_measure(struct why *why, const struct options *options, const struct session *session);
void why_json(const struct why *why, struct json *json);
void why_print(const struct why *why, FILE *out, bool whole);

#endif
