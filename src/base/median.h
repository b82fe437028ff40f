/* median.h - the middle one of some measurements, which no single disturbed one moves. */
#ifndef MOT_BASE_MEDIAN_H
#define MOT_BASE_MEDIAN_H

#include <stddef.h>

/* Sorts value (count > 0), smallest first; of an even number, the larger of the two in the middle.
 */
double mot__median(double *value, size_t count);

#endif
