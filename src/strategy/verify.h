/* verify.h - do the replicas agree? Sums of every parameter and its state (ops/scan.h), made on
 * each device behind a step's update, brought down with the next step's waits, compared by every
 * lane. */
#ifndef MOT_STRATEGY_VERIFY_H
#define MOT_STRATEGY_VERIFY_H

#include "strategy/replica.h"

/* What the lanes found; the engine acts on it when they are idle. */
struct mot__agree {
    uint32_t *table;   /* (seats, words): of the comparison that runs */
    size_t words;      /* of one lane */
    atomic_bool found; /* set last; the rest holds while it is */
    size_t from;       /* the replica that is right: the first of the most that agree */
    bool *to;          /* (replicas): differs from it */
    bool host;         /* the copy on the host is right (central storage) */
    char text[320];
};
mot_status mot__agree_open(const struct mot__common *common, struct mot__agree *agree);
void mot__agree_clear(struct mot__agree *agree);

typedef struct mot__verify mot__verify; /* a lane's side */

mot_status mot__verify_open(mot_replica *replica, mot__verify **out);
void mot__verify_close(mot__verify *verify); /* accepts NULL */
/* What is on its way is older than the lane's variables; accepts NULL. */
void mot__verify_forget(mot__verify *verify);
size_t mot__verify_bytes(const mot_replica *replica); /* what it takes of the device's pool */

/* Around a step's update: compare what the step before queued, queue where this one is due. */
mot_status mot__verify_before(mot_replica *replica);
mot_status mot__verify_after(mot_replica *replica);
/* Compare what is still on its way; all lanes come. fresh: queue it first. */
mot_status mot__verify_now(mot_replica *replica, bool fresh);

#endif
