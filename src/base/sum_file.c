/* sum_file.c - the checksum of a whole file, read piece by piece. */
#include "base/status.h"
#include "base/sum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

mot_status mot_file_sha256(const char *path, char hex[65])
{
    struct mot__sha256 sum;
    mot_status status = MOT_OK;
    unsigned char piece[1 << 14];
    size_t bytes;
    FILE *file;

    if (!path || !hex)
        return mot__fail(MOT_BAD_ARG, "mot_file_sha256: path or hex is NULL");
    file = fopen(path, "rb");
    if (!file)
        return mot__fail(MOT_IO, "%s: %s", path, strerror(errno));
    mot__sha256_init(&sum);
    while ((bytes = fread(piece, 1, sizeof piece, file)) > 0)
        mot__sha256_add(&sum, piece, bytes);
    if (ferror(file)) /* a folder opens, but does not read */
        status = mot__fail(MOT_IO, "%s: %s", path, strerror(errno));
    else
        mot__sha256_end(&sum, hex);
    fclose(file);
    return status;
}
