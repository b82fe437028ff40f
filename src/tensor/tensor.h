/* tensor.h - numbers in device memory: a place, a shape; and the table of a network's parameters.
 */
#ifndef MOT_TENSOR_TENSOR_H
#define MOT_TENSOR_TENSOR_H

#include "base/status.h"
#include "device/device.h"

/* One learned tensor inside the flat, canonical buffers of parameters, gradients and optimizer
 * state. */
struct mot__parameter {
    char name[64];          /* "dense1.weight" */
    struct mot_shape shape; /* (out, in) for dense weights */
    size_t offset, count;   /* in floats; offset is a multiple of MOT__PARAMETER_ALIGN */
    enum mot_init init;
    size_t fan_in, fan_out;
};

#define MOT__PARAMETER_ALIGN 16 /* floats: 64 bytes */

struct mot__parameters {
    struct mot__parameter *row;
    size_t count;
    size_t floats; /* of the flat buffer, padding included; a multiple of MOT__PARAMETER_ALIGN */
};

/* The first value of element index of parameter p: depends on seed, p and index alone. */
float mot__parameter_start(const struct mot__parameters *table, size_t p, uint64_t seed,
                           size_t index);
/* Index of the parameter with that name; MOT_BAD_ARG names it and what there is. */
mot_status mot__parameter_find(const struct mot__parameters *table, const char *name, size_t *out);
void mot__parameters_clear(struct mot__parameters *table);

void mot__shape_text(struct mot_shape shape, char *out, size_t bytes); /* "(1, 28, 28)" */
bool mot__shape_same(struct mot_shape a, struct mot_shape b);

#endif
