/* fit.c - epochs of steps, with events on the caller's thread; written on the calls anyone can
 * make. */
#include "base/clock.h"
#include "base/config.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

/* Devices that are waited for have nothing queued ahead, and nothing overlaps: at most once in so
 * many steps. A stop waits for what is queued: no more than so many steps, or so much work. */
#define DRAIN_STEPS 4
#define DRAIN_S 2.0

struct mot_fit_config mot_fit_config_default(void)
{
    return (struct mot_fit_config){.size = sizeof(struct mot_fit_config),
                                   .epochs = 1,
                                   .batch = 128,
                                   .shuffle = true,
                                   .resident = true};
}

struct fit {
    mot_trainer *trainer;
    mot_data *train, *test;
    const struct mot_fit_config *config;
    struct mot_history *history;
    size_t *share;
    struct mot_event event;
    double loss_sum, correct; /* of this epoch so far */
    uint64_t count, steps, skipped;
    double began_s, told_s; /* the epoch; the last PROGRESS */
    size_t drained;         /* steps of this epoch when the devices were last waited for */
    double drained_s;       /* when that was */
    double step_s;          /* what a step took before that; 0: not known */
    bool stop;
};

void mot_history_clear(struct mot_history *history)
{
    free(history->row);
    history->row = NULL;
    history->count = 0;
}

static void tell(struct fit *fit, enum mot_event_kind kind)
{
    fit->event.kind = kind;
    if (fit->share) /* automatic shares may have changed since */
        mot__engine_split(fit->trainer->engine, fit->event.batch, fit->share);
    if (fit->config->on_event && fit->config->on_event(&fit->event, fit->config->user) != 0)
        fit->stop = true;
}

/* What was noticed since the last time, each in an event of its own. */
static void tell_notes(struct fit *fit)
{
    struct mot_note note;

    while (mot_trainer_note(fit->trainer, &note)) {
        fit->event.note = &note;
        tell(fit, MOT_EVENT_NOTE);
    }
    fit->event.note = NULL;
}

/* Bring the running sums up to date; waits for the devices. */
static mot_status collect(struct fit *fit)
{
    struct mot_metrics metrics;
    mot_status status = mot_trainer_metrics(fit->trainer, &metrics);
    const double now = mot__clock_s();
    struct mot_event *event = &fit->event;

    if (status != MOT_OK)
        return status;
    if (metrics.count > 0) {
        fit->loss_sum += metrics.loss * (double)metrics.count;
        fit->correct += metrics.accuracy * (double)metrics.count;
        fit->count += metrics.count;
    }
    fit->steps += metrics.steps;
    fit->skipped += metrics.skipped;
    event->loss = fit->loss_sum / (double)fit->count;
    event->accuracy = fit->correct / (double)fit->count;
    if (event->step > fit->drained)
        fit->step_s = (now - fit->drained_s) / (double)(event->step - fit->drained);
    fit->drained = event->step;
    fit->drained_s = now;
    event->seconds = now - fit->began_s;
    event->samples_per_s = (double)fit->count / event->seconds;
    event->seconds_left =
        event->steps > event->step && event->step > 0
            ? event->seconds / (double)event->step * (double)(event->steps - event->step)
            : 0;
    event->seconds_left += event->step > 0
                               ? event->seconds / (double)event->step * (double)event->steps *
                                     (double)(event->epochs - event->epoch)
                               : 0;
    return MOT_OK;
}

/* Is it time to wait for the devices? The first step tells how long one takes. The last is waited
 * for in any case. */
static bool drain_is_due(const struct fit *fit, bool asked)
{
    const struct mot_event *event = &fit->event;
    const size_t steps = event->step - fit->drained;

    if (!fit->config->on_event || event->step == event->steps)
        return false;
    if (event->epoch == 1 && event->step == 1)
        return true;
    return steps >= DRAIN_STEPS && (asked || fit->step_s * (double)steps >= DRAIN_S);
}

/* A step was queued: tell what there is to tell. */
static mot_status tell_step(struct fit *fit)
{
    const struct mot_fit_config *config = fit->config;
    const bool asked = config->progress_s > 0 && mot__clock_s() - fit->told_s >= config->progress_s;
    mot_status status;

    tell_notes(fit);
    if (config->steps)
        tell(fit, MOT_EVENT_STEP);
    if (fit->stop || !drain_is_due(fit, asked))
        return MOT_OK;
    status = collect(fit);
    if (status != MOT_OK || !asked)
        return status;
    fit->told_s = fit->drained_s;
    tell(fit, MOT_EVENT_PROGRESS);
    return MOT_OK;
}

static mot_status run_steps(struct fit *fit)
{
    mot_status status = MOT_OK;
    mot_batch *batch = NULL;

    for (fit->event.step = fit->drained = 0; !fit->stop;) {
        MOT_TRY(mot_data_next(fit->train, &batch));
        if (!batch)
            break;
        MOT_TRY(mot_trainer_step(fit->trainer, batch));
        fit->event.step++;
        MOT_TRY(tell_step(fit));
    }
    if (mot__engine_pending(fit->trainer->engine) > 0) /* a group that the epoch's end cut short */
        MOT_TRY(mot_trainer_apply(fit->trainer));
done:
    return status;
}

static mot_status keep_row(struct fit *fit)
{
    struct mot_history *history = fit->history;
    const struct mot_event *event = &fit->event;
    struct mot_history_row *row;

    if (!history)
        return MOT_OK;
    row = realloc(history->row, (history->count + 1) * sizeof *row);
    if (!row)
        return mot__fail(MOT_NO_MEMORY, "a history of %zu epochs", history->count + 1);
    history->row = row;
    history->row[history->count++] =
        (struct mot_history_row){event->loss,          event->accuracy,      event->test_loss,
                                 event->test_accuracy, event->samples_per_s, event->seconds};
    return MOT_OK;
}

static mot_status test_now(struct fit *fit)
{
    struct mot_metrics metrics;
    mot_status status;

    if (!fit->test)
        return MOT_OK;
    status = mot_evaluate(fit->trainer, fit->test, &metrics);
    if (status != MOT_OK)
        return status;
    fit->event.test_loss = metrics.loss;
    fit->event.test_accuracy = metrics.accuracy;
    return MOT_OK;
}

static mot_status run_epoch(struct fit *fit)
{
    mot_status status = MOT_OK;

    fit->loss_sum = fit->correct = 0;
    fit->count = fit->steps = fit->skipped = 0;
    fit->began_s = fit->told_s = fit->drained_s = mot__clock_s();
    MOT_TRY(run_steps(fit));
    MOT_TRY(collect(fit));
    tell_notes(fit);
    if (fit->config->progress_s > 0 && !fit->stop)
        tell(fit, MOT_EVENT_PROGRESS); /* all steps done, nothing tested yet */
    if (fit->steps == 0 && fit->skipped > 0) {
        status = mot__fail(MOT_BAD_NUMBER,
                           "epoch %zu: the loss was not a finite number in any of %llu steps; a "
                           "smaller learning rate may help",
                           fit->event.epoch, (unsigned long long)fit->skipped);
        goto done;
    }
    if (fit->stop)
        return MOT_OK; /* an epoch cut short has no row */
    MOT_TRY(test_now(fit));
    MOT_TRY(keep_row(fit));
    tell(fit, MOT_EVENT_EPOCH);
done:
    return status;
}

/* To the first batch of an epoch that was not begun, with the batch and order asked for. */
static mot_status set_stream(struct fit *fit)
{
    struct mot__cursor cursor;
    mot_status status = MOT_OK;

    mot__data_cursor(fit->train, &cursor);
    if (cursor.first > 0)
        MOT_TRY(mot_data_rewind(fit->train, cursor.epoch + 1));
    if (fit->config->batch > 0)
        MOT_TRY(mot_data_batch(fit->train, fit->config->batch));
    if (fit->config->shuffle)
        MOT_TRY(
            mot_data_shuffle(fit->train, mot__engine_common(fit->trainer->engine)->config.seed));
done:
    return status;
}

static mot_status begin(struct fit *fit)
{
    mot__engine *engine = fit->trainer->engine;
    const struct mot__common *common = mot__engine_common(engine);
    struct mot_event *event = &fit->event;
    struct mot_metrics unused;
    mot_status status = MOT_OK;

    MOT_TRY(set_stream(fit));
    event->batch = mot__data_rows(fit->train);
    MOT_TRY(mot__engine_prepare(engine, mot__data_samples(fit->train), event->batch, true,
                                fit->config->resident));
    if (fit->test)
        MOT_TRY(mot__engine_check(engine, mot__data_samples(fit->test)));
    MOT_TRY(mot_trainer_metrics(fit->trainer, &unused)); /* what came before is not this fit's */
    fit->share = calloc(common->replicas, sizeof *fit->share);
    if (!fit->share)
        return mot__fail(MOT_NO_MEMORY, "%zu shares", common->replicas);
    mot__engine_split(engine, event->batch, fit->share);
    event->epochs = fit->config->epochs;
    event->samples = mot_data_count(fit->train);
    event->test_samples = fit->test ? mot_data_count(fit->test) : 0;
    event->steps = (event->samples + event->batch - 1) / event->batch;
    event->replicas = common->replicas;
    event->accumulate = common->config.accumulate;
    event->parameters = mot_model_parameters(common->net);
    event->share = fit->share;
    event->fleet = mot__engine_fleet(engine);
    event->loss = event->accuracy = event->test_loss = event->test_accuracy = NAN;
done:
    return status;
}

mot_status mot_fit_plan(mot_trainer *trainer, mot_data *train, mot_data *test,
                        const struct mot_fit_config *given, struct mot_plan *plan)
{
    struct mot_fit_config config = mot_fit_config_default();
    struct mot__engine_plan wish;
    mot_status status = MOT_OK;

    if (!trainer || !train || !plan)
        return mot__fail(MOT_BAD_ARG, "mot_fit_plan: trainer, data or plan is NULL");
    MOT_TRY(mot__config_take(given, sizeof config, "mot_fit_config", &config));
    wish = (struct mot__engine_plan){.train = mot__data_samples(train),
                                     .test = test ? mot__data_samples(test) : NULL,
                                     .rows = config.batch ? config.batch : mot__data_rows(train),
                                     .test_rows = 1,
                                     .resident = config.resident};
    if (wish.test)
        wish.test_rows = mot__evaluate_rows(wish.test);
    MOT_TRY(mot__engine_check(trainer->engine, wish.train));
    MOT_TRY(mot__engine_plan(trainer->engine, &wish, plan));
done:
    return status;
}

mot_status mot_fit(mot_trainer *trainer, mot_data *train, mot_data *test,
                   const struct mot_fit_config *given, struct mot_history *history)
{
    struct mot_fit_config config = mot_fit_config_default();
    struct fit fit = {
        .trainer = trainer, .train = train, .test = test, .config = &config, .history = history};
    mot_status status = MOT_OK;

    if (!trainer || !train)
        return mot__fail(MOT_BAD_ARG, "mot_fit: trainer or data is NULL");
    MOT_TRY(mot__config_take(given, sizeof config, "mot_fit_config", &config));
    if (config.epochs == 0)
        return mot__fail(MOT_BAD_ARG, "mot_fit: epochs = 0");
    MOT_TRY(begin(&fit));
    tell(&fit, MOT_EVENT_START);
    tell_notes(&fit);
    for (fit.event.epoch = 1; fit.event.epoch <= config.epochs && !fit.stop; fit.event.epoch++)
        MOT_TRY(run_epoch(&fit));
    fit.event.epoch--;
    tell(&fit, MOT_EVENT_END);
    if (fit.stop)
        status = mot__fail(MOT_STOPPED, "stopped by the callback in epoch %zu of %zu",
                           fit.event.epoch, config.epochs);
done:
    if (status == MOT_BAD_NUMBER)
        tell_notes(&fit); /* the story is this thread's: telling does not touch it */
    free(fit.share);
    return status;
}
