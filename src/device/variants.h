/* variants.h - every specialisation (defines) that a kernel file of cl/ is built with. A launch
 * with other defines is refused, so the test that compiles them all for GPUs cannot miss one. */
#ifndef MOT_DEVICE_VARIANTS_H
#define MOT_DEVICE_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>

/* The i-th defines of cl/<program>.cl; false past the last. */
bool mot__variant(const char *program, size_t i, char *out, size_t bytes);
bool mot__variant_known(const char *program, const char *defines);

#endif
