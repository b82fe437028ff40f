/* engine_shares.c - who takes how many rows: as asked, by trial before the first step, and by what
 * the steps themselves took. */
#include "base/text.h"
#include "strategy/engine_inside.h"
#include "strategy/jobs.h"
#include "strategy/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mot_status mot__engine_find_shares(mot__engine *engine)
{
    struct mot__common *common = &engine->common;
    const struct mot__balance_config config = {.lanes = common->replicas};
    enum mot__shares_kind kind;
    mot_status status = MOT_OK;
    size_t i;

    MOT_TRY(mot__shares_parse(common->config.shares, common->replicas, &kind, engine->weight));
    if (kind != MOT__SHARES_AUTO)
        return MOT_OK;
    for (i = 0; i < common->replicas; i++)
        engine->weight[i] = 1;
    if (common->replicas > 1)
        MOT_TRY(mot__balance_open(&config, &common->balance));
done:
    return status;
}

static void set_weights(mot__engine *engine, const size_t *share)
{
    size_t i;

    for (i = 0; i < engine->common.replicas; i++)
        engine->weight[i] = (double)share[i];
}

/* All lanes at once, as they will work. */
static mot_status run_trial(mot__engine *engine)
{
    const size_t lanes = engine->common.replicas;
    struct mot__pace *pace = calloc(lanes, sizeof *pace);
    mot_status status = MOT_OK;
    size_t i;

    if (!pace)
        return mot__fail(MOT_NO_MEMORY, "%zu paces", lanes);
    MOT_TRY(mot__engine_call_all(engine, mot__job_trial, &pace, sizeof pace));
    for (i = 0; i < lanes; i++) /* one with gradients to keep was not tried */
        if (pace[i].points > 0)
            mot__balance_set(engine->common.balance, i, &pace[i]);
    engine->tried = true;
done:
    if (status != MOT_DEVICE_LOST) /* a lane given up may still write there */
        free(pace);
    return status;
}

mot_status mot__engine_try_shares(mot__engine *engine, size_t rows, bool *changed)
{
    mot__balance *balance = engine->common.balance;
    mot_status status = MOT_OK;
    size_t i;

    *changed = false;
    if (!balance || rows == engine->balanced_rows)
        return MOT_OK;
    if (!engine->tried)
        MOT_TRY(run_trial(engine));
    mot__engine_split(engine, rows, engine->share);
    for (i = 0; i < engine->common.replicas; i++)
        engine->before[i] = engine->share[i];
    mot__balance_start(balance, rows, engine->share);
    set_weights(engine, engine->share);
    engine->balanced_rows = rows;
    *changed =
        memcmp(engine->before, engine->share, engine->common.replicas * sizeof *engine->share) != 0;
done:
    return status;
}

/* "3072 + 1024" */
static void write_shares(const size_t *share, size_t lanes, char *out, size_t bytes)
{
    size_t i, used = 0;

    out[0] = '\0';
    for (i = 0; i < lanes && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu", i ? " + " : "", share[i]);
}

static void tell_shares(mot__engine *engine, const struct mot__reviewed *found)
{
    const size_t lanes = engine->common.replicas;
    struct mot_note note = {.kind = MOT_NOTE_SHARES, .step = engine->number, .replica = -1};
    char now[96], before[96];

    write_shares(engine->share, lanes, now, sizeof now);
    write_shares(engine->before, lanes, before, sizeof before);
    snprintf(note.text, sizeof note.text,
             "step %llu: batch %zu = %s from here on (was %s): a step took %.3g ms and should take "
             "%.3g ms",
             (unsigned long long)engine->number, engine->balanced_rows, now, before,
             1e3 * found->before_s, 1e3 * found->after_s);
    mot__notes_add(&engine->notes, &note);
}

void mot__engine_review_shares(mot__engine *engine, size_t rows)
{
    mot__balance *balance = engine->common.balance;
    struct mot__reviewed found;

    if (!balance || rows != engine->balanced_rows)
        return;
    mot__engine_split(engine, rows, engine->before);
    found = mot__balance_review(balance, engine->share);
    if (found.what == MOT__REVIEW_KEEP)
        return;
    set_weights(engine, engine->share);
    engine->prepared_rows[true] = engine->prepared_rows[false] = 0; /* plans grow where they must */
    tell_shares(engine, &found);
}
