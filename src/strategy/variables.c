/* variables.c - the one copy on the host: fold, verdict, update, commit. */
#include "strategy/variables.h"

#include "base/size.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64
#define BLOCK 2048 /* floats: what an update touches at once stays in L1 and L2 */

struct copy {
    float *row[MOT__BESIDE_ROWS]; /* (floats) */
};

/* What a lane knows; the others read its weights inside a fold alone. */
struct lane {
    _Alignas(LINE) float verdict[MOT__VERDICT_FLOATS]; /* as committed */
    float next[MOT__VERDICT_FLOATS];                   /* of the running step */
    float record[MOT__RECORD_FLOATS];
    struct mot__odd_sum odd; /* of the running step */
    size_t now;              /* which copy holds */
    float *weights;
};

struct mot__variables {
    struct mot__variables_config config;
    size_t lanes, rows;
    struct copy copy[2];
    float *sum;      /* (floats): where an update has to wait for the norm */
    float *partials; /* (MOT__NORM_PARTS): so too */
    struct lane *lane;
};

/* ---- opening ---- */

static size_t rows_of(const struct mot__variables_config *config)
{
    return 1 + mot__optim_slots(&config->optimizer);
}

static bool clips(const struct mot__variables_config *config)
{
    return config->optimizer.clip_norm > 0;
}

size_t mot__variables_bytes(const struct mot__variables_config *config)
{
    return (2 * rows_of(config) + clips(config)) * config->floats * sizeof(float);
}

size_t mot__variables_held(const mot__variables *variables)
{
    return variables ? mot__variables_bytes(&variables->config) : 0;
}

static float *zeros(size_t floats)
{
    const size_t bytes = mot__size_round_up(mot__size_max(floats, 1) * sizeof(float), LINE);
    float *made = aligned_alloc(LINE, bytes);

    if (made)
        memset(made, 0, bytes);
    return made;
}

static bool open_copies(mot__variables *variables)
{
    const size_t floats = variables->config.floats;
    bool whole = true;
    size_t i, k;

    for (i = 0; i < 2; i++)
        for (k = 0; k < variables->rows; k++)
            whole = (variables->copy[i].row[k] = zeros(floats)) && whole;
    if (clips(&variables->config)) {
        whole = (variables->sum = zeros(floats)) && whole;
        whole = (variables->partials = zeros(MOT__NORM_PARTS)) && whole;
    }
    return whole;
}

mot_status mot__variables_open(const struct mot__variables_config *config, const float *start,
                               mot__variables **out)
{
    mot_status status = MOT_OK;
    mot__variables *variables = calloc(1, sizeof *variables);
    size_t i;

    if (!variables)
        return mot__fail(MOT_NO_MEMORY, "central storage's %zu bytes", sizeof *variables);
    variables->config = *config;
    variables->lanes = mot__group_lanes(config->group);
    variables->rows = rows_of(config);
    variables->lane = aligned_alloc(LINE, variables->lanes * sizeof *variables->lane);
    if (!variables->lane || !open_copies(variables)) {
        status = mot__fail(MOT_NO_MEMORY, "central storage of %zu bytes on the host",
                           mot__variables_bytes(config));
        goto done;
    }
    memset(variables->lane, 0, variables->lanes * sizeof *variables->lane);
    for (i = 0; i < variables->lanes; i++) {
        mot__verdict_start(variables->lane[i].verdict);
        variables->lane[i].verdict[MOT__VERDICT_STOP] = config->stop;
    }
    memcpy(variables->copy[0].row[0], start, config->floats * sizeof *start);
    *out = variables;
    variables = NULL;
done:
    mot__variables_close(variables);
    return status;
}

void mot__variables_close(mot__variables *variables)
{
    size_t i, k;

    if (!variables)
        return;
    for (i = 0; i < 2; i++)
        for (k = 0; k < MOT__BESIDE_ROWS; k++)
            free(variables->copy[i].row[k]);
    free(variables->sum);
    free(variables->partials);
    free(variables->lane);
    free(variables);
}

/* ---- a step ---- */

struct pass { /* one lane's work on one range */
    mot__variables *variables;
    size_t rank, begin;
    double lr;
};

static bool applies(const struct lane *lane)
{
    return lane->next[MOT__VERDICT_APPLY] != 0;
}

/* The new copy of [at, at + count), from the old one and the gradient's sum. */
static const float *update(const struct pass *pass, size_t at, const float *sum, size_t count)
{
    const mot__variables *variables = pass->variables;
    const struct lane *lane = &variables->lane[pass->rank];
    struct mot__beside rows = {{NULL}, {NULL}};
    size_t k;

    for (k = 0; k < variables->rows; k++) {
        rows.old[k] = variables->copy[lane->now].row[k] + at;
        rows.new[k] = variables->copy[!lane->now].row[k] + at;
    }
    mot__update_beside(&variables->config.optimizer, pass->lr, count, &rows, sum, lane->next);
    return rows.new[0];
}

static void decide(const struct pass *pass)
{
    mot__variables *variables = pass->variables;
    struct lane *lane = &variables->lane[pass->rank];

    memcpy(lane->next, lane->verdict, sizeof lane->next);
    mot__verdict_host(&variables->config.optimizer, pass->lr, lane->record, variables->partials,
                      lane->next);
}

static void fold_record(void *user, const float *sum)
{
    const struct pass *pass = user;

    struct lane *lane = &pass->variables->lane[pass->rank];

    memcpy(lane->record, sum, sizeof lane->record);
    lane->record[MOT__RECORD_ODD] = 0; /* what the devices have there is an older step's */
    lane->odd.found = false;
    if (!clips(&pass->variables->config))
        decide(pass);
}

static void fold_block(void *user, size_t at, float *sum, size_t count)
{
    const struct pass *pass = user;
    mot__variables *variables = pass->variables;
    const float *made;
    size_t i;

    if (clips(&variables->config)) {
        memcpy(variables->sum + pass->begin + at, sum, count * sizeof *sum);
        return;
    }
    if (!applies(&variables->lane[pass->rank]))
        return;
    made = update(pass, pass->begin + at, sum, count);
    for (i = 0; i < variables->lanes; i++)
        if (variables->lane[i].weights)
            memcpy(variables->lane[i].weights + at, made, count * sizeof *made);
}

mot_status mot__variables_reduce(mot__variables *variables, size_t rank, double lr, size_t begin,
                                 float *g, float *weights, size_t count)
{
    const bool last = begin + count > variables->config.floats;
    struct pass pass = {variables, rank, begin, lr};
    const struct mot__fold fold = {last ? MOT__RECORD_FLOATS : 0, fold_record, fold_block, &pass};

    struct lane *lane = &variables->lane[rank];
    struct mot__odd_sum odd;
    mot_status status;

    lane->weights = weights;
    status = mot__group_fold(variables->config.group, rank, g, count, &fold);
    if (status != MOT_OK)
        return status;
    odd = mot__group_odd(variables->config.group, rank);
    odd.index += begin;
    if (odd.found && (!lane->odd.found || odd.index > lane->odd.index))
        lane->odd = odd;
    return MOT_OK;
}

/* The lane's part of n floats, in whole lines. */
static size_t part_begin(const mot__variables *variables, size_t rank, size_t n)
{
    const size_t size = mot__size_round_up((n + variables->lanes - 1) / variables->lanes, 16);

    return mot__size_min(rank * size, n);
}

/* The sums are there: each lane squares some of the norm's parts, then all know the verdict. */
static mot_status clip(const struct pass *pass)
{
    mot__variables *variables = pass->variables;
    mot__group *group = variables->config.group;
    const size_t rank = pass->rank, floats = variables->config.floats;
    mot_status status = MOT_OK;
    size_t at, end;

    mot__norm_host_parts(variables->sum, floats, variables->partials,
                         part_begin(variables, rank, MOT__NORM_PARTS),
                         part_begin(variables, rank + 1, MOT__NORM_PARTS));
    MOT_TRY(mot__group_barrier(group, rank));
    decide(pass);
    end = part_begin(variables, rank + 1, floats);
    for (at = part_begin(variables, rank, floats); at < end && applies(&variables->lane[rank]);
         at += BLOCK)
        update(pass, at, variables->sum + at, mot__size_min(BLOCK, end - at));
    MOT_TRY(mot__group_barrier(group, rank));
done:
    return status;
}

mot_status mot__variables_commit(mot__variables *variables, size_t rank, double lr, bool *given)
{
    struct lane *lane = &variables->lane[rank];
    const struct pass pass = {variables, rank, 0, lr};
    const bool clipped = clips(&variables->config);
    mot_status status = MOT_OK;

    lane->record[MOT__RECORD_ODD] = lane->odd.found;
    if (clipped)
        status = clip(&pass);
    else if (lane->odd.found)
        decide(&pass); /* anew */
    if (status != MOT_OK)
        return status;
    memcpy(lane->verdict, lane->next, sizeof lane->verdict);
    if (applies(lane))
        lane->now = !lane->now;
    *given = applies(lane) && !clipped;
    return MOT_OK;
}

struct mot__odd_sum mot__variables_odd(const mot__variables *variables, size_t rank)
{
    return variables->lane[rank].odd;
}

const float *mot__variables_record(const mot__variables *variables, size_t rank)
{
    return variables->lane[rank].record;
}

/* ---- between steps ---- */

const float *mot__variables_now(const mot__variables *variables, size_t rank)
{
    return variables->copy[variables->lane[rank].now].row[0];
}

void mot__variables_write(mot__variables *variables, size_t offset, const float *value,
                          size_t count)
{
    memcpy(variables->copy[variables->lane[0].now].row[0] + offset, value, count * sizeof *value);
}

void mot__variables_metrics(mot__variables *variables, size_t rank,
                            float verdict[MOT__VERDICT_FLOATS])
{
    memcpy(verdict, variables->lane[rank].verdict, MOT__VERDICT_FLOATS * sizeof *verdict);
    mot__verdict_clear_metrics(variables->lane[rank].verdict);
}
