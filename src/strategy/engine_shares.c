/* engine_shares.c - who takes how many rows: as asked, by trial before the first step, and by what
 * the steps themselves took. */
#include "base/clock.h"
#include "strategy/copies.h"
#include "strategy/engine_inside.h"
#include "strategy/jobs.h"
#include "strategy/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_STEPS 64 /* without the replicas left out, before that is judged */
#define JUDGE_S 0.5

mot_status mot__engine_find_shares(mot__engine *engine)
{
    struct mot__common *common = &engine->common;
    /* Who asks for mirrored wants a copy on each; central storage has its state on the host. */
    const struct mot__balance_config config = {
        .lanes = common->replicas, .may_leave = common->config.strategy == MOT_STRATEGY_AUTO};
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
    if (common->balance && common->strategy->central)
        mot__balance_all(common->balance); /* a lane without rows still adds and updates its part */
done:
    return status;
}

static void set_weights(mot__engine *engine, const size_t *share)
{
    size_t i;

    for (i = 0; i < engine->common.replicas; i++)
        engine->weight[i] = (double)share[i];
    engine->shared_s = mot__clock_s();
}

double mot__engine_shared_s(const mot__engine *engine)
{
    return engine->shared_s;
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

/* What each device has room for. */
static mot_status find_most(mot__engine *engine, const struct mot__samples *samples, size_t rows)
{
    const struct mot__job_most payload = {samples, rows, engine->before};
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < engine->common.replicas; i++)
        engine->before[i] = SIZE_MAX; /* of those left out */
    MOT_TRY(mot__engine_call_all(engine, mot__job_most, &payload, sizeof payload));
    for (i = 0; i < engine->common.replicas; i++)
        mot__balance_most(engine->common.balance, i, engine->before[i]);
done:
    return status;
}

mot_status mot__engine_try_shares(mot__engine *engine, const struct mot__samples *samples,
                                  size_t rows, bool *changed)
{
    mot__balance *balance = engine->common.balance;
    mot_status status = MOT_OK;
    size_t i;

    *changed = false;
    if (!balance || rows == engine->balanced_rows)
        return MOT_OK;
    if (!engine->tried)
        MOT_TRY(run_trial(engine));
    MOT_TRY(find_most(engine, samples, rows));
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

/* ---- fewer replicas ---- */

/* Those with rows, or all of them, work together from here on; all lanes idle. */
static mot_status seat(mot__engine *engine, const size_t *share, bool all)
{
    size_t i, seats = 0;

    for (i = 0; i < engine->common.replicas; i++)
        engine->replica[i].seat = all || share[i] > 0 ? seats++ : MOT__NO_SEAT;
    engine->common.strategy = seats > 1 ? &mot__strategy_mirrored : &mot__strategy_single;
    return mot__engine_join(engine, seats);
}

static mot_status leave(mot__engine *engine, const struct mot__reviewed *found)
{
    mot_status status = MOT_OK;

    MOT_TRY(mot__engine_wait_all(engine));
    MOT_TRY(seat(engine, engine->share, false));
    engine->leaving.on = true;
    engine->leaving.since = engine->number;
    engine->leaving.began_s = mot__clock_s();
    engine->leaving.before_s = found->before_s;
    engine->leaving.kept = found->kept;
    engine->leaving.larger = found->larger;
done:
    return status;
}

static void tell_left(mot__engine *engine, double after_s, bool stay)
{
    const size_t lanes = engine->common.replicas, kept = engine->leaving.kept;
    const double rows = (double)engine->balanced_rows;
    struct mot_note note = {.kind = MOT_NOTE_SHARES, .step = engine->number, .replica = -1};
    char rates[96], advice[64] = "";

    snprintf(rates, sizeof rates, "(%zu: %.0f samples/s, %zu: %.0f, measured)", kept,
             rows / after_s, lanes, rows / engine->leaving.before_s);
    if (engine->leaving.larger)
        snprintf(advice, sizeof advice, "; try --batch %zu", engine->leaving.larger);
    if (stay)
        snprintf(note.text, sizeof note.text,
                 "step %llu: using %zu of %zu devices: batch %zu is too small for more %s%s",
                 (unsigned long long)engine->number, kept, lanes, engine->balanced_rows, rates,
                 advice);
    else
        snprintf(note.text, sizeof note.text,
                 "step %llu: using all %zu devices again: %zu would be no faster %s",
                 (unsigned long long)engine->number, lanes, kept, rates);
    mot__notes_add(&engine->notes, &note);
}

/* They were left out in vain: bring them up to date and take them in again, for good. */
static mot_status take_back(mot__engine *engine)
{
    const size_t lanes = engine->common.replicas;
    bool *to = calloc(lanes, sizeof *to);
    mot_status status = MOT_OK;
    size_t i;

    if (!to)
        return mot__fail(MOT_NO_MEMORY, "%zu marks", lanes);
    for (i = 0; i < lanes; i++)
        to[i] = engine->replica[i].seat == MOT__NO_SEAT;
    MOT_TRY(mot__copies_send(engine, mot__engine_first(engine), to));
    MOT_TRY(seat(engine, NULL, true));
    mot__balance_all(engine->common.balance);
    mot__balance_start(engine->common.balance, engine->balanced_rows, engine->share);
    set_weights(engine, engine->share);
done:
    free(to);
    return status;
}

/* Enough steps without the others: was it right? */
static mot_status judge_leaving(mot__engine *engine)
{
    const double gone_s = mot__clock_s() - engine->leaving.began_s;
    const double steps = (double)(engine->number - engine->leaving.since);
    double after_s;

    if (steps < JUDGE_STEPS || gone_s < JUDGE_S)
        return MOT_OK;
    engine->leaving.on = false;
    after_s = gone_s / steps;
    tell_left(engine, after_s, after_s < engine->leaving.before_s);
    return after_s < engine->leaving.before_s ? MOT_OK : take_back(engine);
}

mot_status mot__engine_review_shares(mot__engine *engine, size_t rows)
{
    struct mot__reviewed found;
    mot_status status = MOT_OK;

    if (!engine->common.balance || rows != engine->balanced_rows)
        return MOT_OK;
    if (engine->leaving.on)
        return judge_leaving(engine);
    mot__engine_split(engine, rows, engine->before);
    found = mot__balance_review(engine->common.balance, engine->share);
    if (found.what == MOT__REVIEW_KEEP)
        return MOT_OK;
    if (found.what == MOT__REVIEW_LEAVE)
        MOT_TRY(leave(engine, &found));
    else
        tell_shares(engine, &found);
    set_weights(engine, engine->share);
    engine->prepared_rows[true] = engine->prepared_rows[false] = 0; /* plans grow where they must */
done:
    return status;
}
