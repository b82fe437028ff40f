/* safetensors.h - named arrays in one file: a length of 8 bytes, a JSON header, the data.
 * Written atomically; read only when every rule of the format holds, before anything is believed.
 */
#ifndef MOT_IO_SAFETENSORS_H
#define MOT_IO_SAFETENSORS_H

#include "base/status.h"

struct mot__note { /* one pair of the header's __metadata__ */
    const char *key, *value;
};

/* ---- writing --------------------------------------------------------------------------------- */

struct mot__tensor_out {
    const char *name;
    const char *dtype; /* "F32"; any of the format's */
    struct mot_shape shape;
    const void *data; /* row-major, in the machine's byte order; NULL only where there is none */
};

/* Replace path by a file of these; until it is whole the old file stands. */
mot_status mot__safetensors_write(const char *path, const struct mot__tensor_out *tensor,
                                  size_t count, const struct mot__note *note, size_t notes);

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct mot__safetensors mot__safetensors; /* an open file; one thread at a time */

struct mot__tensor_in { /* lives as long as the file is open */
    const char *name;
    const char *dtype;
    size_t rank;       /* any: more than MOT_RANK_MAX is legal in a file */
    const size_t *dim; /* (rank) */
    size_t count;      /* elements */
    uint64_t bytes;
    uint64_t offset; /* in the file */
};

mot_status mot__safetensors_open(const char *path, mot__safetensors **out);
void mot__safetensors_close(mot__safetensors *file); /* accepts NULL */
size_t mot__safetensors_count(const mot__safetensors *file);
/* In the order of the data; this and the notes are for those who look at files, so far tests. */
const struct mot__tensor_in *mot__safetensors_get(const mot__safetensors *file, size_t index);
const struct mot__tensor_in *mot__safetensors_find(const mot__safetensors *file, const char *name);
size_t mot__safetensors_notes(const mot__safetensors *file);
struct mot__note mot__safetensors_note(const mot__safetensors *file, size_t index);

/* All of one tensor to out (count). Other types than F32 are refused. */
mot_status mot__safetensors_read(mot__safetensors *file, const struct mot__tensor_in *tensor,
                                 float *out, size_t count);

/* Shared by both sides: bits of one element, 0 for a name the format does not know. */
size_t mot__safetensors_bits(const char *dtype);
#define MOT__SAFETENSORS_HEADER_MAX 100000000u

#endif
