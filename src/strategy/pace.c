/* pace.c - weighted least squares, and shares by bisection of the time at which all end. */
#include "strategy/pace.h"

#include "base/size.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define APART 0.10    /* rows must differ by so much of their mean to tell fixed from per_row */
#define BISECTIONS 60 /* halve any interval of doubles to nothing worth a row */

void mot__pace_start(struct mot__pace *pace)
{
    memset(pace, 0, sizeof *pace);
    pace->quantum = 1;
    pace->most = SIZE_MAX;
}

double mot__pace_of(const struct mot__pace *pace, size_t rows)
{
    const double paid = (double)mot__size_round_up(rows, pace->quantum);

    return rows == 0 ? 0 : pace->fixed_s + paid * pace->per_row_s;
}

/* ---- the fit ---- */

/* All points at one size say nothing of how the time divides: what was known is scaled. */
static void scale_fit(struct mot__pace *pace, double rows, double seconds)
{
    const double known = pace->fixed_s + rows * pace->per_row_s;

    if (known > 0) {
        pace->fixed_s *= seconds / known;
        pace->per_row_s *= seconds / known;
    } else {
        pace->per_row_s = seconds / rows;
    }
}

static void fit(struct mot__pace *pace)
{
    double weight = 1, w = 0, x = 0, t = 0, xx = 0, xt = 0, slope;
    size_t i;

    for (i = 0; i < pace->points; i++, weight /= 2) {
        const struct mot__pace_point *p = &pace->point[i];

        w += weight;
        x += weight * p->rows;
        t += weight * p->seconds;
        xx += weight * p->rows * p->rows;
        xt += weight * p->rows * p->seconds;
    }
    x /= w, t /= w, xx /= w, xt /= w;
    if (xx - x * x < APART * APART * x * x) {
        scale_fit(pace, x, t);
        return;
    }
    slope = (xt - x * t) / (xx - x * x);
    if (slope <= 0) { /* noise: more rows never take less */
        scale_fit(pace, x, t);
        return;
    }
    if (t - slope * x < 0) /* nor does a launch cost less than nothing */
        slope = xt / xx;
    pace->per_row_s = slope;
    pace->fixed_s = fmax(t - slope * x, 0);
}

void mot__pace_add(struct mot__pace *pace, size_t rows, double seconds)
{
    if (rows == 0 || !(seconds > 0))
        return;
    memmove(&pace->point[1], &pace->point[0], (MOT__PACE_POINTS - 1) * sizeof pace->point[0]);
    pace->point[0] =
        (struct mot__pace_point){(double)mot__size_round_up(rows, pace->quantum), seconds};
    pace->points = mot__size_min(pace->points + 1, MOT__PACE_POINTS);
    fit(pace);
}

static void move_points(struct mot__pace *pace, double more, double times)
{
    size_t i;

    for (i = 0; i < pace->points; i++)
        pace->point[i].seconds = (pace->point[i].seconds + more) * times;
}

void mot__pace_follow(struct mot__pace *pace, size_t rows, double seconds)
{
    const double known = mot__pace_of(pace, rows);
    const double paid = (double)mot__size_round_up(rows, pace->quantum);

    if (rows == 0 || !(seconds > 0))
        return;
    if (!pace->followed && known > 0) {
        /* What is more than a trial's own time again is not overhead but slowness. */
        pace->unseen_s = fmin(fmax(seconds - known, 0), known);
        move_points(pace, pace->unseen_s, seconds / (known + pace->unseen_s));
    } else if (pace->points > 0 && fabs(paid / pace->point[0].rows - 1) < APART) {
        move_points(pace, 0, seconds / pace->point[0].seconds);
    }
    pace->followed = true;
    mot__pace_add(pace, rows, seconds);
}

void mot__pace_retry(struct mot__pace *pace, const struct mot__pace *trial)
{
    const struct mot__pace old = *pace;

    *pace = *trial;
    pace->most = old.most;
    pace->quantum = old.quantum;
    pace->followed = old.followed;
    pace->unseen_s = old.unseen_s;
    move_points(pace, old.unseen_s, 1);
    if (pace->points > 0)
        fit(pace);
}

size_t mot__pace_quantum(double one_s, double sixteen_s, double all_s, double noise_s)
{
    if (all_s > 3 * noise_s && one_s > 0.7 * all_s)
        return 64;
    if (sixteen_s > 3 * noise_s && one_s > 0.7 * sixteen_s)
        return 16;
    return 1;
}

/* ---- shares ---- */

/* Whole quanta that a replica ends by then. */
static size_t rows_by(const struct mot__pace *pace, double end_s)
{
    const double rows = (end_s - pace->fixed_s) / pace->per_row_s;
    size_t whole;

    if (!(rows >= 1))
        return 0;
    whole = rows >= (double)SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)(rows * (1 + 1e-12));
    return mot__size_min(whole / pace->quantum * pace->quantum, pace->most);
}

static size_t deal(const struct mot__pace *pace, size_t lanes, double end_s, size_t rows,
                   size_t *share)
{
    size_t i, dealt = 0;

    for (i = 0; i < lanes; i++) {
        share[i] = mot__size_min(rows_by(&pace[i], end_s), rows);
        dealt += share[i];
    }
    return dealt;
}

/* The replica that ends first with more rows on top; lanes: nobody may take them. */
static size_t first_to_end(const struct mot__pace *pace, size_t lanes, const size_t *share,
                           size_t more)
{
    size_t i, best = lanes;
    double end, best_s = INFINITY;

    for (i = 0; i < lanes; i++) {
        if (more > pace[i].most - share[i])
            continue;
        end = mot__pace_of(&pace[i], share[i] + more);
        if (end < best_s)
            best_s = end, best = i;
    }
    return best;
}

/* What whole quanta leave over goes where it ends first, a quantum at a time. */
static void deal_rest(const struct mot__pace *pace, size_t lanes, size_t rest, size_t *share)
{
    size_t best, more, quantum = SIZE_MAX, i;

    for (i = 0; i < lanes; i++)
        quantum = mot__size_min(quantum, pace[i].quantum);
    while (rest > 0) {
        more = mot__size_min(rest, quantum);
        best = first_to_end(pace, lanes, share, more);
        if (best == lanes && more > 1) {
            quantum = more = 1;
            best = first_to_end(pace, lanes, share, more);
        }
        if (best == lanes)
            return;
        share[best] += more;
        rest -= more;
    }
}

double mot__pace_end(const struct mot__pace *pace, size_t lanes, const size_t *share)
{
    double end = 0;
    size_t i;

    for (i = 0; i < lanes; i++)
        end = fmax(end, mot__pace_of(&pace[i], share[i]));
    return end;
}

double mot__pace_split(const struct mot__pace *pace, size_t lanes, size_t rows, size_t *share)
{
    double low = 0, high = 0, middle;
    size_t i, dealt;

    for (i = 0; i < lanes; i++)
        high = fmax(high, pace[i].fixed_s + (double)(rows + pace[i].quantum) * pace[i].per_row_s);
    for (i = 0; i < BISECTIONS; i++) { /* the latest end by which not all rows are done */
        middle = low + (high - low) / 2;
        if (deal(pace, lanes, middle, rows, share) <= rows)
            low = middle;
        else
            high = middle;
    }
    dealt = deal(pace, lanes, low, rows, share);
    deal_rest(pace, lanes, rows - mot__size_min(dealt, rows), share);
    return mot__pace_end(pace, lanes, share);
}
