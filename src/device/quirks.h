/* quirks.h - what is known to be wrong or peculiar with a driver or device: one table, asked by
 * flag, so that no vendor's name stands at a point of use. */
#ifndef MOT_DEVICE_QUIRKS_H
#define MOT_DEVICE_QUIRKS_H

#include "base/status.h"

enum mot__quirk {
    MOT__QUIRK_SIMULATOR, /* no real device: only by name or index */
    MOT__QUIRK_SOFTWARE,  /* the host CPU, offered by a driver that draws */
    MOT__QUIRK_SCALAR,    /* kernels without vectors, in groups of 32 items at most: class GPU */
    MOT__QUIRK_NO_SUB_DEVICES,   /* never call clCreateSubDevices */
    MOT__QUIRK_KEEP_SUB_DEVICES, /* never release one that was worked on: it is still used */
    MOT__QUIRK_KEEPS_BINARIES,   /* has a cache on disk, and ours would cost more */
    MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES, /* elsewhere calls after it may hang: it is lost */
    MOT__QUIRK_UNMAP_WAITS,     /* a mapping must have been made before its unmapping is queued */
    MOT__QUIRK_CLBLAST_SUSPECT, /* CLBlast computed wrongly here: only where it is asked for */
    MOT__QUIRKS
};

/* Every row that fits the device and has the flag; reason (may be NULL) is that of the first. */
bool mot__quirk_has(const struct mot_device_info *info, enum mot__quirk flag, const char **reason);

/* Which of two platforms that offer the same card serves it better: the higher one. */
int mot__quirk_platform_rank(const char *platform);

/* The variable without which a platform offers no device; NULL: none. */
const char *mot__quirk_wants(const char *platform);

/* The table itself, for reports and tests; NULL past the last row. */
struct mot__quirk_row {
    const char *platform, *name; /* patterns with * and ?; NULL: any */
    enum mot__quirk flag;
    const char *reason, *link;
};
const struct mot__quirk_row *mot__quirk_row(size_t index);

#endif
