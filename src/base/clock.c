/* clock.c - the monotonic clock. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

double mot__clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void mot__clock_sleep(double s)
{
    struct timespec left;

    if (!(s > 0))
        return;
    left.tv_sec = (time_t)s;
    left.tv_nsec = (long)((s - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ; /* a signal of the host's does not shorten it */
}
