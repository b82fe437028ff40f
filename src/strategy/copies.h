/* copies.h - what a replica keeps from step to step (parameters, optimizer state, verdict), brought
 * from one replica to others through the host. */
#ifndef MOT_STRATEGY_COPIES_H
#define MOT_STRATEGY_COPIES_H

#include "strategy/engine.h"

/* Every replica with to[i] becomes what replica `from` is, bit for bit. Waits. */
mot_status mot__copies_send(mot__engine *engine, size_t from, const bool *to);

#endif
