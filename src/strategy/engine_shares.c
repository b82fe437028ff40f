/* engine_shares.c - who takes how many rows: as asked, by trial before the first step, and by what
 * the steps themselves took. */
#include "base/clock.h"
#include "base/text.h"
#include "strategy/copies.h"
#include "strategy/engine_inside.h"
#include "strategy/jobs.h"
#include "strategy/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mot_status mot__engine_find_shares(mot__engine *engine)
{
    struct mot__common *common = &engine->common;
    /* Who asks for mirrored wants a copy on each; central storage has its state on the host. */
    const bool together = common->strategy->staged || common->replicas == 1;
    const struct mot__balance_config config = {.lanes = common->replicas,
                                               .may_leave = together && common->config.strategy ==
                                                                            MOT_STRATEGY_AUTO};
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
    mot__engine_free(engine, pace);
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
    mot__text_into(
        note.text, sizeof note.text,
        "step %llu: batch %zu = %s from here on (was %s): a step took %.3g ms and should take "
        "%.3g ms",
        (unsigned long long)engine->number, engine->balanced_rows, now, before,
        1e3 * found->before_s, 1e3 * found->after_s);
    mot__notes_add(&engine->notes, &note);
}

/* ---- fewer replicas, and more again ---- */

/* "device 1 is used again", "devices 1, 2 are used again"; nothing where there are none. */
static void write_some(const mot__engine *engine, const bool *some, const char *what, char *out,
                       size_t bytes)
{
    size_t i, count = 0, used = 0;
    char labels[128] = "";

    for (i = 0; i < engine->common.replicas && used < sizeof labels; i++)
        if (some[i])
            used += (size_t)snprintf(labels + used, sizeof labels - used, "%s%s",
                                     count++ ? ", " : "", mot__lane_label(engine->replica[i].lane));
    out[0] = '\0';
    if (count)
        snprintf(out, bytes, count > 1 ? "devices %s are %s" : "device %s is %s", labels, what);
}

static void tell_moved(mot__engine *engine, const struct mot__reviewed *found)
{
    struct mot_note note = {.kind = MOT_NOTE_SHARES, .step = engine->number, .replica = -1};
    char came[192], went[192];

    write_some(engine, engine->came, "used again", came, sizeof came);
    write_some(engine, engine->went, "left out", went, sizeof went);
    mot__text_into(note.text, sizeof note.text,
                   "step %llu: %s%s%s from here on: a step took %.3g ms and should take %.3g ms",
                   (unsigned long long)engine->number, came, came[0] && went[0] ? ", " : "", went,
                   1e3 * found->before_s, 1e3 * found->after_s);
    mot__notes_add(&engine->notes, &note);
}

/* Who comes back and who goes, if those with rows are to work together, or (share NULL) all. True:
 * somebody comes. */
static bool find_moved(mot__engine *engine, const size_t *share)
{
    bool some = false;
    size_t i;

    for (i = 0; i < engine->common.replicas; i++) {
        const bool out = engine->replica[i].seat == MOT__NO_SEAT, in = !share || share[i] > 0;

        engine->came[i] = out && in;
        engine->went[i] = !out && !in;
        some = some || engine->came[i];
    }
    return some;
}

/* Those with rows, or (share NULL) all, work together from here on. Who comes back is brought up to
 * date first. */
static mot_status seat(mot__engine *engine, const size_t *share)
{
    const mot_replica *like = &engine->replica[mot__engine_first(engine)];
    mot_status status = MOT_OK;
    size_t i, seats = 0;

    MOT_TRY(mot__engine_wait_all(engine));
    if (find_moved(engine, share))
        MOT_TRY(mot__copies_send(engine, mot__engine_first(engine), engine->came));
    for (i = 0; i < engine->common.replicas; i++)
        mot__replica_reseat(&engine->replica[i], !share || share[i] > 0 ? seats++ : MOT__NO_SEAT,
                            like);
    engine->common.strategy = seats > 1 ? &mot__strategy_mirrored : &mot__strategy_single;
    engine->prepared_rows[true] = engine->prepared_rows[false] = 0; /* some had no part in those */
    MOT_TRY(mot__engine_join(engine, seats));
done:
    return status;
}

static mot_status move(mot__engine *engine, const struct mot__reviewed *found)
{
    mot_status status = MOT_OK;
    size_t i;

    for (engine->leaving.were = i = 0; i < engine->common.replicas; i++)
        engine->leaving.were += engine->replica[i].seat != MOT__NO_SEAT;
    MOT_TRY(seat(engine, engine->share));
    tell_moved(engine, found);
    engine->leaving.on = found->what == MOT__REVIEW_LEAVE;
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
    char rates[96];

    snprintf(rates, sizeof rates, "(%zu: %.0f samples/s, %zu: %.0f, measured)", kept,
             rows / after_s, engine->leaving.were, rows / engine->leaving.before_s);
    if (!stay)
        snprintf(note.text, sizeof note.text,
                 "step %llu: using all %zu devices again: %zu would be no faster %s",
                 (unsigned long long)engine->number, lanes, kept, rates);
    else if (engine->leaving.larger)
        snprintf(note.text, sizeof note.text,
                 "step %llu: using %zu of %zu devices: batch %zu is too small for more %s; try "
                 "--batch %zu",
                 (unsigned long long)engine->number, kept, lanes, engine->balanced_rows, rates,
                 engine->leaving.larger);
    else
        snprintf(note.text, sizeof note.text,
                 "step %llu: using %zu of %zu devices: more are no help at batch %zu, nor at a "
                 "larger one %s",
                 (unsigned long long)engine->number, kept, lanes, engine->balanced_rows, rates);
    mot__notes_add(&engine->notes, &note);
}

/* They were left out in vain: take them in again, for good. */
static mot_status take_back(mot__engine *engine)
{
    mot_status status = seat(engine, NULL);

    if (status != MOT_OK)
        return status;
    mot__balance_all(engine->common.balance);
    mot__balance_start(engine->common.balance, engine->balanced_rows, engine->share);
    set_weights(engine, engine->share);
    return MOT_OK;
}

/* Enough steps were measured without the others: was it right? */
static mot_status judge_leaving(mot__engine *engine, double after_s)
{
    const bool stay = after_s < engine->leaving.before_s;

    engine->leaving.on = false;
    tell_left(engine, after_s, stay);
    return stay ? MOT_OK : take_back(engine);
}

/* ---- the review ---- */

/* An idle lane tells no pace; what it could do may have changed. */
static mot_status try_idle(mot__engine *engine)
{
    mot_status status = MOT_OK;
    size_t i;

    if (!mot__balance_idle(engine->common.balance, mot__clock_s(), engine->idle))
        return MOT_OK;
    for (i = 0; i < engine->common.replicas; i++)
        if (engine->idle[i])
            MOT_TRY(mot__lane_post(engine->replica[i].lane, mot__job_retry, &engine->replica[i],
                                   NULL, 0));
done:
    return status;
}

static mot_status change(mot__engine *engine, const struct mot__reviewed *found)
{
    mot_status status = MOT_OK;

    if (found->what == MOT__REVIEW_SHARE)
        tell_shares(engine, found);
    else
        MOT_TRY(move(engine, found));
    engine->prepared_rows[true] = engine->prepared_rows[false] = 0; /* plans may have to grow */
    set_weights(engine, engine->share);
done:
    return status;
}

mot_status mot__engine_review_shares(mot__engine *engine, size_t rows)
{
    struct mot__reviewed found;
    mot_status status = MOT_OK;

    if (!engine->common.balance || rows != engine->balanced_rows)
        return MOT_OK;
    MOT_TRY(try_idle(engine));
    mot__engine_split(engine, rows, engine->before);
    found = mot__balance_review(engine->common.balance, engine->share);
    /* The first review after a change asks for none: there is nothing else to do then. */
    if (engine->leaving.on && found.before_s > 0)
        return judge_leaving(engine, found.before_s);
    if (found.what != MOT__REVIEW_KEEP)
        MOT_TRY(change(engine, &found));
done:
    return status;
}
