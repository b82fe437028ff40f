/* tune_steps.c - what only whole steps can tell: how bytes are staged on each device, and how the
 * devices together sum their gradients. One thing is changed at a time and stays if it helped. */
#include "bench/tune.h"

#include "model/model.h"
#include "optim/optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t mot__tune_bucket(size_t floats, size_t i)
{
    static const size_t least = (size_t)1 << 17, most = (size_t)1 << 22;
    const size_t bucket = least << i;

    if (bucket > most || (i == 0 && bucket >= floats) || (i > 0 && bucket / 2 >= floats))
        return 0;
    return bucket < floats ? bucket : floats + MOT__RECORD_FLOATS;
}

static const struct mot__device_facts *facts_of(const mot_fleet *fleet, size_t lane)
{
    return mot__device_facts(mot__lane_device(mot__fleet_lane(fleet, lane)));
}

static bool copies(const mot_fleet *fleet)
{
    size_t i;

    for (i = 0; i < mot_fleet_count(fleet); i++)
        if (facts_of(fleet, i)->staging == MOT__STAGING_COPY)
            return true;
    return false;
}

void mot__tune_steps_plan(struct mot__tuner *tuner)
{
    const size_t lanes = mot_fleet_count(tuner->fleet);
    size_t lane, figures = 1;

    for (lane = 0; lane < lanes; lane++)
        figures += mot__tune_first(tuner->fleet, lane);
    figures += lanes > 1; /* ring */
    tuner->planned += (double)figures * tuner->config.seconds;
}

/* Samples a second with the choices as they are now; 0: it does not run. */
static mot_status measure(struct mot__tuner *tuner, struct mot_tune_trial trial, double *rate)
{
    struct mot_bench_config bench = mot_bench_config_default();
    struct mot_bench_train seen;
    mot_status status = MOT_OK;

    bench.seconds = tuner->config.seconds;
    bench.resident = true; /* as mot_fit does by default */
    *rate = 0;
    MOT_TRY(mot_data_rewind(tuner->data, 0));
    MOT_TRY(mot_data_batch(tuner->data, tuner->batch));
    status =
        mot_bench_train(tuner->fleet, tuner->net, tuner->trainer, tuner->data, &bench, &seen, NULL);
    if (status != MOT_OK && !mot__tune_out(status))
        return status;
    *rate = status == MOT_OK ? seen.samples_per_s : 0;
    trial.unit = "samples/s";
    trial.value = status == MOT_OK ? *rate : NAN;
    status = mot__tune_tell(tuner, trial, tuner->config.seconds);
done:
    return status;
}

/* ---- staging ---- */

static mot_status job_stage(mot__lane *lane, void *user, void *payload)
{
    (void)payload;
    mot__device_staging(mot__lane_device(lane), *(const enum mot__staging *)user);
    return MOT_OK;
}

/* On every lane of that kind of device. */
static mot_status stage_by(mot_fleet *fleet, size_t first, enum mot__staging staging)
{
    mot_status status = MOT_OK;
    size_t lane;

    for (lane = first; lane < mot_fleet_count(fleet) && status == MOT_OK; lane++)
        if (strcmp(facts_of(fleet, lane)->key, facts_of(fleet, first)->key) == 0)
            status = mot__fleet_call(fleet, lane, job_stage, &staging, sizeof staging);
    return status;
}

static mot_status tune_staging(struct mot__tuner *tuner, size_t lane, double *best)
{
    const struct mot__device_facts *facts = facts_of(tuner->fleet, lane);
    const enum mot__staging now = facts->staging,
                            other = now == MOT__STAGING_MAP ? MOT__STAGING_COPY : MOT__STAGING_MAP,
                            usual = facts->info.unified ? MOT__STAGING_MAP : MOT__STAGING_COPY;
    struct mot__tuned tuned = {.value = *best};
    double rate = 0, before = *best;
    mot_status status = MOT_OK;

    MOT_TRY(stage_by(tuner->fleet, lane, other));
    MOT_TRY(measure(tuner,
                    (struct mot_tune_trial){.device = mot_fleet_label(tuner->fleet, lane),
                                            .what = "staging",
                                            .choice = mot__staging_name(other)},
                    &rate));
    if (rate > MOT__TUNE_BETTER * before)
        *best = rate;
    else
        MOT_TRY(stage_by(tuner->fleet, lane, now));
    snprintf(tuned.choice, sizeof tuned.choice, "%s", mot__staging_name(facts->staging));
    snprintf(tuned.usual, sizeof tuned.usual, "%s", mot__staging_name(usual));
    tuned.value = *best;
    tuned.before = usual == now ? before : rate;
    if (tuned.before > 0)
        MOT_TRY(mot__tune_keep(tuner->fleet, lane, "staging", tuned));
done:
    return status;
}

/* ---- sums of gradients ---- */

static mot_status try_choice(struct mot__tuner *tuner, struct mot__fleet_choice choice,
                             struct mot__fleet_choice *best, double *best_rate)
{
    char text[MOT__CHOICE_TEXT];
    double rate;
    mot_status status;

    mot__choice_text(&choice, text);
    mot__fleet_try(tuner->fleet, &choice);
    status = measure(tuner, (struct mot_tune_trial){.what = "reduce", .choice = text}, &rate);
    mot__fleet_try(tuner->fleet, NULL);
    if (status == MOT_OK && rate > MOT__TUNE_BETTER * *best_rate) {
        *best = choice;
        *best_rate = rate;
    }
    return status;
}

static void plan_buckets(struct mot__tuner *tuner)
{
    size_t i;

    for (i = 0; mot__tune_bucket(tuner->net->table.floats, i) > 0; i++)
        tuner->planned += tuner->config.seconds;
}

static mot_status tune_buckets(struct mot__tuner *tuner, struct mot__fleet_choice *best,
                               double *rate)
{
    const size_t floats = tuner->net->table.floats;
    struct mot__fleet_choice choice = *best;
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; (choice.bucket_floats = mot__tune_bucket(floats, i)) > 0 && status == MOT_OK; i++)
        status = try_choice(tuner, choice, best, rate);
    return status;
}

static mot_status tune_reduce(struct mot__tuner *tuner, double rate)
{
    const struct mot__fleet_choice usual = {MOT__ALGORITHM_DIRECT, 0};
    struct mot__fleet_choice best = usual;
    struct mot__tuned tuned = {.before = rate};
    char what[MOT__CHOICE_WHAT];
    mot_status status = MOT_OK;

    if (copies(tuner->fleet))
        plan_buckets(tuner);
    MOT_TRY(try_choice(tuner, (struct mot__fleet_choice){MOT__ALGORITHM_RING, 0}, &best, &rate));
    if (copies(tuner->fleet))
        MOT_TRY(tune_buckets(tuner, &best, &rate));
    mot__choice_text(&best, tuned.choice);
    mot__choice_text(&usual, tuned.usual);
    tuned.value = rate;
    mot__choice_what(tuner->fleet, tuner->net->table.floats, what);
    MOT_TRY(mot__tune_keep(tuner->fleet, 0, what, tuned));
done:
    return status;
}

mot_status mot__tune_steps_run(struct mot__tuner *tuner)
{
    const struct mot__fleet_choice usual = {MOT__ALGORITHM_DIRECT, 0};
    mot_fleet *fleet = tuner->fleet;
    const bool several = mot_fleet_count(fleet) > 1;
    mot_status status = MOT_OK;
    double rate = 0;
    size_t lane;

    mot__fleet_try(fleet, &usual); /* whatever is remembered from before */
    status = measure(tuner,
                     (struct mot_tune_trial){.what = several ? "reduce" : "steps",
                                             .choice = several ? "direct-0" : "usual"},
                     &rate);
    for (lane = 0; lane < mot_fleet_count(fleet) && status == MOT_OK && rate > 0; lane++)
        if (mot__tune_first(fleet, lane))
            status = tune_staging(tuner, lane, &rate);
    mot__fleet_try(fleet, NULL);
    if (status == MOT_OK && several && rate > 0 && tuner->trainer->strategy != MOT_STRATEGY_SINGLE)
        status = tune_reduce(tuner, rate);
    return status;
}
