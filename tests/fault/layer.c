/* layer.c - an OpenCL layer that fails calls on purpose, delays them, lets commands fail behind
 * their queue, and counts what is made and not released. OPENCL_LAYERS loads it. A test steers it
 * through layer.h; by hand, environment variables do:
 *
 *   MOTLEY_FAULT=clCreateBuffer:3:return:-4   the third call returns -4
 *   MOTLEY_FAULT=clFlush:1:delay:200          comes 200 ms late
 *   MOTLEY_FAULT=clEnqueueNDRangeKernel:5:async:-9999
 *   MOTLEY_FAULT_REPORT=FILE                  at exit: calls of each entry, what is still alive */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include "fault/layer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES(X)                                                                                 \
    X(clCreateContext)                                                                             \
    X(clCreateCommandQueue)                                                                        \
    X(clCreateSubDevices)                                                                          \
    X(clCreateBuffer)                                                                              \
    X(clCreateProgramWithSource)                                                                   \
    X(clCreateProgramWithBinary)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clCreateKernel)                                                                              \
    X(clSetKernelArg)                                                                              \
    X(clGetKernelWorkGroupInfo)                                                                    \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueCopyBuffer)                                                                         \
    X(clEnqueueFillBuffer)                                                                         \
    X(clEnqueueMapBuffer)                                                                          \
    X(clEnqueueUnmapMemObject)                                                                     \
    X(clEnqueueBarrierWithWaitList)                                                                \
    X(clFlush)                                                                                     \
    X(clFinish)                                                                                    \
    X(clWaitForEvents)                                                                             \
    X(clGetEventInfo)

#define ENTRY_NUMBER(name) AT_##name,
#define ENTRY_NAME(name) #name,
enum entry { ENTRIES(ENTRY_NUMBER) ENTRY_COUNT };
static const char *const entry_names[] = {ENTRIES(ENTRY_NAME)};
static const char *const kind_names[FAULT_KINDS] = {"context", "queue", "memory",    "program",
                                                    "kernel",  "event", "sub-device"};
static const char *const mode_names[] = {"none", "return", "async", "delay"};

static const cl_icd_dispatch *below;
static cl_icd_dispatch ours;

static atomic_uint calls[ENTRY_COUNT], lost_calls;
static atomic_long alive[FAULT_KINDS];
static atomic_bool fired, lost;
static struct {
    int entry; /* -1: none */
    unsigned nth;
    enum fault_mode mode;
    int value;
} armed = {-1, 0, FAULT_NONE, 0};

/* ---- the fault ---- */

/* Programs are tried again from their text, so a refused binary loses nothing; the state of an
 * event is asked even of what was lost. */
static bool counts_as_loss(enum entry entry)
{
    return entry != AT_clCreateProgramWithBinary && entry != AT_clBuildProgram &&
           entry != AT_clGetEventInfo && entry != AT_clGetKernelWorkGroupInfo;
}

static enum fault_mode strike(enum entry entry, cl_int *error)
{
    const unsigned nth = atomic_fetch_add(&calls[entry], 1) + 1;
    struct timespec pause;

    if (atomic_load(&lost) && entry != AT_clGetEventInfo)
        atomic_fetch_add(&lost_calls, 1);
    if ((int)entry != armed.entry || nth != armed.nth)
        return FAULT_NONE;
    atomic_store(&fired, true);
    *error = armed.value;
    if (armed.mode == FAULT_RETURN && counts_as_loss(entry) &&
        (armed.value == CL_OUT_OF_RESOURCES || armed.value == CL_DEVICE_NOT_AVAILABLE))
        atomic_store(&lost, true);
    if (armed.mode == FAULT_DELAY) {
        pause.tv_sec = armed.value / 1000;
        pause.tv_nsec = armed.value % 1000 * 1000000L;
        nanosleep(&pause, NULL);
        return FAULT_NONE;
    }
    return armed.mode;
}

static void add_alive(enum fault_kind kind, long count)
{
    atomic_fetch_add(&alive[kind], count);
}

/* ---- entries that make an object ---- */

#define MAKER(result, name, kind, parameters, arguments)                                           \
    static result CL_API_CALL my_##name parameters                                                 \
    {                                                                                              \
        cl_int code = CL_SUCCESS;                                                                  \
        result made = NULL;                                                                        \
                                                                                                   \
        if (strike(AT_##name, &code) == FAULT_NONE)                                                \
            made = below->name arguments;                                                          \
        else if (error)                                                                            \
            *error = code;                                                                         \
        if (made)                                                                                  \
            add_alive(kind, 1);                                                                    \
        return made;                                                                               \
    }

typedef void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);

MAKER(cl_context, clCreateContext, FAULT_CONTEXT,
      (const cl_context_properties *how, cl_uint count, const cl_device_id *device, notify fn,
       void *user, cl_int *error),
      (how, count, device, fn, user, error))
MAKER(cl_command_queue, clCreateCommandQueue, FAULT_QUEUE,
      (cl_context context, cl_device_id device, cl_command_queue_properties how, cl_int *error),
      (context, device, how, error))
MAKER(cl_mem, clCreateBuffer, FAULT_MEMORY,
      (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error),
      (context, flags, bytes, host, error))
MAKER(cl_program, clCreateProgramWithSource, FAULT_PROGRAM,
      (cl_context context, cl_uint count, const char **text, const size_t *bytes, cl_int *error),
      (context, count, text, bytes, error))
MAKER(cl_program, clCreateProgramWithBinary, FAULT_PROGRAM,
      (cl_context context, cl_uint count, const cl_device_id *device, const size_t *bytes,
       const unsigned char **code_of, cl_int *each, cl_int *error),
      (context, count, device, bytes, code_of, each, error))
MAKER(cl_kernel, clCreateKernel, FAULT_KERNEL,
      (cl_program program, const char *name, cl_int *error), (program, name, error))

static cl_int CL_API_CALL my_clCreateSubDevices(cl_device_id device,
                                                const cl_device_partition_property *how,
                                                cl_uint capacity, cl_device_id *out, cl_uint *count)
{
    cl_uint made = 0;
    cl_int error = CL_SUCCESS;

    if (strike(AT_clCreateSubDevices, &error) != FAULT_NONE)
        return error;
    error = below->clCreateSubDevices(device, how, capacity, out, &made);
    if (!error && out)
        add_alive(FAULT_SUB_DEVICE, (long)made);
    if (count)
        *count = made;
    return error;
}

/* ---- references ---- */

#define REFERENCES(what, type, kind)                                                               \
    static cl_int CL_API_CALL my_clRetain##what(type object)                                       \
    {                                                                                              \
        add_alive(kind, 1);                                                                        \
        return below->clRetain##what(object);                                                      \
    }                                                                                              \
    static cl_int CL_API_CALL my_clRelease##what(type object)                                      \
    {                                                                                              \
        add_alive(kind, -1);                                                                       \
        return below->clRelease##what(object);                                                     \
    }

REFERENCES(Context, cl_context, FAULT_CONTEXT)
REFERENCES(CommandQueue, cl_command_queue, FAULT_QUEUE)
REFERENCES(MemObject, cl_mem, FAULT_MEMORY)
REFERENCES(Program, cl_program, FAULT_PROGRAM)
REFERENCES(Kernel, cl_kernel, FAULT_KERNEL)
REFERENCES(Event, cl_event, FAULT_EVENT)
REFERENCES(Device, cl_device_id, FAULT_SUB_DEVICE)

/* ---- entries that only return a code ---- */

#define PLAIN(name, parameters, arguments)                                                         \
    static cl_int CL_API_CALL my_##name parameters                                                 \
    {                                                                                              \
        cl_int code = CL_SUCCESS;                                                                  \
                                                                                                   \
        return strike(AT_##name, &code) == FAULT_NONE ? below->name arguments : code;              \
    }

typedef void(CL_CALLBACK *built)(cl_program, void *);

PLAIN(clBuildProgram,
      (cl_program program, cl_uint count, const cl_device_id *device, const char *how, built fn,
       void *user),
      (program, count, device, how, fn, user))
PLAIN(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t bytes, const void *value),
      (kernel, index, bytes, value))
PLAIN(clGetKernelWorkGroupInfo,
      (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t bytes,
       void *value, size_t *told),
      (kernel, device, what, bytes, value, told))
PLAIN(clFlush, (cl_command_queue queue), (queue))
PLAIN(clFinish, (cl_command_queue queue), (queue))
PLAIN(clWaitForEvents, (cl_uint count, const cl_event *event), (count, event))
PLAIN(clGetEventInfo, (cl_event event, cl_event_info what, size_t bytes, void *value, size_t *told),
      (event, what, bytes, value, told))

/* ---- commands ---- */

#define MOST_WAITS 32

struct command { /* the wait list it is queued with, and what lets it fail */
    cl_uint count;
    const cl_event *wait;
    cl_event list[MOST_WAITS + 1], user;
    cl_int code;
};

/* False: the call returns command->code. A blocking command that fails says so at once. All that a
 * command to fail waits for has ended before it is queued: when its last predecessor ends in the
 * moment the user event fails, PoCL 3.1 runs the command though it has been freed. */
static bool command_begin(struct command *command, enum entry entry, cl_command_queue queue,
                          bool blocking, cl_uint count, const cl_event *wait)
{
    enum fault_mode mode;
    cl_context context = NULL;

    *command = (struct command){.count = count, .wait = wait};
    mode = strike(entry, &command->code);
    if (mode == FAULT_NONE)
        return true;
    if (mode == FAULT_RETURN || blocking || count > MOST_WAITS)
        return false;
    below->clFinish(queue);
    if (count > 0)
        below->clWaitForEvents(count, wait);
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    command->user = below->clCreateUserEvent(context, NULL);
    if (count > 0)
        memcpy(command->list, wait, count * sizeof *wait);
    command->list[count] = command->user;
    command->wait = command->list;
    command->count = count + 1;
    return true;
}

static cl_int command_end(struct command *command, cl_int error, const cl_event *event)
{
    if (!error && event)
        add_alive(FAULT_EVENT, 1);
    if (command->user) {
        below->clSetUserEventStatus(command->user, command->code);
        below->clReleaseEvent(command->user);
    }
    return error;
}

#define COMMAND(name, blocking, parameters, arguments)                                             \
    static cl_int CL_API_CALL my_##name parameters                                                 \
    {                                                                                              \
        struct command command;                                                                    \
                                                                                                   \
        if (!command_begin(&command, AT_##name, queue, blocking, count, wait))                     \
            return command.code;                                                                   \
        return command_end(&command, below->name arguments, event);                                \
    }
#define WAIT cl_uint count, const cl_event *wait, cl_event *event
#define WAITS command.count, command.wait, event

COMMAND(clEnqueueNDRangeKernel, false,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
         const size_t *global, const size_t *local, WAIT),
        (queue, kernel, dims, offset, global, local, WAITS))
COMMAND(clEnqueueReadBuffer, block,
        (cl_command_queue queue, cl_mem mem, cl_bool block, size_t offset, size_t bytes, void *host,
         WAIT),
        (queue, mem, block, offset, bytes, host, WAITS))
COMMAND(clEnqueueWriteBuffer, block,
        (cl_command_queue queue, cl_mem mem, cl_bool block, size_t offset, size_t bytes,
         const void *host, WAIT),
        (queue, mem, block, offset, bytes, host, WAITS))
COMMAND(clEnqueueCopyBuffer, false,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t bytes,
         WAIT),
        (queue, from, to, from_at, to_at, bytes, WAITS))
COMMAND(clEnqueueFillBuffer, false,
        (cl_command_queue queue, cl_mem mem, const void *pattern, size_t width, size_t offset,
         size_t bytes, WAIT),
        (queue, mem, pattern, width, offset, bytes, WAITS))
COMMAND(clEnqueueUnmapMemObject, false, (cl_command_queue queue, cl_mem mem, void *host, WAIT),
        (queue, mem, host, WAITS))

COMMAND(clEnqueueBarrierWithWaitList, false, (cl_command_queue queue, WAIT), (queue, WAITS))

static void *CL_API_CALL my_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool block,
                                               cl_map_flags flags, size_t offset, size_t bytes,
                                               WAIT, cl_int *error)
{
    struct command command;
    cl_int code = CL_SUCCESS;
    void *host = NULL;

    if (command_begin(&command, AT_clEnqueueMapBuffer, queue, block, count, wait)) {
        host = below->clEnqueueMapBuffer(queue, mem, block, flags, offset, bytes, WAITS, &code);
        command_end(&command, code, event);
    } else {
        code = command.code;
    }
    if (error)
        *error = code;
    return host;
}

/* ---- steering ---- */

static int find(const char *const *name, size_t count, const char *wanted)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (strcmp(name[i], wanted) == 0)
            return (int)i;
    return -1;
}

static _Bool arm(const char *entry, unsigned nth, enum fault_mode mode, int value)
{
    size_t i;

    for (i = 0; i < ENTRY_COUNT; i++)
        atomic_store(&calls[i], 0);
    for (i = 0; i < FAULT_KINDS; i++)
        atomic_store(&alive[i], 0);
    atomic_store(&lost_calls, 0);
    atomic_store(&fired, false);
    atomic_store(&lost, false);
    armed.entry = entry ? find(entry_names, ENTRY_COUNT, entry) : -1;
    armed.nth = nth;
    armed.mode = mode;
    armed.value = value;
    return !entry || armed.entry >= 0;
}

static _Bool was_fired(void)
{
    return atomic_load(&fired);
}

static long how_many_alive(enum fault_kind kind)
{
    return atomic_load(&alive[kind]);
}

static const char *name_of_kind(enum fault_kind kind)
{
    return kind_names[kind];
}

static unsigned calls_of(const char *entry)
{
    const int at = find(entry_names, ENTRY_COUNT, entry);

    return at < 0 ? 0 : atomic_load(&calls[at]);
}

static unsigned calls_after_loss(void)
{
    return atomic_load(&lost_calls);
}

static const char *name_of_entry(unsigned index)
{
    return index < ENTRY_COUNT ? entry_names[index] : NULL;
}

extern const struct fault_layer motley_fault_layer;
const struct fault_layer motley_fault_layer = {
    arm, was_fired, how_many_alive, name_of_kind, calls_of, calls_after_loss, name_of_entry};

static void report(void)
{
    FILE *file = fopen(getenv("MOTLEY_FAULT_REPORT"), "w");
    size_t i;

    if (!file)
        return;
    fprintf(file, "fault %s\n", was_fired() ? "fired" : "none");
    for (i = 0; i < ENTRY_COUNT; i++)
        fprintf(file, "calls %s %u\n", entry_names[i], atomic_load(&calls[i]));
    for (i = 0; i < FAULT_KINDS; i++)
        fprintf(file, "alive %s %ld\n", kind_names[i], atomic_load(&alive[i]));
    fclose(file);
}

static void read_environment(void)
{
    const char *text = getenv("MOTLEY_FAULT");
    char entry[64], mode[16];
    unsigned nth;
    int value;

    if (text && sscanf(text, "%63[^:]:%u:%15[^:]:%d", entry, &nth, mode, &value) == 4)
        arm(entry, nth, (enum fault_mode)find(mode_names, 4, mode), value);
    if (getenv("MOTLEY_FAULT_REPORT"))
        atexit(report);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t bytes, void *value,
                                               size_t *bytes_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (what != CL_LAYER_API_VERSION || (value && bytes < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (bytes_ret)
        *bytes_ret = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                            cl_uint *entries_ret, const cl_icd_dispatch **layer_ret)
{
    if (!target || !entries_ret || !layer_ret || entries < sizeof ours / sizeof(void *))
        return CL_INVALID_VALUE;
    below = target;
    ours = *target;
#define INSTALL(name) ours.name = my_##name;
#define INSTALL_REFERENCES(what)                                                                   \
    ours.clRetain##what = my_clRetain##what;                                                       \
    ours.clRelease##what = my_clRelease##what;
    ENTRIES(INSTALL)
    INSTALL_REFERENCES(Context)
    INSTALL_REFERENCES(CommandQueue)
    INSTALL_REFERENCES(MemObject)
    INSTALL_REFERENCES(Program)
    INSTALL_REFERENCES(Kernel)
    INSTALL_REFERENCES(Event)
    INSTALL_REFERENCES(Device)
    read_environment();
    *entries_ret = sizeof ours / sizeof(void *);
    *layer_ret = &ours;
    return CL_SUCCESS;
}
