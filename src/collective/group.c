/* group.c - lanes meeting: enter, leave, wait, give up. */
#include "collective/group.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sleeping and being woken takes some 50 us, in which a lane that looks again and again would have
 * seen what it waits for; but its core may be the one that a device lives on. So it looks for twice
 * as long after a wait that a look might have covered, being woken included, and for half as long
 * after a longer one. By the wait, not by what the look saw: a short look sees nothing, and would
 * stay short. */
#define LOOK_MOST_S 50e-6
#define LOOK_LEAST_S 1e-6
#define LOOKS 32 /* between two looks at the clock */

static const char *const call_name[MOT__CALL_COUNT] = {"all-reduce", "fold", "broadcast",
                                                       "barrier"};

mot_status mot__group_open(size_t lanes, size_t capacity, enum mot__algorithm algorithm,
                           double deadline_s, mot__group **out)
{
    mot_status status = MOT_OK;
    mot__group *group = NULL;
    size_t i;

    if (lanes == 0 || !(deadline_s > 0))
        return mot__fail(MOT_BAD_ARG, "a group of %zu lanes with a deadline of %g s", lanes,
                         deadline_s);
    group = calloc(1, sizeof *group);
    if (group)
        group->lane = aligned_alloc(MOT__CACHE_LINE, lanes * sizeof *group->lane);
    if (group)
        group->small = malloc(2 * MOT__SMALL * sizeof *group->small);
    if (!group || !group->lane || !group->small) {
        status = mot__fail(MOT_NO_MEMORY, "out of memory for a group of %zu lanes", lanes);
        goto done;
    }
    memset(group->lane, 0, lanes * sizeof *group->lane);
    for (i = 0; i < lanes; i++)
        group->lane[i].look_s = LOOK_MOST_S;
    MOT_TRY(mot__lock_init(&group->lock));
    group->lanes = lanes;
    group->capacity = capacity;
    group->algorithm = algorithm;
    group->deadline_s = deadline_s;
    *out = group;
    group = NULL;
done:
    if (group) {
        free(group->lane);
        free(group->small);
    }
    free(group);
    return status;
}

void mot__group_close(mot__group *group)
{
    if (!group)
        return;
    mot__lock_clear(&group->lock);
    free(group->lane);
    free(group->small);
    free(group);
}

size_t mot__group_lanes(const mot__group *group)
{
    return group->lanes;
}

static size_t turn_of(const mot__group *group, size_t rank)
{
    return atomic_load_explicit(&group->lane[rank].arrived, memory_order_relaxed);
}

const struct mot__bring *mot__group_bring(const mot__group *group, size_t rank, size_t lane)
{
    return &group->lane[lane].bring[turn_of(group, rank) % 2];
}

static float *small_at(const mot__group *group, size_t lane, size_t turn)
{
    return group->small + (turn % 2 * group->lanes + lane) * (MOT__SMALL / group->lanes);
}

const float *mot__group_small(const mot__group *group, size_t rank, size_t lane)
{
    return small_at(group, lane, turn_of(group, rank));
}

/* The sleeper counts itself before it looks; the waker writes before it counts sleepers. All four
 * are sequentially consistent, so one of the two sees the other. */
static void wake(mot__group *group)
{
    if (atomic_load(&group->sleepers) == 0)
        return;
    mot__lock_take(&group->lock);
    mot__lock_signal(&group->lock);
    mot__lock_give(&group->lock);
}

void mot__group_publish(mot__group *group, atomic_size_t *counter, size_t value)
{
    atomic_store(counter, value);
    wake(group);
}

/* With the lock taken. The first story is the group's. */
static void fail_group(mot__group *group, const struct mot__story *story)
{
    if (atomic_load(&group->failed))
        return;
    group->story = *story;
    atomic_store(&group->failed, true);
    mot__lock_signal(&group->lock);
}

static void tell_sleep(mot__group *group, size_t rank, bool begins)
{
    const struct mot__group_lane *lane = &group->lane[rank];

    if (lane->on_sleep)
        lane->on_sleep(lane->sleep_user, begins);
}

static void time_out(mot__group *group, size_t rank, size_t other)
{
    struct mot__story story;

    mot__story_take(mot__fail(MOT_TIMEOUT, "%s: lane %zu waited %g s for lane %zu",
                              call_name[mot__group_bring(group, rank, rank)->call], rank,
                              group->deadline_s, other),
                    &story);
    fail_group(group, &story);
}

static bool seen(atomic_size_t *counter, size_t target)
{
    for (int i = 0; i < LOOKS; i++, mot__thread_relax())
        if (atomic_load_explicit(counter, memory_order_acquire) >= target)
            return true;
    return false;
}

/* True: the counter came to the target while this lane stayed awake for it. */
static bool look_out(struct mot__group_lane *lane, atomic_size_t *counter, size_t target)
{
    const double began_s = mot__clock_s();
    double spent_s = 0;
    bool came;

    while (!(came = seen(counter, target)) && spent_s < lane->look_s)
        spent_s = mot__clock_s() - began_s;
    lane->waited_s += spent_s;
    return came;
}

static void adapt(struct mot__group_lane *lane, double waited_s)
{
    lane->look_s = waited_s < 2 * LOOK_MOST_S ? fmin(2 * lane->look_s, LOOK_MOST_S)
                                              : fmax(lane->look_s / 2, LOOK_LEAST_S);
}

/* Until then the lane sleeps; the group's story where it comes to nothing. */
static mot_status sleep_for(mot__group *group, size_t rank, size_t other, atomic_size_t *counter,
                            size_t target)
{
    const double began_s = mot__clock_s(), deadline_s = began_s + group->deadline_s;
    mot_status status = MOT_OK;

    mot__lock_take(&group->lock);
    atomic_fetch_add(&group->sleepers, 1);
    while (atomic_load(counter) < target && !atomic_load(&group->failed)) {
        const bool in_time = mot__lock_wait(&group->lock, deadline_s);

        if (!in_time && atomic_load(counter) < target && !atomic_load(&group->failed))
            time_out(group, rank, other);
    }
    atomic_fetch_sub(&group->sleepers, 1);
    if (atomic_load(counter) < target)
        status = mot__story_tell(&group->story);
    mot__lock_give(&group->lock);
    group->lane[rank].waited_s += mot__clock_s() - began_s;
    return status;
}

mot_status mot__group_await(mot__group *group, size_t rank, size_t other, atomic_size_t *counter,
                            size_t target)
{
    struct mot__group_lane *lane = &group->lane[rank];
    mot_status status = MOT_OK;
    double began_s;

    if (atomic_load_explicit(counter, memory_order_acquire) >= target)
        return MOT_OK;
    began_s = mot__clock_s();
    if (!look_out(lane, counter, target)) {
        tell_sleep(group, rank, true);
        status = sleep_for(group, rank, other, counter, target);
        tell_sleep(group, rank, false);
    }
    adapt(lane, mot__clock_s() - began_s);
    return status;
}

void mot__group_on_sleep(mot__group *group, size_t rank, void (*fn)(void *user, bool begins),
                         void *user)
{
    group->lane[rank].on_sleep = fn;
    group->lane[rank].sleep_user = user;
}

double mot__group_waited(mot__group *group, size_t rank)
{
    const double waited_s = group->lane[rank].waited_s;

    group->lane[rank].waited_s = 0;
    return waited_s;
}

void mot__group_abort(mot__group *group, size_t rank, mot_status status)
{
    struct mot__story story;

    if (status == MOT_OK)
        status = mot__fail(MOT_STOPPED, "lane %zu left the group", rank);
    mot__story_take(status, &story);
    mot__lock_take(&group->lock);
    fail_group(group, &story);
    mot__lock_give(&group->lock);
}

/* What all lanes brought must be one call with one size. All see the same, so all answer alike. */
static mot_status check_agreement(const mot__group *group, size_t rank)
{
    const struct mot__bring *first = mot__group_bring(group, rank, 0);

    for (size_t i = 1; i < group->lanes; i++) {
        const struct mot__bring *lane = mot__group_bring(group, rank, i);

        if (lane->call != first->call)
            return mot__fail(MOT_BAD_ARG, "lane 0 is in %s, lane %zu in %s", call_name[first->call],
                             i, call_name[lane->call]);
        if (lane->count != first->count)
            return mot__fail(MOT_BAD_ARG, "%s: lane 0 brings %zu %s, lane %zu brings %zu",
                             call_name[first->call], first->count,
                             first->call == MOT__CALL_BROADCAST ? "bytes" : "numbers", i,
                             lane->count);
        if (lane->root != first->root)
            return mot__fail(MOT_BAD_ARG,
                             "%s: lane 0 wants it from lane %zu, lane %zu from lane %zu",
                             call_name[first->call], first->root, i, lane->root);
    }
    if (first->call <= MOT__CALL_FOLD && first->count > group->capacity)
        return mot__fail(MOT_BAD_ARG, "%s: %zu numbers in a group for %zu", call_name[first->call],
                         first->count, group->capacity);
    if (first->root >= group->lanes)
        return mot__fail(MOT_BAD_ARG, "%s: from lane %zu of %zu", call_name[first->call],
                         first->root, group->lanes);
    return MOT_OK;
}

/* Failed together: stay until no lane can touch this one's buffer, unless one is stuck. */
static void leave_failed(mot__group *group, size_t rank)
{
    const double deadline_s = mot__clock_s() + group->deadline_s;

    tell_sleep(group, rank, true);
    atomic_fetch_sub(&group->inside, 1);
    mot__lock_take(&group->lock);
    mot__lock_signal(&group->lock);
    atomic_fetch_add(&group->sleepers, 1);
    while (atomic_load(&group->inside) > 0 && mot__lock_wait(&group->lock, deadline_s))
        ;
    atomic_fetch_sub(&group->sleepers, 1);
    mot__lock_give(&group->lock);
    tell_sleep(group, rank, false);
}

static mot_status await_all(mot__group *group, size_t rank, size_t counter, size_t turn)
{
    mot_status status = MOT_OK;

    for (size_t i = 0; i < group->lanes && status == MOT_OK; i++)
        status = mot__group_await(
            group, rank, i, counter ? &group->lane[i].finished : &group->lane[i].arrived, turn);
    return status;
}

static mot_status meet(mot__group *group, size_t rank, const struct mot__bring *bring,
                       mot_status (*work)(mot__group *, size_t))
{
    mot_status status = MOT_OK, disagreement;
    struct mot__group_lane *own = &group->lane[rank];
    const size_t turn = turn_of(group, rank) + 1;

    own->bring[turn % 2] = *bring;
    if (bring->small)
        memcpy(small_at(group, rank, turn), bring->data, bring->count * sizeof(float));
    mot__group_publish(group, &own->arrived, turn);
    MOT_TRY(await_all(group, rank, 0, turn));
    disagreement = check_agreement(group, rank);
    if (disagreement == MOT_OK && work)
        MOT_TRY(work(group, rank));
    mot__group_publish(group, &own->finished, turn);
    if (!bring->small)
        MOT_TRY(await_all(group, rank, 1, turn));
    status = disagreement;
done:
    return status;
}

mot_status mot__group_call(mot__group *group, size_t rank, const struct mot__bring *bring,
                           mot_status (*work)(mot__group *, size_t))
{
    mot_status status;

    if (rank >= group->lanes)
        return mot__fail(MOT_BAD_ARG, "%s: lane %zu of %zu", call_name[bring->call], rank,
                         group->lanes);
    atomic_fetch_add(&group->inside, 1);
    if (atomic_load(&group->failed)) {
        atomic_fetch_sub(&group->inside, 1);
        wake(group);
        return mot__story_tell(&group->story);
    }
    atomic_store_explicit(&group->lane[rank].progress, 0, memory_order_relaxed);
    group->lane[rank].odd[(turn_of(group, rank) + 1) % 2].found = false;
    status = meet(group, rank, bring, work);
    if (status != MOT_OK && atomic_load(&group->failed)) {
        leave_failed(group, rank);
    } else {
        atomic_fetch_sub(&group->inside, 1);
        wake(group);
    }
    return status;
}

/* ---- sums that are not finite ---- */

static void take_later(const struct mot__odd_sum *odd, struct mot__odd_sum *last)
{
    if (odd->found && (!last->found || odd->index > last->index))
        *last = *odd;
}

void mot__group_note_odd(mot__group *group, size_t rank, const struct mot__odd_sum *odd)
{
    take_later(odd, &group->lane[rank].odd[turn_of(group, rank) % 2]);
}

/* Of a small call each lane knows all by itself, and the others may be past it already. */
struct mot__odd_sum mot__group_odd(const mot__group *group, size_t rank)
{
    const size_t turn = turn_of(group, rank) % 2;
    struct mot__odd_sum last = group->lane[rank].odd[turn];

    if (!mot__group_bring(group, rank, rank)->small)
        for (size_t i = 0; i < group->lanes; i++)
            take_later(&group->lane[i].odd[turn], &last);
    return last;
}

mot_status mot__group_barrier(mot__group *group, size_t rank)
{
    const struct mot__bring bring = {.call = MOT__CALL_BARRIER};

    return mot__group_call(group, rank, &bring, NULL);
}
