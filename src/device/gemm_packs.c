/* gemm_packs.c - memory that a candidate which is not ours packs large operands into: one buffer a
 * device, from the pool, as large as its largest product wants. Taken when a plan is rehearsed, so
 * that no step allocates and the device's limit holds; a product that cannot have it is computed by
 * a candidate that needs none. */
#include "device/gemm_parts.h"

void mot__gemm_packs_allow(mot__device *device, size_t bytes)
{
    device->packs_most = bytes;
}

size_t mot__gemm_packs_held(const mot__device *device)
{
    return device->gemm && device->gemm->packs ? device->gemm->packs->bytes : 0;
}

void mot__gemm_packs_enter(mot__device *device)
{
    device->packs_users++;
}

void mot__gemm_packs_leave(mot__device *device)
{
    if (--device->packs_users > 0)
        return;
    mot__gemm_packs_drop(device);
    device->packs_most = SIZE_MAX;
}

mot_status mot__gemm_packs_take(mot__device *device, size_t bytes, mot__buffer **out)
{
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);

    *out = NULL;
    if (status != MOT_OK || bytes == 0)
        return status;
    if (mot__gemm_packs_held(device) < bytes) {
        if (!device->aside && bytes > device->packs_most)
            return mot__fail(MOT_NO_MEMORY, "%s: no room for %zu bytes of packed operands",
                             device->facts.info.name, bytes);
        status = mot__device_finish(device); /* what is queued may still read the smaller one */
        mot__gemm_packs_drop(device);
        if (status == MOT_OK)
            status = mot__buffer_open(device, bytes, &state->packs);
        if (status == MOT_NO_MEMORY && !device->aside)
            device->packs_most = 0; /* nor is it asked for again, in a step least of all */
    }
    *out = state->packs;
    return status;
}

void mot__gemm_packs_drop(mot__device *device)
{
    if (!device->gemm)
        return;
    mot__buffer_close(device->gemm->packs);
    device->gemm->packs = NULL;
}
