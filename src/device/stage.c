/* stage.c - device buffers with a host side. Where host and device share memory, the host side is
 * the buffer's own memory (USE_HOST_PTR on a 4096-byte boundary, so that a map gives that address
 * back: OpenCL 1.2, 5.4.3); elsewhere it is pinned (ALLOC_HOST_PTR, mapped for good) and copied on
 * the transfer queues. */
#include "base/size.h"
#include "device/internal.h"
#include "device/quirks.h"

#include <stdlib.h>

#define PAGE 4096

struct slot {
    cl_event event; /* of the last map or download of this slot; NULL: nothing on its way */
    size_t begin, bytes;
    bool mapped; /* MAP: this range is the host's */
};

struct mot__stage {
    mot__device *device;
    struct mot__buffer *buffer;
    void *host;        /* MAP: ours, the buffer lives in it; COPY: the pinned memory */
    cl_mem pinned;     /* COPY */
    cl_event last_use; /* COPY: launches that may still read the buffer */
    cl_event sent;     /* COPY: the newest upload, which may still read the host side */
    size_t bytes;
    struct slot slot[MOT__STAGE_SLOTS];
};

static mot_status open_mapped(mot__stage *stage)
{
    mot__device *device = stage->device;
    mot_status status;
    void *seen;
    cl_int error;

    if (posix_memalign(&stage->host, PAGE, stage->bytes))
        return mot__fail(MOT_NO_MEMORY, "staging of %zu bytes", stage->bytes);
    status = mot__pool_take(device, stage->bytes, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                            stage->host, &stage->buffer);
    if (status != MOT_OK)
        return status;
    seen = clEnqueueMapBuffer(device->compute, stage->buffer->mem, CL_TRUE,
                              CL_MAP_READ | CL_MAP_WRITE, 0, stage->bytes, 0, NULL, NULL, &error);
    if (error)
        return mot__cl_fail(device, error, "mapping %zu bytes", stage->bytes);
    if (seen != stage->host)
        return mot__fail(MOT_DEVICE_FAILED, "%s: a mapped buffer is not at its host address",
                         device->facts.info.name);
    stage->slot[0] = (struct slot){NULL, 0, stage->bytes, true};
    return MOT_OK;
}

static mot_status open_copied(mot__stage *stage)
{
    mot__device *device = stage->device;
    mot_status status;
    cl_int error;

    status = mot__pool_take(device, stage->bytes, CL_MEM_READ_WRITE, NULL, &stage->buffer);
    if (status != MOT_OK)
        return status;
    stage->pinned = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                   stage->bytes, NULL, &error);
    if (error)
        return mot__cl_fail(device, error, "pinned memory of %zu bytes", stage->bytes);
    stage->host =
        clEnqueueMapBuffer(device->compute, stage->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                           stage->bytes, 0, NULL, NULL, &error);
    return error ? mot__cl_fail(device, error, "mapping pinned memory") : MOT_OK;
}

size_t mot__stage_bytes(const mot__device *device, size_t bytes)
{
    const size_t grain = device->facts.staging == MOT__STAGING_MAP ? PAGE : 256;

    return mot__size_round_up(mot__size_max(bytes, 1), grain);
}

mot_status mot__stage_open(mot__device *device, size_t bytes, mot__stage **out)
{
    mot_status status = MOT_OK;
    mot__stage *stage = NULL;

    if (bytes > device->facts.memory_limit) /* so that rounding up cannot overflow */
        return mot__fail(MOT_NO_MEMORY, "%s: staging of %zu bytes, but the limit is %zu",
                         device->facts.info.name, bytes, device->facts.memory_limit);
    stage = calloc(1, sizeof *stage);
    if (!stage)
        return mot__fail(MOT_NO_MEMORY, "a stage's %zu bytes", sizeof *stage);
    stage->device = device;
    stage->bytes = mot__stage_bytes(device, bytes);
    MOT_TRY(device->facts.staging == MOT__STAGING_MAP ? open_mapped(stage) : open_copied(stage));
    device->live_bytes += stage->buffer->bytes;
    device->peak_bytes = mot__size_max(device->peak_bytes, device->live_bytes);
    *out = stage;
    stage = NULL;
done:
    if (stage && stage->buffer)
        device->live_bytes += stage->buffer->bytes; /* what close takes off again */
    mot__stage_close(stage);
    return status;
}

static void set_event(cl_event *place, cl_event event)
{
    if (*place)
        clReleaseEvent(*place);
    *place = event;
    if (event)
        clRetainEvent(event);
}

/* Closing tells nobody, but a loss seen here ends it: nothing more is called. */
static bool lost_by(mot__device *device, cl_int error)
{
    device->lost = device->lost || mot__cl_loss(device, error);
    return device->lost;
}

/* Give everything back to the device and wait until it has it. False: it was lost. */
static bool settle(mot__stage *stage)
{
    mot__device *device = stage->device;
    struct slot *slot;

    if (lost_by(device, clFinish(device->compute)))
        return false;
    for (slot = stage->slot; slot < stage->slot + MOT__STAGE_SLOTS; slot++)
        if (slot->mapped && lost_by(device, clEnqueueUnmapMemObject(
                                                device->compute, stage->buffer->mem,
                                                (char *)stage->host + slot->begin, 0, NULL, NULL)))
            return false;
    if (stage->pinned && stage->host &&
        lost_by(device, clEnqueueUnmapMemObject(device->compute, stage->pinned, stage->host, 0,
                                                NULL, NULL)))
        return false;
    return !lost_by(device, clFinish(device->compute)) && !lost_by(device, clFinish(device->up)) &&
           !lost_by(device, clFinish(device->down));
}

void mot__stage_close(mot__stage *stage)
{
    mot__device *device;
    size_t i;

    if (!stage)
        return;
    device = stage->device;
    if (device->lost || !settle(stage))
        return; /* leaked on purpose: a lost device may hang in any call */
    for (i = 0; i < MOT__STAGE_SLOTS; i++)
        set_event(&stage->slot[i].event, NULL);
    set_event(&stage->last_use, NULL);
    set_event(&stage->sent, NULL);
    if (stage->pinned)
        clReleaseMemObject(stage->pinned);
    if (stage->buffer) {
        device->live_bytes -= stage->buffer->bytes;
        clReleaseMemObject(stage->buffer->mem);
        free(stage->buffer);
    }
    if (device->facts.staging == MOT__STAGING_MAP)
        free(stage->host);
    free(stage);
}

mot__buffer *mot__stage_buffer(mot__stage *stage)
{
    return stage->buffer;
}

void *mot__stage_host(mot__stage *stage)
{
    return stage->host;
}

/* The mapping that holds the range: a slot's own, or one over the whole. */
static struct slot *find_mapping(mot__stage *stage, size_t begin, size_t bytes)
{
    size_t i;

    for (i = 0; i < MOT__STAGE_SLOTS; i++)
        if (stage->slot[i].mapped && stage->slot[i].begin <= begin &&
            begin + bytes <= stage->slot[i].begin + stage->slot[i].bytes)
            return &stage->slot[i];
    return NULL;
}

static mot_status unmap(mot__stage *stage, struct slot *slot, const char *what)
{
    mot__device *device = stage->device;
    cl_event event = NULL;
    cl_int error;

    if (slot->event && mot__quirk_has(&device->facts.info, MOT__QUIRK_UNMAP_WAITS, NULL)) {
        clWaitForEvents(1, &slot->event);
        device->counts.waits++;
    }
    error = clEnqueueUnmapMemObject(device->compute, stage->buffer->mem,
                                    (char *)stage->host + slot->begin, 0, NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "unmapping %zu bytes", slot->bytes);
    slot->mapped = false;
    return mot__command_note(device, event, what, true);
}

static mot_status up_mapped(mot__stage *stage, size_t begin, size_t bytes)
{
    struct slot *slot = find_mapping(stage, begin, bytes);

    if (!slot)
        return mot__fail(MOT_BAD_STATE, "staging: bytes %zu + %zu are not the host's", begin,
                         bytes);
    return unmap(stage, slot, "upload");
}

static mot_status up_copied(mot__stage *stage, size_t begin, size_t bytes)
{
    mot__device *device = stage->device;
    mot_status status;
    cl_event event = NULL;
    cl_int error;

    error = clEnqueueWriteBuffer(device->up, stage->buffer->mem, CL_FALSE, begin, bytes,
                                 (char *)stage->host + begin, stage->last_use ? 1 : 0,
                                 stage->last_use ? &stage->last_use : NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "upload of %zu bytes", bytes);
    set_event(&stage->last_use, NULL); /* this queue is in order: later uploads wait as well */
    set_event(&stage->sent, event);
    status = mot__command_note(device, event, "upload", false);
    error = clFlush(device->up);
    return error ? mot__cl_fail(device, error, "flush of uploads") : status;
}

static mot_status check_stage(const mot__stage *stage, size_t slot, size_t begin, size_t bytes)
{
    if (slot >= MOT__STAGE_SLOTS)
        return mot__fail(MOT_BAD_ARG, "staging: slot %zu, but there are %d", slot,
                         MOT__STAGE_SLOTS);
    if (bytes == 0 || begin > stage->bytes || bytes > stage->bytes - begin)
        return mot__fail(MOT_BAD_ARG, "staging: %zu bytes from byte %zu on, of %zu", bytes, begin,
                         stage->bytes);
    return mot__device_alive(stage->device);
}

static mot_status send(mot__stage *stage, size_t begin, size_t bytes)
{
    mot_status status = check_stage(stage, 0, begin, bytes);

    if (status != MOT_OK)
        return status;
    stage->device->counts.uploads++;
    stage->device->counts.upload_bytes += bytes;
    return stage->device->facts.staging == MOT__STAGING_MAP ? up_mapped(stage, begin, bytes)
                                                            : up_copied(stage, begin, bytes);
}

mot_status mot__stage_send(mot__stage *stage, size_t at, size_t begin, size_t bytes)
{
    mot_status status = check_stage(stage, at, begin, bytes);

    if (status == MOT_OK)
        status = send(stage, begin, bytes);
    if (status == MOT_OK && stage->device->facts.staging == MOT__STAGING_COPY)
        set_event(&stage->slot[at].event, stage->sent);
    return status;
}

mot_status mot__stage_arrive(mot__stage *stage, size_t at)
{
    struct slot *slot = &stage->slot[at];
    mot_status status = check_stage(stage, at, 0, stage->bytes);

    if (status != MOT_OK || !slot->event || stage->device->facts.staging == MOT__STAGING_MAP)
        return status;
    status = mot__gate_add(stage->device, slot->event);
    set_event(&slot->event, NULL);
    return status;
}

mot_status mot__stage_up(mot__stage *stage, size_t begin, size_t bytes)
{
    mot_status status = send(stage, begin, bytes);

    if (status == MOT_OK && stage->device->facts.staging == MOT__STAGING_COPY)
        status = mot__gate_add(stage->device, stage->sent);
    return status;
}

mot_status mot__stage_give(mot__stage *stage, size_t begin, size_t bytes)
{
    mot_status status = check_stage(stage, 0, begin, bytes);

    if (status != MOT_OK || stage->device->facts.staging == MOT__STAGING_COPY)
        return status;
    return up_mapped(stage, begin, bytes);
}

/* Regions mapped for writing must not overlap (OpenCL 1.2, 5.4.3): what the host still holds of the
 * range goes back to the device first. */
static mot_status unmap_overlaps(mot__stage *stage, size_t begin, size_t bytes)
{
    struct slot *slot;
    mot_status status = MOT_OK;

    for (slot = stage->slot; slot < stage->slot + MOT__STAGE_SLOTS && status == MOT_OK; slot++)
        if (slot->mapped && slot->begin < begin + bytes && begin < slot->begin + slot->bytes)
            status = unmap(stage, slot, "give back");
    return status;
}

static mot_status map_range(mot__stage *stage, struct slot *slot, size_t begin, size_t bytes,
                            cl_event *event)
{
    mot__device *device = stage->device;
    mot_status status = unmap_overlaps(stage, begin, bytes);
    cl_int error;
    void *seen;

    if (status != MOT_OK)
        return status;
    seen = clEnqueueMapBuffer(device->compute, stage->buffer->mem, CL_FALSE,
                              CL_MAP_READ | CL_MAP_WRITE, begin, bytes, (cl_uint)device->gates,
                              device->gates ? device->gate : NULL, event, &error);
    if (error)
        return mot__cl_fail(device, error, "mapping %zu bytes", bytes);
    mot__gates_passed(device);
    if (seen != (char *)stage->host + begin) {
        clEnqueueUnmapMemObject(device->compute, stage->buffer->mem, seen, 1, event, NULL);
        clReleaseEvent(*event);
        return mot__fail(MOT_DEVICE_FAILED, "%s: a mapped buffer moved", device->facts.info.name);
    }
    slot->begin = begin;
    slot->bytes = bytes;
    slot->mapped = true;
    return MOT_OK;
}

static mot_status keep_event(mot__stage *stage, struct slot *slot, cl_event event, const char *what,
                             bool compute)
{
    mot_status status;
    cl_int error;

    set_event(&slot->event, event);
    status = mot__command_note(stage->device, event, what, compute);
    error = clFlush(compute ? stage->device->compute : stage->device->down);
    return error ? mot__cl_fail(stage->device, error, "flush") : status;
}

mot_status mot__stage_down(mot__stage *stage, size_t at, size_t begin, size_t bytes)
{
    mot__device *device = stage->device;
    struct slot *slot = &stage->slot[at];
    mot_status status = check_stage(stage, at, begin, bytes);
    cl_event before[MOT__GATES + 1], event = NULL;
    cl_uint count = 0;
    cl_int error;

    if (status != MOT_OK)
        return status;
    device->counts.downloads++;
    device->counts.download_bytes += bytes;
    if (device->facts.staging == MOT__STAGING_MAP) {
        status = map_range(stage, slot, begin, bytes, &event);
        return status != MOT_OK ? status : keep_event(stage, slot, event, "download", true);
    }
    status = mot__device_flush(device); /* another queue waits for this one */
    if (status != MOT_OK)
        return status;
    while (count < device->gates) { /* uploads that no launch has waited for yet */
        before[count] = device->gate[count];
        count++;
    }
    if (device->last)
        before[count++] = device->last;
    error = clEnqueueReadBuffer(device->down, stage->buffer->mem, CL_FALSE, begin, bytes,
                                (char *)stage->host + begin, count, count ? before : NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "download of %zu bytes", bytes);
    return keep_event(stage, slot, event, "download", false);
}

mot_status mot__stage_take(mot__stage *stage, size_t at)
{
    struct slot *slot = &stage->slot[at];
    mot_status status = check_stage(stage, at, 0, stage->bytes);
    cl_event event = NULL;

    if (status != MOT_OK)
        return status;
    if (stage->device->facts.staging == MOT__STAGING_MAP) {
        status = map_range(stage, slot, 0, stage->bytes, &event);
        return status != MOT_OK ? status : keep_event(stage, slot, event, "take", true);
    }
    /* The pinned side is free once the last upload left it; the next upload must wait for the
     * readers. */
    set_event(&stage->last_use, stage->device->last);
    set_event(&slot->event, stage->sent);
    return mot__device_flush(stage->device);
}

mot_status mot__stage_wait(mot__stage *stage, size_t at)
{
    struct slot *slot = &stage->slot[at];
    mot_status status = check_stage(stage, at, 0, stage->bytes);
    cl_int error, state = CL_COMPLETE;

    if (status != MOT_OK || !slot->event)
        return status;
    error =
        clGetEventInfo(slot->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    stage->device->counts.waits++; /* counted even if it has ended: counts do not depend on luck */
    if (!error && state > CL_COMPLETE) {
        error = clWaitForEvents(1, &slot->event);
    } else if (!error && state < 0) {
        error = state;
    }
    set_event(&slot->event, NULL);
    mot__beat(stage->device);
    if (!error)
        return MOT_OK;
    /* A command before it may have failed: its story says more than "waiting failed". */
    status = mot__cl_loss(stage->device, error) ? MOT_OK : mot__device_finish(stage->device);
    return status != MOT_OK ? status : mot__cl_fail(stage->device, error, "waiting for a transfer");
}
