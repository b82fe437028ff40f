/* first.h - how long from opening the devices to the first finished step: cold, with the caches of
 * ours and of the drivers empty, and warm, with what the cold start left in them. */
#ifndef MOT_CLI_FIRST_H
#define MOT_CLI_FIRST_H

#include <stdbool.h>
#include <stddef.h>

struct first {
    double cold, warm; /* seconds, medians; NAN: could not be had */
    size_t colds;      /* cold starts: an odd number, five at most */
};

/* Runs `start` in processes of its own, one after the other: cold ones, each on empty caches, for
 * about so many seconds and once at least, then warm ones; in a folder that is removed at the end.
 * Drivers read where their cache is when they are loaded, so this process must not have called
 * OpenCL yet. start tells the seconds, or false. */
typedef bool first_start(void *user, double *seconds);
struct first first_measure(first_start *start, void *user, double patience_s);

#endif
