/* train.c - motley train: fit, and tell of it as lines, as a redrawn line or as JSON. */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/outfile.h"
#include "cli/plan.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "cli/why.h"

#include <math.h>
#include <motley/bench.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_LIVE_S 0.1 /* how often the line redraws; each time waits for the devices */
/* The first word about what limits the speed, unless the first epoch is over before. */
#define WHY_STEPS 64
#define WHY_S 2.0

struct run {
    const struct options *options;
    const struct session *session;
    const struct dataset *data;
    struct screen screen;
    struct why why;
    bool why_waits; /* to be told after the next step */
    struct json json;
    size_t epoch, epochs, step, steps;
    double test_loss, test_accuracy; /* of the last finished epoch */
    char hint[256];                  /* "": tuning promises nothing */
    bool applied; /* the run ends at a step that was refused, after others that were not */
};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_event(struct run *run, const char *name)
{
    put_object(&run->json, NULL);
    put_text(&run->json, "event", name);
    put_text(&run->json, "data", run->data->name);
}

static void json_start(struct run *run, const struct mot_event *event)
{
    struct json *json = &run->json;
    size_t lane;

    json_event(run, "start");
    if (run->data->note[0])
        put_text(json, "note", run->data->note);
    put_array(json, "devices");
    for (lane = 0; event->fleet && lane < event->replicas; lane++) {
        const struct mot_device_info *info = mot_fleet_get(event->fleet, lane);

        put_object(json, NULL);
        put_text(json, "device", mot_fleet_label(event->fleet, lane));
        put_text(json, "name", info->name);
        put_text(json, "platform", info->platform);
        if (event->share)
            put_count(json, "share", event->share[lane]);
        put_end(json);
    }
    put_end(json);
    put_lines(json, "notes", event->fleet ? mot_fleet_notes(event->fleet) : "");
    put_text(json, "net", run->options->net);
    put_count(json, "parameters", event->parameters);
    put_count(json, "samples", event->samples);
    put_count(json, "test_samples", event->test_samples);
    put_count(json, "batch", event->batch);
    put_count(json, "accumulate", event->accumulate);
    put_count(json, "epochs", event->epochs);
    put_count(json, "seed", run->options->seed);
    put_text(json, "hint", run->hint[0] ? run->hint : NULL);
    put_end(json);
}

static void json_epoch(struct run *run, const struct mot_event *event)
{
    struct mot_bytes bytes;
    size_t i;

    json_event(run, "epoch");
    put_count(&run->json, "epoch", event->epoch);
    put_number(&run->json, "loss", event->loss);
    put_number(&run->json, "accuracy", event->accuracy);
    put_number(&run->json, "test_loss", event->test_loss);
    put_number(&run->json, "test_accuracy", event->test_accuracy);
    put_number(&run->json, "samples_per_s", event->samples_per_s);
    put_number(&run->json, "seconds", event->seconds);
    put_array(&run->json, "peak_bytes"); /* of each device's pool */
    for (i = 0; i < event->replicas; i++)
        if (mot_bench_bytes(run->session->trainer, i, &bytes) == MOT_OK)
            put_count(&run->json, NULL, bytes.peak);
    put_end(&run->json);
    put_end(&run->json);
}

static void json_note(struct run *run, const struct mot_event *event)
{
#define NOTE_NAME(name, text) [name] = text,
    static const char *const kind[] = {MOT_NOTE_TABLE(NOTE_NAME)};
#undef NOTE_NAME
    const struct mot_note *note = event->note;

    json_event(run, "note");
    put_text(&run->json, "kind", kind[note->kind]);
    put_count(&run->json, "step", note->step);
    put_text(&run->json, "device", note->device[0] ? note->device : NULL);
    put_text(&run->json, "parameter", note->parameter[0] ? note->parameter : NULL);
    put_text(&run->json, "text", note->text);
    put_end(&run->json);
}

static void json_finish(struct run *run, bool stopped)
{
    const char *out = run->options->out;

    json_event(run, "end");
    why_json(&run->why, &run->json);
    put_number(&run->json, "test_loss", stopped ? NAN : run->test_loss);
    put_number(&run->json, "test_accuracy", stopped ? NAN : run->test_accuracy);
    put_text(&run->json, "weights", *out ? out : NULL);
    put_bool(&run->json, "stopped", stopped);
    put_end(&run->json);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_start(struct run *run, const struct mot_event *event)
{
    if (event->batch < event->replicas && !run->options->quiet)
        say_note("batch %zu is smaller than the %zu devices: some get no rows", event->batch,
                 event->replicas);
    if (event->accumulate > event->steps && !run->options->quiet)
        say_note("--accumulate %zu: an epoch has %zu step%s, so an update comes at its end",
                 event->accumulate, event->steps, event->steps == 1 ? "" : "s");
    if (run->options->json)
        json_start(run, event);
    else
        screen_start(&run->screen, event, run->options->net, run->data);
    if (!run->options->json && run->hint[0])
        printf("%s\n", run->hint);
    if (!run->options->json && !run->options->quiet)
        plan_tell_cuts(run->session);
}

static void on_progress(struct run *run, const struct mot_event *event)
{
    if (!run->options->json)
        screen_progress(&run->screen, event);
}

/* The early verdict, once: after the step that it came with, or the first of the next epoch. */
static void on_step(struct run *run, const struct mot_event *event)
{
    (void)event;
    if (!run->why_waits || run->options->json)
        return;
    run->why_waits = false;
    screen_clear(&run->screen);
    why_print(&run->why, stdout, false);
    fflush(stdout);
}

static void on_epoch(struct run *run, const struct mot_event *event)
{
    run->test_loss = event->test_loss;
    run->test_accuracy = event->test_accuracy;
    if (run->options->json)
        json_epoch(run, event);
    else
        screen_epoch(&run->screen, event);
}

static void on_note(struct run *run, const struct mot_event *event)
{
    if (event->note->kind == MOT_NOTE_NUMBER)
        run->applied = run->options->on_nan == 0 && event->note->step > 0;
    if (run->options->json)
        json_note(run, event);
    else
        screen_note(&run->screen, event);
}

static int on_event(const struct mot_event *event, void *user)
{
    static void (*const handler[])(struct run * run, const struct mot_event *event) = {
        [MOT_EVENT_START] = on_start, [MOT_EVENT_PROGRESS] = on_progress,
        [MOT_EVENT_EPOCH] = on_epoch, [MOT_EVENT_NOTE] = on_note,
        [MOT_EVENT_STEP] = on_step,   [MOT_EVENT_END] = NULL, /* told once the weights are saved */
    };
    struct run *run = user;

    run->epoch = event->epoch;
    run->epochs = event->epochs;
    run->step = event->step;
    run->steps = event->steps;
    run->why_waits = why_see(&run->why, event) || run->why_waits;
    if ((size_t)event->kind < sizeof handler / sizeof *handler && handler[event->kind])
        handler[event->kind](run, event);
    return interrupt_seen();
}

/* ---- the command ----------------------------------------------------------------------------- */

static void tell_result(struct run *run, bool stopped)
{
    char result[2048];

    if (run->options->json) {
        json_finish(run, stopped);
        return;
    }
    if (stopped) { /* the last test was of older weights */
        printf("stopped in epoch %zu of %zu after step %zu of %zu\n", run->epoch, run->epochs,
               run->step, run->steps);
    } else {
        screen_result(run->test_loss, run->test_accuracy, run->data, result, sizeof result);
        printf("%s\n", result);
    }
    if (!run->options->quiet)
        why_print(&run->why, stdout, run->options->why);
    if (*run->options->out && !run->options->quiet)
        printf("weights saved to %s\n", run->options->out);
}

/* A step was refused and the run ends: what was learned before it is good. */
static int fail_with_weights(struct session *session, const char *path)
{
    char story[1024];

    snprintf(story, sizeof story, "%s", mot_error());
    if (mot_weights_save(session->trainer, path) != MOT_OK)
        return fail(EXIT_FAILED, "%s; and the weights before it were not saved: %s", story,
                    mot_error());
    return fail(EXIT_FAILED, "%s; the weights before that step were saved to %s", story, path);
}

static struct why_wish why_wish_of(const struct options *options)
{
    const struct mot_optimizer rule = session_trainer_config(options).optimizer;
    const char *const shares = options->shares;

    return (struct why_wish){.sentence = options->json || !options->quiet,
                             .steps = WHY_STEPS,
                             .seconds = WHY_S,
                             .shares_auto = !shares || !*shares || strcmp(shares, "auto") == 0,
                             .state = rule.rule != MOT_RULE_SGD ? 2 : rule.momentum > 0};
}

static int fit(struct session *session, struct run *run)
{
    const struct options *options = run->options;
    const struct why_wish wish = why_wish_of(options);
    struct mot_fit_config config = mot_fit_config_default();
    mot_status status;

    config.epochs = options->epochs;
    config.batch = session->batch;
    config.progress_s =
        run->screen.live && !options->json && !options->quiet ? PROGRESS_LIVE_S : INFINITY;
    config.steps = true; /* a Ctrl-C is seen after each */
    config.on_event = on_event;
    config.user = run;
    if (!options->quiet && mot_tune_hint(session->fleet, run->hint, sizeof run->hint) != MOT_OK)
        run->hint[0] = '\0'; /* a device that fails says so in the next step */
    why_open(&run->why, session->trainer, &wish);
    status = mot_fit(session->trainer, session->data.train, session->data.test, &config, NULL);
    screen_clear(&run->screen);
    if (status == MOT_BAD_NUMBER && run->applied && *options->out)
        return fail_with_weights(session, options->out);
    if (status != MOT_OK && status != MOT_STOPPED)
        return fail_library(status);
    if (status == MOT_OK && !isfinite(run->test_loss)) /* such weights replace no good ones */
        return fail(EXIT_FAILED, "the test loss is not a finite number, so nothing was saved; a "
                                 "smaller --lr may help");
    if (*options->out) {
        const mot_status saved = mot_weights_save(session->trainer, options->out);

        if (saved != MOT_OK)
            return fail_library(saved);
    }
    why_measure(&run->why, options, session, options->why && status == MOT_OK);
    tell_result(run, status == MOT_STOPPED);
    return status == MOT_STOPPED ? EXIT_INTERRUPTED : EXIT_FINE;
}

int command_train(const struct options *options)
{
    struct run run = {.options = options, .test_loss = NAN, .test_accuracy = NAN};
    struct session session = {0};
    int code = *options->out && !options->plan ? outfile_check(options->out) : 0;

    if (code)
        return code;
    interrupt_watch();
    run.json.out = stdout;
    screen_open(&run.screen, stdout, options->quiet);
    code = session_open(options, true, &session);
    run.session = &session;
    run.data = &session.data;
    if (code == 0)
        code = options->plan ? plan_tell(options, &session) : fit(&session, &run);
    why_close(&run.why);
    session_close(&session);
    return code;
}
