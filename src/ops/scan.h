/* scan.h - integer passes over flat buffers on a device (cl/scan.cl), the same words everywhere. */
#ifndef MOT_OPS_SCAN_H
#define MOT_OPS_SCAN_H

#include "tensor/tensor.h"

/* Four words of device memory that begin as 0. */
enum mot__scan_found {
    MOT__SCAN_NOW,    /* 1.0f: something was not finite; whoever reads it clears it */
    MOT__SCAN_LAST,   /* first + index + 1 of the last one */
    MOT__SCAN_KIND,   /* bit 1: a NaN, bit 0: an infinity */
    MOT__SCAN_CLOSED, /* not 0: LAST and KIND stay as they are */
    MOT__SCAN_WORDS
};
/* Floats of one item, by class, as in the kernel. */
#define MOT__SCAN_SPAN_CPU 4096
#define MOT__SCAN_SPAN_GPU 4
/* x (n); n and x's offset multiples of 16. */
mot_status mot__scan_odd(mot__device *device, struct mot__mem x, size_t n, size_t first,
                         struct mot__mem found);

/* Sums of rows: x is cut into chunks, each inside one row. */
struct mot__scan_chunk {
    uint32_t row, place; /* which row; the chunk's first float is this one of the row */
    uint32_t at, count;  /* floats of x */
};
#define MOT__SCAN_CHUNK 4096 /* floats; the most in one, for an even load */
/* Adds to sums (rows, 2). chunk: first of `chunks` rows of four words on the device. */
mot_status mot__scan_sum(mot__device *device, struct mot__mem x, struct mot__mem chunk,
                         size_t chunks, struct mot__mem sums);
void mot__scan_sum_host(const float *x, size_t count, uint32_t sum[2]); /* one row; adds */

#endif
