/* variants.h - every specialisation (defines) that a kernel file of cl/ is built with. A launch
 * with other defines is refused, so the test that compiles them all for GPUs cannot miss one. */
#ifndef MOT_DEVICE_VARIANTS_H
#define MOT_DEVICE_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>

/* The i-th defines of cl/<program>.cl; false past the last. */
bool mot__variant(const char *program, size_t i, char *out, size_t bytes);
bool mot__variant_known(const char *program, const char *defines);

/* Files that every training step has a kernel of are built as one program: a build costs a driver's
 * compiler its start, whatever is in it (PoCL 3.1: 0.1 s, and 0.03 s with all in its cache). */
#define MOT__STEP "step"                    /* the name of that program */
extern const char *const mot__step_files[]; /* in the order of their texts; NULL ends it */
extern const char mot__step_defines[];
/* Is this specialisation of a file in it? */
bool mot__step_has(const char *program, const char *defines);

#endif
