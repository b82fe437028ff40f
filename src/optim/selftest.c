/* selftest.c - does this device update to the host's bits? Hard values through the rule in use. */
#include "base/text.h"
#include "optim/optim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS = 4096, STEPS = 3, ARRAYS = 4 /* g, p, two slots */ };

/* Host and device side by side; small is verdict, record and the norm's parts. */
struct bench {
    float *host[ARRAYS], *back;
    float record[MOT__RECORD_FLOATS], verdict[MOT__VERDICT_FLOATS], partials[MOT__NORM_PARTS];
    mot__buffer *array[ARRAYS], *record_buffer, *verdict_buffer, *partials_buffer;
};

static void bench_clear(struct bench *bench)
{
    size_t i;

    for (i = 0; i < ARRAYS; ++i) {
        mot__buffer_close(bench->array[i]);
        free(bench->host[i]);
    }
    mot__buffer_close(bench->record_buffer);
    mot__buffer_close(bench->verdict_buffer);
    mot__buffer_close(bench->partials_buffer);
    free(bench->back);
}

/* bench is all zero; what is there after a failure, _clear takes back too. */
static mot_status bench_init(mot__device *device, struct bench *bench)
{
    mot_status status = MOT_OK;
    bool failed = !(bench->back = calloc(FLOATS, sizeof(float)));
    size_t i;

    for (i = 0; !failed && i < ARRAYS; ++i)
        failed = !(bench->host[i] = calloc(FLOATS, sizeof(float)));
    if (failed)
        return mot__fail(MOT_NO_MEMORY, "update's self-test: %d floats", FLOATS);
    for (i = 0; i < ARRAYS; ++i)
        MOT_TRY(mot__buffer_open(device, FLOATS * sizeof(float), &bench->array[i]));
    MOT_TRY(mot__buffer_open(device, sizeof bench->record, &bench->record_buffer));
    MOT_TRY(mot__buffer_open(device, sizeof bench->verdict, &bench->verdict_buffer));
    MOT_TRY(mot__buffer_open(device, sizeof bench->partials, &bench->partials_buffer));
done:
    return status;
}

static mot_status begin(struct bench *bench, uint64_t seed)
{
    mot_status status = MOT_OK;
    size_t i;

    mot__verdict_start(bench->verdict);
    mot__optim_hard_values(seed, FLOATS, bench->host[1]);
    memset(bench->host[2], 0, FLOATS * sizeof(float));
    memset(bench->host[3], 0, FLOATS * sizeof(float));
    for (i = 1; i < ARRAYS; ++i)
        MOT_TRY(mot__buffer_write(bench->array[i], 0, bench->host[i], FLOATS * sizeof(float)));
    MOT_TRY(mot__buffer_write(bench->verdict_buffer, 0, bench->verdict, sizeof bench->verdict));
done:
    return status;
}

/* One step on both sides. The gradient is kept below what a clipped norm can square. */
static mot_status step(mot__device *device, const struct mot_optimizer *optimizer,
                       struct bench *bench, uint64_t seed)
{
    const struct mot__update piece = {.n = FLOATS,
                                      .g = {bench->array[0], 0},
                                      .p = {bench->array[1], 0},
                                      .slot = {{bench->array[2], 0}, {bench->array[3], 0}},
                                      .verdict = {bench->verdict_buffer, 0}};
    const struct mot__mem record = {bench->record_buffer, 0}, parts = {bench->partials_buffer, 0};
    mot_status status = MOT_OK;
    size_t i;

    mot__optim_hard_values(seed, FLOATS, bench->host[0]);
    for (i = 0; optimizer->clip_norm > 0 && i < FLOATS; ++i)
        if (bench->host[0][i] > 1e15f || bench->host[0][i] < -1e15f)
            bench->host[0][i] = 3e-39f;
    bench->record[MOT__RECORD_LOSS] = 0.1f * (float)(seed + 1);
    bench->record[MOT__RECORD_COUNT] = 3.0f + (float)(seed % 7);
    MOT_TRY(mot__buffer_write(bench->array[0], 0, bench->host[0], FLOATS * sizeof(float)));
    MOT_TRY(mot__buffer_write(bench->record_buffer, 0, bench->record, sizeof bench->record));
    if (optimizer->clip_norm > 0)
        MOT_TRY(mot__norm_launch(device, &piece, 1, parts));
    MOT_TRY(mot__verdict_launch(device, optimizer, optimizer->lr, record, parts, piece.verdict));
    MOT_TRY(mot__update_launch(device, optimizer, optimizer->lr, &piece));

    mot__norm_host(bench->host[0], FLOATS, bench->partials, 0);
    mot__verdict_host(optimizer, optimizer->lr, bench->record, bench->partials, bench->verdict);
    mot__update_host(optimizer, optimizer->lr, FLOATS, bench->host[1], bench->host[0],
                     bench->host[2], bench->host[3], bench->verdict);
done:
    return status;
}

static mot_status compare(struct bench *bench, const char *rule, bool *good, char *why,
                          size_t bytes)
{
    static const char *const name[ARRAYS] = {"gradient", "parameter", "first state",
                                             "second state"};
    float verdict[MOT__VERDICT_FLOATS];
    mot_status status = MOT_OK;
    size_t a, i;

    MOT_TRY(mot__buffer_read(bench->verdict_buffer, 0, verdict, sizeof verdict));
    if (memcmp(verdict, bench->verdict, sizeof verdict) != 0) {
        *good = false;
        snprintf(why, bytes, "%s: the verdict differs from the host's bits", rule);
    }
    for (a = 1; *good && a < ARRAYS; ++a) {
        MOT_TRY(mot__buffer_read(bench->array[a], 0, bench->back, FLOATS * sizeof(float)));
        for (i = 0; *good && i < FLOATS; ++i)
            if (memcmp(&bench->back[i], &bench->host[a][i], sizeof(float)) != 0) {
                *good = false;
                mot__text_into(why, bytes, "%s: %s %zu is %a, the host has %a", rule, name[a], i,
                               (double)bench->back[i], (double)bench->host[a][i]);
            }
    }
done:
    return status;
}

/* One row for each way a rule is computed; the numbers are our own, to be hard. */
static const struct row {
    const char *name;
    struct mot_optimizer optimizer;
} rows[] = {
    {"SGD", {.rule = MOT_RULE_SGD, .lr = 0.1, .weight_decay = 1e-3}},
    {"momentum", {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .nesterov = false}},
    {"Nesterov", {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .nesterov = true}},
    {"Adam", {.rule = MOT_RULE_ADAM, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
    {"AdamW",
     {.rule = MOT_RULE_ADAMW,
      .lr = 1e-3,
      .beta1 = 0.8,
      .beta2 = 0.99,
      .epsilon = 1e-7,
      .weight_decay = 0.01}},
};

static const struct row *row_of(const struct mot_optimizer *optimizer)
{
    size_t r;

    for (r = 0; r + 1 < MOT__COUNT(rows); ++r)
        if (rows[r].optimizer.rule == optimizer->rule &&
            (rows[r].optimizer.momentum > 0) == (optimizer->momentum > 0) &&
            (optimizer->momentum <= 0 || rows[r].optimizer.nesterov == optimizer->nesterov))
            break;
    return &rows[r];
}

static mot_status test(mot__device *device, const struct row *row, bool clip, bool *good, char *why,
                       size_t bytes)
{
    struct mot_optimizer optimizer = row->optimizer;
    mot_status status = MOT_OK;
    struct bench bench = {0};
    uint64_t seed = 1 + 4 * (uint64_t)(row - rows);
    size_t s;

    optimizer.clip_norm = clip ? 2 : 0;
    mot__device_aside_begin(device);
    MOT_TRY(bench_init(device, &bench));
    MOT_TRY(begin(&bench, seed++));
    for (s = 0; s < STEPS; ++s)
        MOT_TRY(step(device, &optimizer, &bench, seed++));
    MOT_TRY(mot__device_finish(device));
    MOT_TRY(compare(&bench, row->name, good, why, bytes));
done:
    bench_clear(&bench);
    mot__device_aside_end(device);
    return status;
}

mot_status mot__optim_selftest(mot__device *device, const struct mot_optimizer *optimizer,
                               bool fresh, bool *good, char *why, size_t bytes)
{
    const struct row *row = row_of(optimizer);
    const bool clip = optimizer->clip_norm > 0;
    const bool cpu = mot__device_facts(device)->device_class == MOT_CLASS_CPU;
    char told[256] = "", key[80];
    mot_status status = MOT_OK;
    bool found = false;

    *good = true;
    if (bytes > 0)
        *why = '\0';
    /* Each class computes with vectors of its own. */
    snprintf(key, sizeof key, "optim.%s.%s%s.%016llx", cpu ? "cpu" : "gpu", row->name,
             clip ? ".clip" : "", (unsigned long long)mot__program_sum("update"));
    if (!fresh)
        MOT_TRY(mot__store_get(device, key, told, sizeof told, &found));
    if (found) {
        *good = strcmp(told, "good") == 0;
    } else {
        MOT_TRY(test(device, row, clip, good, told, sizeof told));
        MOT_TRY(mot__store_set(device, key, *good ? "good" : told));
    }
    if (!*good)
        snprintf(why, bytes, "%s", told);
done:
    return status;
}
