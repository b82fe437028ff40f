/* activation.h - y = act(x) element by element, and its gradient. Softmax is in softmax.h.
 * gelu is the exact form x Phi(x), by erfc, as Keras and PyTorch have it by default; not the tanh
 * form. */
#ifndef MOT_OPS_ACTIVATION_H
#define MOT_OPS_ACTIVATION_H

#include "tensor/tensor.h"

mot_status mot__activation_forward(mot__device *device, enum mot_act act, size_t n,
                                   struct mot__mem x, struct mot__mem y); /* y may be x */
/* From the output y; gelu, whose output does not tell, reads its input x (others ignore it). dx may
 * be dy. */
mot_status mot__activation_backward(mot__device *device, enum mot_act act, size_t n,
                                    struct mot__mem x, struct mot__mem y, struct mot__mem dy,
                                    struct mot__mem dx);
bool mot__activation_from_output(
    enum mot_act act); /* true: backward needs y alone, so y may overwrite x */

/* Plain C, for tests and self-tests. */
double mot__activation_reference(enum mot_act act, double x);
double mot__activation_slope_reference(enum mot_act act, double x); /* d act / d x at input x */

#endif
