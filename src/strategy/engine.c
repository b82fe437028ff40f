/* engine.c - hand the lanes their shards, keep count of steps, remember a failure for good. */
#include "base/clock.h"
#include "base/size.h"
#include "strategy/engine_inside.h"
#include "strategy/jobs.h"
#include "strategy/rungs.h"
#include "strategy/shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first bucket leaves as soon as it is worth a transfer, 1 MB, since nothing travels before it;
 * the others are large enough to hide a transfer's fixed cost, 4 MB. */
#define FIRST_FLOATS ((size_t)1 << 18)
#define BUCKET_FLOATS ((size_t)1 << 20)
#define BUCKETS_MOST ((size_t)MOT__STAGE_SLOTS / 2)

/* ---- all lanes at once ---- */

mot_status mot__engine_remember(mot__engine *engine, mot_status status)
{
    if (status != MOT_OK && engine->failed.status == MOT_OK)
        mot__story_take(status, &engine->failed);
    return status;
}

/* Where others waited in vain for a lane that was given up, that one's story is the cause. */
mot_status mot__engine_wait_all(mot__engine *engine)
{
    struct mot__story story = {MOT_OK, ""};
    mot_status one;
    size_t i;

    for (i = 0; i < engine->common.replicas; i++) {
        mot__lane *lane = engine->replica[i].lane;

        one = mot__lane_wait(lane);
        if (one != MOT_OK &&
            (story.status == MOT_OK || (story.status == MOT_TIMEOUT && mot__lane_tainted(lane))))
            mot__story_take(one, &story);
    }
    return mot__story_tell(&story);
}

static mot_status post_all(mot__engine *engine, mot__job_fn run, const void *payload, size_t bytes)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < engine->common.replicas && status == MOT_OK; i++)
        if (engine->replica[i].seat != MOT__NO_SEAT)
            status =
                mot__lane_post(engine->replica[i].lane, run, &engine->replica[i], payload, bytes);
    return status;
}

/* On those that are left out, too. */
static void close_replicas(mot__engine *engine)
{
    size_t i;

    for (i = 0; i < engine->common.replicas; i++)
        mot__lane_post(engine->replica[i].lane, mot__job_close, &engine->replica[i], NULL, 0);
    mot__engine_wait_all(engine);
}

mot_status mot__engine_call_all(mot__engine *engine, mot__job_fn run, const void *payload,
                                size_t bytes)
{
    mot_status status = post_all(engine, run, payload, bytes),
               waited = mot__engine_wait_all(engine);

    return status != MOT_OK ? status : waited;
}

bool mot__engine_tainted(const mot__engine *engine)
{
    size_t i;

    for (i = 0; i < engine->common.replicas; i++)
        if (mot__lane_tainted(engine->replica[i].lane))
            return true;
    return false;
}

void mot__engine_free(const mot__engine *engine, void *memory)
{
    if (!mot__engine_tainted(engine))
        free(memory);
}

/* The end of a call whose lanes wrote to memory of ours: the caller's copy. */
static mot_status hand_out(mot__engine *engine, mot_status status, void *ours, void *out,
                           size_t bytes)
{
    if (status == MOT_OK)
        memcpy(out, ours, bytes);
    mot__engine_free(engine, ours);
    return mot__engine_remember(engine, status);
}

/* ---- opening ---- */

static mot_status check_config(const struct mot_trainer_config *config)
{
    if ((int)config->strategy < MOT_STRATEGY_AUTO || config->strategy > MOT_STRATEGY_CENTRAL)
        return mot__fail(MOT_BAD_ARG, "strategy %d", (int)config->strategy);
    if ((int)config->on_nan < MOT_ON_NAN_STOP || config->on_nan > MOT_ON_NAN_SKIP)
        return mot__fail(MOT_BAD_ARG, "on_nan %d: there are stop and skip", (int)config->on_nan);
    if ((int)config->on_differ < MOT_ON_DIFFER_RESEND || config->on_differ > MOT_ON_DIFFER_STOP)
        return mot__fail(MOT_BAD_ARG, "on_differ %d: there are resend and stop",
                         (int)config->on_differ);
    if ((int)config->loss < MOT_LOSS_CROSS_ENTROPY || config->loss > MOT_LOSS_MSE)
        return mot__fail(MOT_BAD_ARG, "loss %d", (int)config->loss);
    if (config->accumulate == 0)
        return mot__fail(MOT_BAD_ARG, "accumulate = 0: an update needs one step at least");
    return mot__optim_check(&config->optimizer);
}

/* Where every lane's host side is its device memory there is no transfer to hide, and one bucket
 * has the fewest waits. */
static mot_status make_buckets(mot__engine *engine, bool copied)
{
    struct mot__common *common = &engine->common;
    const struct mot__parameters *table = &common->net->table;
    const size_t wish = engine->choice.bucket_floats, least = table->floats / BUCKETS_MOST;
    size_t first = SIZE_MAX, other = SIZE_MAX;

    if (copied) {
        first = mot__size_max(wish ? wish : FIRST_FLOATS, least);
        other = mot__size_max(wish ? wish : BUCKET_FLOATS, least);
    }
    return mot__buckets_make(table, MOT__RECORD_FLOATS, first, other, &common->bucket,
                             &common->buckets);
}

/* Bounds of buckets and pieces: frozen, the same for all lanes. */
static mot_status freeze_bounds(mot__engine *engine)
{
    struct mot__common *common = &engine->common;
    const struct mot__parameters *table = &common->net->table;
    size_t largest = (UINT32_MAX / 2) * sizeof(float); /* kernels count a piece in 32 bits */
    size_t i, one, least = 0;
    bool copied = false;
    mot_status status;

    for (i = 0; i < common->replicas; i++) {
        const struct mot__device_facts *facts =
            mot__device_facts(mot__lane_device(engine->replica[i].lane));

        one = mot__size_min(facts->largest_bytes, facts->memory_limit);
        if (engine->replica[i].windows == 0 && one < largest) {
            largest = one;
            least = i;
        }
        copied = copied || facts->staging == MOT__STAGING_COPY;
    }
    common->piece_floats = largest / sizeof(float);
    common->piece_floats -= mot__size_min(common->piece_floats, MOT__PIECE_RESERVE);
    status = mot__flat_cut(table, MOT__RECORD_FLOATS, common->piece_floats, &common->piece,
                           &common->pieces);
    return status != MOT_OK ? mot__rung_story(&engine->replica[least])
                            : make_buckets(engine, copied);
}

mot_status mot__engine_join(mot__engine *engine, size_t lanes)
{
    struct mot__common *common = &engine->common;
    mot_status status = MOT_OK;
    size_t i;

    mot__group_close(common->group);
    common->group = NULL;
    if (lanes < 2 && !common->strategy->staged)
        return MOT_OK;
    MOT_TRY(
        mot__group_open(lanes, common->net->table.floats + MOT__RECORD_FLOATS,
                        lanes == common->replicas ? engine->choice.algorithm : MOT__ALGORITHM_AUTO,
                        mot__fleet_deadline(engine->fleet), &common->group));
    for (i = 0; i < common->replicas; i++)
        if (engine->replica[i].seat != MOT__NO_SEAT)
            mot__group_on_sleep(common->group, engine->replica[i].seat, mot__lane_sleeps,
                                engine->replica[i].lane);
done:
    return status;
}

static mot_status start_values(mot__engine *engine)
{
    const struct mot__parameters *table = &engine->common.net->table;
    float *start = calloc(table->floats, sizeof *start);
    const float *payload = start;
    mot_status status = MOT_OK;
    size_t p, i;

    if (!start)
        return mot__fail(MOT_NO_MEMORY, "%zu initial values", table->floats);
    for (p = 0; p < table->count; p++)
        for (i = 0; i < table->row[p].count; i++)
            start[table->row[p].offset + i] =
                mot__parameter_start(table, p, engine->common.config.seed, i);
    if (engine->common.strategy->share)
        MOT_TRY(engine->common.strategy->share(&engine->common, start));
    MOT_TRY(mot__engine_call_all(engine, mot__job_open, &payload, sizeof payload));
done:
    mot__engine_free(engine, start);
    return status;
}

static mot_status open_replicas(mot__engine *engine, const struct mot_trainer_config *config)
{
    struct mot__common *common = &engine->common;
    const size_t lanes = mot_fleet_count(engine->fleet);
    size_t i;

    common->replicas = config->strategy == MOT_STRATEGY_SINGLE ? 1 : lanes;
    engine->weight = calloc(common->replicas, sizeof *engine->weight);
    engine->share = calloc(2 * common->replicas, sizeof *engine->share);
    engine->idle = calloc(3 * common->replicas, sizeof *engine->idle);
    if (!engine->weight || !engine->share || !engine->idle ||
        !(engine->replica = calloc(common->replicas, sizeof *engine->replica)))
        return mot__fail(MOT_NO_MEMORY, "%zu replicas", common->replicas);
    engine->before = engine->share + common->replicas;
    engine->came = engine->idle + common->replicas;
    engine->went = engine->came + common->replicas;
    for (i = 0; i < common->replicas; i++) {
        engine->replica[i].common = common;
        engine->replica[i].rank = engine->replica[i].seat = i;
        engine->replica[i].lane = mot__fleet_lane(engine->fleet, i);
        engine->replica[i].device = mot__lane_device(engine->replica[i].lane);
    }
    return MOT_OK;
}

mot_status mot__engine_open(mot_fleet *fleet, const mot_model *net,
                            const struct mot_trainer_config *config, mot__engine **out)
{
    return mot__engine_open_by(fleet, net, config, NULL, out);
}

mot_status mot__engine_open_by(mot_fleet *fleet, const mot_model *net,
                               const struct mot_trainer_config *config,
                               const struct mot__strategy *strategy, mot__engine **out)
{
    mot_status status = MOT_OK;
    mot__engine *engine = NULL;

    MOT_TRY(check_config(config));
    MOT_TRY(mot__model_check(net));
    engine = calloc(1, sizeof *engine);
    if (!engine)
        return mot__fail(MOT_NO_MEMORY, "an engine's %zu bytes", sizeof *engine);
    status = mot__notes_init(&engine->notes);
    if (status != MOT_OK) {
        free(engine);
        return status;
    }
    engine->common.notes = &engine->notes;
    engine->common.halted = &engine->halted;
    engine->common.agree = &engine->agree;
    engine->fleet = fleet;
    engine->common.config = *config;
    engine->lr = config->optimizer.lr;
    MOT_TRY(mot__model_copy(net, &engine->common.net));
    MOT_TRY(open_replicas(engine, config));
    MOT_TRY(mot__parts_make(engine->common.net, &engine->common.part, &engine->common.parts));
    engine->common.strategy = strategy;
    if (!strategy)
        MOT_TRY(mot__engine_pick(engine, config->strategy));
    if (engine->common.replicas > 1)
        MOT_TRY(mot__choice_read(fleet, engine->common.net->table.floats, &engine->choice));
    MOT_TRY(freeze_bounds(engine));
    MOT_TRY(mot__engine_find_shares(engine));
    engine->common.config.shares = NULL; /* the caller's string; read by now */
    if (engine->common.strategy->staged)
        MOT_TRY(mot__engine_join(engine, engine->common.replicas));
    MOT_TRY(mot__agree_open(&engine->common, &engine->agree));
    MOT_TRY(start_values(engine));
    *out = engine;
    engine = NULL;
done:
    mot__engine_close(engine);
    return status;
}

void mot__engine_close(mot__engine *engine)
{
    if (!engine)
        return;
    if (engine->replica) {
        close_replicas(engine);
        if (mot__engine_tainted(engine))
            return; /* an abandoned thread may still use it */
    }
    mot__notes_clear(&engine->notes);
    mot__agree_clear(&engine->agree);
    mot__balance_close(engine->common.balance);
    mot__variables_close(engine->common.variables);
    mot__group_close(engine->common.group);
    mot_model_close(engine->common.net);
    free(engine->common.bucket);
    free(engine->common.piece);
    free(engine->common.part);
    free(engine->replica);
    free(engine->weight);
    free(engine->share);
    free(engine->idle);
    free(engine);
}

const struct mot__common *mot__engine_common(const mot__engine *engine)
{
    return &engine->common;
}

const mot_replica *mot__engine_replica(const mot__engine *engine, size_t replica)
{
    return &engine->replica[replica];
}

const mot_fleet *mot__engine_fleet(const mot__engine *engine)
{
    return engine->fleet;
}

void mot__engine_split(const mot__engine *engine, size_t rows, size_t *share)
{
    mot__shares_split(rows, engine->weight, engine->common.replicas, share);
}

size_t mot__engine_first(const mot__engine *engine)
{
    size_t i = 0;

    while (engine->replica[i].seat != 0)
        i++;
    return i;
}

bool mot__engine_note(mot__engine *engine, struct mot_note *out)
{
    return mot__notes_take(&engine->notes, out);
}

size_t mot__engine_pending(const mot__engine *engine)
{
    return engine->pending;
}

void mot__engine_lr(mot__engine *engine, double lr)
{
    engine->lr = lr;
}

/* ---- preparing ---- */

mot_status mot__engine_check(const mot__engine *engine, const struct mot__samples *samples)
{
    const mot_model *net = engine->common.net;
    const size_t in = net->node[0].width, out = net->node[net->here].width;
    char shape[2][96];

    mot__shape_text(samples->shape, shape[0], sizeof shape[0]);
    mot__shape_text(net->node[0].shape, shape[1], sizeof shape[1]);
    if (samples->width != in)
        return mot__fail(MOT_BAD_SHAPE, "samples are %s but the network's input is %s", shape[0],
                         shape[1]);
    if (samples->target_width && samples->target_width != out)
        return mot__fail(MOT_BAD_SHAPE, "targets have %zu elements but the network has %zu outputs",
                         samples->target_width, out);
    if (!samples->target_width && samples->classes > out)
        return mot__fail(MOT_BAD_SHAPE, "%zu classes but the network has %zu outputs",
                         samples->classes, out);
    return MOT_OK;
}

static mot_status check_loss(const mot__engine *engine, const struct mot__samples *samples)
{
    if (!samples->target_width && !samples->classes)
        return mot__fail(MOT_BAD_ARG,
                         "these samples have neither labels nor targets to learn from");
    if (engine->common.config.loss == MOT_LOSS_MSE && !samples->target_width)
        return mot__fail(MOT_BAD_ARG, "squared error needs target rows; these samples have labels");
    return MOT_OK;
}

mot_status mot__engine_release(mot__engine *engine, bool training)
{
    engine->prepared_rows[training] = 0;
    return mot__engine_remember(
        engine, mot__engine_call_all(engine, mot__job_release, &training, sizeof training));
}

/* Of a replica's shards, for batches of so many rows; an empty shard needs a plan, too. */
static size_t most_rows(mot__engine *engine, size_t rows, size_t replica)
{
    mot__shares_most(rows, engine->weight, engine->common.replicas, engine->share);
    return mot__size_max(engine->share[replica], 1);
}

/* Plans and feeds on every lane for its share of so many rows. */
static mot_status make_plans(mot__engine *engine, struct mot__job_prepare payload, size_t rows)
{
    mot_status status = MOT_OK, waited;
    size_t i;

    for (i = 0; i < engine->common.replicas && status == MOT_OK; i++) {
        if (engine->replica[i].seat == MOT__NO_SEAT)
            continue;
        payload.rows = most_rows(engine, rows, i);
        status = mot__lane_post(engine->replica[i].lane, mot__job_prepare, &engine->replica[i],
                                &payload, sizeof payload);
    }
    waited = mot__engine_wait_all(engine);
    return status != MOT_OK ? status : waited;
}

mot_status mot__engine_plan(mot__engine *engine, const struct mot__engine_plan *wish,
                            struct mot_plan *out)
{
    struct mot__job_plan payload = {
        .train = wish->train, .test = wish->test, .resident = wish->resident, .out = out};
    mot_status status = MOT_OK;
    size_t i;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    for (i = 0; i < engine->common.replicas; i++) {
        out[i] = (struct mot_plan){.why = "left out"};
        if (engine->replica[i].seat == MOT__NO_SEAT)
            continue;
        payload.rows = most_rows(engine, wish->rows, i);
        payload.test_rows = most_rows(engine, wish->test_rows, i);
        MOT_TRY(mot__lane_call(engine->replica[i].lane, mot__job_plan, &engine->replica[i],
                               &payload, sizeof payload));
    }
    mot__engine_split(engine, wish->rows, engine->share);
    for (i = 0; i < engine->common.replicas; i++) {
        out[i].rows = engine->share[i];
        out[i].host = mot__variables_held(engine->common.variables);
        if (engine->share[i] == 0 && engine->replica[i].seat != MOT__NO_SEAT)
            snprintf(out[i].why, sizeof out[i].why, "no rows of so small a batch");
    }
done:
    return status;
}

static mot_status prepare(mot__engine *engine, const struct mot__samples *samples, size_t rows,
                          bool training, bool resident)
{
    const struct mot__job_prepare payload = {samples, 0, training, resident};
    mot_status status = MOT_OK;
    bool changed = false;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    MOT_TRY(mot__engine_check(engine, samples));
    if (training)
        MOT_TRY(check_loss(engine, samples));
    engine->prepared_rows[training] = 0; /* a failure leaves neither plan nor feed */
    MOT_TRY(make_plans(engine, payload, rows));
    if (training)
        MOT_TRY(mot__engine_try_shares(engine, samples, rows, &changed));
    if (changed)
        MOT_TRY(make_plans(engine, payload, rows));
    engine->prepared_id[training] = samples->id;
    engine->prepared_rows[training] = rows;
    engine->resident[training] = resident;
done:
    return status;
}

mot_status mot__engine_prepare(mot__engine *engine, const struct mot__samples *samples, size_t rows,
                               bool training, bool resident)
{
    mot_status status = MOT_OK;

    if (training && engine->prepared_rows[true] < rows)
        MOT_TRY(mot__engine_release(engine, false)); /* training takes its room first */
    MOT_TRY(prepare(engine, samples, rows, training, resident));
done:
    return status;
}

static mot_status prepare_for(mot__engine *engine, const mot_batch *batch, bool training)
{
    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    if (engine->prepared_id[training] == batch->samples->id &&
        engine->prepared_rows[training] >= batch->rows)
        return MOT_OK;
    return mot__engine_prepare(engine, batch->samples, batch->rows, training,
                               engine->prepared_id[training] == batch->samples->id &&
                                   engine->resident[training]);
}

/* ---- shards ---- */

/* Give every replica its rows; each holds the batch until its job has ended. */
static mot_status post_shards(mot__engine *engine, mot__job_fn run, struct mot__job_shard payload)
{
    mot_status status = MOT_OK;
    size_t i, begin = 0;

    mot__engine_split(engine, payload.batch->rows, engine->share);
    for (i = 0; i < engine->common.replicas && status == MOT_OK; i++) {
        if (engine->replica[i].seat == MOT__NO_SEAT)
            continue; /* its share is 0 */
        payload.begin = begin;
        payload.rows = engine->share[i];
        begin += engine->share[i];
        mot__batch_hold(payload.batch);
        status = mot__lane_post(engine->replica[i].lane, run, &engine->replica[i], &payload,
                                sizeof payload);
        if (status != MOT_OK)
            mot_batch_close(payload.batch);
    }
    return status;
}

static void end_group(mot__engine *engine)
{
    engine->number += engine->pending > 0;
    engine->pending = engine->pending_rows = 0;
}

/* A step was refused and none after it applied: say so once, and let the lanes go on. */
static mot_status tell_halt(mot__engine *engine)
{
    struct mot_metrics unused;

    return atomic_load(&engine->halted) ? mot__engine_metrics(engine, &unused) : MOT_OK;
}

mot_status mot__engine_step(mot__engine *engine, mot_batch *batch)
{
    struct mot__job_shard payload = {
        .batch = batch,
        .number = engine->number,
        .lr = engine->lr,
        .before = engine->pending_rows,
        .commit = engine->pending + 1 >= engine->common.config.accumulate,
    };
    mot_status status = MOT_OK;

    MOT_TRY(tell_halt(engine));
    MOT_TRY(mot__engine_settle(engine));
    if (engine->pending == 0)
        MOT_TRY(mot__engine_remember(engine, mot__engine_review_shares(engine, batch->rows)));
    MOT_TRY(prepare_for(engine, batch, true));
    MOT_TRY(mot__engine_remember(engine, post_shards(engine, mot__job_step, payload)));
    engine->pending++;
    engine->pending_rows += batch->rows;
    if (payload.commit)
        end_group(engine);
done:
    mot_batch_close(batch);
    return status;
}

mot_status mot__engine_run(mot__engine *engine, mot_batch *batch, mot_replica_fn fn, void *user)
{
    struct mot__story story = {MOT_OK, ""};
    mot_status status = MOT_OK, waited;

    if (engine->pending == 0)
        MOT_TRY(mot__engine_remember(engine, mot__engine_review_shares(engine, batch->rows)));
    MOT_TRY(prepare_for(engine, batch, true));
    status = post_shards(engine, mot__job_run,
                         (struct mot__job_shard){.batch = batch,
                                                 .number = engine->number,
                                                 .before = engine->pending_rows,
                                                 .fn = fn,
                                                 .user = user});
    waited = mot__engine_wait_all(engine);
    status = status != MOT_OK ? status : waited;
    if (mot__job_run_refused(
            status)) { /* other replicas have run: what added up is worth nothing */
        mot__story_take(status, &story);
        MOT_TRY(mot__engine_remember(engine, mot__engine_call_all(engine, mot__job_drop, NULL, 0)));
        end_group(engine);
        status = mot__story_tell(&story);
        goto done;
    }
    MOT_TRY(mot__engine_remember(engine, status));
    engine->pending++;
    engine->pending_rows += batch->rows;
done:
    mot_batch_close(batch);
    return status;
}

mot_status mot__engine_apply(mot__engine *engine)
{
    const double lr = engine->lr;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    if (atomic_load(&engine->halted))
        return tell_halt(engine);
    if (!engine->prepared_rows[true])
        return mot__fail(MOT_BAD_STATE, "mot_trainer_apply: nothing was run yet");
    end_group(engine);
    return mot__engine_remember(engine, post_all(engine, mot__job_apply, &lr, sizeof lr));
}

mot_status mot__engine_metrics(mot__engine *engine, struct mot_metrics *out)
{
    float *const verdict = engine->verdict, *const payload = verdict;
    mot_status status = MOT_OK;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    MOT_TRY(mot__engine_remember(
        engine, mot__engine_call_all(engine, mot__job_metrics, &payload, sizeof payload)));
    out->count = (uint64_t)verdict[MOT__VERDICT_COUNT];
    out->loss = ((double)verdict[MOT__VERDICT_LOSS] + (double)verdict[MOT__VERDICT_LOSS_LOW]) /
                (double)verdict[MOT__VERDICT_COUNT];
    out->accuracy =
        engine->common.config.loss == MOT_LOSS_MSE
            ? NAN
            : (double)verdict[MOT__VERDICT_CORRECT] / (double)verdict[MOT__VERDICT_COUNT];
    out->steps = (uint64_t)verdict[MOT__VERDICT_STEPS];
    out->skipped = (uint64_t)verdict[MOT__VERDICT_SKIPPED];
    atomic_store(&engine->halted, false);
    MOT_TRY(mot__engine_settle(engine));
    if (verdict[MOT__VERDICT_HALTED] > 0)
        status =
            mot__fail(MOT_BAD_NUMBER, "%s", engine->replica[mot__engine_first(engine)].trouble);
done:
    return status;
}

mot_status mot__engine_spent(mot__engine *engine, struct mot__spent *spent)
{
    const size_t lanes = engine->common.replicas;
    struct mot__spent *ours; /* nothing of those left out */

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    ours = calloc(lanes, sizeof *ours);
    if (!ours)
        return mot__fail(MOT_NO_MEMORY, "%zu replicas' times", lanes);
    return hand_out(engine, mot__engine_call_all(engine, mot__job_spent, &ours, sizeof ours), ours,
                    spent, lanes * sizeof *spent);
}

mot_status mot__engine_steady(mot__engine *engine, struct mot__steady *steady)
{
    const size_t lanes = engine->common.replicas;
    struct mot__steady *ours;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    ours = calloc(lanes, sizeof *ours);
    if (!ours)
        return mot__fail(MOT_NO_MEMORY, "%zu replicas' parts", lanes);
    return hand_out(engine, mot__engine_call_all(engine, mot__job_steady, &ours, sizeof ours), ours,
                    steady, lanes * sizeof *steady);
}

/* ---- evaluation ---- */

mot_status mot__engine_tally_begin(mot__engine *engine)
{
    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    return mot__engine_remember(engine, post_all(engine, mot__job_tally_begin, NULL, 0));
}

mot_status mot__engine_tally(mot__engine *engine, mot_batch *batch)
{
    mot_status status = MOT_OK;

    MOT_TRY(check_loss(engine, batch->samples));
    MOT_TRY(prepare_for(engine, batch, false));
    MOT_TRY(mot__engine_remember(
        engine, post_shards(engine, mot__job_tally, (struct mot__job_shard){.batch = batch})));
done:
    mot_batch_close(batch);
    return status;
}

mot_status mot__engine_tally_end(mot__engine *engine, struct mot_metrics *out)
{
    const size_t lanes = engine->common.replicas;
    float(*record)[MOT__RECORD_FLOATS] = calloc(lanes, sizeof *record);
    mot_status status = MOT_OK;
    double sum[MOT__RECORD_BAD + 1] = {0};
    size_t i, k;

    if (!record)
        return mot__fail(MOT_NO_MEMORY, "%zu records", lanes);
    MOT_TRY(mot__engine_remember(
        engine, mot__engine_call_all(engine, mot__job_tally_end, &record, sizeof record)));
    for (i = 0; i < lanes; i++)
        for (k = 0; k <= MOT__RECORD_BAD; k++)
            sum[k] += (double)record[i][k];
    *out = (struct mot_metrics){.loss = sum[MOT__RECORD_LOSS] / sum[MOT__RECORD_COUNT],
                                .accuracy = sum[MOT__RECORD_CORRECT] / sum[MOT__RECORD_COUNT],
                                .count = (uint64_t)sum[MOT__RECORD_COUNT]};
    if (engine->common.config.loss == MOT_LOSS_MSE)
        out->accuracy = NAN;
    if (sum[MOT__RECORD_BAD] > 0)
        out->loss = NAN;
done:
    mot__engine_free(engine, record);
    return status;
}

mot_status mot__engine_predict(mot__engine *engine, mot_batch *batch, float *out)
{
    const mot_model *net = engine->common.net;
    const size_t bytes = batch->rows * net->node[net->here].width * sizeof *out;
    mot_status status = MOT_OK, waited;
    float *ours;

    MOT_TRY(prepare_for(engine, batch, false));
    ours = malloc(bytes);
    if (!ours) {
        status = mot__fail(MOT_NO_MEMORY, "outputs of %zu rows", batch->rows);
        goto done;
    }
    status =
        post_shards(engine, mot__job_predict, (struct mot__job_shard){.batch = batch, .out = ours});
    waited = mot__engine_wait_all(engine);
    status = hand_out(engine, status != MOT_OK ? status : waited, ours, out, bytes);
done:
    mot_batch_close(batch);
    return status;
}

/* ---- variables ---- */

mot_status mot__engine_read(mot__engine *engine, size_t replica, size_t offset, float *out,
                            size_t count)
{
    struct mot__job_flat payload = {.offset = offset, .count = count};
    mot_replica *from = &engine->replica[replica];

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    if (from->seat == MOT__NO_SEAT)
        return mot__fail(MOT_BAD_STATE, "replica %zu was left out and has no copy", replica);
    payload.out = malloc(count * sizeof *out);
    if (!payload.out)
        return mot__fail(MOT_NO_MEMORY, "%zu parameters", count);
    return hand_out(engine,
                    mot__lane_call(from->lane, mot__job_read, from, &payload, sizeof payload),
                    payload.out, out, count * sizeof *out);
}

mot_status mot__engine_write(mot__engine *engine, size_t offset, const float *value, size_t count)
{
    struct mot__job_flat payload = {.offset = offset, .count = count};
    mot_status status;
    float *ours;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    payload.value = ours = malloc(count * sizeof *value);
    if (!ours)
        return mot__fail(MOT_NO_MEMORY, "%zu parameters", count);
    memcpy(ours, value, count * sizeof *value);
    status = mot__engine_call_all(engine, mot__job_write, &payload, sizeof payload);
    mot__engine_free(engine, ours);
    return mot__engine_remember(engine, status);
}
