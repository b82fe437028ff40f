/* predict.c - a step of replica i takes
 *
 *     rest_i + rows_i * row_i + (update_i + traffic_i) / k + meeting / sqrt(k)
 *
 * with k steps to an update. row_i: upload, forward and backward of one row, without what they take
 * whatever the rows; update_i: with launching it and what it costs the passes after it; traffic_i:
 * staging, adding and waking up for it; meeting: waiting for the others though none is slow, by
 * chances that grow as sqrt(k). Who is alone has neither traffic nor meeting, but with central
 * storage what alone_of() says. rest_i: what is left of that steady part, launching, and the
 * traffic of weights that stream, which comes in every step. The slowest replica ends the step.
 * Data that is late sets the pace whatever the devices do. All parts are read off the breakdown of
 * the steps that were run. */
#include "bench/predict.h"

#include "strategy/replica.h"

#include <math.h>

#define LATE 0.05 /* of the time without data: the source sets the pace; below, it is a hiccup */

struct parts { /* of a step of this replica as it is now; the step is 1 */
    double row, rest, update, traffic, meeting, alone;
};

static double idle_of(const struct mot_breakdown *b)
{
    return b->others + b->input;
}

bool mot__absent(const struct mot_reckoning *r, size_t i)
{
    return r->part[i].out;
}

size_t mot__present(const struct mot_reckoning *r)
{
    size_t i, count = 0;

    for (i = 0; i < r->replicas; i++)
        count += !mot__absent(r, i);
    return count;
}

size_t mot__slowest(const struct mot_reckoning *r)
{
    size_t i, slow = 0;

    while (slow + 1 < r->replicas && mot__absent(r, slow))
        slow++;
    for (i = slow + 1; i < r->replicas; i++)
        if (!mot__absent(r, i) && idle_of(&r->part[i]) < idle_of(&r->part[slow]))
            slow = i;
    return slow;
}

double mot__meeting(const struct mot_reckoning *r)
{
    double least = 1;
    size_t i;

    for (i = 0; i < r->replicas; i++)
        least = mot__absent(r, i) ? least : fmin(least, r->part[i].others);
    return least;
}

/* What so many times the rows would not add to: of the line through that many and the rows now. */
static double steady_at(const struct mot_breakdown *b, double times)
{
    const double near = MOT__NEAR - (MOT__NEAR - 1) * b->steady;
    const double far = MOT__FAR - (MOT__FAR - 1) * b->steady_far;
    const double at = fmin(times, MOT__FAR);
    double cost;

    if (!(at > MOT__NEAR))
        return b->steady;
    cost = near + (far - near) * (at - MOT__NEAR) / (MOT__FAR - MOT__NEAR);
    return fmin(fmax(1 - (cost - 1) / (at - 1), 0), 1);
}

double mot__moved(const struct mot_reckoning *r)
{
    return 3 + 2 * (double)r->state;
}

double mot__moved_hosted(const struct mot_reckoning *r, double lanes)
{
    return (4 + 3 * (double)r->state) / lanes + 3;
}

/* For an update with central storage that a replica has to itself. Where all fits, the device does
 * it, in the host's memory or in a card's, next to which that is slow; else the host still does. */
static double alone_of(const struct mot_reckoning *r, const struct mot_breakdown *b)
{
    const double number = b->reduce / mot__moved_hosted(r, (double)mot__present(r));
    const double all = number * mot__moved_hosted(r, 1);

    if (!b->hosted)
        return 0;
    if (b->whole)
        return r->unified ? number * mot__moved(r) : 0;
    return b->streams ? all - b->reduce : b->staging + b->woken + all;
}

/* times: about so many times the rows it has. */
static struct parts parts_of(const struct mot_reckoning *r, size_t i, double times)
{
    const struct mot_breakdown *b = &r->part[i];
    const double passes = b->forward + b->backward;
    const double steady = steady_at(b, times) * passes;
    const double cold = fmin(b->cold * passes, steady);
    const double uploading = b->steady_upload * b->upload;
    const double rows = b->upload - uploading + passes - steady;
    const double traffic = b->staging + b->reduce + b->woken;
    const double launching = b->waiting - b->others - b->woken - b->updating;

    return (struct parts){.row = r->share[i] ? rows / (double)r->share[i] : INFINITY,
                          .rest = launching + (b->input < LATE ? b->input : 0) + uploading +
                                  steady - cold + (b->streams ? traffic : 0),
                          .update = b->update + b->updating + cold,
                          .traffic = b->streams ? 0 : traffic,
                          .meeting = mot__meeting(r),
                          .alone = alone_of(r, b)};
}

static bool takes_part(const struct mot_reckoning *r, const struct mot__change *change, size_t i)
{
    return !mot__absent(r, i) &&
           (change->only == MOT__ALL ? i != change->without : i == change->only);
}

static size_t count_of(const struct mot_reckoning *r, const struct mot__change *change)
{
    size_t i, count = 0;

    for (i = 0; i < r->replicas; i++)
        count += takes_part(r, change, i);
    return count;
}

static double fixed_of(const struct parts *p, const struct mot__change *change, bool alone)
{
    const double fewer = (double)change->fewer;
    const double others = alone ? p->alone / fewer : p->traffic / fewer + p->meeting / sqrt(fewer);

    return p->rest + p->update / fewer + others;
}

/* About so many times the rows that a replica which takes part has now. */
static double times_of(const struct mot_reckoning *r, const struct mot__change *change)
{
    double now = 0, then = 0;
    size_t i;

    for (i = 0; i < r->replicas; i++) {
        now += (double)r->share[i];
        then += takes_part(r, change, i) ? (double)r->share[i] : 0;
    }
    return then > 0 ? (double)change->times * now / then : 1;
}

/* All end together: rows_i = (t - fixed_i) / row_i, which sum to the batch. A replica whose fixed
 * part is longer gets no rows and still must be waited for. */
static double balanced_step(const struct mot_reckoning *r, const struct mot__change *change)
{
    const bool alone = count_of(r, change) == 1;
    const double batch = (double)(change->times * r->batch);
    const double times = times_of(r, change);
    double t = INFINITY, before, most, rows, rate;
    size_t i;

    do {
        before = t;
        rows = batch, rate = 0, most = 0;
        for (i = 0; i < r->replicas; i++) {
            const struct parts p = parts_of(r, i, times);
            const double fixed = fixed_of(&p, change, alone);

            if (!takes_part(r, change, i))
                continue;
            most = fmax(most, fixed);
            if (fixed < before && isfinite(p.row) && p.row > 0)
                rows += fixed / p.row, rate += 1 / p.row;
        }
        if (rate <= 0) /* nobody knows how fast these are */
            return INFINITY;
        t = rows / rate;
    } while (t < before && t < most);
    return fmax(t, most);
}

/* Shares that differ by a row are even ones of few rows, and will be even again. */
static double weight_of(const struct mot_reckoning *r, size_t i)
{
    size_t k, least = r->share[i], most = r->share[i];

    for (k = 0; k < r->replicas; k++) {
        least = r->share[k] < least ? r->share[k] : least;
        most = r->share[k] > most ? r->share[k] : most;
    }
    return least > 0 && most - least <= 1 ? 1 : (double)r->share[i];
}

static double split_step(const struct mot_reckoning *r, const struct mot__change *change)
{
    const bool alone = count_of(r, change) == 1;
    double given = 0, most = 0, rows;
    size_t i;

    for (i = 0; i < r->replicas; i++)
        given += takes_part(r, change, i) ? weight_of(r, i) : 0;
    if (given <= 0)
        return INFINITY;
    for (i = 0; i < r->replicas; i++) {
        struct parts p;

        if (!takes_part(r, change, i))
            continue;
        rows = (double)(change->times * r->batch) * weight_of(r, i) / given;
        p = parts_of(r, i, times_of(r, change));
        most = fmax(most, fixed_of(&p, change, alone) + (rows > 0 ? rows * p.row : 0));
    }
    return most;
}

/* Data is late where the last to meet the others waited for it: they wait for the data with it. */
double mot__late(const struct mot_reckoning *r)
{
    const double meeting = mot__meeting(r);
    double input = 0;
    size_t i;

    for (i = 0; i < r->replicas; i++)
        if (!mot__absent(r, i) && r->part[i].others <= meeting)
            input = fmax(input, r->part[i].input);
    return input < LATE ? 0 : idle_of(&r->part[mot__slowest(r)]) - meeting;
}

double mot__gain(const struct mot_reckoning *r, const struct mot__change *change)
{
    const double times = (double)change->times;
    double t = change->balanced ? balanced_step(r, change) : split_step(r, change);

    if (mot__late(r) > 0)
        t = fmax(t, times);
    return t > 0 ? times / t : 1;
}
