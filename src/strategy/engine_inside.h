/* engine_inside.h - what an engine is, for the files that make it up. */
#ifndef MOT_STRATEGY_ENGINE_INSIDE_H
#define MOT_STRATEGY_ENGINE_INSIDE_H

#include "strategy/choice.h"
#include "strategy/engine.h"
#include "strategy/jobs.h"
#include "strategy/verify.h"

struct mot__engine {
    mot_fleet *fleet;
    struct mot__common common;
    struct mot__notes notes;
    struct mot__fleet_choice choice; /* of these devices all together */
    mot_replica *replica;            /* (common.replicas) */
    double *weight;                  /* (common.replicas): shares */
    size_t *share;                   /* scratch */
    size_t *before;                  /* scratch */
    size_t balanced_rows;            /* the batch that automatic shares are made for */
    double shared_s;                 /* when they last changed */
    bool tried;                      /* every lane's pace was tried */
    bool *idle, *came, *went;        /* scratch, (common.replicas) */
    struct { /* replicas were left out, and whether that was right is being measured */
        bool on;
        double before_s; /* a step took with all that were there */
        size_t were, kept, larger;
    } leaving;
    uint64_t number;     /* of the next step, or of the group it belongs to */
    size_t pending;      /* steps of the group that were not applied yet */
    size_t pending_rows; /* of those steps */
    double lr;
    struct mot__agree agree;
    atomic_bool halted; /* a lane says that a step was refused and none is applied after it */
    float verdict[MOT__VERDICT_FLOATS]; /* not on a stack: a lane given up may still write here */
    struct mot__story failed;           /* a trainer that failed stays failed */
    uint64_t
        prepared_id[2]; /* samples and rows the plans were last made for: inference, training */
    size_t prepared_rows[2];
    bool resident[2]; /* and whether the data was to stay on the devices */
};

/* A trainer that failed stays failed: keep the first story. Returns status. */
mot_status mot__engine_remember(mot__engine *engine, mot_status status);
mot_status mot__engine_wait_all(mot__engine *engine); /* all lanes idle; the first failure */
/* A lane was given up: its thread may still read and write what its last job was handed. */
bool mot__engine_tainted(const mot__engine *engine);
void mot__engine_free(const mot__engine *engine, void *memory); /* such memory: unless so */
/* The same job on every lane; waits. Memory in its payload is freed by mot__engine_free alone. */
mot_status mot__engine_call_all(mot__engine *engine, mot__job_fn run, const void *payload,
                                size_t bytes);

/* Who asks for a strategy gets it. Else variables live on the devices where they fit all of them,
 * and on the host where not; central storage with one device lives on that device, if it can. */
mot_status mot__engine_pick(mot__engine *engine, enum mot_strategy wish);

/* The lanes found that replicas differ: send the variables anew, or fail, as asked. */
mot_status mot__engine_settle(mot__engine *engine);

/* A group of so many lanes in the place of the one there is; all lanes idle. */
mot_status mot__engine_join(mot__engine *engine, size_t lanes);

/* Shares as configured; even until something was measured where they are automatic. */
mot_status mot__engine_find_shares(mot__engine *engine);
/* Automatic shares for batches of so many rows, once plans are there: by a trial the first time.
 * *changed: some replica may take more rows than its plan was made for. */
mot_status mot__engine_try_shares(mot__engine *engine, const struct mot__samples *samples,
                                  size_t rows, bool *changed);
/* Before a step: look whether other shares would be better by now. */
mot_status mot__engine_review_shares(mot__engine *engine, size_t rows);

#endif
