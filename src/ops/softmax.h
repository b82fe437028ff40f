/* softmax.h - rows of probabilities: y = exp(x - max x) / sum, and its gradient. */
#ifndef MOT_OPS_SOFTMAX_H
#define MOT_OPS_SOFTMAX_H

#include "tensor/tensor.h"

mot_status mot__softmax_forward(mot__device *device, size_t rows, size_t width, struct mot__mem x,
                                struct mot__mem y); /* y may be x */
mot_status mot__softmax_backward(mot__device *device, size_t rows, size_t width, struct mot__mem y,
                                 struct mot__mem dy, struct mot__mem dx); /* dx may be dy */
void mot__softmax_reference(size_t rows, size_t width, const float *x, float *y);

#endif
