/* add.h - y = a + b, element by element; y may be either. Its gradient is dy for both. */
#ifndef MOT_OPS_ADD_H
#define MOT_OPS_ADD_H

#include "tensor/tensor.h"

mot_status mot__add_launch(mot__device *device, size_t n, struct mot__mem a, struct mot__mem b,
                           struct mot__mem y);

#endif
