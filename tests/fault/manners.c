/* manners.c - behaviour that OpenCL allows and that some driver has, by $MOTLEY_ILL_WILL:
 *
 *   nan          a new buffer without host memory is full of NaN
 *   late=MS      a non-blocking transfer begins that late: its source is read, and its target
 *                written, only then
 *   shadow       memory given by USE_HOST_PTR is copied: host and device see each other's writes
 *                only through map and unmap
 *   blocks       transfers called non-blocking return when they have ended
 *   ordinary     so do those whose host side is not mapped memory that the driver allocated
 *   return_us=N  every enqueue returns that late
 *   ulp          / and exp, log, sqrt ... are one unit in the last place off (ulp.c)
 *   slow=X       a kernel takes X times its time; each launch is waited for, so it costs a round
 *                trip more
 *   start_us=N   a kernel takes that much longer, whatever it computes; each is waited for
 *   launch_us=N  each kernel takes that long before it begins
 *   link=X       transfers run at X GB/s; each is waited for
 *   chance_ms=X  each loss is launched that late on average, by dice of each device
 *
 * What slow, start_us and link add is in the events' times too.
 *
 * Queues are expected to be in order, each device in contexts of its own. */
#include "fault/guise.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_icd_dispatch under; /* cards.c and the loader */

static void sleep_s(double seconds)
{
    struct timespec left;

    if (!(seconds > 0))
        return;
    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static cl_int returned(const struct disguised *device, cl_int error)
{
    sleep_s(1e-6 * ill_will("return_us", device->nth));
    return error;
}

/* ---- times ---- */

#define STRETCHED 65536

/* By the event's address; a clash loses the older one, which a test's driver may. */
static struct {
    cl_event event;
    double seconds;
} stretched[STRETCHED];
static pthread_mutex_t stretched_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(cl_event event)
{
    return (size_t)event / 64 % STRETCHED;
}

/* An address comes back for another event: every new one is noted, those of 0 too. */
static void stretch(const cl_event *event, double seconds)
{
    if (!event || !*event)
        return;
    pthread_mutex_lock(&stretched_lock);
    stretched[place_of(*event)].event = *event;
    stretched[place_of(*event)].seconds = seconds;
    pthread_mutex_unlock(&stretched_lock);
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t bytes,
                                         void *value, size_t *bytes_ret)
{
    const cl_int error = under.clGetEventProfilingInfo(event, what, bytes, value, bytes_ret);

    pthread_mutex_lock(&stretched_lock);
    if (!error && value && what == CL_PROFILING_COMMAND_END &&
        stretched[place_of(event)].event == event)
        *(cl_ulong *)value += (cl_ulong)(1e9 * stretched[place_of(event)].seconds);
    pthread_mutex_unlock(&stretched_lock);
    return error;
}

/* ---- late transfers ---- */

struct gate {
    cl_event event;
    double seconds;
};

static void *open_late(void *user)
{
    struct gate *gate = user;

    sleep_s(gate->seconds);
    under.clSetUserEventStatus(gate->event, CL_COMPLETE);
    under.clReleaseEvent(gate->event);
    free(gate);
    return NULL;
}

/* An event that ends in so many milliseconds; NULL where none could be made. */
static cl_event event_in(cl_context context, double ms)
{
    struct gate *gate = malloc(sizeof *gate);
    cl_event event = NULL;
    pthread_t thread;
    cl_int error;

    if (gate)
        event = under.clCreateUserEvent(context, &error);
    if (!event) {
        free(gate);
        return NULL;
    }
    *gate = (struct gate){event, ms / 1000};
    under.clRetainEvent(event); /* one for the thread, one for the caller */
    if (pthread_create(&thread, NULL, open_late, gate) == 0)
        pthread_detach(thread);
    else
        open_late(gate);
    return event;
}

/* A command's wait list, with one more event where the device is late. */
struct waits {
    cl_uint count;
    cl_event *list;
    cl_event late;
};

static struct waits waits_open(cl_command_queue queue, cl_bool blocking, cl_uint count,
                               const cl_event *list)
{
    const double ms = blocking ? 0 : ill_will("late", guise_of_queue(queue)->nth);
    struct waits waits = {0, calloc(count + 1, sizeof(cl_event)), NULL};
    cl_context context = NULL;

    if (!waits.list)
        abort(); /* a test's driver: nothing better to do */
    if (count > 0)
        memcpy(waits.list, list, count * sizeof *list);
    waits.count = count;
    if (ms > 0) {
        under.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        waits.late = event_in(context, ms);
    }
    if (waits.late)
        waits.list[waits.count++] = waits.late;
    return waits;
}

static cl_int waits_close(cl_command_queue queue, struct waits *waits, cl_int error)
{
    if (waits->late)
        under.clReleaseEvent(waits->late);
    free(waits->list);
    return returned(guise_of_queue(queue), error);
}
#define WAIT_LIST(waits) (waits).count, (waits).count ? (waits).list : NULL

/* ---- memory that the driver allocated ---- */

struct mapping {
    cl_mem mem;
    const char *host;
    size_t bytes;
    struct mapping *next;
};

static struct mapping *mappings;
static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;

static void mapping_add(cl_mem mem, const void *host, size_t bytes)
{
    struct mapping *row = NULL;
    cl_mem_flags flags = 0;

    under.clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    if (!(flags & CL_MEM_ALLOC_HOST_PTR))
        return;
    row = malloc(sizeof *row);
    if (!row)
        abort();
    pthread_mutex_lock(&mappings_lock);
    *row = (struct mapping){mem, host, bytes, mappings};
    mappings = row;
    pthread_mutex_unlock(&mappings_lock);
}

static void mapping_drop(cl_mem mem, const void *host)
{
    struct mapping **at, *row;

    pthread_mutex_lock(&mappings_lock);
    for (at = &mappings; (row = *at) != NULL; at = &row->next)
        if (row->mem == mem && row->host == host)
            break;
    if (row)
        *at = row->next;
    pthread_mutex_unlock(&mappings_lock);
    free(row);
}

static bool mapped(const char *host)
{
    const struct mapping *row;

    pthread_mutex_lock(&mappings_lock);
    for (row = mappings; row; row = row->next)
        if (host >= row->host && host < row->host + row->bytes)
            break;
    pthread_mutex_unlock(&mappings_lock);
    return row != NULL;
}

static cl_bool blocks(cl_command_queue queue, cl_bool blocking, const void *host)
{
    const size_t nth = guise_of_queue(queue)->nth;

    if (!blocking && ill_will("ordinary", nth) > 0)
        return !mapped(host);
    return blocking || ill_will("blocks", nth) > 0;
}

/* ---- transfers ---- */

/* The caller's, where it asked for one. */
static void give_event(cl_event own, cl_event *event)
{
    if (event)
        *event = own;
    else if (own)
        under.clReleaseEvent(own);
}

/* Wait for the transfer, then for what it would take on the slow link. */
static void crawl(cl_command_queue queue, cl_event *event, size_t bytes)
{
    const double gbps = ill_will("link", guise_of_queue(queue)->nth);
    const double seconds = gbps > 0 ? 1e-9 * (double)bytes / gbps : 0;

    if (seconds > 0 && *event && under.clWaitForEvents(1, event) == CL_SUCCESS)
        sleep_s(seconds);
    stretch(event, seconds);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                       size_t offset, size_t bytes, const void *host, cl_uint count,
                                       const cl_event *list, cl_event *event)
{
    struct waits waits = waits_open(queue, blocking, count, list);
    cl_event own = NULL;
    const cl_int error = under.clEnqueueWriteBuffer(queue, mem, blocks(queue, blocking, host),
                                                    offset, bytes, host, WAIT_LIST(waits), &own);

    if (!error)
        crawl(queue, &own, bytes);
    give_event(error ? NULL : own, event);
    return waits_close(queue, &waits, error);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                      size_t offset, size_t bytes, void *host, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    struct waits waits = waits_open(queue, blocking, count, list);
    cl_event own = NULL;
    const cl_int error = under.clEnqueueReadBuffer(queue, mem, blocks(queue, blocking, host),
                                                   offset, bytes, host, WAIT_LIST(waits), &own);

    if (!error)
        crawl(queue, &own, bytes);
    give_event(error ? NULL : own, event);
    return waits_close(queue, &waits, error);
}

/* ---- memory that is copied behind USE_HOST_PTR ---- */

struct shadow { /* one buffer, or one range of it that is mapped */
    cl_mem mem;
    char *host;
    size_t bytes;
    bool mapped, written;
    struct shadow *next;
};

static struct shadow *shadows;
static pthread_mutex_t shadows_lock = PTHREAD_MUTEX_INITIALIZER;

static void shadow_add(struct shadow row)
{
    struct shadow *copy = malloc(sizeof *copy);

    if (!copy)
        abort();
    pthread_mutex_lock(&shadows_lock);
    *copy = row;
    copy->next = shadows;
    shadows = copy;
    pthread_mutex_unlock(&shadows_lock);
}

/* The newest row of that buffer; host NULL: the buffer itself, else the range mapped there. */
static bool shadow_find(cl_mem mem, const void *host, bool take, struct shadow *out)
{
    struct shadow **at, *found = NULL;

    pthread_mutex_lock(&shadows_lock);
    for (at = &shadows; *at && !found; at = found ? at : &(*at)->next)
        if ((*at)->mem == mem && (host ? (*at)->mapped && (*at)->host == host : !(*at)->mapped))
            found = *at;
    if (found) {
        *out = *found;
        if (take) {
            *at = found->next;
            free(found);
        }
    }
    pthread_mutex_unlock(&shadows_lock);
    return found != NULL;
}

static void CL_CALLBACK shadow_drop(cl_mem mem, void *user)
{
    struct shadow row;

    (void)user;
    shadow_find(mem, NULL, true, &row);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                    const cl_event *list, cl_event *event, cl_int *error_ret)
{
    struct waits waits = waits_open(queue, blocking, count, list);
    struct shadow row;
    cl_int error;
    void *host;

    if (shadow_find(mem, NULL, false, &row)) {
        row = (struct shadow){mem, row.host + offset, bytes, true, flags != CL_MAP_READ, NULL};
        error = under.clEnqueueReadBuffer(queue, mem, blocking, offset, bytes, row.host,
                                          WAIT_LIST(waits), event);
        if (!error)
            shadow_add(row);
        host = error ? NULL : row.host;
    } else {
        host = under.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, bytes,
                                        WAIT_LIST(waits), event, &error);
        if (!error)
            mapping_add(mem, host, bytes);
    }
    if (!error)
        stretch(event, 0);
    waits_close(queue, &waits, error);
    if (error_ret)
        *error_ret = error;
    return host;
}

static cl_int CL_API_CALL unmap_buffer(cl_command_queue queue, cl_mem mem, void *host,
                                       cl_uint count, const cl_event *list, cl_event *event)
{
    struct waits waits = waits_open(queue, CL_FALSE, count, list);
    struct shadow row, whole;
    cl_int error;

    mapping_drop(mem, host);
    if (!shadow_find(mem, host, true, &row))
        error = under.clEnqueueUnmapMemObject(queue, mem, host, WAIT_LIST(waits), event);
    else if (row.written && shadow_find(mem, NULL, false, &whole))
        error = under.clEnqueueWriteBuffer(queue, mem, CL_FALSE, (size_t)(row.host - whole.host),
                                           row.bytes, row.host, WAIT_LIST(waits), event);
    else
        error = under.clEnqueueMarkerWithWaitList(queue, WAIT_LIST(waits), event);
    if (!error)
        stretch(event, 0);
    return waits_close(queue, &waits, error);
}

/* ---- new buffers ---- */

static void fill_nan(cl_context context, const struct disguised *device, cl_mem mem, size_t bytes)
{
    static const unsigned char nan_byte = 0xff; /* a float of such bytes is a NaN */
    cl_int error;
    cl_command_queue queue = under.clCreateCommandQueue(context, device->id, 0, &error);

    if (!queue)
        return;
    under.clEnqueueFillBuffer(queue, mem, &nan_byte, 1, 0, bytes, 0, NULL, NULL);
    under.clFinish(queue);
    under.clReleaseCommandQueue(queue);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *error)
{
    const struct disguised *device = guise_of_context(context);
    const bool shadowed =
        flags & CL_MEM_USE_HOST_PTR && device->id && ill_will("shadow", device->nth) > 0;
    cl_mem mem;

    if (shadowed)
        flags = (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
    mem = under.clCreateBuffer(context, flags, bytes, host, error);
    if (mem && shadowed) {
        shadow_add((struct shadow){mem, host, bytes, false, false, NULL});
        under.clSetMemObjectDestructorCallback(mem, shadow_drop, NULL);
    }
    if (mem && !host && device->id && ill_will("nan", device->nth) > 0)
        fill_nan(context, device, mem, bytes);
    return mem;
}

/* ---- what is as it is, and said so ---- */

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem mem, const void *pattern,
                                      size_t size, size_t offset, size_t bytes, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    const cl_int error =
        under.clEnqueueFillBuffer(queue, mem, pattern, size, offset, bytes, count, list, event);

    if (!error)
        stretch(event, 0);
    return error;
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                      size_t from_at, size_t to_at, size_t bytes, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    const cl_int error =
        under.clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, count, list, event);

    if (!error)
        stretch(event, 0);
    return error;
}

static cl_int CL_API_CALL barrier(cl_command_queue queue, cl_uint count, const cl_event *list,
                                  cl_event *event)
{
    const cl_int error = under.clEnqueueBarrierWithWaitList(queue, count, list, event);

    if (!error)
        stretch(event, 0);
    return error;
}

/* ---- a slow device ---- */

/* The debt of sleep is paid in pieces that a timer can keep. */
static double pay(cl_event event, double times)
{
    static _Thread_local double debt_s; /* a device has one thread that launches */
    cl_ulong begin = 0, end = 0;
    double paid;

    if (under.clWaitForEvents(1, &event) != CL_SUCCESS)
        return 0;
    under.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    under.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    debt_s += end > begin ? (times - 1) * 1e-9 * (double)(end - begin) : 0;
    if (debt_s < 100e-6)
        return 0;
    paid = debt_s;
    sleep_s(paid);
    debt_s = 0;
    return paid;
}

/* What starting this one takes. */
static double start(cl_event event, double seconds)
{
    if (!(seconds > 0) || under.clWaitForEvents(1, &event) != CL_SUCCESS)
        return 0;
    sleep_s(seconds);
    return seconds;
}

/* Exponentially distributed, of average 1; the same dice in every run. */
static double throw_dice(size_t nth)
{
    static _Thread_local uint64_t dice;

    dice = (dice ? dice : 2 * nth + 1) * 6364136223846793005u + 1442695040888963407u;
    return -log(((double)(dice >> 11) + 1) / 9007199254740992.0);
}

/* Once a step, by the kernel's name. */
static void be_late(const struct disguised *device, cl_kernel kernel)
{
    const double chance_ms = ill_will("chance_ms", device->nth);
    char name[64] = "";

    if (!(chance_ms > 0))
        return;
    under.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    if (strcmp(name, "loss_record") == 0)
        sleep_s(1e-3 * chance_ms * throw_dice(device->nth));
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                         const size_t *offset, const size_t *global,
                                         const size_t *local, cl_uint count, const cl_event *list,
                                         cl_event *event)
{
    struct disguised *device = guise_of_queue(queue);
    const double times = ill_will("slow", device->nth);
    const double start_s = 1e-6 * ill_will("start_us", device->nth);
    cl_event own = NULL;
    cl_int error;

    sleep_s(1e-6 * ill_will("launch_us", device->nth));
    be_late(device, kernel);
    error =
        under.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, list, &own);
    if (!error)
        stretch(&own, start(own, start_s) + (times > 1 ? pay(own, times) : 0));
    give_event(error ? NULL : own, event);
    return returned(device, error);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id id,
                                                 cl_command_queue_properties flags, cl_int *error)
{
    if (ill_will("slow", guise_of_device(id)->nth) > 1)
        flags |= CL_QUEUE_PROFILING_ENABLE;
    return under.clCreateCommandQueue(context, id, flags, error);
}

/* ---- results one unit off ---- */

static char *join(cl_uint count, const char **texts, const size_t *lengths)
{
    size_t bytes = 0;
    char *whole = NULL;
    cl_uint i;

    for (i = 0; i < count; i++) {
        const size_t more = lengths && lengths[i] ? lengths[i] : strlen(texts[i]);
        char *grown = realloc(whole, bytes + more + 1);

        if (!grown)
            abort();
        whole = grown;
        memcpy(whole + bytes, texts[i], more);
        bytes += more;
        whole[bytes] = '\0';
    }
    return whole;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *error)
{
    char *whole, *other;
    cl_program program;

    if (!texts || count == 0 || !(ill_will("ulp", guise_of_context(context)->nth) > 0))
        return under.clCreateProgramWithSource(context, count, texts, lengths, error);
    whole = join(count, texts, lengths);
    other = ulp_rewrite(whole);
    if (!other)
        abort();
    program = under.clCreateProgramWithSource(context, 1, (const char **)&other, NULL, error);
    free(whole);
    free(other);
    return program;
}

void manners_hook(cl_icd_dispatch *table)
{
    under = *table;
    table->clGetEventProfilingInfo = profiling_info;
    table->clEnqueueWriteBuffer = write_buffer;
    table->clEnqueueReadBuffer = read_buffer;
    table->clEnqueueMapBuffer = map_buffer;
    table->clEnqueueUnmapMemObject = unmap_buffer;
    table->clEnqueueFillBuffer = fill_buffer;
    table->clEnqueueCopyBuffer = copy_buffer;
    table->clEnqueueBarrierWithWaitList = barrier;
    table->clCreateBuffer = create_buffer;
    table->clEnqueueNDRangeKernel = enqueue_kernel;
    table->clCreateCommandQueue = create_queue;
    table->clCreateProgramWithSource = create_program;
}
