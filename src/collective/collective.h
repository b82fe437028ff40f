/* collective.h - equal sums on every lane, in host memory, between threads. Knows no device and no
 * model.
 *
 * Every lane (a thread) calls the same function with its own rank; lanes may arrive at any time.
 * Order of addition is fixed by (algorithm, lanes, count), so the same inputs give the same bits,
 * and every lane gets the same bits. A failing lane aborts the group: all others leave with its
 * story. */
#ifndef MOT_COLLECTIVE_COLLECTIVE_H
#define MOT_COLLECTIVE_COLLECTIVE_H

#include "base/status.h"

typedef struct mot__group mot__group;

enum mot__algorithm {
    MOT__ALGORITHM_AUTO,  /* the faster between threads: direct, whose lanes wait for nobody midway
                           */
    MOT__ALGORITHM_RING,  /* segment s starts at lane s and travels lane to lane, each adds its own
                           */
    MOT__ALGORITHM_DIRECT /* the owner of a segment adds lanes 0 ... n-1 */
};

/* For at most capacity floats at a time. deadline_s: how long a lane waits for another before
 * MOT_TIMEOUT. */
mot_status mot__group_open(size_t lanes, size_t capacity, enum mot__algorithm algorithm,
                           double deadline_s, mot__group **out);
void mot__group_close(mot__group *group); /* when no lane is inside */
size_t mot__group_lanes(const mot__group *group);

/* data (count) of each lane becomes the sum over lanes, in place. count must agree (MOT_BAD_ARG on
 * all lanes if not). */
mot_status mot__group_all_reduce(mot__group *group, size_t rank, float *data, size_t count);
/* What the additions met that is no finite number: the last such sum, and the lane whose value made
 * it so; where finite values overflow it may be any lane. Found while adding, for nearly nothing.
 */
struct mot__odd_sum {
    bool found, nan;
    size_t index, lane;
};
/* Of this lane's all-reduce or fold just ended, before its next call; the same answer on every
 * lane. */
struct mot__odd_sum mot__group_odd(const mot__group *group, size_t rank);

/* What to do with the sums of mot__group_fold, on the lane's own thread. */
struct mot__fold {
    /* The last floats of data, told to every lane before its blocks; 0: none. A multiple of 16. */
    size_t tail;
    void (*first)(void *user, const float *sum); /* (tail) */
    /* sum is of data[at ... at + count), the lane's own; at and, but for the end of data, count
     * are multiples of 16. The function may write to sum. */
    void (*block)(void *user, size_t at, float *sum, size_t count);
    void *user;
};
/* The sums of an all-reduce of the same count, to the bit, but each only to the lane that owns it:
 * block by block, while it is in the cache; data stays as it is. Every float but the tail is in one
 * lane's blocks. No lane returns before all have had theirs. */
mot_status mot__group_fold(mot__group *group, size_t rank, float *data, size_t count,
                           const struct mot__fold *fold);
/* data (bytes) of lane root is copied to all others. */
mot_status mot__group_broadcast(mot__group *group, size_t rank, size_t root, void *data,
                                size_t bytes);
mot_status mot__group_barrier(mot__group *group, size_t rank);
/* Seconds this lane waited for others inside the calls above, since it last asked; its own thread
 * asks. */
double mot__group_waited(mot__group *group, size_t rank);
/* Tell this, on the lane's own thread, before it sleeps for others and behind it: a lane that waits
 * for another is not one that hangs. Before the first call; fn may be NULL. */
void mot__group_on_sleep(mot__group *group, size_t rank, void (*fn)(void *user, bool begins),
                         void *user);
/* Tell all lanes, now and later, that this one failed (story as left by mot__fail). */
void mot__group_abort(mot__group *group, size_t rank, mot_status status);

#endif
