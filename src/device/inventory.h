/* inventory.h - every device of every platform, one entry each, and the small language that picks
 * among them. */
#ifndef MOT_DEVICE_INVENTORY_H
#define MOT_DEVICE_INVENTORY_H

#include "base/status.h"

/* One replica's place: a device, or one of the equal parts it is cut into. */
struct mot__pick {
    size_t device;  /* index in the inventory */
    uint32_t parts; /* 1: the whole device */
    uint32_t part;  /* which of the parts */
    char label[32]; /* "0", "0/2.1" */
};

/* Read the device language: all gpu cpu | 0,2 | 0,0 | pci:03:00.0 | name:Arc* | 0/2 | 0/2.1, joined
 * by commas. NULL or "" is the default policy. The story points at the place that is wrong. The
 * caller frees *out. */
mot_status mot__pick_parse(const mot_inventory *inventory, const char *text, struct mot__pick **out,
                           size_t *count);

/* The device text the inventory was opened with ($MOTLEY_DEVICES counted); NULL: the default. */
const char *mot__inventory_text(const mot_inventory *inventory);

/* The platform and device handles (cl_platform_id, cl_device_id) behind an entry; for device/
 * alone. */
void mot__inventory_handles(const mot_inventory *inventory, size_t index, void **platform,
                            void **device);

/* A table made by hand, for tests of the policy and the language without drivers. */
mot_status mot__inventory_of(const struct mot_device_info *info, size_t count, mot_inventory **out);

#endif
