/* gemm_clblast.c - GEMM by CLBlast. Nothing here runs on a device that did not choose it. */
#include "device/gemm_parts.h"

#if MOTLEY_CLBLAST

#include <clblast_c.h>
#include <pthread.h>

/* CLBlast's first call fills tables that nothing guards (1.5.3: 7 of 40 runs crashed when four
 * threads made theirs together), so every device makes its first one alone. */
static pthread_mutex_t first_call = PTHREAD_MUTEX_INITIALIZER;

/* CLBlast takes no wait list: what the next launch waits for goes in front of it. */
static mot_status pass_gates(mot__device *device)
{
    cl_int error;

    if (device->gates == 0)
        return MOT_OK;
    error =
        clEnqueueBarrierWithWaitList(device->compute, (cl_uint)device->gates, device->gate, NULL);
    if (error)
        return mot__cl_fail(device, error, "waiting for transfers");
    mot__gates_passed(device);
    return MOT_OK;
}

static mot_status call(mot__device *device, const struct mot__gemm *g, const struct mot__mem mem[3])
{
    cl_event event = NULL;
    CLBlastStatusCode code = CLBlastSgemm(
        CLBlastLayoutRowMajor, g->trans_a ? CLBlastTransposeYes : CLBlastTransposeNo,
        g->trans_b ? CLBlastTransposeYes : CLBlastTransposeNo, g->m, g->n, g->k, g->alpha,
        mem[0].buffer->mem, mem[0].offset, g->trans_a ? g->m : g->k, mem[1].buffer->mem,
        mem[1].offset, g->trans_b ? g->k : g->n, g->accumulate ? 1.0f : 0.0f, mem[2].buffer->mem,
        mem[2].offset, g->n, &device->compute, &event);

    if (code <= -1 && code >= -99) /* OpenCL's own numbers pass through */
        return mot__cl_fail(device, (cl_int)code, "CLBlastSgemm");
    if (code != CLBlastSuccess)
        return mot__fail(MOT_DEVICE_FAILED, "%s: CLBlastSgemm failed with %d",
                         device->facts.info.name, (int)code);
    device->counts.launches++;
    return mot__command_note(device, event, "clblast", true);
}

static mot_status call_guarded(mot__device *device, const struct mot__gemm *gemm,
                               const struct mot__mem mem[3])
{
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);

    if (status != MOT_OK || state->warm)
        return status == MOT_OK ? call(device, gemm, mem) : status;
    pthread_mutex_lock(&first_call);
    status = call(device, gemm, mem);
    pthread_mutex_unlock(&first_call);
    state->warm = status == MOT_OK;
    return status;
}

/* CLBlast compiles when it runs: the same shape once on memory of its own. */
static mot_status rehearse(mot__device *device, const struct mot__gemm *gemm)
{
    const size_t floats[3] = {gemm->m * gemm->k, gemm->k * gemm->n, gemm->m * gemm->n};
    struct mot__mem mem[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < 3; i++) {
        MOT_TRY(mot__buffer_open(device, floats[i] * sizeof(float), &mem[i].buffer));
        MOT_TRY(mot__buffer_zero(mem[i].buffer, 0, floats[i] * sizeof(float)));
    }
    MOT_TRY(call_guarded(device, gemm, mem));
    MOT_TRY(mot__device_finish(device)); /* before another queue may get this memory */
done:
    for (i = 0; i < 3; i++)
        mot__buffer_close(mem[i].buffer);
    return status;
}

mot_status mot__gemm_clblast(mot__device *device, const struct mot__gemm *gemm)
{
    const struct mot__mem mem[3] = {gemm->a, gemm->b, gemm->c};
    mot_status status;

    if (mot__device_rehearsing(device)) {
        status = rehearse(device, gemm);
    } else {
        status = pass_gates(device);
        if (status == MOT_OK)
            status = call_guarded(device, gemm, mem);
    }
    if (status != MOT_OK || (!gemm->bias.buffer && gemm->act == MOT_ACT_NONE))
        return status;
    return mot__gemm_epilogue(device, gemm, false);
}

#else

typedef int mot__gemm_clblast_is_left_out; /* ISO C forbids an empty file */

#endif
