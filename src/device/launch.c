/* launch.c - one kernel, its arguments and its grid, onto the compute queue. */
#include "base/size.h"
#include "device/internal.h"

static cl_int set_argument(cl_kernel kernel, const struct mot__arg *arg, cl_uint *index)
{
    cl_uint at;
    cl_int error;

    switch (arg->kind) {
    case MOT__ARG_U32:
        return clSetKernelArg(kernel, (*index)++, sizeof(cl_uint), &arg->as.u32);
    case MOT__ARG_F32:
        return clSetKernelArg(kernel, (*index)++, sizeof(cl_float), &arg->as.f32);
    case MOT__ARG_LOCAL:
        return clSetKernelArg(kernel, (*index)++, arg->as.local_bytes, NULL);
    case MOT__ARG_MEM:
        at = (cl_uint)arg->as.mem.offset;
        error = clSetKernelArg(kernel, (*index)++, sizeof(cl_mem),
                               arg->as.mem.buffer ? &arg->as.mem.buffer->mem : NULL);
        return error ? error : clSetKernelArg(kernel, (*index)++, sizeof at, &at);
    }
    return CL_INVALID_VALUE;
}

static mot_status check_grid(const mot__device *device, const struct mot__launch *launch,
                             const struct mot__kernel *kernel, size_t global[3], size_t local[3])
{
    const bool cpu = device->facts.device_class == MOT_CLASS_CPU;
    size_t items = 1, i, local_bytes = 0;
    unsigned d;

    if (launch->dims < 1 || launch->dims > 3)
        return mot__fail(MOT_BAD_ARG, "kernel %s in %u dimensions", launch->kernel, launch->dims);
    for (i = 0; i < launch->count; i++) {
        if (launch->args[i].kind == MOT__ARG_MEM && launch->args[i].as.mem.offset > UINT32_MAX)
            return mot__fail(MOT_UNSUPPORTED, "kernel %s: an offset of %zu elements is past 2^32",
                             launch->kernel, launch->args[i].as.mem.offset);
        if (launch->args[i].kind == MOT__ARG_LOCAL)
            local_bytes += launch->args[i].as.local_bytes;
    }
    if (local_bytes > device->facts.local_bytes) /* drivers say "out of resources", as when lost */
        return mot__fail(MOT_DEVICE_FAILED, "%s: kernel %s wants %zu bytes of local memory of %zu",
                         device->facts.info.name, launch->kernel, local_bytes,
                         device->facts.local_bytes);

    for (d = 0; d < launch->dims; d++) {
        local[d] = launch->local[d];
        if (local[d] == 0)
            local[d] = d > 0 || cpu ? 1 : mot__size_min(64, kernel->max_group);
        global[d] = mot__size_round_up(launch->global[d], local[d]);
        items *= local[d];
    }
    if (items <= kernel->max_group)
        return MOT_OK;
    return mot__fail(MOT_DEVICE_FAILED, "%s: kernel %s wants groups of %zu, but %zu is the most",
                     device->facts.info.name, launch->kernel, items, kernel->max_group);
}

mot_status mot__launch(mot__device *device, const struct mot__launch *launch)
{
    struct mot__kernel *kernel;
    size_t global[3], local[3], i;
    cl_uint index = 0;
    cl_event event = NULL;
    cl_int error = 0;
    mot_status status = mot__device_alive(device);

    if (status != MOT_OK)
        return status;
    status = mot__kernel_get(device, launch->program, launch->kernel, launch->defines, &kernel);
    if (status != MOT_OK)
        return status;
    status = check_grid(device, launch, kernel, global, local);
    if (status != MOT_OK)
        return status;
    for (i = 0; i < launch->count && !error; i++)
        error = set_argument(kernel->object, &launch->args[i], &index);
    if (error)
        return mot__cl_fail(device, error, "argument %zu of kernel %s", i - 1, launch->kernel);
    for (i = 0; i < launch->dims; i++)
        if (global[i] == 0)
            return MOT_OK; /* an empty shard */
    if (device->rehearsing)
        return MOT_OK;
    error =
        clEnqueueNDRangeKernel(device->compute, kernel->object, launch->dims, NULL, global, local,
                               (cl_uint)device->gates, device->gates ? device->gate : NULL, &event);
    if (error)
        return mot__cl_fail(device, error, "launching %s", launch->kernel);
    mot__gates_passed(device);
    device->counts.launches++;
    return mot__command_note(device, event, kernel->kernel, true);
}
