/* device.c - open and close one device: context, queues, what is known of it. */
#include "base/size.h"
#include "base/sum.h"
#include "device/internal.h"
#include "device/quirks.h"
#include "device/tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALAR_GROUP ((size_t)32)
#define CACHE_FORMAT "1" /* of everything kept under the device's key */

/* Cut the device into equal parts and keep one. */
static mot_status open_part(mot__device *device, cl_device_id whole, const struct mot__pick *pick)
{
    const cl_uint units = device->facts.info.units / pick->parts;
    const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, (intptr_t)units, 0};
    cl_device_id *part;
    cl_uint count = 0, i;
    cl_int error;

    error =
        units == 0 ? CL_DEVICE_PARTITION_FAILED : clCreateSubDevices(whole, how, 0, NULL, &count);
    if (error || count < pick->parts)
        return mot__cl_fail(device, error ? error : CL_DEVICE_PARTITION_FAILED,
                            "cutting it into %u parts", pick->parts);
    part = calloc(count, sizeof *part);
    if (!part)
        return mot__fail(MOT_NO_MEMORY, "%u sub-devices", count);
    error = clCreateSubDevices(whole, how, count, part, NULL);
    for (i = 0; !error && i < count; i++)
        if (i != pick->part)
            clReleaseDevice(part[i]); /* never worked on: no quirk speaks against it */
    device->id = error ? NULL : part[pick->part];
    device->sub = !error;
    free(part);
    return error ? mot__cl_fail(device, error, "cutting it into %u parts", pick->parts) : MOT_OK;
}

static mot_status open_queues(mot__device *device)
{
    const cl_command_queue_properties flags = device->profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue *queue[] = {&device->compute, &device->up, &device->down};
    cl_int error;
    size_t i;

    device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &error);
    if (error)
        return mot__cl_fail(device, error, "a context");
    for (i = 0; i < MOT__COUNT(queue); i++) {
        *queue[i] = clCreateCommandQueue(device->context, device->id, flags, &error);
        if (error)
            return mot__cl_fail(device, error, "a command queue");
    }
    return MOT_OK;
}

static void make_key(struct mot__device_facts *facts)
{
    const struct mot_device_info *info = &facts->info;
    const char *const part[] = {info->name,    info->vendor, info->platform, info->driver,
                                info->version, MOT_VERSION,  CACHE_FORMAT};
    struct mot__sha256 sum;
    size_t i;

    mot__sha256_init(&sum);
    for (i = 0; i < MOT__COUNT(part); i++)
        mot__sha256_add(&sum, part[i], strlen(part[i]) + 1);
    mot__sha256_add(&sum, &facts->units, sizeof facts->units);
    mot__sha256_end(&sum, facts->key);
}

static void gather_facts(mot__device *device, const struct mot__pick *pick,
                         const struct mot__device_options *options)
{
    struct mot__device_facts *facts = &device->facts;
    const struct mot_device_info *info = &facts->info;

    facts->units = mot__size_max(info->units / pick->parts, 1);
    facts->max_group = info->max_group;
    facts->local_bytes = (size_t)info->local_bytes;
    facts->device_class = options->device_class ? options->device_class : info->device_class;
    if (mot__quirk_has(info, MOT__QUIRK_SCALAR, NULL)) {
        facts->max_group = mot__size_min(facts->max_group, SCALAR_GROUP);
        facts->device_class = MOT_CLASS_GPU; /* whoever asks: the other class computes wrongly */
    }
    facts->memory_limit = (size_t)(info->memory_bytes / 10 * 9 / pick->parts);
    if (options->memory_bytes)
        facts->memory_limit = options->memory_bytes;
    facts->largest_bytes = (size_t)info->largest_bytes;
    if (options->largest_bytes)
        facts->largest_bytes = mot__size_min(facts->largest_bytes, options->largest_bytes);
    facts->staging = options->staging;
    if (facts->staging == MOT__STAGING_AUTO)
        facts->staging = info->unified ? MOT__STAGING_MAP : MOT__STAGING_COPY;
    make_key(facts);
}

/* As tuning found it, where nobody says. */
static mot_status take_staging(mot__device *device, enum mot__staging wish)
{
    struct mot__tuned tuned;
    enum mot__staging staging;
    bool found = false;
    mot_status status = MOT_OK;

    if (wish == MOT__STAGING_AUTO)
        status = mot__tuned_get(device, "staging", &tuned, &found);
    for (staging = MOT__STAGING_MAP; found && staging <= MOT__STAGING_COPY; staging++)
        if (strcmp(tuned.choice, mot__staging_name(staging)) == 0)
            device->facts.staging = staging;
    return status;
}

mot_status mot__device_open(const mot_inventory *inventory, const struct mot__pick *pick,
                            const struct mot__device_options *options, mot__device **out)
{
    mot_status status = MOT_OK;
    mot__device *device = calloc(1, sizeof *device);
    void *platform, *whole;

    if (!device)
        return mot__fail(MOT_NO_MEMORY, "a device's %zu bytes", sizeof *device);
    device->facts.info = *mot_inventory_get(inventory, pick->device);
    mot__inventory_handles(inventory, pick->device, &platform, &whole);
    gather_facts(device, pick, options);
    device->profile = options->profile;
    device->beat = options->beat;
    device->beat_user = options->beat_user;
    device->gemm_wish = options->gemm;
    device->packs_most = SIZE_MAX;
    device->keeps_binaries = mot__quirk_has(&device->facts.info, MOT__QUIRK_KEEPS_BINARIES, NULL);
    snprintf(device->cache_dir, sizeof device->cache_dir, "%s",
             options->cache_dir ? options->cache_dir : "");
    MOT_TRY(take_staging(device, options->staging));
    device->id = whole;
    if (pick->parts > 1)
        MOT_TRY(open_part(device, whole, pick));
    MOT_TRY(open_queues(device));
    *out = device;
    device = NULL;
done:
    mot__device_close(device);
    return status;
}

void mot__device_close(mot__device *device)
{
    cl_command_queue queue[3];
    size_t i;

    if (!device)
        return;
    if (device->lost)
        return; /* leaked on purpose: a lost device may hang in any call */
    queue[0] = device->compute, queue[1] = device->up, queue[2] = device->down;
    for (i = 0; i < MOT__COUNT(queue); i++)
        if (queue[i] && mot__cl_loss(device, clFinish(queue[i])))
            return;
    mot__device_finish(device);
    if (device->lost)
        return;
    mot__gates_passed(device);
    mot__gemm_clear(device);
    mot__pool_clear(device);
    mot__programs_clear(device);
    mot__store_clear(device);
    for (i = 0; i < MOT__COUNT(queue); i++)
        if (queue[i])
            clReleaseCommandQueue(queue[i]);
    if (device->context)
        clReleaseContext(device->context);
    if (device->sub && !mot__quirk_has(&device->facts.info, MOT__QUIRK_KEEP_SUB_DEVICES, NULL))
        clReleaseDevice(device->id);
    free(device->times);
    free(device);
}

const struct mot__device_facts *mot__device_facts(const mot__device *device)
{
    return &device->facts;
}

const char *mot__staging_name(enum mot__staging staging)
{
    return staging == MOT__STAGING_MAP ? "map" : staging == MOT__STAGING_COPY ? "copy" : "auto";
}

void mot__device_staging(mot__device *device, enum mot__staging staging)
{
    device->facts.staging = staging;
}

struct mot_counts *mot__device_counts(mot__device *device)
{
    return &device->counts;
}

void mot__device_rehearse(mot__device *device, bool on)
{
    device->rehearsing = on;
}

bool mot__device_rehearsing(const mot__device *device)
{
    return device->rehearsing;
}
