/* prepare.c - plans and feeds of one replica, as large as its device has room for. */
#include "strategy/prepare.h"

#include "base/size.h"
#include "base/text.h"
#include "device/gemm.h"
#include "strategy/fit_memory.h"

#include <stdio.h>

#define BESIDE_ROWS 32 /* of a micro-batch of inference, where training holds memory, too */

static struct mot__plan_config plan_config(const mot_replica *replica, size_t target_width,
                                           size_t rows, bool training)
{
    const struct mot__common *common = replica->common;

    return (struct mot__plan_config){
        .net = common->net,
        .rows = rows,
        .training = training,
        .loss = common->config.loss,
        .target_width = target_width,
        .seed = common->config.seed,
        .parameters = replica->parameters,
        .gradients = training ? replica->gradients : NULL,
        .record = training ? mot__replica_record(replica)
                           : (struct mot__mem){.buffer = replica->tally, .offset = 0},
        .bucket = replica->windows ? common->part : common->bucket,
        .buckets = mot__replica_buckets(replica),
        .needs = common->strategy->central,
        .turns = replica->windows > 0,
    };
}

static size_t limit_of(const mot_replica *replica)
{
    return mot__device_facts(replica->device)->memory_limit;
}

/* ---- what fits ---- */

struct space {
    size_t room;  /* bytes that are free */
    size_t packs; /* bytes held for packed operands, whoever needs them */
};

static struct mot__fit_wish wish_of(const mot_replica *replica, const struct mot__samples *samples,
                                    size_t rows, bool training, struct space space)
{
    return (struct mot__fit_wish){.device = replica->device,
                                  .plan =
                                      plan_config(replica, samples->target_width, rows, training),
                                  .samples = samples,
                                  .room = space.room,
                                  .packs = space.packs};
}

static bool find_fit(const mot_replica *replica, const struct mot__samples *samples, size_t rows,
                     bool training, struct space space, struct mot__fit *out)
{
    const struct mot__fit_wish wish = wish_of(replica, samples, rows, training, space);

    return mot__fit_find(&wish, out);
}

/* Inference beside training, with some rows at a time: else it is better in its place. */
static bool find_beside(const mot_replica *replica, const struct mot__samples *samples, size_t rows,
                        struct space space, struct mot__fit *out)
{
    const struct mot__fit_wish wish = wish_of(replica, samples, rows, false, space);

    if (mot__fit_find(&wish, out) && out->rows >= mot__size_min(rows, BESIDE_ROWS))
        return true;
    *out = mot__fit_of(&wish, mot__size_min(rows, BESIDE_ROWS), 1);
    return false;
}

/* least: what will do, and no less. */
static mot_status too_little(const mot_replica *replica, const struct mot__fit *least, size_t room)
{
    const struct mot__device_facts *facts = mot__device_facts(replica->device);
    const size_t bytes = mot__fit_bytes(least);
    const char *one = least->rows == 1 ? " needs" : "s need";
    char need[32], have[32], limit[32];

    if (bytes == SIZE_MAX) {
        mot__text_of_bytes(facts->largest_bytes, limit);
        return mot__fail(MOT_NO_MEMORY,
                         "device %s (%s): %zu row%s more than its largest allocation, %s",
                         mot__lane_label(replica->lane), facts->info.name, least->rows, one, limit);
    }
    mot__text_of_bytes(bytes, need);
    mot__text_of_bytes(room, have);
    mot__text_of_bytes(facts->memory_limit, limit);
    return mot__fail(MOT_NO_MEMORY,
                     "device %s (%s): %zu row%s %s and %s are free of the limit of %s; a memory "
                     "limit of %zuK would do",
                     mot__lane_label(replica->lane), facts->info.name, least->rows, one, need, have,
                     limit, (facts->memory_limit - room + bytes + 1023) / 1024);
}

/* ---- making them ---- */

static mot_status open_both(mot_replica *replica, const struct mot__samples *samples,
                            const struct mot__fit *fit, bool training)
{
    struct mot__plan_config config =
        plan_config(replica, samples->target_width, fit->rows, training);
    mot__plan *plan = NULL;
    mot__feed *feed = NULL;
    mot_status status = MOT_OK;

    config.segments = fit->segments;
    MOT_TRY(mot__plan_open(replica->device, &config, &plan));
    if (training)
        MOT_TRY(mot__strategy_of(replica)->plan(replica, plan));
    MOT_TRY(mot__feed_open(replica->device, samples, fit->rows, &feed));
    *(training ? &replica->train : &replica->infer) = plan;
    *(training ? &replica->train_feed : &replica->infer_feed) = feed;
    plan = NULL;
    feed = NULL;
done:
    mot__plan_close(plan);
    mot__feed_close(feed);
    return status;
}

/* A driver may refuse what the limit permits, since others use the card too: then less is tried. */
static mot_status make_both(mot_replica *replica, const struct mot__samples *samples, size_t rows,
                            bool training)
{
    struct space space = {limit_of(replica) - mot__device_used(replica->device),
                          mot__gemm_packs_held(replica->device)};
    struct mot__fit fit;
    mot_status status;

    do {
        if (!training && replica->train ? !find_beside(replica, samples, rows, space, &fit)
                                        : !find_fit(replica, samples, rows, training, space, &fit))
            return too_little(replica, &fit, space.room);
        mot__device_trim(replica->device);
        mot__gemm_packs_allow(replica->device, fit.packs);
        status = open_both(replica, samples, &fit, training);
        space.room = mot__fit_bytes(&fit) / 2;
    } while (status == MOT_NO_MEMORY);
    return status;
}

static mot_status make_resident(mot_replica *replica, const struct mot__samples *samples)
{
    const size_t room = limit_of(replica) - mot__device_used(replica->device);
    bool resident;

    return mot__feed_resident(replica->train_feed, samples, room / 2, &resident);
}

mot_status mot__replica_prepare(mot_replica *replica, const struct mot__samples *samples,
                                size_t rows, bool training, bool resident)
{
    const mot__plan *plan = training ? replica->train : replica->infer;
    const mot__feed *feed = training ? replica->train_feed : replica->infer_feed;
    mot_status status = MOT_OK;

    if (!plan || replica->made_rows[training] < rows ||
        replica->target_width[training] != samples->target_width ||
        !mot__feed_fits(feed, samples, mot__plan_rows(plan))) {
        mot__replica_release(replica, training);
        MOT_TRY(make_both(replica, samples, rows, training));
        replica->made_rows[training] = rows;
        replica->target_width[training] = samples->target_width;
    }
    if (training && resident)
        MOT_TRY(make_resident(replica, samples));
done:
    return status;
}

void mot__replica_release(mot_replica *replica, bool training)
{
    mot__plan **plan = training ? &replica->train : &replica->infer;
    mot__feed **feed = training ? &replica->train_feed : &replica->infer_feed;

    mot__plan_close(*plan);
    mot__feed_close(*feed);
    *plan = NULL;
    *feed = NULL;
}

size_t mot__replica_micro(const mot_replica *replica, bool training, size_t rows)
{
    const size_t most = mot__plan_rows(training ? replica->train : replica->infer);
    const size_t micros = (rows + most - 1) / most;

    return micros ? (rows + micros - 1) / micros : 0;
}

/* ---- for a moment ---- */

/* In half of what is free, since others use the card too; and with the packs that are there, so
 * that its products are computed as those of the replica's own plan. */
static bool fits_beside(const mot_replica *replica, const struct mot__plan_config *config)
{
    const size_t room = limit_of(replica) - mot__device_used(replica->device);
    size_t arena, packs;

    return mot__plan_estimate(config, &arena) == MOT_OK && arena <= room / 2 &&
           mot__plan_packs(replica->device, config, &packs) == MOT_OK &&
           packs <= mot__gemm_packs_held(replica->device);
}

mot_status mot__spare_plan_open(const mot_replica *replica, size_t rows,
                                struct mot__spare_plan *out)
{
    const struct mot__plan_config config =
        plan_config(replica, replica->target_width[true], rows, true);
    mot_status status;

    *out = (struct mot__spare_plan){.peak = mot__device_peak(replica->device),
                                    .asked = mot__gemm_asked(replica->device)};
    if (replica->windows || !fits_beside(replica, &config))
        return MOT_OK;
    status = mot__plan_open(replica->device, &config, &out->plan);
    return status == MOT_NO_MEMORY ? MOT_OK : status;
}

void mot__spare_plan_close(const mot_replica *replica, struct mot__spare_plan *beside)
{
    mot__plan_close(beside->plan);
    beside->plan = NULL;
    mot__gemm_unask(replica->device, beside->asked);
    mot__device_trim(replica->device);
    mot__device_peak_set(replica->device, beside->peak);
}

/* ---- telling ---- */

static size_t flat_bytes(const mot__device *device, const mot__flat *flat)
{
    return flat ? mot__flat_bytes(device, flat) : 0;
}

static void add_mode(const mot__plan *plan, const mot__feed *feed, struct mot_bytes *out)
{
    size_t staging, resident;

    if (plan) {
        out->live = mot__plan_bytes(plan).live;
        out->arena = mot__buffer_bytes(mot__plan_bytes(plan).arena);
    }
    if (feed) {
        mot__feed_bytes(feed, &staging, &resident);
        out->staging = staging;
        out->data = resident;
    }
}

void mot__replica_bytes(const mot_replica *replica, struct mot_bytes *out)
{
    struct mot_bytes infer = {0};

    *out = (struct mot_bytes){
        .parameters = flat_bytes(replica->device, replica->parameters),
        .gradients = flat_bytes(replica->device, replica->gradients),
        .state = flat_bytes(replica->device, replica->slot[0]) +
                 flat_bytes(replica->device, replica->slot[1]),
        .total = mot__device_used(replica->device),
        .peak = mot__device_peak(replica->device),
    };
    add_mode(replica->train, replica->train_feed, out);
    add_mode(replica->infer, replica->infer_feed, &infer);
    out->evaluation = infer.arena + infer.staging;
    out->packs = mot__gemm_packs_held(replica->device);
    out->other = out->total - (out->parameters + out->gradients + out->state + out->arena +
                               out->packs + out->staging + out->data + out->evaluation);
}

static void write_why(const struct mot__fit *whole, const struct mot__fit *fit, size_t room,
                      struct mot_plan *out)
{
    char need[32], have[32], limit[32];
    size_t used = 0;

    if (out->windows)
        used = (size_t)snprintf(out->why, sizeof out->why,
                                "weights and gradients of some layers at a time, ");
    if (fit->micros == 1)
        used += (size_t)snprintf(out->why + used, sizeof out->why - used, "%zu row%s at once",
                                 fit->rows, fit->rows == 1 ? "" : "s");
    else
        used += (size_t)snprintf(out->why + used, sizeof out->why - used,
                                 "%zu micro-batches of %zu", fit->micros, fit->rows);
    if (fit->micros == 1 && fit->segments == 1)
        return;
    mot__text_of_bytes(room, have);
    mot__text_of_bytes(out->limit, limit);
    mot__text_of_bytes(mot__fit_bytes(whole), need);
    snprintf(out->why + used, sizeof out->why - used,
             "%s, since %zu rows need %s and %s are free of %s",
             fit->segments > 1 ? " with activations computed again" : "", whole->rows,
             mot__fit_bytes(whole) == SIZE_MAX ? "more than one allocation can hold" : need, have,
             limit);
}

/* Evaluation beside training; in its place, where both do not fit. */
static mot_status plan_test(const mot_replica *replica, const struct mot__job_plan *job,
                            size_t room, struct mot_plan *out)
{
    const size_t training = out->bytes.arena + out->bytes.staging + out->bytes.data;
    struct space space = {room, out->bytes.packs};
    struct mot__fit fit;

    if (find_beside(replica, job->test, job->test_rows, space, &fit)) {
        out->bytes.evaluation = mot__fit_bytes(&fit);
        out->bytes.packs = fit.packs;
        return MOT_OK;
    }
    space.room += training;
    if (!find_fit(replica, job->test, job->test_rows, false, space, &fit))
        return too_little(replica, &fit, space.room);
    out->bytes.packs = fit.packs;
    if (mot__fit_bytes(&fit) > training)
        out->bytes.evaluation = mot__fit_bytes(&fit) - training;
    return MOT_OK;
}

/* What is there whatever is trained or tested; packs apart. */
static size_t fixed_of(const struct mot_bytes *bytes)
{
    return bytes->total - bytes->arena - bytes->packs - bytes->staging - bytes->data -
           bytes->evaluation;
}

static struct space space_of(const mot_replica *replica, const struct mot_bytes *bytes)
{
    return (struct space){limit_of(replica) - fixed_of(bytes) - bytes->packs, bytes->packs};
}

size_t mot__replica_most(const mot_replica *replica, const struct mot__samples *samples,
                         size_t rows)
{
    struct mot__fit_wish wish;
    struct mot_bytes bytes;

    mot__replica_bytes(replica, &bytes);
    wish = wish_of(replica, samples, rows, true, space_of(replica, &bytes));
    return mot__fit_most(&wish);
}

mot_status mot__replica_plan(const mot_replica *replica, const struct mot__job_plan *job,
                             struct mot_plan *out)
{
    struct mot__fit_wish wish;
    struct mot__fit fit, whole;
    struct mot_bytes *bytes = &out->bytes;
    struct space space;
    size_t fixed;

    *out = (struct mot_plan){.rows = job->rows, .limit = limit_of(replica)};
    mot__replica_bytes(replica, bytes);
    fixed = fixed_of(bytes);
    space = space_of(replica, bytes);
    bytes->evaluation = bytes->data = bytes->live = 0;
    wish = wish_of(replica, job->train, job->rows, true, space);
    whole = mot__fit_of(&wish, job->rows, 1);
    if (!find_fit(replica, job->train, job->rows, true, space, &fit))
        return too_little(replica, &fit, space.room);
    out->micro = fit.rows;
    out->micros = fit.micros;
    out->recompute = fit.segments > 1;
    out->windows = replica->windows;
    write_why(&whole, &fit, space.room, out);
    bytes->arena = fit.arena;
    bytes->staging = fit.staging;
    bytes->packs = fit.packs;
    space.room -= mot__fit_bytes(&fit) + (fit.packs - space.packs);
    if (job->resident)
        bytes->data = mot__feed_resident_estimate(replica->device, job->train, space.room / 2);
    if (job->test && plan_test(replica, job, space.room - bytes->data, out) != MOT_OK)
        return MOT_NO_MEMORY;
    bytes->total =
        fixed + bytes->arena + bytes->packs + bytes->staging + bytes->data + bytes->evaluation;
    return MOT_OK;
}
