/* entries.h - what an inventory is inside; shared by inventory.c, probe.c, policy.c and pick.c. */
#ifndef MOT_DEVICE_ENTRIES_H
#define MOT_DEVICE_ENTRIES_H

#include "base/text.h"
#include "device/inventory.h"

struct mot__inventory_entry {
    struct mot_device_info info;
    void *platform, *device; /* cl_platform_id, cl_device_id; NULL in a table made by hand */
};

struct mot_inventory {
    struct mot__inventory_entry *entry;
    size_t count;
    char *notes; /* a line for each oddity */
    char *text;  /* the device text it was opened with; NULL: the default policy */
};

/* Fill what OpenCL tells of one device (cl_device_id); platform is its platform's name. False: it
 * cannot be used, and why says so. */
bool mot__probe(void *device, const char *platform, struct mot_device_info *info, char *why,
                size_t bytes);
/* A text property of a platform (cl_platform_id), trimmed; "" where the driver fails. */
void mot__probe_platform_name(void *platform, char *out, size_t bytes);

/* Find the entries that are one physical device and let the better platform serve it. */
void mot__policy_join(mot_inventory *inventory);
/* The default policy: how many devices it takes; take (count) tells which. */
size_t mot__policy_default(const mot_inventory *inventory, bool *take);
/* Write chosen and reason of every entry for the device text of the inventory. A text that fits no
 * device chooses none and is told in *told; a malformed one is an error. */
mot_status mot__policy_choose(mot_inventory *inventory, struct mot__string *told);

#endif
