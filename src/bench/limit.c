/* limit.c - from where the time went to one sentence: what limits the speed, and what each cure
 * would give by predict.h. */
#include "bench/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORTH 0.05   /* a part below this is not worth a word */
#define TIMES_MOST 8 /* no line is known further than this */

/* Nothing changed; shares that are auto find their balance anew under every change. */
static struct mot__change as_now(const struct mot_reckoning *r)
{
    return (struct mot__change){1, 1, r->shares_auto, MOT__ALL, MOT__ALL};
}

struct table {
    const struct mot_reckoning *r;
    double step_s;
    size_t slow;
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
static const char *tenths(double value, char out[32])
{
    const unsigned n = (unsigned)(fmin(value, 1e6) * 10 + 0.5);

    snprintf(out, 32, "%u.%u", n / 10, n % 10);
    return out;
}

/* "210k/s" */
static const char *speed(double samples_per_s, char out[32])
{
    if (samples_per_s < 10e3)
        snprintf(out, 32, "%u/s", (unsigned)(samples_per_s + 0.5));
    else
        snprintf(out, 32, "%uk/s", (unsigned)(samples_per_s / 1e3 + 0.5));
    return out;
}

/* The text of --devices for those that take part; false: half a list would be another advice. */
static bool name_devices(const struct mot_reckoning *r, size_t without, size_t only, char *out,
                         size_t bytes)
{
    size_t i, used = 0;

    used += (size_t)snprintf(out, bytes, "--devices ");
    for (i = 0; i < r->replicas; i++)
        if (!mot__absent(r, i) && (only == MOT__ALL ? i != without : i == only) && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s",
                                     used > sizeof "--devices " - 1 ? "," : "", r->label[i]);
    return used < bytes;
}

static void judge_input(struct table *t)
{
    const double share = mot__late(t->r);
    struct mot_cure cure = {.kind = MOT_LIMIT_INPUT,
                            .share = share,
                            .gain = 1 / (1 - fmin(share, 0.99)),
                            .cure = "faster data"};
    char gain[32];

    if (share <= 0)
        return;
    snprintf(
        cure.sentence, sizeof cure.sentence,
        "the data: %u %% of the time there is nothing to compute on; data in memory would give "
        "up to %s x",
        percent(share), tenths(cure.gain, gain));
    add(t, cure);
}

/* So many times the batch, or what the data have; where rows do not fit already, no more. */
static size_t times_of(const struct mot_reckoning *r, size_t wish)
{
    size_t most = r->samples > 0 && r->batch > 0 ? r->samples / r->batch : wish, i;

    for (i = 0; i < r->replicas; i++)
        if (r->part[i].cut)
            most = 1;

    return most < 1 ? 1 : most < wish ? most : wish;
}

/* The batch beyond which doubling gives less than a seventh; 1: there is none. */
static size_t best_times(const struct mot_reckoning *r)
{
    struct mot__change plan = as_now(r), twice = plan;
    const size_t most = times_of(r, TIMES_MOST);

    for (plan.times = most < 2 ? 1 : 2; 2 * plan.times <= most; plan.times *= 2) {
        twice.times = 2 * plan.times;
        if (mot__gain(r, &twice) <= 1.15 * mot__gain(r, &plan))
            break;
    }
    return plan.times;
}

/* ", --batch 512 about 1.4 x"; "" where the data have no more rows. */
static const char *or_batch(const struct mot_reckoning *r, size_t times, char out[96])
{
    struct mot__change plan = as_now(r);
    char gain[32];

    plan.times = times;
    out[0] = '\0';
    if (times > 1)
        snprintf(out, 96, ", --batch %zu about %s x", times * r->batch,
                 tenths(mot__gain(r, &plan), gain));
    return out;
}

/* Gradients take more of the time than so much: their sentence has the larger batch, too. */
static bool traffic_is_more(const struct table *t, double share)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    const double meeting = mot__present(t->r) > 1 ? mot__meeting(t->r) : 0;
    const double most = fmax(fmax(b->staging, b->reduce), meeting);

    return !b->streams && most > share && most >= 2 * WORTH;
}

/* What a step costs whatever its rows: by launching, or by what the device does. */
static void judge_batch(struct table *t)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    const double launch = b->waiting - b->others - b->woken;
    const double sent = b->streams ? b->staging + b->reduce : 0; /* in every step */
    const double fixed = launch + b->woken + b->update + b->steady * (b->forward + b->backward) +
                         b->steady_upload * b->upload + sent;
    struct mot_cure cure = {.kind = MOT_LIMIT_BATCH, .replica = t->slow, .share = fixed};
    struct mot__change plan = as_now(t->r);
    char gain[32];

    plan.times = best_times(t->r);
    if (fixed < WORTH || plan.times < 2 || traffic_is_more(t, fixed))
        return;
    cure.gain = mot__gain(t->r, &plan);
    tenths(cure.gain, gain);
    snprintf(cure.cure, sizeof cure.cure, "--batch %zu", plan.times * t->r->batch);
    if (launch > fixed / 2) {
        cure.kind = MOT_LIMIT_LAUNCH;
        cure.share = launch;
        snprintf(cure.sentence, sizeof cure.sentence,
                 "launches: device %s waits %u %% of the time for the host to launch what is next, "
                 "whatever the rows of batch %zu; %s would give about %s x",
                 t->r->label[t->slow], percent(launch), t->r->batch, cure.cure, gain);
    } else {
        snprintf(cure.sentence, sizeof cure.sentence,
                 "batch %zu is small: %u %% of a step is launching, waiting, the update and "
                 "kernels' start, whatever its rows; %s would give about %s x",
                 t->r->batch, percent(fixed), cure.cure, gain);
    }
    add(t, cure);
}

/* Is it its link that the others wait for: gradients that travel longer than theirs? */
static bool waits_for_link(const struct table *t, double waited)
{
    const struct mot_reckoning *r = t->r;
    double others = 1;
    size_t i;

    for (i = 0; i < r->replicas; i++)
        if (i != t->slow && !mot__absent(r, i))
            others = fmin(others, r->part[i].staging);
    return mot__present(r) > 1 && waited >= 2 * WORTH &&
           r->part[t->slow].staging - others > waited / 2;
}

/* How much longer than the slow one somebody waits for others. */
static double waited_for(const struct table *t)
{
    const struct mot_reckoning *r = t->r;
    double most = 0;
    size_t i;

    for (i = 0; i < r->replicas; i++)
        most = fmax(most, r->part[i].others - r->part[t->slow].others);
    return most;
}

/* Rows by speed where they are not, or without the slow one. */
static void judge_device(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    const struct mot__change by_speed = {1, 1, true, MOT__ALL, MOT__ALL};
    const struct mot__change without = {1, 1, r->shares_auto, t->slow, MOT__ALL};
    struct mot_cure cure = {.kind = MOT_LIMIT_DEVICE, .replica = t->slow, .share = waited_for(t)};
    char gain[32], list[sizeof cure.cure];

    if (mot__present(r) < 2 || cure.share < 2 * WORTH || r->share[t->slow] == 0 ||
        waits_for_link(t, cure.share))
        return;
    cure.gain = r->shares_auto ? 1 : mot__gain(r, &by_speed);
    snprintf(cure.cure, sizeof cure.cure, "--shares auto");
    if (mot__gain(r, &without) > cure.gain &&
        name_devices(r, t->slow, MOT__ALL, list, sizeof list)) {
        cure.gain = mot__gain(r, &without);
        memcpy(cure.cure, list, sizeof list);
    }
    snprintf(
        cure.sentence, sizeof cure.sentence,
        "device %s is slow for its share of %zu rows: the others wait for it %u %% of the time; "
        "%s would give about %s x",
        r->label[t->slow], r->share[t->slow], percent(cure.share), cure.cure,
        tenths(cure.gain, gain));
    add(t, cure);
}

/* One device alone neither stages, nor adds, nor waits. */
static void judge_many(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    struct mot_cure cure = {.kind = MOT_LIMIT_MANY};
    struct mot__change plan = as_now(r);
    char one[32], all[32], gain[32], batch[96];
    size_t i;

    for (i = 0; i < r->replicas && mot__present(r) > 1; i++) {
        plan.only = i;
        if (mot__gain(r, &plan) > cure.gain)
            cure.gain = mot__gain(r, &plan), cure.replica = i;
    }
    if (cure.gain < 1 + WORTH ||
        !name_devices(r, MOT__ALL, cure.replica, cure.cure, sizeof cure.cure))
        return;
    cure.share = 1 - 1 / cure.gain;
    for (i = 0; i < t->count; i++)
        if (strcmp(t->cure[i].cure, cure.cure) == 0)
            return; /* said already, of the device that is left out */
    snprintf(cure.sentence, sizeof cure.sentence,
             "batch %zu is too small for %zu devices (1: %s reckoned, %zu: %s measured); %s would "
             "give about %s x%s",
             r->batch, mot__present(r), speed(cure.gain * r->samples_per_s, one), mot__present(r),
             speed(r->samples_per_s, all), cure.cure, tenths(cure.gain, gain),
             or_batch(r, best_times(r), batch));
    add(t, cure);
}

/* "6.2"; "0.019" where tenths would be too coarse */
static const char *gigabytes(double value, char out[32])
{
    if (value >= 0.1)
        return tenths(value, out);
    snprintf(out, 32, "0.%03u", (unsigned)(fmax(value, 0) * 1000 + 0.5));
    return out;
}

/* "at 3.1 of 6.2 GB/s" */
static const char *rate_text(double bytes, double seconds, double limit, char out[96])
{
    char now[32], most[32];

    gigabytes(bytes / seconds * 1e-9, now);
    if (limit > 0)
        snprintf(out, 96, "at %s of %s GB/s", now, gigabytes(limit, most));
    else
        snprintf(out, 96, "at %s GB/s", now);
    return out;
}

/* Gradients that travel, are added, or are waited for: a quarter of the reductions; or none with a
 * device whose link keeps the others waiting. */
static void judge_traffic(struct table *t, enum mot_limit_kind kind, double share, const char *what)
{
    const struct mot_reckoning *r = t->r;
    const struct mot__change without = {1, 1, r->shares_auto, t->slow, MOT__ALL};
    struct mot_cure cure = {.kind = kind, .replica = t->slow, .share = share};
    struct mot__change rarely = as_now(r);
    char gain[32], batch[96], rarer[96] = "", list[sizeof cure.cure];

    if (share < 2 * WORTH || r->part[t->slow].streams)
        return;
    rarely.fewer = 4;
    cure.gain = mot__gain(r, &rarely);
    snprintf(cure.cure, sizeof cure.cure, "--accumulate %zu",
             4 * (r->accumulate ? r->accumulate : 1));
    if (kind == MOT_LIMIT_LINK && waits_for_link(t, waited_for(t)) &&
        mot__gain(r, &without) > cure.gain &&
        name_devices(r, t->slow, MOT__ALL, list, sizeof list)) {
        snprintf(rarer, sizeof rarer, ", %.40s about %s x", cure.cure, tenths(cure.gain, gain));
        cure.gain = mot__gain(r, &without);
        memcpy(cure.cure, list, sizeof list);
    }
    snprintf(cure.sentence, sizeof cure.sentence, "%s; %s would give about %s x%s%s", what,
             cure.cure, tenths(cure.gain, gain), rarer, or_batch(r, times_of(r, 4), batch));
    add(t, cure);
}

/* Weights that do not fit cross the link in every step, and the host updates them. */
static void judge_memory(struct table *t)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    struct mot_cure cure = {.kind = MOT_LIMIT_LINK,
                            .replica = t->slow,
                            .share = b->staging + b->reduce + b->woken,
                            .cure = "more memory"};
    char gain[32];

    if (!b->streams || cure.share < 2 * WORTH)
        return;
    cure.gain = 1 / (1 - fmin(cure.share, 0.99));
    snprintf(cure.sentence, sizeof cure.sentence,
             "the link of device %s: weights and gradients that do not fit its memory travel %u %% "
             "of the time; more memory would give up to %s x",
             t->r->label[t->slow], percent(cure.share), tenths(cure.gain, gain));
    add(t, cure);
}

static void judge_link(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    const double bytes = 4.0 * (double)r->parameters / (double)(r->accumulate ? r->accumulate : 1);
    const double share = r->part[t->slow].staging;
    const double both =
        r->up_gbps > 0 && r->down_gbps > 0 ? 2 / (1 / r->up_gbps + 1 / r->down_gbps) : 0;
    char what[192], rate[96];

    snprintf(what, sizeof what, "the link of device %s: gradients travel %u %% of the time, %s",
             r->label[t->slow], percent(share),
             rate_text(2 * bytes, share * t->step_s, both, rate));
    judge_traffic(t, MOT_LIMIT_LINK, share, what);
}

static void judge_host(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    const double bytes = 4.0 * (double)r->parameters / (double)(r->accumulate ? r->accumulate : 1);
    const double share = r->part[t->slow].reduce;
    char what[192], rate[96];

    snprintf(what, sizeof what, "host memory: gradients are added %u %% of the time, %s",
             percent(share),
             rate_text(2 * bytes * (double)mot__present(r), share * t->step_s, r->host_gbps, rate));
    judge_traffic(t, MOT_LIMIT_HOST, share, what);
}

static void judge_waiting(struct table *t)
{
    const double share =
        mot__present(t->r) > 1 ? mot__meeting(t->r) + t->r->part[t->slow].woken : 0;
    char what[192];

    snprintf(what, sizeof what,
             "waiting: the devices wait for each other and to wake up %u %% of the time, though "
             "none is slow",
             percent(share));
    judge_traffic(t, MOT_LIMIT_WAITING, share, what);
}

/* One copy of the variables instead of one for each device: where all memory is the host's. */
static void judge_update(struct table *t)
{
    const struct mot_reckoning *r = t->r;
    const struct mot_breakdown *b = &r->part[t->slow];
    const double devices = (double)mot__present(r);
    const double then = b->update * mot__moved_hosted(r, devices) / mot__moved(r);
    struct mot_cure cure = {.kind = MOT_LIMIT_UPDATE,
                            .replica = t->slow,
                            .share = b->update,
                            .gain = 1 / (1 - b->update + then),
                            .cure = "--strategy central"};
    char gain[32];

    if (!r->unified || devices < 2 || b->hosted || mot__late(r) > 0 || b->update < 2 * WORTH)
        return;
    snprintf(cure.sentence, sizeof cure.sentence,
             "the update: each device updates all parameters, %u %% of the time; %s would give "
             "about %s x",
             percent(b->update), cure.cure, tenths(cure.gain, gain));
    add(t, cure);
}

static struct mot_cure busy(const struct table *t)
{
    const struct mot_breakdown *b = &t->r->part[t->slow];
    struct mot_cure cure = {.kind = MOT_LIMIT_COMPUTE,
                            .gain = 1,
                            .replica = t->slow,
                            .share = b->upload + b->forward + b->backward};

    snprintf(
        cure.sentence, sizeof cure.sentence,
        "the network itself: device %s computes %u %% of the time; a faster or a further device "
        "would help",
        t->r->label[t->slow], percent(cure.share + b->update));
    return cure;
}

static int by_gain(const void *a, const void *b)
{
    const double x = ((const struct mot_cure *)a)->gain, y = ((const struct mot_cure *)b)->gain;

    return (x < y) - (x > y);
}

size_t mot_bench_limit(const struct mot_reckoning *r, struct mot_cure cure[MOT_CURES])
{
    static void (*const judge[])(struct table *) = {judge_input,  judge_batch,   judge_device,
                                                    judge_memory, judge_link,    judge_many,
                                                    judge_host,   judge_waiting, judge_update};
    struct table t = {.r = r,
                      .step_s = (double)r->batch / r->samples_per_s,
                      .slow = mot__slowest(r),
                      .cure = cure};
    size_t i;

    for (i = 0; i < sizeof judge / sizeof *judge; i++)
        judge[i](&t);
    qsort(cure, t.count, sizeof *cure, by_gain);
    while (t.count > 0 && cure[t.count - 1].gain < 1 + WORTH)
        t.count--;
    add(&t, busy(&t));
    return t.count;
}
