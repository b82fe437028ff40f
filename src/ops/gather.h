/* gather.h - rows of a data set to the rows of a batch, as floats: out[r] = source[index[r]] (u8: /
 * 255). */
#ifndef MOT_OPS_GATHER_H
#define MOT_OPS_GATHER_H

#include "tensor/tensor.h"

struct mot__gather {
    size_t rows, width;
    enum mot_dtype dtype;     /* of x */
    struct mot__mem index;    /* uint (rows); buffer NULL: row r is source row r. Offset in uints */
    struct mot__mem x;        /* source; offset in elements of dtype */
    struct mot__mem out;      /* (rows, width) floats */
    size_t y_width;           /* words (4 bytes) of a label or target row: 1 for labels; 0: none */
    struct mot__mem y, y_out; /* words, copied bit by bit */
};
mot_status mot__gather_launch(mot__device *device,
                              const struct mot__gather *gather); /* one launch */

#endif
