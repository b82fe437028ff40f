/* thread.h - threads that block all signals, and the waits between them, each with a deadline. */
#ifndef MOT_BASE_THREAD_H
#define MOT_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>

typedef struct mot__thread mot__thread;
/* name: up to 15 characters, seen in debuggers. Every signal is blocked in the new thread. */
mot_status mot__thread_open(const char *name, void (*run)(void *user), void *user,
                            mot__thread **out);
void mot__thread_join(mot__thread *thread);    /* waits, frees; accepts NULL */
void mot__thread_abandon(mot__thread *thread); /* never waits; the thread may go on */

/* Between two looks at what another thread is about to change. */
void mot__thread_relax(void);

/* A mutex and a condition on the monotonic clock. */
struct mot__lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};
mot_status mot__lock_init(struct mot__lock *lock);
void mot__lock_clear(struct mot__lock *lock);
void mot__lock_take(struct mot__lock *lock);
void mot__lock_give(struct mot__lock *lock);
void mot__lock_signal(struct mot__lock *lock); /* wakes all; call with the lock taken */
/* Wait for a signal; deadline on mot__clock_s(), INFINITY for none. False: the deadline passed. */
bool mot__lock_wait(struct mot__lock *lock, double deadline_s);

#endif
