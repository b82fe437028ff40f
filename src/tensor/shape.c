/* shape.c - shapes of one sample. */
#include "base/size.h"
#include "tensor/tensor.h"

#include <stdio.h>

size_t mot_shape_count(struct mot_shape shape)
{
    size_t count = 1;

    if (shape.rank > MOT_RANK_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < shape.rank; i++)
        if (shape.dim[i] == 0)
            return 0; /* before a product that would not fit */
    for (size_t i = 0; i < shape.rank; i++)
        if (!mot__size_mul(count, shape.dim[i], &count))
            return SIZE_MAX;
    return count;
}

void mot__shape_text(struct mot_shape shape, char *out, size_t bytes)
{
    size_t used = 0;

    for (size_t i = 0; i < shape.rank && i < MOT_RANK_MAX && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu", i ? ", " : "(", shape.dim[i]);
    if (used < bytes)
        snprintf(out + used, bytes - used, "%s", used ? ")" : "()");
}

bool mot__shape_same(struct mot_shape a, struct mot_shape b)
{
    if (a.rank != b.rank || a.rank > MOT_RANK_MAX)
        return false;
    for (size_t i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i])
            return false;
    return true;
}
