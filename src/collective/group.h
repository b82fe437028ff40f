/* group.h - inside the room: what lanes see of each other, and how they wait.
 *
 * Every operation is enter, work, leave. Between enter and leave a lane may read and write the
 * others' buffers; leave returns when no other lane does so any more. Counters only grow, except
 * `progress`, which its own lane sets to 0 while no other looks at it. */
#ifndef MOT_COLLECTIVE_GROUP_H
#define MOT_COLLECTIVE_GROUP_H

#include "base/thread.h"
#include "collective/collective.h"

#include <stdatomic.h>

#define MOT__CACHE_LINE 64

enum mot__call {
    MOT__CALL_ALL_REDUCE,
    MOT__CALL_FOLD,
    MOT__CALL_BROADCAST,
    MOT__CALL_BARRIER,
    MOT__CALL_COUNT
};

/* Floats in all that lanes copy into the group's own memory before they meet: nobody then reads
 * another's buffer, so a lane leaves as soon as all have come, with one hand-over instead of two.
 * Beyond, the copy and every lane's adding everything cost more than a hand-over. */
#define MOT__SMALL ((size_t)16384)

struct mot__bring {
    enum mot__call call;
    void *data;
    size_t count, root; /* floats of an all-reduce or fold, bytes of a broadcast */
    const struct mot__fold *fold;
    bool small; /* an all-reduce through the group's own memory */
};

struct mot__group_lane {
    _Alignas(MOT__CACHE_LINE) atomic_size_t arrived; /* operations entered */
    atomic_size_t finished;                          /* operations done with others' buffers */
    atomic_size_t
        progress; /* pieces done inside the ring; of a fold, blocks of its segment taken */
    struct mot__bring bring[2]; /* by turn; written before arrived. A lane may be one turn ahead */
    struct mot__odd_sum odd[2]; /* by turn; written before finished */
    double waited_s;            /* its own thread's, as what follows: for others, awake or not; */
    double look_s;              /* how long it stays awake for them before it sleeps */
    void (*on_sleep)(void *user, bool begins); /* NULL: nobody listens */
    void *sleep_user;
};

struct mot__group {
    size_t lanes, capacity;
    enum mot__algorithm algorithm;
    double deadline_s;
    struct mot__group_lane *lane; /* (lanes) */
    float *small;                 /* (2, lanes, MOT__SMALL / lanes): by turn and lane */
    struct mot__lock lock;
    atomic_size_t sleepers; /* lanes that need a signal */
    atomic_size_t inside;
    atomic_bool failed;
    struct mot__story story; /* of the first failure; under the lock until failed is set */
};

/* What lane brought to the call that lane rank, the caller, is in. */
const struct mot__bring *mot__group_bring(const mot__group *group, size_t rank, size_t lane);
/* Where a lane's small data of that call stands. */
const float *mot__group_small(const mot__group *group, size_t rank, size_t lane);

/* Remember an odd sum of the call that lane rank is in, unless a later one is known. */
void mot__group_note_odd(mot__group *group, size_t rank, const struct mot__odd_sum *odd);

/* Raise one of this lane's counters, and wake those who may wait for it. */
void mot__group_publish(mot__group *group, atomic_size_t *counter, size_t value);
/* Until lane other's counter reaches target; fails with the group's story, or the deadline. */
mot_status mot__group_await(mot__group *group, size_t rank, size_t other, atomic_size_t *counter,
                            size_t target);

/* One operation: bring, wait for all, agree, work (may be NULL), wait for all unless small. */
mot_status mot__group_call(mot__group *group, size_t rank, const struct mot__bring *bring,
                           mot_status (*work)(mot__group *group, size_t rank));

#endif
