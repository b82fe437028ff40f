/* thread.c - threads and locks on POSIX. */
#include "base/thread.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

struct mot__thread {
    pthread_t id;
};

/* What the new thread needs to begin; it frees this itself, so that its opener may abandon it. */
struct begin {
    void (*run)(void *user);
    void *user;
    char name[16];
};

static void *begin_thread(void *argument)
{
    const struct begin begin = *(struct begin *)argument;

    free(argument);
#ifdef __linux__
    prctl(PR_SET_NAME, begin.name);
#endif
    begin.run(begin.user);
    return NULL;
}

/* A thread inherits the mask of its creator, so block, create, restore: no signal slips in. */
static int create_blocked(pthread_t *id, struct begin *begin)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    error = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (error != 0)
        return error;
    error = pthread_create(id, NULL, begin_thread, begin);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

mot_status mot__thread_open(const char *name, void (*run)(void *user), void *user,
                            mot__thread **out)
{
    mot_status status = MOT_OK;
    mot__thread *thread = malloc(sizeof *thread);
    struct begin *begin = malloc(sizeof *begin);
    int error;

    if (!thread || !begin) {
        status = mot__fail(MOT_NO_MEMORY, "thread %s: out of memory", name);
        goto done;
    }
    begin->run = run;
    begin->user = user;
    snprintf(begin->name, sizeof begin->name, "%s", name);
    error = create_blocked(&thread->id, begin);
    if (error != 0) {
        status = mot__fail(MOT_NO_MEMORY, "thread %s could not be started (error %d)", name, error);
        goto done;
    }
    begin = NULL; /* the new thread's */
    *out = thread;
    thread = NULL;
done:
    free(begin);
    free(thread);
    return status;
}

void mot__thread_join(mot__thread *thread)
{
    if (!thread)
        return;
    pthread_join(thread->id, NULL);
    free(thread);
}

void mot__thread_abandon(mot__thread *thread)
{
    if (!thread)
        return;
    pthread_detach(thread->id);
    free(thread);
}

void mot__thread_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

mot_status mot__lock_init(struct mot__lock *lock)
{
    pthread_condattr_t how;
    int error;

    error = pthread_condattr_init(&how);
    if (error != 0)
        return mot__fail(MOT_NO_MEMORY, "a lock could not be made (error %d)", error);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    error = pthread_cond_init(&lock->changed, &how);
    pthread_condattr_destroy(&how);
    if (error == 0) {
        error = pthread_mutex_init(&lock->mutex, NULL);
        if (error != 0)
            pthread_cond_destroy(&lock->changed);
    }
    if (error != 0)
        return mot__fail(MOT_NO_MEMORY, "a lock could not be made (error %d)", error);
    return MOT_OK;
}

void mot__lock_clear(struct mot__lock *lock)
{
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}

void mot__lock_take(struct mot__lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void mot__lock_give(struct mot__lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void mot__lock_signal(struct mot__lock *lock)
{
    pthread_cond_broadcast(&lock->changed);
}

bool mot__lock_wait(struct mot__lock *lock, double deadline_s)
{
    const double farthest_s = 1e9; /* 31 years: fits any time_t */
    struct timespec until;

    if (isinf(deadline_s) && deadline_s > 0)
        return pthread_cond_wait(&lock->changed, &lock->mutex) == 0;
    deadline_s = deadline_s > 0 ? fmin(deadline_s, farthest_s) : 0; /* NaN: passed already */
    until.tv_sec = (time_t)deadline_s;
    until.tv_nsec = (long)((deadline_s - (double)until.tv_sec) * 1e9);
    return pthread_cond_timedwait(&lock->changed, &lock->mutex, &until) == 0;
}
