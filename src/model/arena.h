/* arena.h - places for values by lifetime: two that are never alive together may share bytes. */
#ifndef MOT_MODEL_ARENA_H
#define MOT_MODEL_ARENA_H

#include "base/status.h"

struct mot__life {
    size_t floats;                  /* in: size */
    size_t first, last;             /* in: moments at which it is alive, both included */
    size_t again_first, again_last; /* in: once more, later; again_last 0: not */
    bool kept;                      /* for the caller's reckoning; not read here */
    size_t offset;                  /* out: floats from the start of the arena, a multiple of 16 */
};

/* Place them all; *floats is the arena's size, *live the most alive at one moment (a lower bound).
 */
mot_status mot__arena_place(struct mot__life *life, size_t count, size_t *floats, size_t *live);

#endif
