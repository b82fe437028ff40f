/* trainer.h - what a mot_trainer is inside this room. */
#ifndef MOT_TRAIN_TRAINER_H
#define MOT_TRAIN_TRAINER_H

#include "strategy/engine.h"

struct mot_trainer {
    mot__engine *engine;
    double spent_s; /* when mot_bench_breakdown was last asked; 0: never */
};

size_t mot__evaluate_rows(const struct mot__samples *samples); /* of one of its batches */

#endif
