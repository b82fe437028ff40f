/* gemm_clblast.c - GEMM by CLBlast. Nothing here runs on a device that did not choose it. */
#include "base/size.h"
#include "device/gemm_parts.h"
#include "device/tuned.h"

#if MOTLEY_CLBLAST

#include <clblast_c.h>
#include <pthread.h>

/* CLBlast's first call fills tables that nothing guards (1.5.3: 7 of 40 runs crashed when four
 * threads made theirs together), so every device makes its first one alone. */
static pthread_mutex_t first_call = PTHREAD_MUTEX_INITIALIZER;

/* ---- parameters ---- */

/* Sets to try, by the size of a group and what goes through local memory. The rules that tie the
 * numbers together are those of CLBlast's own tuners. GEMMK stays 0: the other kernel is wrong for
 * MWG != NWG before 1.6.3 (CLBlast #543). */
static const char *const xgemm_name[] = {"GEMMK", "KREG",  "KWG",   "KWI", "MDIMA", "MDIMC",
                                         "MWG",   "NDIMB", "NDIMC", "NWG", "SA",    "SB",
                                         "STRM",  "STRN",  "VWM",   "VWN"};
static const char *const direct_name[] = {"KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD",
                                          "PADA", "PADB",   "VWMD",   "VWND",   "WGD"};

static const struct {
    size_t xgemm[MOT__COUNT(xgemm_name)], direct[MOT__COUNT(direct_name)];
} sets[] = {
    {{0, 1, 16, 2, 8, 8, 64, 8, 8, 64, 1, 1, 0, 0, 4, 4}, {2, 8, 8, 8, 8, 1, 1, 2, 2, 32}},
    {{0, 1, 16, 2, 16, 16, 128, 16, 16, 128, 1, 1, 0, 0, 4, 4},
     {8, 16, 16, 16, 16, 1, 1, 2, 2, 32}},
    {{0, 1, 32, 2, 16, 16, 64, 8, 8, 64, 0, 0, 0, 0, 4, 4}, {2, 8, 8, 8, 8, 1, 1, 2, 2, 16}},
    {{0, 1, 32, 2, 32, 16, 128, 16, 8, 64, 1, 1, 0, 0, 4, 4}, {2, 8, 8, 16, 16, 0, 0, 4, 2, 32}},
};

/* CLBlast keeps parameters by device for the whole process; so this does. Under first_call. */
#define TOLD_MOST 32
static struct {
    cl_device_id device;
    size_t set;
} told[TOLD_MOST];

size_t mot__gemm_sets(void)
{
    return MOT__COUNT(sets);
}

static size_t told_of(cl_device_id device)
{
    size_t i;

    for (i = 0; i < TOLD_MOST && told[i].device && told[i].device != device; i++)
        ;
    return i;
}

/* A set that CLBlast has already is not told again: a call on another thread would meet the moment
 * between its removal and its return. */
static mot_status tell(mot__device *device, size_t set)
{
    const size_t place = told_of(device->id);
    CLBlastStatusCode code;

    if (place == TOLD_MOST || (told[place].device ? told[place].set : 0) == set || set == 0)
        return MOT_OK;
    code = CLBlastOverrideParameters(device->id, "Xgemm", CLBlastPrecisionSingle,
                                     MOT__COUNT(xgemm_name), (const char **)xgemm_name,
                                     sets[set - 1].xgemm);
    if (code == CLBlastSuccess) {
        told[place].device = device->id;
        told[place].set = set;
        code = CLBlastOverrideParameters(device->id, "XgemmDirect", CLBlastPrecisionSingle,
                                         MOT__COUNT(direct_name), (const char **)direct_name,
                                         sets[set - 1].direct);
    }
    return code == CLBlastSuccess
               ? MOT_OK
               : mot__fail(MOT_UNSUPPORTED, "%s: CLBlast refuses parameters with %d",
                           device->facts.info.name, (int)code);
}

/* What it was really told, now or by an earlier owner of the device. */
static void note_set(mot__device *device, struct mot__gemm_state *state)
{
    const size_t place = told_of(device->id);
    size_t way;

    for (way = 0; way < MOT__COUNT(state->chosen); way++)
        if (state->chosen[way] == MOT__GEMM_CLBLAST)
            state->chosen[way] = MOT__GEMM_AUTO; /* that was about other parameters */
    state->set = place < TOLD_MOST && told[place].device ? told[place].set : 0;
    state->begun = true;
    state->warm = false;
}

static size_t remembered_set(mot__device *device)
{
    struct mot__tuned tuned;
    enum mot__gemm_kind kind;
    bool found = false;
    size_t set = 0;

    if (mot__gemm_wished(device) || mot__tuned_get(device, "clblast", &tuned, &found) != MOT_OK ||
        !found || !mot__gemm_parse(tuned.choice, &kind, &set))
        return 0;
    return set;
}

mot_status mot__gemm_begin_set(mot__device *device)
{
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);

    if (status != MOT_OK || state->begun)
        return status;
    pthread_mutex_lock(&first_call);
    tell(device, remembered_set(device)); /* refused: its own serve */
    note_set(device, state);
    pthread_mutex_unlock(&first_call);
    return MOT_OK;
}

mot_status mot__gemm_use_set(mot__device *device, size_t set)
{
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);

    if (status != MOT_OK || set > MOT__COUNT(sets))
        return status != MOT_OK ? status : mot__fail(MOT_BAD_ARG, "CLBlast's set %zu", set);
    pthread_mutex_lock(&first_call);
    status = tell(device, set);
    note_set(device, state);
    pthread_mutex_unlock(&first_call);
    return status == MOT_OK && state->set != set
               ? mot__fail(MOT_UNSUPPORTED, "CLBlast keeps its set %zu on this device", state->set)
               : status;
}

/* ---- calls ---- */

#define REHEARSED 8 /* rows, columns and steps at the most */

static CLBlastTranspose way(bool transposed)
{
    return transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* Left to itself CLBlast allocates what it packs operands into in every call, past any limit of
 * ours, and ends the process where that fails. Reckoned as if all three had to be packed: whether
 * one really has to goes by its offset and by the rows of the batch. */
mot_status mot__gemm_clblast_packs(mot__device *device, const struct mot__gemm *g, size_t *bytes)
{
    mot_status status = mot__gemm_begin_set(device);
    CLBlastStatusCode code;
    bool first;

    if (status != MOT_OK)
        return status;
    first = !device->gemm->warm;
    if (first)
        pthread_mutex_lock(&first_call);
    code = CLBlastSGemmTempBufferSize(CLBlastLayoutRowMajor, way(g->trans_a), way(g->trans_b), g->m,
                                      g->n, g->k, 1, g->trans_a ? g->m : g->k, 1,
                                      g->trans_b ? g->k : g->n, 1, g->n, &device->compute, bytes);
    if (first)
        pthread_mutex_unlock(&first_call);
    return code == CLBlastSuccess ? MOT_OK
                                  : mot__fail(MOT_DEVICE_FAILED, "%s: CLBlast's packs: error %d",
                                              device->facts.info.name, (int)code);
}

static mot_status take_packs(mot__device *device, const struct mot__gemm *gemm, mot__buffer **out)
{
    size_t bytes = 0;
    mot_status status = mot__gemm_clblast_packs(device, gemm, &bytes);

    return status == MOT_OK ? mot__gemm_packs_take(device, bytes, out) : status;
}

static mot_status call(mot__device *device, const struct mot__gemm *g, const struct mot__mem mem[3],
                       const mot__buffer *packs)
{
    cl_event event = NULL;
    mot_status status;
    CLBlastStatusCode code = CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, way(g->trans_a), way(g->trans_b), g->m, g->n, g->k, g->alpha,
        mem[0].buffer->mem, mem[0].offset, g->trans_a ? g->m : g->k, mem[1].buffer->mem,
        mem[1].offset, g->trans_b ? g->k : g->n, g->accumulate ? 1.0f : 0.0f, mem[2].buffer->mem,
        mem[2].offset, g->n, &device->compute, &event, packs ? packs->mem : NULL);

    if (code <= -1 && code >= -99) /* OpenCL's own numbers pass through */
        return mot__cl_fail(device, (cl_int)code, "CLBlastSgemm");
    if (code != CLBlastSuccess)
        return mot__fail(MOT_DEVICE_FAILED, "%s: CLBlastSgemm failed with %d",
                         device->facts.info.name, (int)code);
    device->counts.launches++;
    status = mot__command_note(device, event, "clblast", true);
    mot__command_several(device); /* large operands are packed by kernels of their own */
    return status;
}

static mot_status call_guarded(mot__device *device, const struct mot__gemm *gemm,
                               const struct mot__mem mem[3])
{
    mot__buffer *packs;
    mot_status status = take_packs(device, gemm, &packs);
    struct mot__gemm_state *state = device->gemm;

    if (status != MOT_OK || state->warm)
        return status == MOT_OK ? call(device, gemm, mem, packs) : status;
    pthread_mutex_lock(&first_call);
    status = call(device, gemm, mem, packs);
    pthread_mutex_unlock(&first_call);
    state->warm = status == MOT_OK;
    return status;
}

/* CLBlast compiles when it first runs: all kernels of GEMM as one program, whatever the shape. So a
 * small product, on memory of its own, is enough, once. */
static mot_status rehearse(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm small = {.m = mot__size_min(gemm->m, REHEARSED),
                              .n = mot__size_min(gemm->n, REHEARSED),
                              .k = mot__size_min(gemm->k, REHEARSED),
                              .alpha = 1};
    struct mot__mem mem[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    const size_t bytes = REHEARSED * REHEARSED * sizeof(float);
    mot__buffer *packs;
    mot_status status = take_packs(device, gemm, &packs); /* kept, and inside the limit */
    size_t i;

    if (status != MOT_OK || device->gemm->warm)
        return status;
    mot__device_aside_begin(device);
    for (i = 0; i < 3; i++) {
        MOT_TRY(mot__buffer_open(device, bytes, &mem[i].buffer));
        MOT_TRY(mot__buffer_zero(mem[i].buffer, 0, bytes));
    }
    MOT_TRY(call_guarded(device, &small, mem));
    MOT_TRY(mot__device_finish(device)); /* before another queue may get this memory */
done:
    for (i = 0; i < 3; i++)
        mot__buffer_close(mem[i].buffer);
    mot__device_aside_end(device);
    return status;
}

mot_status mot__gemm_clblast(mot__device *device, const struct mot__gemm *gemm)
{
    const struct mot__mem mem[3] = {gemm->a, gemm->b, gemm->c};
    mot_status status;

    if (mot__device_rehearsing(device)) {
        status = rehearse(device, gemm);
    } else {
        status = mot__gates_pass(device); /* CLBlast takes no wait list */
        if (status == MOT_OK)
            status = call_guarded(device, gemm, mem);
    }
    if (status != MOT_OK || (!gemm->bias.buffer && gemm->act == MOT_ACT_NONE))
        return status;
    return mot__gemm_epilogue(device, gemm, false);
}

#else

size_t mot__gemm_sets(void)
{
    return 0;
}

static mot_status left_out(void)
{
    return mot__fail(MOT_UNSUPPORTED, "gemm: this build has no CLBlast");
}

mot_status mot__gemm_begin_set(mot__device *device)
{
    (void)device;
    return left_out();
}

mot_status mot__gemm_clblast_packs(mot__device *device, const struct mot__gemm *gemm, size_t *bytes)
{
    (void)device, (void)gemm, (void)bytes;
    return left_out();
}

mot_status mot__gemm_use_set(mot__device *device, size_t set)
{
    (void)device, (void)set;
    return left_out();
}

#endif
