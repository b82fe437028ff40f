/* first.h - how long from opening the devices to the first finished step: cold, with the caches of
 * ours and of the drivers empty, and warm, with what the cold start left in them. */
#ifndef MOT_CLI_FIRST_H
#define MOT_CLI_FIRST_H

#include <stdbool.h>

/* Runs `start` in processes of its own, one after the other: once cold, then some times warm, of
 * which the median counts; on caches in a folder that is removed at the end. Drivers read where
 * their cache is when they are loaded, so this process must not have called OpenCL yet. start tells
 * the seconds, or false. What could not be had is NAN. */
typedef bool first_start(void *user, double *seconds);
void first_measure(first_start *start, void *user, double *cold, double *warm);

#endif
