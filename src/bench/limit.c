/* limit.c - from where the time went to one sentence: what limits the speed, and what each cure
 * would give.
 *
 * A step of replica i costs fixed_i (staging, reduce, update, launching) + rows_i * slope_i
 * (upload, forward, backward), as the breakdown tells; it ends when the slowest is done. Every
 * prediction below is that formula with other rows. */
#include "base/status.h"

#include <math.h>
#include <motley/bench.h>
#include <stdio.h>
#include <stdlib.h>

#define WORTH 0.05 /* a part below this is not worth a word */

static double fixed_of(const struct mot_breakdown *b)
{
    return b->staging + b->reduce + b->update;
}

static double sloped_of(const struct mot_breakdown *b)
{
    return b->upload + b->forward + b->backward;
}

/* What a replica takes for a step by itself. */
static double own_of(const struct mot_breakdown *b)
{
    return 1 - b->input - b->others;
}

struct table {
    const struct mot_reckoning *r;
    double step_s;
    size_t slow; /* the replica that waits least for others */
    struct mot_cure *cure;
    size_t count;
};

static void add(struct table *t, struct mot_cure cure)
{
    if (t->count < MOT_CURES)
        t->cure[t->count++] = cure;
}

static unsigned percent(double share)
{
    return (unsigned)(100 * share + 0.5);
}

/* "1.8": a decimal point whatever the locale. */
static const char *times(double value, char out[32])
{
    const unsigned tenths = (unsigned)(fmin(value, 1e6) * 10 + 0.5);

    snprintf(out, 32, "%u.%u", tenths / 10, tenths % 10);
    return out;
}

static void find_slow(struct table *t)
{
    size_t i;

    for (i = 1; i < t->r->replicas; i++)
        if (t->r->part[i].others < t->r->part[t->slow].others)
            t->slow = i;
}

static void judge_input(struct table *t)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    struct mot_cure cure = {.kind = MOT_LIMIT_INPUT,
                            .share = b->input,
                            .gain = 1 / (1 - fmin(b->input, 0.99)),
                            .cure = "faster data"};
    char gain[32];

    if (b->input < WORTH)
        return;
    snprintf(
        cure.sentence, sizeof cure.sentence,
        "the data: %u %% of the time there is nothing to compute on; data in memory would give "
        "up to %s x",
        percent(b->input), times(cure.gain, gain));
    add(t, cure);
}

/* k times the rows in a step that costs fixed + sloped, the data coming as fast as now: k / (fixed
 * + k (sloped + input)). */
static double gain_of(size_t k, double fixed, double sloped)
{
    return (double)k / (fixed + (double)k * sloped);
}

static void judge_batch(struct table *t)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    const double fixed = own_of(b) - sloped_of(b), sloped = 1 - fixed;
    struct mot_cure cure = {.kind = MOT_LIMIT_BATCH, .share = fixed};
    char gain[32];
    size_t k = 2;

    if (fixed < WORTH || fixed < b->reduce + b->staging + WORTH / 2)
        return;
    while (k < 32 && gain_of(2 * k, fixed, sloped) > 1.15 * gain_of(k, fixed, sloped))
        k *= 2;
    cure.gain = gain_of(k, fixed, sloped);
    snprintf(cure.cure, sizeof cure.cure, "--batch %zu", k * t->r->batch);
    snprintf(
        cure.sentence, sizeof cure.sentence,
        "batch %zu is small: %u %% of a step is launching, waiting and the update, whatever its "
        "rows; --batch %zu would give about %s x",
        t->r->batch, percent(fixed), k * t->r->batch, times(cure.gain, gain));
    add(t, cure);
}

/* Rows by speed: every replica's own rate, together. */
static void judge_device(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    double slope, fixed = 0, fixed_rest = 0, rate = 0, rest = 0, now = (double)r->batch / t->step_s,
                  waits = 0;
    struct mot_cure cure = {.kind = MOT_LIMIT_DEVICE, .replica = t->slow};
    char gain[32];
    size_t i;

    if (r->replicas < 2)
        return;
    for (i = 0; i < r->replicas; i++) {
        slope = (own_of(&r->part[i]) - fixed_of(&r->part[i])) * t->step_s /
                (double)(r->share[i] ? r->share[i] : 1);
        rate += slope > 0 ? 1 / slope : 0;
        rest += i != t->slow && slope > 0 ? 1 / slope : 0;
        fixed = fmax(fixed, fixed_of(&r->part[i]) * t->step_s);
        if (i != t->slow)
            fixed_rest = fmax(fixed_rest, fixed_of(&r->part[i]) * t->step_s);
        waits = fmax(waits, r->part[i].others - r->part[t->slow].others);
    }
    if (waits < 2 * WORTH || rate <= 0)
        return;
    cure.share = waits;
    cure.gain = (double)r->batch / (fixed + (double)r->batch / rate) / now;
    snprintf(cure.cure, sizeof cure.cure, "--shares auto");
    if (rest > 0 && (double)r->batch / (fixed_rest + (double)r->batch / rest) / now > cure.gain) {
        cure.gain = (double)r->batch / (fixed_rest + (double)r->batch / rest) / now;
        snprintf(cure.cure, sizeof cure.cure, "leave device %s out", r->label[t->slow]);
    }
    snprintf(
        cure.sentence, sizeof cure.sentence,
        "device %s is slow for its share of %zu rows: the others wait for it %u %% of the time; "
        "%s would give about %s x",
        r->label[t->slow], r->share[t->slow], percent(waits), cure.cure, times(cure.gain, gain));
    add(t, cure);
}

/* A quarter of the reductions for the same rows: four times the batch. */
static void judge_traffic(struct table *t, enum mot_limit_kind kind, double share)
{
    const struct mot_reckoning *r = t->r;
    struct mot_cure cure = {.kind = kind, .replica = t->slow, .share = share};
    const double bytes = 2.0 * 4.0 * (double)r->parameters;
    char gain[32], rate[32];

    if (share < 2 * WORTH)
        return;
    cure.gain = 1 / (1 - share + share / 4);
    snprintf(cure.cure, sizeof cure.cure, "--batch %zu", 4 * r->batch);
    if (kind == MOT_LIMIT_LINK)
        snprintf(
            cure.sentence, sizeof cure.sentence,
            "the link of device %s: gradients travel %u %% of the time, at %s GB/s; --batch %zu "
            "would give about %s x",
            r->label[t->slow], percent(share), times(bytes / (share * t->step_s) * 1e-9, rate),
            4 * r->batch, times(cure.gain, gain));
    else
        snprintf(cure.sentence, sizeof cure.sentence,
                 "host memory: gradients are added %u %% of the time; --batch %zu would give about "
                 "%s x",
                 percent(share), 4 * r->batch, times(cure.gain, gain));
    add(t, cure);
}

static int by_gain(const void *a, const void *b)
{
    const double x = ((const struct mot_cure *)a)->gain, y = ((const struct mot_cure *)b)->gain;

    return (x < y) - (x > y);
}

size_t mot_bench_limit(const struct mot_reckoning *r, struct mot_cure cure[MOT_CURES])
{
    struct table t = {.r = r, .step_s = (double)r->batch / r->samples_per_s, .cure = cure};
    struct mot_cure busy = {.kind = MOT_LIMIT_COMPUTE, .gain = 1};

    find_slow(&t);
    judge_input(&t);
    judge_batch(&t);
    judge_device(&t);
    judge_traffic(&t, MOT_LIMIT_LINK, r->part[t.slow].staging);
    judge_traffic(&t, MOT_LIMIT_HOST, r->part[t.slow].reduce);
    busy.share = sloped_of(&r->part[t.slow]);
    busy.replica = t.slow;
    snprintf(
        busy.sentence, sizeof busy.sentence,
        "the network itself: device %s computes %u %% of the time; a faster or a further device "
        "would help",
        r->label[t.slow], percent(busy.share + r->part[t.slow].update));
    qsort(cure, t.count, sizeof *cure, by_gain);
    while (t.count > 0 && cure[t.count - 1].gain < 1 + WORTH)
        t.count--;
    add(&t, busy);
    return t.count;
}
