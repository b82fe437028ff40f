/* sent.h - a device whose update does not have the host's bits: the host updates for it, from the
 * same reduced gradients, and sends it the weights. So its copy agrees with the others'; it holds
 * no optimizer state. */
#ifndef MOT_STRATEGY_SENT_H
#define MOT_STRATEGY_SENT_H

#include "strategy/replica.h"

struct mot__sent {
    float *slot[2];          /* (floats): the optimizer's state; NULL where it has none */
    float *p, *g, *partials; /* scratch */
};

/* The update list of such a lane. why: what its self-test said. */
mot_status mot__sent_plan(mot_replica *replica, mot__plan *plan, const char *why);
void mot__sent_close(struct mot__sent *sent); /* accepts NULL */

/* One state, flat, wherever the lane has it; false: this optimizer has none. */
bool mot__state_there(const mot_replica *replica, size_t slot);
mot_status mot__state_read(const mot_replica *replica, size_t slot, float *out);
mot_status mot__state_write(const mot_replica *replica, size_t slot, const float *value);

#endif
