/* why.c - the breakdown of an epoch, and the cures the library reckons from it. */
#include "cli/why.h"

#include <stdlib.h>

void why_open(struct why *why, mot_trainer *trainer)
{
    why->trainer = trainer;
    why->replicas = mot_trainer_replicas(trainer);
    why->part = calloc(why->replicas, sizeof *why->part);
    why->before = calloc(why->replicas, sizeof *why->before);
    why->label = calloc(why->replicas, sizeof *why->label);
}

void why_close(struct why *why)
{
    free(why->part);
    free(why->before);
    free(why->label);
}

void why_begin(struct why *why)
{
    if (why->before)
        mot_bench_breakdown(why->trainer, why->before); /* a failure shows in the next step */
}

void why_end(struct why *why, const struct mot_event *event)
{
    struct mot_reckoning reckoning = {.replicas = why->replicas,
                                      .batch = event->batch,
                                      .parameters = event->parameters,
                                      .samples_per_s = event->samples_per_s,
                                      .share = event->share,
                                      .part = why->part,
                                      .label = why->label};
    size_t i;

    if (!why->part || !why->label || mot_bench_breakdown(why->trainer, why->part) != MOT_OK)
        return;
    for (i = 0; i < why->replicas; i++)
        why->label[i] = mot_fleet_label(event->fleet, i);
    why->count = mot_bench_limit(&reckoning, why->cure);
}

static void print_parts(const struct why *why, FILE *out)
{
    size_t i;

    fprintf(out, "%-8s %7s %7s %7s %8s %7s %7s %7s %7s\n", "device", "input", "upload", "forward",
            "backward", "staging", "reduce", "update", "waiting");
    for (i = 0; i < why->replicas; i++) {
        const struct mot_breakdown *b = &why->part[i];

        fprintf(out,
                "%-8s %5.1f %% %5.1f %% %5.1f %% %6.1f %% %5.1f %% %5.1f %% %5.1f %% %5.1f %%\n",
                why->label[i], 100 * b->input, 100 * b->upload, 100 * b->forward, 100 * b->backward,
                100 * b->staging, 100 * b->reduce, 100 * b->update, 100 * b->waiting);
    }
}

void why_print(const struct why *why, FILE *out, bool whole)
{
    size_t i;

    if (why->count == 0)
        return;
    fprintf(out, "what limits the speed: %s\n", why->cure[0].sentence);
    if (!whole)
        return;
    print_parts(why, out);
    for (i = 1; i < why->count; i++)
        fprintf(out, "also: %s\n", why->cure[i].sentence);
}
