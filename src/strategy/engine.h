/* engine.h - how one step is spread over the lanes: who computes what, and when. A trainer's
 * inside. */
#ifndef MOT_STRATEGY_ENGINE_H
#define MOT_STRATEGY_ENGINE_H

#include "strategy/fleet.h"
#include "strategy/replica.h"

/* Lanes write to memory of the engine's own, and the caller gets a copy: what was handed in may go
 * as soon as a call has returned, also where a lane was given up. */
typedef struct mot__engine mot__engine;

/* The fleet must outlive it; the model is copied. */
mot_status mot__engine_open(mot_fleet *fleet, const mot_model *net,
                            const struct mot_trainer_config *config, mot__engine **out);
/* Over all devices, by this strategy; NULL: as the configuration says. */
mot_status mot__engine_open_by(mot_fleet *fleet, const mot_model *net,
                               const struct mot_trainer_config *config,
                               const struct mot__strategy *strategy, mot__engine **out);
void mot__engine_close(mot__engine *engine); /* finishes what is queued; accepts NULL */

const struct mot__common *mot__engine_common(const mot__engine *engine);
const mot_replica *mot__engine_replica(const mot__engine *engine,
                                       size_t replica); /* idle lanes only */
const mot_fleet *mot__engine_fleet(const mot__engine *engine);
void mot__engine_split(const mot__engine *engine, size_t rows, size_t *share); /* (replicas) */
/* When automatic shares last changed, by mot__clock_s; 0: never. */
double mot__engine_shared_s(const mot__engine *engine);
size_t mot__engine_first(const mot__engine *engine); /* a replica that was not left out */
bool mot__engine_note(mot__engine *engine, struct mot_note *out); /* false: there is none */
/* Steps of a group (accumulation) that wait for their update. */
size_t mot__engine_pending(const mot__engine *engine);
void mot__engine_lr(mot__engine *engine, double lr); /* from the next step on */

/* Do these samples fit the network and the loss? A sentence if not. */
mot_status mot__engine_check(const mot__engine *engine, const struct mot__samples *samples);
/* Make plans and feeds for batches of so many rows, so that no step does. Called by the others when
 * needed. */
mot_status mot__engine_prepare(mot__engine *engine, const struct mot__samples *samples, size_t rows,
                               bool training, bool resident);
struct mot__engine_plan { /* a training with these data; test may be NULL */
    const struct mot__samples *train, *test;
    size_t rows, test_rows; /* of a batch */
    bool resident;
};
/* What that would take, (replicas). */
mot_status mot__engine_plan(mot__engine *engine, const struct mot__engine_plan *wish,
                            struct mot_plan *out);
/* Give back what inference or training was made ready with; the next use makes it anew. */
mot_status mot__engine_release(mot__engine *engine, bool training);

/* Queue one step; takes the batch. */
mot_status mot__engine_step(mot__engine *engine, mot_batch *batch);
mot_status mot__engine_run(mot__engine *engine, mot_batch *batch, mot_replica_fn fn,
                           void *user); /* waits; takes it */
mot_status mot__engine_apply(mot__engine *engine);
mot_status mot__engine_metrics(mot__engine *engine, struct mot_metrics *out); /* waits */

/* Compare the replicas now, and act as configured; differing may be NULL. Waits. */
mot_status mot__engine_verify(mot__engine *engine, size_t *differing);

/* Where the time went since the last call, a row for each replica; waits. */
mot_status mot__engine_spent(mot__engine *engine, struct mot__spent *spent);

/* Of shards as the steps had them, by trial; steady (replicas). Waits. */
mot_status mot__engine_steady(mot__engine *engine, struct mot__steady *steady);

/* Evaluation: begin, any number of batches, end. Each takes its batch. */
mot_status mot__engine_tally_begin(mot__engine *engine);
mot_status mot__engine_tally(mot__engine *engine, mot_batch *batch);
mot_status mot__engine_tally_end(mot__engine *engine, struct mot_metrics *out);    /* waits */
mot_status mot__engine_predict(mot__engine *engine, mot_batch *batch, float *out); /* waits */

/* Flat parameters [offset, offset + count) of one replica, or to all of them. */
mot_status mot__engine_read(mot__engine *engine, size_t replica, size_t offset, float *out,
                            size_t count);
mot_status mot__engine_write(mot__engine *engine, size_t offset, const float *value, size_t count);

#endif
