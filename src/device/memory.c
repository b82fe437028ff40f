/* memory.c - the pool: device memory that grows on demand up to a limit; freed blocks are kept and
 * reused. */
#include "base/size.h"
#include "device/internal.h"

#include <stdlib.h>

#define GRAIN 256 /* bytes; every block is a multiple of it */

static void block_free(struct mot__buffer *block)
{
    clReleaseMemObject(block->mem);
    free(block);
}

void mot__pool_clear(mot__device *device)
{
    struct mot__buffer *block;

    while ((block = device->free_blocks) != NULL) {
        device->free_blocks = block->next;
        device->kept_bytes -= block->bytes;
        block_free(block);
    }
}

/* The smallest kept block that holds bytes and wastes at most a quarter of itself. */
static struct mot__buffer *find_kept(mot__device *device, size_t bytes)
{
    struct mot__buffer **at, **best = NULL, *block;

    for (at = &device->free_blocks; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (*at)->bytes - bytes <= (*at)->bytes / 4 &&
            (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    if (!best)
        return NULL;
    block = *best;
    *best = block->next;
    device->kept_bytes -= block->bytes;
    return block;
}

/* All that may be there at once, in use or kept. */
static size_t most_of(const mot__device *device)
{
    return device->facts.memory_limit + (device->aside ? MOT__ASIDE_BYTES : 0);
}

static mot_status no_room(mot__device *device, size_t bytes)
{
    const struct mot__device_facts *facts = &device->facts;

    if (bytes > facts->largest_bytes)
        return mot__fail(MOT_NO_MEMORY,
                         "%s: %zu bytes in one piece, but its largest allocation is %zu",
                         facts->info.name, bytes, facts->largest_bytes);
    return mot__fail(MOT_NO_MEMORY,
                     "%s: %zu more bytes would pass the limit of %zu (%zu in use, %zu free)",
                     facts->info.name, bytes, most_of(device), device->live_bytes,
                     most_of(device) - device->live_bytes);
}

mot_status mot__pool_take(mot__device *device, size_t bytes, cl_mem_flags flags, void *host,
                          struct mot__buffer **out)
{
    struct mot__buffer *block = NULL;
    mot_status status = mot__device_alive(device);
    cl_int error = 0;

    if (status != MOT_OK)
        return status;
    if (bytes > device->facts.largest_bytes || bytes > most_of(device) - device->live_bytes)
        return no_room(device, bytes);
    if (bytes > most_of(device) - device->live_bytes - device->kept_bytes)
        mot__pool_clear(device);
    block = calloc(1, sizeof *block);
    if (!block)
        return mot__fail(MOT_NO_MEMORY, "a buffer's %zu bytes", sizeof *block);
    block->mem = clCreateBuffer(device->context, flags, bytes, host, &error);
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY) {
        mot__pool_clear(device);
        block->mem = clCreateBuffer(device->context, flags, bytes, host, &error);
    }
    if (error) {
        free(block);
        return mot__cl_fail(device, error, "a buffer of %zu bytes", bytes);
    }
    block->device = device;
    block->bytes = bytes;
    device->counts.allocations++;
    device->counts.allocated_bytes += bytes;
    *out = block;
    return MOT_OK;
}

static void take_live(mot__device *device, struct mot__buffer *block)
{
    device->live_bytes += block->bytes;
    if (!device->aside && device->live_bytes > device->peak_bytes)
        device->peak_bytes = device->live_bytes;
}

mot_status mot__buffer_open(mot__device *device, size_t bytes, mot__buffer **out)
{
    mot_status status = MOT_OK;
    struct mot__buffer *block;

    if (bytes > SIZE_MAX - GRAIN)
        return mot__fail(MOT_NO_MEMORY, "a buffer of %zu bytes", bytes);
    bytes = mot__buffer_bytes(bytes);
    block = find_kept(device, bytes);
    if (!block)
        status = mot__pool_take(device, bytes, CL_MEM_READ_WRITE, NULL, &block);
    if (status != MOT_OK)
        return status;
    take_live(device, block);
    *out = block;
    return MOT_OK;
}

void mot__buffer_close(mot__buffer *buffer)
{
    mot__device *device;

    if (!buffer)
        return;
    device = buffer->device;
    device->live_bytes -= buffer->bytes;
    device->kept_bytes += buffer->bytes;
    buffer->next = device->free_blocks;
    device->free_blocks = buffer;
}

size_t mot__device_used(const mot__device *device)
{
    return device->live_bytes;
}

size_t mot__device_peak(const mot__device *device)
{
    return device->peak_bytes;
}

void mot__device_peak_set(mot__device *device, size_t bytes)
{
    device->peak_bytes = mot__size_max(bytes, device->live_bytes);
}

void mot__device_aside_begin(mot__device *device)
{
    device->aside++;
}

/* Blocks that were kept may be more than the limit permits: they go. */
void mot__device_aside_end(mot__device *device)
{
    if (--device->aside == 0)
        mot__device_trim(device);
}

void mot__device_trim(mot__device *device)
{
    if (mot__device_alive(device) == MOT_OK)
        mot__pool_clear(device);
}

size_t mot__buffer_bytes(size_t bytes)
{
    return mot__size_round_up(mot__size_max(bytes, 1), GRAIN);
}

static mot_status check_range(const mot__buffer *buffer, size_t offset, size_t bytes)
{
    if (offset <= buffer->bytes && bytes <= buffer->bytes - offset)
        return mot__device_alive(buffer->device);
    return mot__fail(MOT_BAD_ARG, "%zu bytes from byte %zu on, of a buffer of %zu", bytes, offset,
                     buffer->bytes);
}

/* A blocking transfer failed, perhaps for a command before it: then that one's story says more. */
static mot_status transfer_failed(mot__device *device, cl_int error, const char *what, size_t bytes)
{
    mot_status status = mot__cl_loss(device, error) ? MOT_OK : mot__device_finish(device);

    return status != MOT_OK ? status : mot__cl_fail(device, error, "%s of %zu bytes", what, bytes);
}

mot_status mot__buffer_write(mot__buffer *buffer, size_t offset, const void *host, size_t bytes)
{
    mot__device *device = buffer->device;
    mot_status status = check_range(buffer, offset, bytes);
    cl_int error;

    if (status != MOT_OK || bytes == 0)
        return status;
    error = clEnqueueWriteBuffer(device->compute, buffer->mem, CL_TRUE, offset, bytes, host,
                                 (cl_uint)device->gates, device->gates ? device->gate : NULL, NULL);
    if (error)
        return transfer_failed(device, error, "upload", bytes);
    mot__gates_passed(device);
    device->counts.waits++;
    device->counts.uploads++;
    device->counts.upload_bytes += bytes;
    return MOT_OK;
}

mot_status mot__buffer_read(mot__buffer *buffer, size_t offset, void *host, size_t bytes)
{
    mot__device *device = buffer->device;
    mot_status status = check_range(buffer, offset, bytes);
    cl_int error;

    if (status != MOT_OK || bytes == 0)
        return status;
    error = clEnqueueReadBuffer(device->compute, buffer->mem, CL_TRUE, offset, bytes, host,
                                (cl_uint)device->gates, device->gates ? device->gate : NULL, NULL);
    if (error)
        return transfer_failed(device, error, "download", bytes);
    mot__gates_passed(device);
    device->counts.waits++;
    device->counts.downloads++;
    device->counts.download_bytes += bytes;
    return mot__device_finish(device); /* everything before it has ended: learn how */
}

mot_status mot__buffer_zero(mot__buffer *buffer, size_t offset, size_t bytes)
{
    static const cl_uint zero;
    const size_t pattern = (offset | bytes) % sizeof zero ? 1 : sizeof zero;
    mot__device *device = buffer->device;
    mot_status status = check_range(buffer, offset, bytes);
    cl_event event = NULL;
    cl_int error;

    if (status != MOT_OK || bytes == 0 || device->rehearsing)
        return status;
    error =
        clEnqueueFillBuffer(device->compute, buffer->mem, &zero, pattern, offset, bytes,
                            (cl_uint)device->gates, device->gates ? device->gate : NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "zeroing %zu bytes", bytes);
    mot__gates_passed(device);
    device->counts.launches++;
    return mot__command_note(device, event, "zero", true);
}

static mot_status check_floats(struct mot__mem mem, size_t floats)
{
    size_t offset, bytes;

    if (mot__size_mul(mem.offset, sizeof(float), &offset) &&
        mot__size_mul(floats, sizeof(float), &bytes))
        return check_range(mem.buffer, offset, bytes);
    return mot__fail(MOT_BAD_ARG, "%zu floats from float %zu on, of a buffer of %zu bytes", floats,
                     mem.offset, mem.buffer->bytes);
}

mot_status mot__buffer_copy(struct mot__mem from, struct mot__mem to, size_t floats)
{
    mot__device *device = to.buffer->device;
    const size_t bytes = floats * sizeof(float);
    mot_status status = check_floats(from, floats);
    cl_event event = NULL;
    cl_int error;

    if (status == MOT_OK)
        status = check_floats(to, floats);
    if (status != MOT_OK || bytes == 0 || device->rehearsing)
        return status;
    error =
        clEnqueueCopyBuffer(device->compute, from.buffer->mem, to.buffer->mem,
                            from.offset * sizeof(float), to.offset * sizeof(float), bytes,
                            (cl_uint)device->gates, device->gates ? device->gate : NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "copying %zu bytes", bytes);
    mot__gates_passed(device);
    device->counts.launches++;
    return mot__command_note(device, event, "copy", true);
}
