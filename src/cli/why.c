/* why.c - the breakdown of the steps since shares last changed, and the cures the library reckons
 * from it. */
#include "cli/why.h"

#include "cli/parts.h"
#include "cli/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES_MOST ((size_t)64 << 20) /* of an all-reduce that is tried for its rates */
#define MEASURE_S 0.1
#define STEPS_LEAST 16 /* fewer replace no verdict that stood on more */

void why_open(struct why *why, mot_trainer *trainer, const struct why_wish *wish)
{
    why->trainer = trainer;
    why->wish = *wish;
    for (size_t i = 0; i < MOT_CURES; i++)
        why->tried[i] = NAN;
    why->replicas = mot_trainer_replicas(trainer);
    why->part = calloc(why->replicas, sizeof *why->part);
    why->before = calloc(why->replicas, sizeof *why->before);
    why->label = calloc(why->replicas, sizeof *why->label);
    why->share = calloc(why->replicas, sizeof *why->share);
    if (!why->part || !why->before || !why->label || !why->share)
        why->wish.sentence = false;
}

void why_close(struct why *why)
{
    free(why->part);
    free(why->before);
    free(why->label);
    free(why->share);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* From here on the time counts: after this step of this epoch. */
static void begin(struct why *why, const struct mot_event *event, size_t epoch, size_t step)
{
    memcpy(why->share, event->share, why->replicas * sizeof *why->share);
    mot_bench_breakdown(why->trainer, why->before); /* a failure shows in the next step */
    why->from.epoch = epoch;
    why->from.step = step;
    why->from.at_s = now_s();
}

static bool shares_moved(const struct why *why, const struct mot_event *event)
{
    return memcmp(why->share, event->share, why->replicas * sizeof *why->share) != 0;
}

/* Steps that are looked at by now. */
static size_t steps_seen(const struct why *why, const struct mot_event *event)
{
    return event->epoch == why->from.epoch ? event->step - why->from.step : 0;
}

/* An epoch's last batch may be smaller. */
static size_t rows_before(const struct mot_event *event, size_t step)
{
    const size_t rows = step * event->batch;

    return rows < event->samples ? rows : event->samples;
}

static bool all_unified(const mot_fleet *fleet)
{
    bool all = true;
    size_t i;

    for (i = 0; i < mot_fleet_count(fleet); i++)
        all = all && mot_fleet_get(fleet, i)->unified;
    return all;
}

/* What the steps seen say; the time counts anew. */
static void reckon(struct why *why, const struct mot_event *event)
{
    double seconds;
    size_t i;

    if (mot_bench_breakdown(why->trainer, why->part) != MOT_OK)
        return;
    seconds = now_s() - why->from.at_s;
    if (mot_bench_steady(why->trainer, why->part) != MOT_OK)
        return;
    for (i = 0; i < why->replicas; i++)
        why->label[i] = mot_fleet_label(event->fleet, i);
    why->reckoning =
        (struct mot_reckoning){.replicas = why->replicas,
                               .batch = event->batch,
                               .parameters = event->parameters,
                               .samples = event->samples,
                               .samples_per_s = (double)(rows_before(event, event->step) -
                                                         rows_before(event, why->from.step)) /
                                                seconds,
                               .share = why->share,
                               .part = why->part,
                               .label = why->label,
                               .shares_auto = why->wish.shares_auto,
                               .unified = all_unified(event->fleet),
                               .state = why->wish.state,
                               .accumulate = event->accumulate};
    why->count = mot_bench_limit(&why->reckoning, why->cure);
    why->from.step = event->step;
    why->from.at_s = now_s();
}

/* Enough steps for a first word? In the middle of a group of steps there is no trial. */
static bool early_is_due(const struct why *why, const struct mot_event *event)
{
    return !why->told_early && event->step < event->steps && event->step % event->accumulate == 0 &&
           steps_seen(why, event) >= why->wish.steps &&
           now_s() - why->from.at_s >= why->wish.seconds;
}

static bool see_step(struct why *why, const struct mot_event *event)
{
    if (shares_moved(why, event))
        begin(why, event, event->epoch, event->step);
    if (!early_is_due(why, event))
        return false;
    reckon(why, event);
    return why->told_early = why->count > 0;
}

/* All steps of an epoch are done, and nothing is tested yet. */
static bool see_steps_done(struct why *why, const struct mot_event *event)
{
    const size_t steps = steps_seen(why, event);
    const bool enough = steps >= STEPS_LEAST || (steps > 0 && why->from.step == 0);

    if (event->epoch == event->epochs) {
        if (enough || (steps > 0 && why->count == 0))
            reckon(why, event);
        return false; /* it is told at the end */
    }
    if (why->told_early || !enough)
        return false;
    reckon(why, event);
    return why->told_early = why->count > 0;
}

bool why_see(struct why *why, const struct mot_event *event)
{
    if (!why->wish.sentence)
        return false;
    switch (event->kind) {
    case MOT_EVENT_START:
        begin(why, event, 1, 0);
        return false;
    case MOT_EVENT_STEP:
        return see_step(why, event);
    case MOT_EVENT_PROGRESS:
        return event->step == event->steps && see_steps_done(why, event);
    case MOT_EVENT_EPOCH:
        begin(why, event, event->epoch + 1, 0);
        return false;
    case MOT_EVENT_END: /* somebody stopped it, or all is said */
        if (steps_seen(why, event) >= STEPS_LEAST ||
            (steps_seen(why, event) > 0 && why->count == 0))
            reckon(why, event);
        return false;
    default:
        return false;
    }
}

static void measure_rates(struct why *why, mot_fleet *fleet)
{
    const size_t bytes = why->reckoning.parameters * sizeof(float);
    struct mot_bench_reduce reduce;
    bool traffic = false;
    size_t i;

    for (i = 0; i < why->count; i++)
        traffic =
            traffic || why->cure[i].kind == MOT_LIMIT_LINK || why->cure[i].kind == MOT_LIMIT_HOST;
    if (!traffic || mot_bench_allreduce(fleet, bytes < BYTES_MOST ? bytes : BYTES_MOST, false,
                                        MEASURE_S, &reduce) != MOT_OK)
        return; /* a device too full to try: the sentence goes without */
    why->reckoning.up_gbps = reduce.up_gbps;
    why->reckoning.down_gbps = reduce.down_gbps;
    why->reckoning.host_gbps = reduce.host_gbps;
    why->count = mot_bench_limit(&why->reckoning, why->cure);
}

void why_measure(struct why *why, const struct options *options, const struct session *session,
                 bool try_cures)
{
    double now = NAN;
    size_t i;

    measure_rates(why, session->fleet);
    if (!try_cures)
        return;
    for (i = 0; i < why->count; i++) {
        const char *cure = why->cure[i].cure;

        if (isnan(now))
            now = try_cure(options, session, NULL);
        if (cure[0])
            why->tried[i] = try_cure(options, session, cure) / now;
    }
}

void why_json(const struct why *why, struct json *json)
{
#define LIMIT_NAME(name, text) [name] = text,
    static const char *const kind[] = {MOT_LIMIT_TABLE(LIMIT_NAME)};
#undef LIMIT_NAME
    size_t i;

    put_text(json, "limit", why->count ? why->cure[0].sentence : NULL);
    put_array(json, "cures");
    for (i = 0; i < why->count; i++) {
        const struct mot_cure *cure = &why->cure[i];

        put_object(json, NULL);
        put_text(json, "kind", kind[cure->kind]);
        put_text(json, "device", why->label[cure->replica]);
        put_text(json, "cure", cure->cure[0] ? cure->cure : NULL);
        put_number(json, "gain", cure->gain);
        put_number(json, "tried", why->tried[i]);
        put_number(json, "share", cure->share);
        put_text(json, "sentence", cure->sentence);
        put_end(json);
    }
    put_end(json);
}

static void print_parts(const struct why *why, FILE *out)
{
    double percent[PARTS];
    size_t i, k;

    fprintf(out, "%-8s", "device");
    for (k = 0; k < PARTS; k++)
        fprintf(out, " %8s", part_name[k]);
    fprintf(out, "\n");
    for (i = 0; i < why->replicas; i++) {
        parts_percent(&why->part[i], percent);
        fprintf(out, "%-8s", why->label[i]);
        for (k = 0; k < PARTS; k++)
            fprintf(out, " %6.1f %%", percent[k]);
        fprintf(out, "\n");
    }
}

static void print_cure(const struct why *why, size_t i, const char *before, FILE *out)
{
    fprintf(out, "%s: %s", before, why->cure[i].sentence);
    if (isfinite(why->tried[i]))
        fprintf(out, "; %s, tried, gave %.1f x", why->cure[i].cure, why->tried[i]);
    fprintf(out, "\n");
}

void why_print(const struct why *why, FILE *out, bool whole)
{
    size_t i;

    if (why->count == 0)
        return;
    print_cure(why, 0, "what limits the speed", out);
    if (!whole)
        return;
    print_parts(why, out);
    for (i = 1; i < why->count; i++)
        print_cure(why, i, "also", out);
}
