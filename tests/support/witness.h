/* witness.h - the OpenCL layer that counts the driver's calls (fault/layer.h), where it is loaded
 * and named by $MOTLEY_TEST_WITNESS. */
#ifndef MOT_TEST_WITNESS_H
#define MOT_TEST_WITNESS_H

#include "support/check.h"

#include "fault/layer.h"

#include <dlfcn.h>

static inline const struct fault_layer *witness(void) /* NULL: nobody looks on */
{
    const char *path = getenv("MOTLEY_TEST_WITNESS");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    const struct fault_layer *layer = library ? dlsym(library, FAULT_LAYER_SYMBOL) : NULL;

    if (path && !layer)
        fail_msg("no witness in %s", path);
    return layer;
}

/* Calls of these entries since it was last armed, "a b c". */
static inline uint64_t witness_calls(const char *entries)
{
    uint64_t sum = 0;
    char entry[64];
    int used;

    for (; sscanf(entries, "%63s%n", entry, &used) == 1; entries += used)
        sum += witness()->calls(entry);
    return sum;
}

#endif
