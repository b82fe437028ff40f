/* rungs.h - where a replica's variables live, by the room on its device. From the top: parameters,
 * gradients and optimizer state on the device; no state (central storage); parts of the layers in
 * turn, through windows. Pure reckoning from sizes and limits: a row at a time must fit beside. */
#ifndef MOT_STRATEGY_RUNGS_H
#define MOT_STRATEGY_RUNGS_H

#include "strategy/replica.h"

/* Floats of a device's largest allocation that no piece has: for the record and rounding. */
#define MOT__PIECE_RESERVE ((size_t)4096)

struct mot__rung {
    bool whole;     /* everything fits; beside other replicas with some rows at a time, where the
                       state on the host would leave room for these */
    bool central;   /* parameters and gradients do */
    size_t windows; /* so many of each do; 0: not even one */
};
struct mot__rung mot__rung_find(const mot_replica *replica); /* on the lane's own thread */

/* The variables do not fit as the strategy wants them: the story, with the limit that would do. */
mot_status mot__rung_story(const mot_replica *replica);

#endif
