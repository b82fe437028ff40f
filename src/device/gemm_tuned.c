/* gemm_tuned.c - which candidate tuning found best for a product. A product is known by its
 * orientation and its sizes rounded up to powers of two. The store is asked while a plan is
 * rehearsed; what it said then, or that it said nothing, holds as long as the device is open, so
 * that a step touches no file and a run keeps its kernels. */
#include "device/gemm_parts.h"
#include "device/tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static size_t power_of_two(size_t n)
{
    size_t power = 1;

    while (power < n)
        power *= 2;
    return power;
}

static struct mot__gemm_row row_of(const struct mot__gemm *gemm)
{
    return (struct mot__gemm_row){.trans_a = gemm->trans_a,
                                  .trans_b = gemm->trans_b,
                                  .m = power_of_two(gemm->m),
                                  .n = power_of_two(gemm->n),
                                  .k = power_of_two(gemm->k)};
}

void mot__gemm_what(const struct mot__gemm *gemm, char out[MOT__GEMM_WHAT])
{
    const struct mot__gemm_row row = row_of(gemm);

    snprintf(out, MOT__GEMM_WHAT, "gemm.%c%c.%zu.%zu.%zu", row.trans_a ? 't' : 'n',
             row.trans_b ? 't' : 'n', row.m, row.n, row.k);
}

void mot__gemm_label(enum mot__gemm_kind kind, size_t set, char out[MOT__GEMM_LABEL])
{
    if (kind == MOT__GEMM_CLBLAST && set > 0)
        snprintf(out, MOT__GEMM_LABEL, "%s-%zu", mot__gemm_name(kind), set);
    else
        snprintf(out, MOT__GEMM_LABEL, "%s", mot__gemm_name(kind));
}

bool mot__gemm_parse(const char *label, enum mot__gemm_kind *kind, size_t *set)
{
    char name[MOT__GEMM_LABEL];
    enum mot__gemm_kind k;
    size_t s;

    for (k = MOT__GEMM_AUTO + 1; k < MOT__GEMM_KINDS; k++)
        for (s = 0; s <= (k == MOT__GEMM_CLBLAST ? mot__gemm_sets() : 0); s++) {
            mot__gemm_label(k, s, name);
            if (strcmp(name, label) != 0)
                continue;
            *kind = k;
            *set = s;
            return true;
        }
    return false;
}

/* ---- the table ---- */

static bool same(const struct mot__gemm_row *a, const struct mot__gemm_row *b)
{
    return a->trans_a == b->trans_a && a->trans_b == b->trans_b && a->m == b->m && a->n == b->n &&
           a->k == b->k;
}

/* The same product with more rows of the batch, which are m or, for gradients of weights, k: the
 * last batch of an epoch is computed by the kernels that the full ones were rehearsed with. */
static bool covers(const struct mot__gemm_row *row, const struct mot__gemm_row *wanted)
{
    return row->trans_a == wanted->trans_a && row->trans_b == wanted->trans_b &&
           row->n == wanted->n &&
           (wanted->trans_a ? row->m == wanted->m && row->k > wanted->k
                            : row->k == wanted->k && row->m > wanted->m);
}

static const struct mot__gemm_row *find(const struct mot__gemm_state *state,
                                        const struct mot__gemm_row *wanted, bool *exact)
{
    const struct mot__gemm_row *row, *best = NULL;

    *exact = false;
    for (row = state->tuned; row < state->tuned + state->tuned_count; row++) {
        if (same(row, wanted)) {
            *exact = true;
            return row;
        }
        if (covers(row, wanted) && (!best || covers(best, row)))
            best = row;
    }
    return best;
}

static mot_status add(struct mot__gemm_state *state, const struct mot__gemm_row *row)
{
    const size_t count = state->tuned_count + 1;
    struct mot__gemm_row *grown = realloc(state->tuned, count * sizeof *grown);

    if (!grown)
        return mot__fail(MOT_NO_MEMORY, "%zu products", count);
    grown[count - 1] = *row;
    state->tuned = grown;
    state->tuned_count = count;
    return MOT_OK;
}

mot_status mot__gemm_remembered(mot__device *device, const struct mot__gemm *gemm,
                                enum mot__gemm_kind *out)
{
    char what[MOT__GEMM_WHAT];
    struct mot__gemm_state *state;
    struct mot__tuned tuned;
    enum mot__gemm_kind kind;
    bool found = false;
    size_t set;
    mot_status status = mot__gemm_state(device, &state);

    *out = MOT__GEMM_AUTO;
    if (status != MOT_OK || device->gemm_wish != MOT__GEMM_AUTO)
        return status;
    mot__gemm_what(gemm, what);
    status = mot__tuned_get(device, what, &tuned, &found);
    if (status != MOT_OK || !found || !mot__gemm_parse(tuned.choice, &kind, &set) ||
        !state->run[kind])
        return status;
    if (kind == MOT__GEMM_CLBLAST)
        status = mot__gemm_begin_set(device);
    if (status == MOT_OK && (kind != MOT__GEMM_CLBLAST || set == state->set))
        *out = kind; /* else it was measured with other parameters than it runs with */
    return status;
}

/* What the store says of a product, if that can be had here and computes rightly. */
static mot_status ask_store(mot__device *device, const struct mot__gemm *gemm,
                            enum mot__gemm_kind *out)
{
    mot_status status = mot__gemm_remembered(device, gemm, out);
    bool good = false;

    if (status != MOT_OK || *out == MOT__GEMM_AUTO)
        return status;
    status = mot__gemm_trusted(device, *out, gemm->trans_a, gemm->trans_b, &good);
    if (!good)
        *out = MOT__GEMM_AUTO;
    return status;
}

mot_status mot__gemm_tuned(mot__device *device, const struct mot__gemm *gemm,
                           enum mot__gemm_kind *out)
{
    struct mot__gemm_row wanted = row_of(gemm);
    const struct mot__gemm_row *row;
    struct mot__gemm_state *state;
    mot_status status = mot__gemm_state(device, &state);
    bool exact;

    *out = MOT__GEMM_AUTO;
    if (status != MOT_OK || device->gemm_wish != MOT__GEMM_AUTO)
        return status;
    row = find(state, &wanted, &exact);
    if (exact || !mot__device_rehearsing(device)) {
        *out = row ? row->kind : MOT__GEMM_AUTO;
        return MOT_OK;
    }
    status = ask_store(device, gemm, &wanted.kind);
    if (status == MOT_OK)
        status = add(device->gemm, &wanted);
    *out = wanted.kind;
    return status;
}

void mot__gemm_anew(mot__device *device)
{
    if (!device->gemm)
        return;
    free(device->gemm->tuned);
    device->gemm->tuned = NULL;
    device->gemm->tuned_count = 0;
}

size_t mot__gemm_asked(const mot__device *device)
{
    return device->gemm ? device->gemm->tuned_count : 0;
}

void mot__gemm_unask(mot__device *device, size_t rows)
{
    if (device->gemm && device->gemm->tuned_count > rows)
        device->gemm->tuned_count = rows;
}

size_t mot__gemm_set(const mot__device *device)
{
    return device->gemm ? device->gemm->set : 0;
}

bool mot__gemm_wished(const mot__device *device)
{
    return device->gemm_wish != MOT__GEMM_AUTO;
}
