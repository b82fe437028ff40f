/* trainer.h - what a mot_trainer is inside this room. */
#ifndef MOT_TRAIN_TRAINER_H
#define MOT_TRAIN_TRAINER_H

#include "strategy/engine.h"

struct mot_trainer {
    mot__engine *engine;
    double spent_s; /* when mot_bench_breakdown was last asked; 0: never */
};

/* A batch size that suits inference on this data: as large as memory allows, up to a frozen bound.
 * Leaves the data at the first batch of its first epoch. */
mot_status mot__trainer_ready_to_read(mot_trainer *trainer, mot_data *data);

#endif
