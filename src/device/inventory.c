/* inventory.c - walk every platform and every device. A driver that fails costs a line in the
 * notes, never the walk. */
#include "base/config.h"
#include "device/entries.h"
#include "device/quirks.h"

#include <CL/cl.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_PLATFORM (-1001) /* CL_PLATFORM_NOT_FOUND_KHR: the loader knows no driver */
#define VENDORS_DIR "/etc/OpenCL/vendors"

struct walk {
    struct mot__inventory_entry *entry;
    size_t count, capacity;
    struct mot__string notes;
};

static bool seen_before(const struct walk *walk, const void *device)
{
    size_t i;

    for (i = 0; i < walk->count; i++) {
        if (walk->entry[i].device == device)
            return true;
    }
    return false;
}

static mot_status add_entry(struct walk *walk, const struct mot__inventory_entry *entry)
{
    if (walk->count == walk->capacity) {
        const size_t capacity = walk->capacity ? 2 * walk->capacity : 8;
        struct mot__inventory_entry *grown = realloc(walk->entry, capacity * sizeof *grown);

        if (!grown)
            return mot__fail(MOT_NO_MEMORY, "inventory: %zu devices", capacity);
        walk->entry = grown;
        walk->capacity = capacity;
    }
    walk->entry[walk->count] = *entry;
    walk->entry[walk->count].info.index = walk->count;
    walk->count++;
    return MOT_OK;
}

static mot_status visit_device(struct walk *walk, cl_platform_id platform, const char *name,
                               cl_device_id device)
{
    struct mot__inventory_entry entry = {.platform = platform, .device = device};
    char why[128] = "";

    if (!mot__probe(device, name, &entry.info, why, sizeof why)) {
        mot__string_add(&walk->notes, "%s on platform %s is left out: %s\n",
                        entry.info.name[0] ? entry.info.name : "a device without a name", name,
                        why);
        return MOT_OK;
    }
    return add_entry(walk, &entry);
}

static void note_empty(struct walk *walk, const char *name, cl_int error)
{
    const char *wants = mot__quirk_wants(name);

    if (error != CL_DEVICE_NOT_FOUND && error != CL_SUCCESS)
        mot__string_add(&walk->notes, "platform %s failed to list its devices: OpenCL error %d\n",
                        name, (int)error);
    else if (wants && !getenv(wants))
        mot__string_add(&walk->notes, "platform %s offers no device (%s is not set)\n", name,
                        wants);
    else
        mot__string_add(&walk->notes, "platform %s offers no device\n", name);
}

static mot_status visit_platform(struct walk *walk, cl_platform_id platform)
{
    mot_status status = MOT_OK;
    char name[128];
    cl_device_id *devices = NULL;
    cl_uint count = 0, i;
    cl_int error;

    mot__probe_platform_name(platform, name, sizeof name);
    if (name[0] == '\0')
        snprintf(name, sizeof name, "without a name");
    error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (error != CL_SUCCESS || count == 0) {
        note_empty(walk, name, error);
        return MOT_OK;
    }
    devices = calloc(count, sizeof *devices);
    if (!devices)
        return mot__fail(MOT_NO_MEMORY, "inventory: %u devices of %s", (unsigned)count, name);
    error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL);
    if (error != CL_SUCCESS)
        note_empty(walk, name, error);
    else if (seen_before(walk, devices[0])) { /* one driver named by two .icd files */
        mot__string_add(&walk->notes, "platform %s is offered twice: its devices count once\n",
                        name);
        count = 0;
    }
    for (i = 0; error == CL_SUCCESS && i < count; i++)
        MOT_TRY(visit_device(walk, platform, name, devices[i]));
done:
    free(devices);
    return status;
}

static mot_status visit_all(struct walk *walk)
{
    mot_status status = MOT_OK;
    cl_platform_id *platforms = NULL;
    cl_uint count = 0, i;
    cl_int error = clGetPlatformIDs(0, NULL, &count);

    if (error == CL_SUCCESS && count > 0) {
        platforms = calloc(count, sizeof *platforms);
        if (!platforms)
            return mot__fail(MOT_NO_MEMORY, "inventory: %u platforms", (unsigned)count);
        error = clGetPlatformIDs(count, platforms, NULL);
    }
    if (error != CL_SUCCESS && error != NO_PLATFORM)
        mot__string_add(&walk->notes, "the OpenCL loader failed to list platforms: error %d\n",
                        (int)error);
    for (i = 0; error == CL_SUCCESS && i < count; i++)
        MOT_TRY(visit_platform(walk, platforms[i]));
done:
    free(platforms);
    return status;
}

static size_t count_icd_files(const char *path)
{
    const struct dirent *file;
    size_t count = 0;
    DIR *dir = opendir(path);

    if (!dir)
        return 0;
    while ((file = readdir(dir)))
        count += mot__text_match("*.icd", file->d_name);
    closedir(dir);
    return count;
}

/* No device at all: say where they would have come from. */
static void note_where(struct walk *walk)
{
    const char *vendors = getenv("OCL_ICD_VENDORS"), *named = getenv("OCL_ICD_FILENAMES");
    const bool set = vendors && vendors[0];
    const char *dir = set ? vendors : VENDORS_DIR;
    const size_t files = count_icd_files(dir);

    if (set && mot__text_match("*.icd", vendors))
        mot__string_add(&walk->notes, "looked through the OpenCL loader for %s (OCL_ICD_VENDORS)",
                        vendors);
    else
        mot__string_add(&walk->notes, "looked through the OpenCL loader in %s%s: %zu .icd file%s",
                        dir, set ? " (OCL_ICD_VENDORS)" : "", files, files == 1 ? "" : "s");
    if (named && named[0])
        mot__string_add(&walk->notes, "; OCL_ICD_FILENAMES is %s", named);
    mot__string_add(&walk->notes, "\n");
}

/* A copy of the text that counts: the configured one, else $MOTLEY_DEVICES; NULL: the default. */
static mot_status keep_text(const struct mot_fleet_config *config, char **out)
{
    const char *text = config ? config->devices : NULL;

    if (!text)
        text = getenv("MOTLEY_DEVICES");
    *out = NULL;
    if (!text || text[0] == '\0')
        return MOT_OK;
    *out = malloc(strlen(text) + 1);
    if (!*out)
        return mot__fail(MOT_NO_MEMORY, "inventory: %zu bytes", strlen(text) + 1);
    memcpy(*out, text, strlen(text) + 1);
    return MOT_OK;
}

static mot_status check_config(const struct mot_fleet_config *config)
{
    mot_status status = MOT_OK;

    if (!config)
        return MOT_OK;
    MOT_TRY(mot__config_check(config, sizeof *config, "mot_fleet_config"));
    if (config->world)
        return mot__fail(MOT_UNSUPPORTED, "struct mot_fleet_config: world is for several machines, "
                                          "which this version does not know; NULL");
done:
    return status;
}

static void drop_last_newline(char *text)
{
    const size_t length = strlen(text);

    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
}

/* Join, choose, and hand over what was walked. */
static mot_status publish(struct walk *walk, char *text, mot_inventory **out)
{
    mot_status status = MOT_OK;
    mot_inventory *inventory = calloc(1, sizeof *inventory);

    if (!inventory) {
        free(text);
        return mot__fail(MOT_NO_MEMORY, "inventory: %zu bytes", sizeof *inventory);
    }
    inventory->text = text;
    inventory->entry = walk->entry;
    inventory->count = walk->count;
    walk->entry = NULL;
    mot__policy_join(inventory);
    MOT_TRY(mot__policy_choose(inventory, &walk->notes));
    MOT_TRY(mot__string_take(&walk->notes, &inventory->notes));
    drop_last_newline(inventory->notes);

    *out = inventory;
    inventory = NULL;
done:
    mot_inventory_close(inventory);
    return status;
}

mot_status mot_inventory_open(const struct mot_fleet_config *config, mot_inventory **out)
{
    mot_status status = MOT_OK;
    struct walk walk = {0};
    char *text = NULL;

    if (!out)
        return mot__fail(MOT_BAD_ARG, "mot_inventory_open: out is NULL");
    MOT_TRY(check_config(config));
    MOT_TRY(keep_text(config, &text));
    MOT_TRY(visit_all(&walk));
    if (walk.count == 0)
        note_where(&walk);
    status = publish(&walk, text, out);
    text = NULL; /* the inventory's, or freed */
done:
    free(text);
    free(walk.entry);
    mot__string_clear(&walk.notes);
    return status;
}

mot_status mot__inventory_of(const struct mot_device_info *info, size_t count, mot_inventory **out)
{
    mot_status status = MOT_OK;
    struct walk walk = {0};
    size_t i;

    for (i = 0; i < count; i++) {
        struct mot__inventory_entry entry = {.info = info[i]};

        entry.info.same_as = -1;
        MOT_TRY(add_entry(&walk, &entry));
    }
    status = publish(&walk, NULL, out);
done:
    free(walk.entry);
    mot__string_clear(&walk.notes);
    return status;
}

void mot_inventory_close(mot_inventory *inventory)
{
    if (!inventory)
        return;
    free(inventory->entry);
    free(inventory->notes);
    free(inventory->text);
    free(inventory);
}

size_t mot_inventory_count(const mot_inventory *inventory)
{
    return inventory ? inventory->count : 0;
}

const struct mot_device_info *mot_inventory_get(const mot_inventory *inventory, size_t index)
{
    return inventory && index < inventory->count ? &inventory->entry[index].info : NULL;
}

const char *mot_inventory_notes(const mot_inventory *inventory)
{
    return inventory && inventory->notes ? inventory->notes : "";
}

const char *mot__inventory_text(const mot_inventory *inventory)
{
    return inventory->text;
}

void mot__inventory_handles(const mot_inventory *inventory, size_t index, void **platform,
                            void **device)
{
    *platform = inventory->entry[index].platform;
    *device = inventory->entry[index].device;
}
