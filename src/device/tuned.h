/* tuned.h - what tuning found, as the store keeps it: one line, the same for every kind of choice.
 */
#ifndef MOT_DEVICE_TUNED_H
#define MOT_DEVICE_TUNED_H

#include "device/device.h"

#define MOT__TUNED "tuned." /* every key of tuning begins so; nothing else does */

struct mot__tuned {
    char choice[24]; /* no spaces */
    double value;    /* what was measured with it; more is better */
    char usual[24];  /* what would be taken without tuning */
    double before;   /* and was measured with that */
    uint64_t when;   /* seconds since 1970 */
};

/* False where the line is not such a one, whole and with numbers that can have been measured. */
bool mot__tuned_parse(const char *line, struct mot__tuned *out);
/* Read and write under MOT__TUNED "what"; what cannot be read is not found. */
mot_status mot__tuned_get(mot__device *device, const char *what, struct mot__tuned *out,
                          bool *found);
mot_status mot__tuned_set(mot__device *device, const char *what, const struct mot__tuned *tuned);

/* Is anything remembered of this device? */
mot_status mot__tuned_any(mot__device *device, bool *found);

#endif
