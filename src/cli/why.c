/* why.c - the breakdown of an epoch, and the cures the library reckons from it. */
#include "cli/why.h"

#include "cli/parts.h"
#include "cli/try.h"

#include <math.h>
#include <stdlib.h>

#define BYTES_MOST ((size_t)64 << 20) /* of an all-reduce that is tried for its rates */
#define MEASURE_S 0.1

void why_open(struct why *why, mot_trainer *trainer, bool shares_auto)
{
    why->trainer = trainer;
    why->shares_auto = shares_auto;
    for (size_t i = 0; i < MOT_CURES; i++)
        why->tried[i] = NAN;
    why->replicas = mot_trainer_replicas(trainer);
    why->part = calloc(why->replicas, sizeof *why->part);
    why->before = calloc(why->replicas, sizeof *why->before);
    why->label = calloc(why->replicas, sizeof *why->label);
    why->share = calloc(why->replicas, sizeof *why->share);
}

void why_close(struct why *why)
{
    free(why->part);
    free(why->before);
    free(why->label);
    free(why->share);
}

void why_begin(struct why *why)
{
    if (why->before)
        mot_bench_breakdown(why->trainer, why->before); /* a failure shows in the next step */
}

void why_end(struct why *why, const struct mot_event *event)
{
    size_t i;

    if (!why->part || !why->label || !why->share ||
        mot_bench_breakdown(why->trainer, why->part) != MOT_OK ||
        mot_bench_steady(why->trainer, why->part) != MOT_OK)
        return;
    for (i = 0; i < why->replicas; i++) {
        why->label[i] = mot_fleet_label(event->fleet, i);
        why->share[i] = event->share[i];
    }
    why->reckoning = (struct mot_reckoning){.replicas = why->replicas,
                                            .batch = event->batch,
                                            .parameters = event->parameters,
                                            .samples_per_s = event->samples_per_s,
                                            .share = why->share,
                                            .part = why->part,
                                            .label = why->label,
                                            .shares_auto = why->shares_auto,
                                            .accumulate = event->accumulate};
    why->count = mot_bench_limit(&why->reckoning, why->cure);
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

void why_measure(struct why *why, const struct options *options, const struct session *session)
{
    double now = NAN;
    size_t i;

    measure_rates(why, session->fleet);
    if (!options->why)
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
    static const char *const kind[] = {
        [MOT_LIMIT_COMPUTE] = "compute", [MOT_LIMIT_INPUT] = "input",
        [MOT_LIMIT_BATCH] = "batch",     [MOT_LIMIT_DEVICE] = "device",
        [MOT_LIMIT_LINK] = "link",       [MOT_LIMIT_HOST] = "host",
        [MOT_LIMIT_MANY] = "many",       [MOT_LIMIT_WAITING] = "waiting"};
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
