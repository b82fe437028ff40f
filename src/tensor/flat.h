/* flat.h - one number for each element of the parameter table, in canonical order, on one device:
 * parameters, gradients, optimizer state. In as few buffers as the largest allocation permits, cut
 * between parameters; or, where a device has no room for all, in parts that take turns in a few
 * windows of its memory while the whole is in the host's (turns.c). */
#ifndef MOT_TENSOR_FLAT_H
#define MOT_TENSOR_FLAT_H

#include "tensor/tensor.h"

struct mot__range {
    size_t begin, count; /* floats of the flat order */
};

struct mot__window; /* turns.c */

struct mot__piece {
    mot__buffer *buffer;        /* the device side */
    mot__stage *stage;          /* NULL: no host side */
    struct mot__window *window; /* other pieces have the buffer, too; NULL: it is this one's own */
    size_t begin, count;        /* floats of the flat order */
};

typedef struct mot__flat {
    struct mot__piece *piece;
    size_t pieces;
    size_t floats;              /* in all: the table's and extra */
    struct mot__window *window; /* (windows); NULL: every piece stays on the device */
    size_t windows;
    float *own;        /* with windows: the whole, where the device's numbers go */
    const float *home; /* so too, or what the device only reads: somebody else's */
    double copied_s;   /* seconds spent copying between home and windows */
} mot__flat;

/* The pieces of such a flat, the caller frees *out; extra as below. */
mot_status mot__flat_cut(const struct mot__parameters *table, size_t extra, size_t piece_floats,
                         struct mot__range **out, size_t *count);

/* extra floats follow the table's; piece_floats: the most in one buffer, extra not counted (the
 * same on every lane, so that all cut alike). staged: with a host side. All zero when it returns.
 */
mot_status mot__flat_open(mot__device *device, const struct mot__parameters *table, size_t extra,
                          size_t piece_floats, bool staged, mot__flat **out);
void mot__flat_close(mot__flat *flat);
struct mot__mem mot__flat_at(const mot__flat *flat, size_t offset);
mot_status mot__flat_write(mot__flat *flat, size_t offset, const float *host,
                           size_t count);                                             /* waits */
mot_status mot__flat_read(mot__flat *flat, size_t offset, float *host, size_t count); /* waits */
mot_status mot__flat_zero(mot__flat *flat);                                           /* queued */

size_t mot__flat_bytes(const mot__device *device, const mot__flat *flat); /* of the pool */

/* The part of range inside the other; count 0: none. */
struct mot__range mot__range_inside(struct mot__range other, struct mot__range range);
struct mot__range mot__piece_range(const struct mot__piece *piece, struct mot__range range);

/* ---- parts that take turns ---- */

struct mot__turns {
    const struct mot__range *part; /* last first, without gaps */
    size_t parts, windows;
    size_t extra;      /* floats that follow and stay on the device */
    const float *home; /* what the device reads; NULL: it writes, and the flat has memory for it */
};
/* What that takes of the pool. */
size_t mot__turns_bytes(const mot__device *device, const struct mot__turns *turns);
mot_status mot__flat_open_turns(mot__device *device, const struct mot__turns *turns,
                                mot__flat **out);
/* The launches that follow use that part. keep: with what home has of it, else with zeros where
 * they write nothing. Waits until what was in its window is home. */
mot_status mot__flat_bring(mot__flat *flat, size_t part, bool keep);
/* Its numbers are final: on their way home. */
mot_status mot__flat_leave(mot__flat *flat, size_t part);
/* Everything that was brought and left is home, and so are the extra floats; waits. */
mot_status mot__flat_settle(mot__flat *flat);
/* What the windows hold is out of date; NULL: home is where it was. */
void mot__flat_rehome(mot__flat *flat, const float *home);

#endif
