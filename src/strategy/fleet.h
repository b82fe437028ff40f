/* fleet.h - the opened devices, a lane each. */
#ifndef MOT_STRATEGY_FLEET_H
#define MOT_STRATEGY_FLEET_H

#include "strategy/lane.h"

mot__lane *mot__fleet_lane(const mot_fleet *fleet, size_t lane);
double mot__fleet_deadline(const mot_fleet *fleet);

#endif
