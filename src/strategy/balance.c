/* balance.c - samples from the lanes, and the review that may change shares. */
#include "strategy/balance.h"

#include "base/median.h"
#include "base/size.h"
#include "base/thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_START 1.10  /* a step must become so much shorter to start with uneven shares; ... */
#define WORTH 1.05        /* ... so much to change them, when steps and no trial tell, ... */
#define OFTEN 3           /* ... in so many reviews in a row; */
#define MUCH 2.0          /* so much more of that saving ... */
#define OFTEN_MUCH 2      /* ... wants fewer, ... */
#define LITTLE 0.4        /* ... and so much of it ... */
#define OFTEN_LITTLE 6    /* ... will do where so many ask for it; */
#define WORTH_LEAVING 1.2 /* and so much to leave a replica out, in as many as for much */
#define WORTH_MOST 2.0
#define PERIOD_S 0.5   /* a review sums up at least so much: what passes sooner is noise */
#define LARGER_MOST 64 /* times the batch: the largest that is advised */
#define QUIET 32       /* reviews without a change: a promise that was not kept counts less */
#define IDLE_S 4.0     /* an idle lane is tried again after so long, then twice that, ... */
#define IDLE_MOST_S 512.0
#define IDLE_PART 8 /* idle: with less than this part of an even share */

struct lane {
    struct mot__pace pace;
    struct sample {
        size_t rows;
        double own_s, whole_s;
    } sample[MOT__BALANCE_WINDOW];
    size_t samples; /* since the last review */
    double seconds; /* of those */
    size_t share;
    struct mot__pace tried; /* again, while it had no rows */
    bool again;             /* that was not looked at yet */
};

struct mot__balance {
    struct mot__balance_config config;
    struct mot__lock lock; /* guards the samples */
    struct lane *lane;
    struct mot__pace *pace;    /* scratch, (lanes) */
    size_t *trial, *dealt;     /* scratch, (lanes) */
    bool *in;                  /* (lanes): not left out */
    bool *some, *fewer, *more; /* scratch, (lanes) */
    size_t rows;               /* of a whole batch */
    size_t seen;               /* reviews in a row that asked for what is in asked */
    enum mot__review asked;
    size_t quiet;             /* reviews since something changed, or since worth did */
    double worth;             /* what a change must promise; more after one that kept no promise */
    double changed_s;         /* a step took so long before the last change; 0: that was judged */
    double promised_s;        /* and should take so long after it */
    double sync_s;            /* what working together costs a step, when more than one did */
    double idle_s, idle_at_s; /* lanes without rows are tried again so often, and next then */
};

/* ---- opening ---- */

mot_status mot__balance_open(const struct mot__balance_config *config, mot__balance **out)
{
    mot_status status = MOT_OK;
    mot__balance *balance = calloc(1, sizeof *balance);
    size_t i;

    if (!balance)
        return mot__fail(MOT_NO_MEMORY, "a balance's %zu bytes", sizeof *balance);
    balance->config = *config;
    balance->worth = WORTH;
    balance->idle_s = IDLE_S;
    status = mot__lock_init(&balance->lock);
    if (status != MOT_OK) {
        free(balance);
        return status;
    }
    balance->lane = calloc(config->lanes, sizeof *balance->lane);
    balance->pace = calloc(config->lanes, sizeof *balance->pace);
    balance->trial = calloc(config->lanes, sizeof *balance->trial);
    balance->dealt = calloc(config->lanes, sizeof *balance->dealt);
    balance->in = calloc(4 * config->lanes, sizeof *balance->in);
    if (!balance->lane || !balance->pace || !balance->trial || !balance->dealt || !balance->in) {
        mot__balance_close(balance);
        return mot__fail(MOT_NO_MEMORY, "a balance of %zu lanes", config->lanes);
    }
    balance->some = balance->in + config->lanes;
    balance->fewer = balance->some + config->lanes;
    balance->more = balance->fewer + config->lanes;
    for (i = 0; i < config->lanes; i++) {
        mot__pace_start(&balance->lane[i].pace);
        balance->in[i] = true;
    }
    *out = balance;
    return MOT_OK;
}

void mot__balance_close(mot__balance *balance)
{
    if (!balance)
        return;
    mot__lock_clear(&balance->lock);
    free(balance->lane);
    free(balance->pace);
    free(balance->trial);
    free(balance->dealt);
    free(balance->in);
    free(balance);
}

/* ---- what is measured ---- */

void mot__balance_told(mot__balance *balance, size_t lane, size_t rows, double own_s,
                       double whole_s)
{
    struct lane *at = &balance->lane[lane];

    mot__lock_take(&balance->lock);
    at->sample[at->samples++ % MOT__BALANCE_WINDOW] = (struct sample){rows, own_s, whole_s};
    at->seconds += whole_s;
    mot__lock_give(&balance->lock);
}

void mot__balance_set(mot__balance *balance, size_t lane, const struct mot__pace *pace)
{
    balance->lane[lane].pace = *pace;
}

void mot__balance_most(mot__balance *balance, size_t lane, size_t rows)
{
    balance->lane[lane].pace.most = rows;
}

/* What a lane takes for no rows, or for few of them, says nothing of what it would for many. */
static bool is_idle(const mot__balance *balance, size_t lane)
{
    return balance->lane[lane].share * IDLE_PART * balance->config.lanes < balance->rows;
}

bool mot__balance_idle(mot__balance *balance, double now_s, bool *idle)
{
    bool any = false;
    size_t i;

    for (i = 0; i < balance->config.lanes; i++) {
        idle[i] = is_idle(balance, i);
        any = any || idle[i];
    }
    if (!any || balance->idle_at_s == 0)
        balance->idle_at_s = any ? now_s + balance->idle_s : 0;
    if (!any || now_s < balance->idle_at_s)
        return false;
    balance->idle_s = fmin(2 * balance->idle_s, IDLE_MOST_S);
    balance->idle_at_s = now_s + balance->idle_s;
    return true;
}

void mot__balance_tried(mot__balance *balance, size_t lane, const struct mot__pace *pace)
{
    mot__lock_take(&balance->lock);
    balance->lane[lane].tried = *pace;
    balance->lane[lane].again = true;
    mot__lock_give(&balance->lock);
}

static void take_trials(mot__balance *balance)
{
    size_t i;

    for (i = 0; i < balance->config.lanes; i++) {
        struct lane *lane = &balance->lane[i];

        if (lane->again && is_idle(balance, i))
            mot__pace_retry(&lane->pace, &lane->tried);
        lane->again = false;
    }
}

/* The median of the steps that had this share; false: too few of them. */
static bool measure(const struct lane *lane, double *own_s, double *whole_s)
{
    double own[MOT__BALANCE_WINDOW], whole[MOT__BALANCE_WINDOW];
    size_t i, count = 0;

    for (i = 0; i < mot__size_min(lane->samples, MOT__BALANCE_WINDOW); i++) {
        if (lane->sample[i].rows != lane->share)
            continue;
        own[count] = lane->sample[i].own_s;
        whole[count++] = lane->sample[i].whole_s;
    }
    if (count < MOT__BALANCE_WINDOW / 16)
        return false;
    *own_s = mot__median(own, count);
    *whole_s = mot__median(whole, count);
    return true;
}

static void forget(struct lane *lane)
{
    lane->samples = 0;
    lane->seconds = 0;
}

/* Every lane so many steps, and one of them for so long: in a loop of the user's own the quick ones
 * do not wait in their steps. */
static bool told_enough(const mot__balance *balance)
{
    double longest_s = 0;
    size_t i;

    for (i = 0; i < balance->config.lanes; i++) {
        if (balance->in[i] && balance->lane[i].samples < MOT__BALANCE_WINDOW / 8)
            return false;
        longest_s = fmax(longest_s, balance->in[i] ? balance->lane[i].seconds : 0);
    }
    return longest_s >= PERIOD_S;
}

/* Refit every lane from the window that ended; false while one has not told enough. before_s: of a
 * step; sync_s: the part of it after the last lane's gradients were there. */
static bool refit(mot__balance *balance, double *before_s, double *sync_s)
{
    double own, whole, slowest = 0;
    bool all;
    size_t i;

    *before_s = 0;
    mot__lock_take(&balance->lock);
    take_trials(balance);
    all = told_enough(balance);
    for (i = 0; all && i < balance->config.lanes; i++) {
        struct lane *lane = &balance->lane[i];

        if (!balance->in[i] || !measure(lane, &own, &whole))
            continue;
        mot__pace_follow(&lane->pace, lane->share, own);
        slowest = fmax(slowest, lane->share ? own : 0);
        *before_s = fmax(*before_s, whole);
    }
    for (i = 0; all && i < balance->config.lanes; i++)
        forget(&balance->lane[i]);
    mot__lock_give(&balance->lock);
    *sync_s = fmax(*before_s - slowest, 0);
    return all && *before_s > 0;
}

/* ---- what would be better ---- */

static size_t count_in(const bool *in, size_t lanes)
{
    size_t i, count = 0;

    for (i = 0; i < lanes; i++)
        count += in[i];
    return count;
}

/* Do so many rows fit the devices of these lanes at once? */
static bool has_room(const mot__balance *balance, const bool *in, size_t rows)
{
    size_t i, most;

    for (i = 0; i < balance->config.lanes && rows > 0; i++) {
        most = in[i] ? balance->lane[i].pace.most : 0;
        rows -= mot__size_min(rows, most);
    }
    return rows == 0;
}

/* The best shares among some of the lanes. */
static double split_among(const mot__balance *balance, const bool *in, size_t rows, size_t *share)
{
    const size_t lanes = balance->config.lanes;
    const bool room = has_room(balance, in, rows);
    size_t i, k = 0;
    double end;

    for (i = 0; i < lanes; i++)
        if (in[i]) {
            balance->pace[k] = balance->lane[i].pace;
            balance->pace[k].most = room ? balance->pace[k].most : SIZE_MAX;
            k++;
        }
    end = mot__pace_split(balance->pace, k, rows, balance->dealt);
    for (i = k = 0; i < lanes; i++)
        share[i] = in[i] ? balance->dealt[k++] : 0;
    return end;
}

static double split_evenly(const mot__balance *balance, size_t rows, size_t *share)
{
    const size_t lanes = balance->config.lanes;
    const size_t in = count_in(balance->in, lanes);
    double end = 0;
    size_t i, k = 0;

    for (i = 0; i < lanes; i++) {
        share[i] = balance->in[i] ? rows / in + (k++ < rows % in) : 0;
        end = fmax(end, mot__pace_of(&balance->lane[i].pace, share[i]));
    }
    return end;
}

static void take(mot__balance *balance, const size_t *share)
{
    size_t i;

    mot__lock_take(&balance->lock);
    for (i = 0; i < balance->config.lanes; i++) {
        balance->lane[i].share = share[i];
        forget(&balance->lane[i]);
    }
    mot__lock_give(&balance->lock);
    balance->seen = balance->quiet = 0;
}

/* Some lane would have more rows than its device has room for, though there is room elsewhere. */
static bool too_many(const mot__balance *balance, size_t rows, const size_t *share)
{
    size_t i;

    for (i = 0; i < balance->config.lanes; i++)
        if (share[i] > balance->lane[i].pace.most)
            return has_room(balance, balance->in, rows);
    return false;
}

void mot__balance_start(mot__balance *balance, size_t rows, size_t *share)
{
    const double best_s = split_among(balance, balance->in, rows, share);
    const double even_s = split_evenly(balance, rows, balance->trial);

    balance->rows = rows;
    if (!(best_s > 0) ||
        (even_s < WORTH_START * best_s && !too_many(balance, rows, balance->trial)))
        memcpy(share, balance->trial, balance->config.lanes * sizeof *share);
    take(balance, share);
}

void mot__balance_all(mot__balance *balance)
{
    size_t i;

    for (i = 0; i < balance->config.lanes; i++)
        balance->in[i] = true;
    balance->config.may_leave = false;
}

/* Of those that are in, the one that would take longest for the whole batch. */
static size_t slowest_in(const mot__balance *balance, const bool *in)
{
    size_t i, slow = balance->config.lanes;
    double s, slow_s = -1;

    for (i = 0; i < balance->config.lanes; i++) {
        s = in[i] ? mot__pace_of(&balance->lane[i].pace, balance->rows) : -1;
        if (s > slow_s)
            slow_s = s, slow = i;
    }
    return slow;
}

/* Without the slowest, without the two slowest, and so on down to one: what the best of these
 * would take, with its lanes in fewer. One alone has nobody to wait for. */
static double best_without(mot__balance *balance, double sync_s, bool *fewer)
{
    const size_t lanes = balance->config.lanes;
    double best_s = INFINITY, s;
    size_t left = count_in(balance->in, lanes);

    memcpy(balance->some, balance->in, lanes * sizeof *balance->some);
    while (left > 1) {
        balance->some[slowest_in(balance, balance->some)] = false;
        left--;
        s = split_among(balance, balance->some, balance->rows, balance->trial);
        s += left > 1 ? sync_s : 0;
        if (s < best_s) {
            best_s = s;
            memcpy(fewer, balance->some, lanes * sizeof *fewer);
        }
    }
    return best_s;
}

/* Of all lanes, those that would have rows: more, if some that was left out is among them. */
static double best_of_all(mot__balance *balance, bool *more)
{
    const size_t lanes = balance->config.lanes;
    bool back = false;
    double end;
    size_t i;

    for (i = 0; i < lanes; i++)
        balance->some[i] = true;
    end = split_among(balance, balance->some, balance->rows, balance->trial);
    for (i = 0; i < lanes; i++) {
        more[i] = balance->trial[i] > 0;
        back = back || (more[i] && !balance->in[i]);
    }
    return back ? end + (count_in(more, lanes) > 1 ? balance->sync_s : 0) : INFINITY;
}

/* The smallest doubled batch with which all of them beat the fewer. */
static size_t larger_batch(const mot__balance *balance, const bool *fewer, double sync_s)
{
    const size_t left = count_in(fewer, balance->config.lanes);
    double all_s, few_s;
    size_t k;

    for (k = 2; k <= LARGER_MOST; k *= 2) {
        all_s = split_among(balance, balance->in, k * balance->rows, balance->trial) + sync_s;
        few_s = split_among(balance, fewer, k * balance->rows, balance->trial);
        if (few_s + (left > 1 ? sync_s : 0) > WORTH_LEAVING * all_s)
            return k * balance->rows;
    }
    return 0;
}

/* ---- the review ---- */

/* Asked for often enough in a row? times: what a step takes now, of what it would. */
static bool insist(mot__balance *balance, enum mot__review what, double times)
{
    const double saving = (times - 1) / (balance->worth - 1);
    const bool much = what == MOT__REVIEW_LEAVE || what == MOT__REVIEW_RETURN || saving > MUCH;
    const size_t often = much ? OFTEN_MUCH : saving > 1 ? OFTEN : OFTEN_LITTLE;

    balance->seen = balance->asked == what ? balance->seen + 1 : 1;
    balance->asked = what;
    return what != MOT__REVIEW_KEEP && balance->seen >= often;
}

static size_t count_rows(const mot__balance *balance, const size_t *share)
{
    size_t i, kept = 0;

    for (i = 0; i < balance->config.lanes; i++)
        kept += share[i] > 0;
    return kept;
}

/* These lanes from here on, as far as they have rows. */
static void go_on_with(mot__balance *balance, const bool *in, size_t *share)
{
    size_t i;

    split_among(balance, in, balance->rows, share);
    for (i = 0; i < balance->config.lanes; i++)
        balance->in[i] = share[i] > 0;
}

/* Did the last change save at least half of what it promised? If not, the next must promise more,
 * for a while. */
static void learn(mot__balance *balance, double now_s)
{
    const bool failed =
        balance->changed_s > 0 && now_s > (balance->changed_s + balance->promised_s) / 2;

    if (failed)
        balance->worth = fmin(1 + 2 * (balance->worth - 1), WORTH_MOST);
    else if (balance->changed_s > 0 || ++balance->quiet % QUIET == 0)
        balance->worth = fmax(1 + (balance->worth - 1) / 2, WORTH);
    balance->changed_s = 0;
}

/* A lane that gets no rows brings nothing: whatever it costs is worth leaving it out. */
static double worth_leaving(const mot__balance *balance, const size_t *share)
{
    size_t i;

    for (i = 0; i < balance->config.lanes; i++)
        if (balance->in[i] && share[i] == 0)
            return 1;
    return WORTH_LEAVING;
}

/* What would be best: as it is, other shares, fewer lanes or more. */
static void judge(mot__balance *balance, const size_t *share, struct mot__reviewed *found,
                  double best_s)
{
    const bool may = balance->config.may_leave;
    const double fewer_s = may ? best_without(balance, balance->sync_s, balance->fewer) : INFINITY;
    const double more_s = may ? best_of_all(balance, balance->more) : INFINITY;
    const double worth = worth_leaving(balance, share);

    found->after_s = best_s;
    if (found->before_s > worth * fewer_s && best_s > worth * fewer_s) {
        found->what = MOT__REVIEW_LEAVE;
        found->after_s = fewer_s;
    } else if (fmin(found->before_s, best_s) > WORTH_LEAVING * more_s) {
        found->what = MOT__REVIEW_RETURN;
        found->after_s = more_s;
    } else if (found->before_s > (1 + LITTLE * (balance->worth - 1)) * best_s) {
        found->what = MOT__REVIEW_SHARE;
    }
}

struct mot__reviewed mot__balance_review(mot__balance *balance, size_t *share)
{
    struct mot__reviewed found = {.what = MOT__REVIEW_KEEP};
    double sync_s, best_s;

    if (!refit(balance, &found.before_s, &sync_s))
        return (struct mot__reviewed){.what = MOT__REVIEW_KEEP};
    learn(balance, found.before_s);
    if (count_in(balance->in, balance->config.lanes) > 1)
        balance->sync_s = sync_s;
    best_s = split_among(balance, balance->in, balance->rows, share) + sync_s;
    judge(balance, share, &found, best_s);
    if (!insist(balance, found.what, found.before_s / best_s)) {
        found.what = MOT__REVIEW_KEEP;
        return found;
    }
    if (found.what == MOT__REVIEW_LEAVE) {
        found.larger = larger_batch(balance, balance->fewer, balance->sync_s);
        go_on_with(balance, balance->fewer, share);
    } else if (found.what == MOT__REVIEW_RETURN) {
        go_on_with(balance, balance->more, share);
    }
    found.kept = count_rows(balance, share);
    balance->changed_s = found.before_s;
    balance->promised_s = found.after_s;
    take(balance, share);
    return found;
}
