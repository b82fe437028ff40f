/* flat.h - one number for each element of the parameter table, in canonical order, on one device:
 * parameters, gradients, optimizer state. In as few buffers as the largest allocation permits, cut
 * between parameters. */
#ifndef MOT_TENSOR_FLAT_H
#define MOT_TENSOR_FLAT_H

#include "tensor/tensor.h"

struct mot__piece {
    mot__buffer *buffer; /* the device side */
    mot__stage *stage;   /* NULL: no host side */
    size_t begin, count; /* floats of the flat order */
};

typedef struct mot__flat {
    struct mot__piece *piece;
    size_t pieces;
    size_t floats; /* in all: the table's and extra */
} mot__flat;

/* extra floats follow the table's; piece_floats: the most in one buffer, extra not counted (the
 * same on every lane, so that all cut alike). staged: with a host side. All zero when it returns.
 */
mot_status mot__flat_open(mot__device *device, const struct mot__parameters *table, size_t extra,
                          size_t piece_floats, bool staged, mot__flat **out);
void mot__flat_close(mot__flat *flat);
struct mot__mem mot__flat_at(const mot__flat *flat, size_t offset);
mot_status mot__flat_write(mot__flat *flat, size_t offset, const float *host,
                           size_t count); /* waits */
mot_status mot__flat_read(const mot__flat *flat, size_t offset, float *host,
                          size_t count);    /* waits */
mot_status mot__flat_zero(mot__flat *flat); /* queued */

struct mot__range {
    size_t begin, count; /* floats of the flat order */
};
/* The part of range inside the piece; count 0: none. */
struct mot__range mot__piece_range(const struct mot__piece *piece, struct mot__range range);

#endif
