/* choice.h - how the lanes of a fleet sum gradients: found by tuning for these devices and so many
 * parameters, read once when an engine opens. */
#ifndef MOT_STRATEGY_CHOICE_H
#define MOT_STRATEGY_CHOICE_H

#include "collective/collective.h"
#include "device/tuned.h"
#include "strategy/fleet.h"

struct mot__fleet_choice {
    enum mot__algorithm algorithm;
    size_t bucket_floats; /* 0: as usual */
};

/* "direct-0", "ring-1048576". */
#define MOT__CHOICE_TEXT 24
void mot__choice_text(const struct mot__fleet_choice *choice, char out[MOT__CHOICE_TEXT]);

/* What lane 0's device knows the fleet by: "fleet.<sum of the devices' keys>.<parameters>". */
#define MOT__CHOICE_WHAT 64
void mot__choice_what(const mot_fleet *fleet, size_t parameters, char out[MOT__CHOICE_WHAT]);

/* What the fleet is being tried with, else what was remembered of it, else all zero: as usual. */
mot_status mot__choice_read(mot_fleet *fleet, size_t parameters, struct mot__fleet_choice *out);

#endif
