/* gemm.c - the one door to GEMM: which candidate computes it on a device, decided once. */
#include "device/gemm.h"
#include "base/size.h"
#include "device/gemm_parts.h"
#include "device/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_BYTES 256

#if MOTLEY_CLBLAST
#define CLBLAST mot__gemm_clblast
#else
#define CLBLAST NULL
#endif

static const struct {
    const char *name;
    mot__gemm_run *run;  /* NULL: not in this build */
    const char *program; /* whose text a verdict is about */
} candidates[MOT__GEMM_KINDS] = {
    [MOT__GEMM_AUTO] = {"auto", NULL, ""},
    [MOT__GEMM_CLBLAST] = {"clblast", CLBLAST, "gemm_epilogue"},
    [MOT__GEMM_TILE_CPU] = {"tile-cpu", mot__gemm_tile_cpu, "gemm_cpu"},
    [MOT__GEMM_TILE_GPU] = {"tile-gpu", mot__gemm_tile_gpu, "gemm_gpu"},
};

/* What is tried after the first wish, in this order. */
#define ORDER 3
static const enum mot__gemm_kind cpu_order[ORDER] = {MOT__GEMM_TILE_CPU, MOT__GEMM_TILE_GPU,
                                                     MOT__GEMM_CLBLAST};
static const enum mot__gemm_kind gpu_order[ORDER] = {MOT__GEMM_TILE_GPU, MOT__GEMM_TILE_CPU,
                                                     MOT__GEMM_CLBLAST};

const char *mot__gemm_name(enum mot__gemm_kind kind)
{
    return (unsigned)kind < MOT__GEMM_KINDS ? candidates[kind].name : "unknown";
}

enum mot__gemm_kind mot__gemm_chosen(const mot__device *device, bool trans_a, bool trans_b)
{
    return device->gemm ? device->gemm->chosen[(trans_a ? 2 : 0) + (trans_b ? 1 : 0)]
                        : MOT__GEMM_AUTO;
}

void mot__gemm_clear(mot__device *device)
{
    mot__gemm_anew(device);
    mot__gemm_packs_drop(device);
    free(device->gemm);
    device->gemm = NULL;
}

mot_status mot__gemm_state(mot__device *device, struct mot__gemm_state **out)
{
    struct mot__gemm_state *state = device->gemm;
    size_t kind;

    if (!state) {
        state = calloc(1, sizeof *state);
        if (!state)
            return mot__fail(MOT_NO_MEMORY, "%zu bytes for GEMM", sizeof *state);
        for (kind = 0; kind < MOT__GEMM_KINDS; kind++)
            state->run[kind] = candidates[kind].run;
        mot__gemm_tile_shape(device, state);
        device->gemm = state;
    }
    *out = state;
    return MOT_OK;
}

/* ---- the choice ---- */

/* Without a wish: our tile on CPUs, on simulators and where CLBlast is suspect; CLBlast, where it
 * is built in, on other GPUs. */
static enum mot__gemm_kind shipped(const mot__device *device, const struct mot__gemm_state *state,
                                   const enum mot__gemm_kind *order)
{
    const struct mot_device_info *info = &device->facts.info;

    return order == gpu_order && state->run[MOT__GEMM_CLBLAST] && !info->simulator &&
                   !mot__quirk_has(info, MOT__QUIRK_CLBLAST_SUSPECT, NULL)
               ? MOT__GEMM_CLBLAST
               : order[0];
}

static mot_status check_kind(const struct mot__gemm_state *state, enum mot__gemm_kind kind)
{
    if (kind == MOT__GEMM_CLBLAST && !state->run[kind])
        return mot__fail(MOT_UNSUPPORTED, "gemm: this build has no CLBlast");
    if ((unsigned)kind >= MOT__GEMM_KINDS || !state->run[kind])
        return mot__fail(MOT_BAD_ARG, "gemm: there is no candidate %d", (int)kind);
    return MOT_OK;
}

/* From the store: "<sum of the text> right" or "<sum> <why not>"; else by testing. A verdict holds
 * for one orientation and for the kernel's text as it was then. */
static mot_status verdict(mot__device *device, enum mot__gemm_kind kind, size_t way, bool *good,
                          char *why)
{
    char key[48], line[WHY_BYTES + 32], sum[24], label[MOT__GEMM_LABEL];
    mot_status status = kind == MOT__GEMM_CLBLAST ? mot__gemm_begin_set(device) : MOT_OK;
    bool found;

    if (status != MOT_OK)
        return status;
    mot__gemm_label(kind, device->gemm->set, label);
    snprintf(key, sizeof key, "gemm.%s.%c%c", label, way & 2 ? 't' : 'n', way & 1 ? 't' : 'n');
    snprintf(sum, sizeof sum, "%016llx ",
             (unsigned long long)mot__program_sum(candidates[kind].program));
    status = mot__store_get(device, key, line, sizeof line, &found);
    if (status != MOT_OK)
        return status;
    if (found && strncmp(line, sum, strlen(sum)) == 0) {
        snprintf(why, WHY_BYTES, "%.*s", WHY_BYTES - 1, line + strlen(sum));
        *good = strcmp(why, "right") == 0;
        return MOT_OK;
    }
    status = mot__gemm_test(device, kind, way & 2, way & 1, good, why, WHY_BYTES);
    if (status != MOT_OK)
        return status;
    why[strcspn(why, "\n")] = '\0';
    snprintf(line, sizeof line, "%s%s", sum, why);
    return mot__store_set(device, key, line);
}

static size_t way_of(bool trans_a, bool trans_b)
{
    return (trans_a ? 2u : 0u) + (trans_b ? 1u : 0u);
}

mot_status mot__gemm_trusted(mot__device *device, enum mot__gemm_kind kind, bool trans_a,
                             bool trans_b, bool *good)
{
    struct mot__gemm_state *state = NULL;
    char why[WHY_BYTES];
    mot_status status = mot__gemm_state(device, &state);

    *good = false;
    if (status == MOT_OK)
        status = verdict(device, kind, way_of(trans_a, trans_b), good, why);
    return status == MOT_NO_MEMORY ? MOT_OK : status; /* what cannot be tested is not trusted */
}

static const enum mot__gemm_kind *order_of(const mot__device *device)
{
    return device->facts.device_class == MOT_CLASS_CPU ? cpu_order : gpu_order;
}

static enum mot__gemm_kind first_of(const mot__device *device, const struct mot__gemm_state *state)
{
    const enum mot__gemm_kind *order = order_of(device);

    return device->gemm_wish == MOT__GEMM_TILE   ? order[0]
           : device->gemm_wish == MOT__GEMM_AUTO ? shipped(device, state, order)
                                                 : device->gemm_wish;
}

/* The first wish for a device, then the row of its class without it. */
static mot_status choose(mot__device *device, struct mot__gemm_state *state, size_t way)
{
    const enum mot__gemm_kind *order = order_of(device), first = first_of(device, state);
    mot_status status = check_kind(state, first);
    enum mot__gemm_kind kind;
    char why[WHY_BYTES] = "";
    bool good = false;
    size_t i;

    if (status != MOT_OK)
        return status;
    for (i = 0; i <= ORDER && !good; i++) {
        kind = i == 0 ? first : order[i - 1];
        if (i > 0 && (kind == first || !state->run[kind]))
            continue;
        status = verdict(device, kind, way, &good, why);
        if (status == MOT_NO_MEMORY && kind == MOT__GEMM_CLBLAST) {
            good = false; /* too little for its large test: not trusted, and nothing remembered */
            snprintf(why, sizeof why, "%s", mot_error());
        } else if (status != MOT_OK) {
            return mot__fail_in(status, "testing GEMM by %s", mot__gemm_name(kind));
        }
        if (good)
            state->chosen[way] = kind;
    }
    return good ? MOT_OK
                : mot__fail(MOT_DEVICE_FAILED, "%s: no GEMM computes rightly here; the last: %s",
                            device->facts.info.name, why);
}

/* ---- the call ---- */

static mot_status check(const struct mot__gemm *gemm)
{
    const size_t most = UINT32_MAX / 2;

    if (gemm->accumulate && (gemm->bias.buffer || gemm->act != MOT_ACT_NONE))
        return mot__fail(MOT_BAD_ARG, "gemm: C += ... has no bias and no activation");
    if ((int)gemm->act < MOT_ACT_NONE || gemm->act > MOT_ACT_TANH || gemm->act == MOT_ACT_GELU)
        return mot__fail(MOT_BAD_ARG, "gemm: activation %d cannot be fused", (int)gemm->act);
    if (gemm->m > most || gemm->n > most || gemm->k > most)
        return mot__fail(MOT_BAD_SHAPE, "gemm: %zu x %zu x %zu is too large", gemm->m, gemm->n,
                         gemm->k);
    return MOT_OK;
}

mot_status mot__gemm_by(mot__device *device, enum mot__gemm_kind kind, const struct mot__gemm *gemm)
{
    struct mot__gemm_state *state = NULL;
    mot_status status = mot__gemm_state(device, &state);

    if (status == MOT_OK)
        status = check(gemm);
    if (status != MOT_OK || gemm->m == 0 || gemm->n == 0)
        return status;
    status = check_kind(state, kind);
    if (status == MOT_OK && gemm->k > 0)
        return state->run[kind](device, gemm);
    return status != MOT_OK || gemm->accumulate ? status : mot__gemm_epilogue(device, gemm, true);
}

mot_status mot__gemm_choose(mot__device *device, bool trans_a, bool trans_b,
                            enum mot__gemm_kind *out)
{
    const size_t way = way_of(trans_a, trans_b);
    struct mot__gemm_state *state = NULL;
    mot_status status = mot__gemm_state(device, &state);

    if (status == MOT_OK && state->chosen[way] == MOT__GEMM_AUTO)
        status = choose(device, state, way);
    if (status == MOT_OK)
        *out = state->chosen[way];
    return status;
}

/* By one that needs no memory but the operands'. */
static mot_status by_spare(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm_state *state = device->gemm;
    const size_t way = way_of(gemm->trans_a, gemm->trans_b);
    const enum mot__gemm_kind *order = order_of(device);
    mot_status status = MOT_OK;
    char why[WHY_BYTES];
    bool good = false;
    size_t i;

    for (i = 0; i < ORDER && state->spare[way] == MOT__GEMM_AUTO; i++) {
        if (order[i] == MOT__GEMM_CLBLAST || !state->run[order[i]])
            continue;
        status = verdict(device, order[i], way, &good, why);
        if (status != MOT_OK)
            return status;
        if (good)
            state->spare[way] = order[i];
    }
    if (state->spare[way] == MOT__GEMM_AUTO)
        return mot__fail(MOT_NO_MEMORY,
                         "%s: CLBlast has no memory for a product, and no other "
                         "GEMM computes rightly here",
                         device->facts.info.name);
    return mot__gemm_by(device, state->spare[way], gemm);
}

mot_status mot__gemm(mot__device *device, const struct mot__gemm *gemm)
{
    enum mot__gemm_kind kind = MOT__GEMM_AUTO;
    mot_status status = mot__gemm_tuned(device, gemm, &kind);

    if (status == MOT_OK && kind == MOT__GEMM_AUTO)
        status = mot__gemm_choose(device, gemm->trans_a, gemm->trans_b, &kind);
    if (status == MOT_OK)
        status = mot__gemm_by(device, kind, gemm);
    return status == MOT_NO_MEMORY && kind == MOT__GEMM_CLBLAST ? by_spare(device, gemm) : status;
}

mot_status mot__gemm_packs(mot__device *device, const struct mot__gemm *gemm, size_t *bytes)
{
    struct mot__gemm_state *state = NULL;
    enum mot__gemm_kind kind = MOT__GEMM_AUTO;
    mot_status status = mot__gemm_state(device, &state);

    *bytes = 0;
    if (status == MOT_OK)
        status = mot__gemm_remembered(device, gemm, &kind);
    if (status != MOT_OK || gemm->m == 0 || gemm->n == 0 || gemm->k == 0)
        return status;
    if (kind == MOT__GEMM_AUTO)
        kind = first_of(device, state);
    return kind == MOT__GEMM_CLBLAST && state->run[kind]
               ? mot__gemm_clblast_packs(device, gemm, bytes)
               : MOT_OK;
}
