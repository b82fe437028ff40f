/* turns.h - the part of a flat that lives in windows, for flat.c alone. Each does nothing for a
 * flat that has none. */
#ifndef MOT_TENSOR_TURNS_H
#define MOT_TENSOR_TURNS_H

#include "tensor/flat.h"

void mot__windows_close(mot__flat *flat);
size_t mot__windows_bytes(const mot__device *device, const mot__flat *flat);
/* A range of one piece; each waits until all is home. */
mot_status mot__home_read(mot__flat *flat, struct mot__range range, float *out);
mot_status mot__home_write(mot__flat *flat, struct mot__range range, const float *value);
mot_status mot__home_zero(mot__flat *flat);

#endif
