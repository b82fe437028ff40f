/* error.c - what a driver says, in words; and commands that fail after they were queued. */
#include "base/text.h"
#include "device/internal.h"
#include "device/quirks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    cl_int code;
    const char *text;
} errors[] = {
    {CL_DEVICE_NOT_AVAILABLE, "device not available"},
    {CL_COMPILER_NOT_AVAILABLE, "no compiler"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "out of device memory"},
    {CL_OUT_OF_RESOURCES, "out of resources"},
    {CL_OUT_OF_HOST_MEMORY, "out of host memory"},
    {CL_MAP_FAILURE, "map failure"},
    {CL_BUILD_PROGRAM_FAILURE, "the kernel does not compile"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "a command it waited for failed"},
    {CL_INVALID_VALUE, "invalid value"},
    {CL_INVALID_DEVICE, "invalid device"},
    {CL_INVALID_CONTEXT, "invalid context"},
    {CL_INVALID_COMMAND_QUEUE, "invalid command queue"},
    {CL_INVALID_MEM_OBJECT, "invalid memory object"},
    {CL_INVALID_BINARY, "invalid binary"},
    {CL_INVALID_BUILD_OPTIONS, "invalid build options"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "invalid program executable"},
    {CL_INVALID_KERNEL_NAME, "no such kernel"},
    {CL_INVALID_KERNEL_ARGS, "invalid kernel arguments"},
    {CL_INVALID_ARG_INDEX, "too many kernel arguments"},
    {CL_INVALID_ARG_VALUE, "invalid argument value"},
    {CL_INVALID_ARG_SIZE, "invalid argument size"},
    {CL_INVALID_WORK_GROUP_SIZE, "invalid work-group size"},
    {CL_INVALID_WORK_ITEM_SIZE, "invalid work-item size"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "invalid global work size"},
    {CL_INVALID_EVENT_WAIT_LIST, "invalid event wait list"},
    {CL_INVALID_OPERATION, "invalid operation"},
    {CL_INVALID_BUFFER_SIZE, "invalid buffer size"},
    {CL_DEVICE_PARTITION_FAILED, "the device cannot be cut that way"},
};

static const char *text_of(cl_int error)
{
    size_t i;

    for (i = 0; i < MOT__COUNT(errors); i++)
        if (errors[i].code == error)
            return errors[i].text;
    return "driver error";
}

bool mot__cl_loss(const mot__device *device, cl_int error)
{
    if (error == CL_OUT_OF_RESOURCES)
        return !mot__quirk_has(&device->facts.info, MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES, NULL);
    return error == CL_DEVICE_NOT_AVAILABLE;
}

mot_status mot__cl_fail(mot__device *device, cl_int error, const char *format, ...)
{
    char what[256];
    mot_status status = MOT_DEVICE_FAILED;
    va_list list;

    va_start(list, format);
    mot__text_format(what, sizeof what, format, list);
    va_end(list);
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY)
        status = MOT_NO_MEMORY;
    if (mot__cl_loss(device, error)) {
        status = MOT_DEVICE_LOST; /* later calls may hang: nobody calls it again */
        device->lost = true;
    }
    return mot__fail(status, "%s: %s: %s (OpenCL %d)", device->facts.info.name, what,
                     text_of(error), error);
}

/* The part of [begin, end) that no earlier command covers goes to the phase, and what lies between
 * the two. */
static void add_phase(mot__device *device, enum mot__phase phase, cl_ulong begin, cl_ulong end)
{
    device->phases.commands[phase]++;
    if (begin > device->clock_end) {
        if (device->clock_end > 0)
            device->phases.before_s[phase] += 1e-9 * (double)(begin - device->clock_end);
        device->clock_end = begin;
    }
    if (end > device->clock_end) {
        device->phases.s[phase] += 1e-9 * (double)(end - device->clock_end);
        device->clock_end = end;
    }
}

void mot__device_phase(mot__device *device, enum mot__phase phase)
{
    device->phase = phase;
}

void mot__device_phases(mot__device *device, struct mot__phases *out)
{
    *out = device->phases;
    memset(&device->phases, 0, sizeof device->phases);
    device->clock_end = 0;
}

/* They began when they were queued, or when what was queued before them ended. */
static cl_ulong began_together(const mot__device *device, cl_event event, cl_ulong last)
{
    cl_ulong queued = 0;

    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL))
        return last;
    if (queued < device->clock_end)
        queued = device->clock_end;
    return queued < last ? queued : last;
}

static mot_status add_time(mot__device *device, const struct mot__command *command)
{
    const char *what = command->what;
    cl_event event = command->event;
    cl_ulong begin = 0, end = 0;
    struct mot_kernel_time *grown;
    size_t i;

    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL) ||
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL))
        return MOT_OK; /* a command that has no times is no error */
    if (command->several)
        begin = began_together(device, event, begin);
    add_phase(device, command->phase, begin, end);
    for (i = 0; i < device->time_count; i++)
        if (strcmp(device->times[i].name, what) == 0)
            break;
    if (i == device->time_capacity) {
        grown = realloc(device->times, (i + 32) * sizeof *grown);
        if (!grown)
            return mot__fail(MOT_NO_MEMORY, "profile: %zu rows", i + 32);
        device->times = grown;
        device->time_capacity = i + 32;
    }
    if (i == device->time_count)
        device->times[device->time_count++] = (struct mot_kernel_time){what, 0, 0};
    device->times[i].calls++;
    device->times[i].seconds += end > begin ? 1e-9 * (double)(end - begin) : 0;
    return MOT_OK;
}

/* Let the oldest pending command go; it has ended, or is waited for. within: a wait for a newer one
 * has ended. Those before it in the same queue have too, though some drivers' events say so a
 * little later: that is no wait of its own. */
static mot_status settle_one(mot__device *device, bool within)
{
    struct mot__command *command = &device->pending[device->settled % MOT__PENDING];
    cl_int state = CL_COMPLETE, error;
    mot_status status = MOT_OK;

    error = clGetEventInfo(command->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                           NULL);
    if (!error && state > CL_COMPLETE) {
        error = clWaitForEvents(1, &command->event);
        device->counts.waits += !within || !command->compute;
        if (!mot__cl_loss(device, error))
            clGetEventInfo(command->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                           NULL);
    }
    if (state < 0)
        status = mot__cl_fail(device, state, "%s failed on the device", command->what);
    else if (error)
        status = mot__cl_fail(device, error, "waiting for %s", command->what);
    else if (device->profile)
        status = add_time(device, command);
    if (device->last == command->event)
        device->last = NULL;
    clReleaseEvent(command->event);
    device->settled++;
    return status;
}

mot_status mot__command_note(mot__device *device, cl_event event, const char *what, bool compute)
{
    mot_status status = MOT_OK;

    if (device->queued - device->settled == MOT__PENDING)
        status = settle_one(device, false);
    device->pending[device->queued % MOT__PENDING] =
        (struct mot__command){event, what, device->phase, false, compute};
    device->queued++;
    if (compute)
        device->last = event;
    return status;
}

void mot__command_several(mot__device *device)
{
    device->pending[(device->queued - 1) % MOT__PENDING].several = true;
}

void mot__gates_passed(mot__device *device)
{
    while (device->gates > 0)
        clReleaseEvent(device->gate[--device->gates]);
}

mot_status mot__gates_pass(mot__device *device)
{
    cl_event event = NULL;
    cl_int error;

    if (device->gates == 0)
        return MOT_OK;
    error =
        clEnqueueBarrierWithWaitList(device->compute, (cl_uint)device->gates, device->gate, &event);
    if (error)
        return mot__cl_fail(device, error, "waiting for transfers");
    mot__gates_passed(device);
    return mot__command_note(device, event, "wait for transfers", true);
}

mot_status mot__gate_add(mot__device *device, cl_event event)
{
    mot_status status = device->gates == MOT__GATES ? mot__gates_pass(device) : MOT_OK;

    if (status != MOT_OK)
        return status;
    clRetainEvent(event);
    device->gate[device->gates++] = event;
    return MOT_OK;
}

mot_status mot__device_alive(const mot__device *device)
{
    return device->lost ? mot__fail(MOT_DEVICE_LOST, "%s was lost earlier", device->facts.info.name)
                        : MOT_OK;
}

mot_status mot__device_flush(mot__device *device)
{
    mot_status status = mot__device_alive(device);
    cl_int error;

    if (status != MOT_OK)
        return status;
    error = clFlush(device->compute);
    return error ? mot__cl_fail(device, error, "flush") : MOT_OK;
}

mot_status mot__device_mark(mot__device *device, uint64_t *mark)
{
    *mark = device->queued;
    return mot__device_flush(device);
}

mot_status mot__device_reached(mot__device *device, uint64_t mark)
{
    mot_status status = mot__device_alive(device), one;
    struct mot__story first = {MOT_OK, ""};
    cl_int error;
    uint64_t newest = mark > device->settled ? mark - 1 : device->settled;

    if (status != MOT_OK || mark <= device->settled)
        return status;
    /* One wait for the newest: the compute queue is in order, so the rest have ended or are
     * transfers. */
    error = clWaitForEvents(1, &device->pending[newest % MOT__PENDING].event);
    mot__beat(device);
    device->counts.waits++;
    if (mot__cl_loss(device, error))
        return mot__cl_fail(device, error, "waiting");
    while (device->settled < mark && !device->lost) {
        one = settle_one(device, true);
        if (status == MOT_OK)
            mot__story_take(status = one, &first);
    }
    mot__story_tell(&first); /* what failed first is the cause; what failed behind it is not */
    return status;
}

mot_status mot__device_finish(mot__device *device)
{
    return mot__device_reached(device, device->queued);
}

bool mot__device_lost(const mot__device *device)
{
    return device->lost;
}

bool mot__device_profiles(const mot__device *device)
{
    return device->profile;
}

mot_status mot__device_profile(mot__device *device, struct mot_kernel_time *row, size_t capacity,
                               size_t *count)
{
    *count = device->time_count < capacity ? device->time_count : capacity;
    if (*count > 0)
        memcpy(row, device->times, *count * sizeof *row);
    device->time_count = 0;
    return MOT_OK;
}
