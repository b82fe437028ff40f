/* why.h - what limits the speed of a run: asked after some steps and at the end, told in a sentence
 * or whole. */
#ifndef MOT_CLI_WHY_H
#define MOT_CLI_WHY_H

#include "cli/json.h"
#include "cli/session.h"

#include <motley/bench.h>
#include <stdio.h>

struct why_wish {
    bool sentence;  /* anything at all; without it nothing is measured */
    size_t steps;   /* an early verdict after so many, and no sooner than that; or at the end */
    double seconds; /* of the first epoch, if that comes before */
    bool shares_auto;
    size_t state; /* numbers of the optimizer for each parameter */
};

struct why {
    mot_trainer *trainer;
    struct why_wish wish;
    struct mot_breakdown *part;   /* (replicas) of the steps that were reckoned last */
    struct mot_breakdown *before; /* (replicas) what came before them: not told */
    const char **label;           /* (replicas) */
    size_t replicas;
    size_t *share; /* (replicas) of the steps that are looked at */
    struct {       /* where they began */
        size_t epoch, step;
        double at_s;
    } from;
    bool told_early;
    struct mot_reckoning reckoning; /* of the last verdict; points into this struct */
    struct mot_cure cure[MOT_CURES];
    size_t count;            /* 0: nothing is known yet */
    double tried[MOT_CURES]; /* the gain that came when it was tried; NaN: it was not */
};

/* Without memory it stays silent. */
void why_open(struct why *why, mot_trainer *trainer, const struct why_wish *wish);
void why_close(struct why *why);
/* To be called for each event of mot_fit, with STEP events. True: the early verdict is there. */
bool why_see(struct why *why, const struct mot_event *event);
/* After the last epoch: measure what the links and the host's memory can, where they limit; and
 * try each cure where that is asked for. */
void why_measure(struct why *why, const struct options *options, const struct session *session,
                 bool try_cures);
void why_json(const struct why *why, struct json *json);
void why_print(const struct why *why, FILE *out, bool whole);

#endif
