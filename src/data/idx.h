/* idx.h - one IDX file of bytes, plain or gzip. */
#ifndef MOT_DATA_IDX_H
#define MOT_DATA_IDX_H

#include "base/status.h"

#define MOT__IDX_RANK_MAX 3

struct mot__idx {
    size_t rank;
    size_t dim[MOT__IDX_RANK_MAX];
    size_t bytes;        /* the product */
    unsigned char *data; /* the caller frees it */
};

/* Read a file of `rank` dimensions. Nothing is allocated before its header was found possible: the
 * sizes above 0 and in bounds, the length of the file exactly theirs, or, compressed, no more than
 * deflate can pack into it; no more is unpacked than the header promises. */
mot_status mot__idx_read(const char *path, size_t rank, struct mot__idx *out);

#endif
