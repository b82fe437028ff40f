/* idx_file.c - one IDX file of bytes, plain or gzip; believes nothing it reads.
 * Format: 0, 0, type, rank, then rank sizes of 32 bits, then the data; all big-endian. Gzip is
 * known by its first two bytes, not by the file's name. */
#include "data/idx.h"

#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define IN_BYTES 65536
#define TYPE_BYTE 0x08
#define SIDE_MAX 16384     /* of an image; far above any real one */
#define DEFLATE_RATIO 1032 /* what deflate packs into one byte at most (zlib's technical notes) */

struct stream {
    const char *path;
    FILE *file;
    size_t bytes; /* of the file */
    bool packed;
    bool ended; /* packed: the last member was read to its end */
    z_stream z;
    unsigned char in[IN_BYTES];
};

static mot_status fail_errno(const char *path, int error)
{
    char reason[128] = "unknown error";

    strerror_r(error, reason, sizeof reason);
    return mot__fail(MOT_IO, "cannot read %s: %s", path, reason);
}

static mot_status stream_refill(struct stream *stream)
{
    const size_t got = fread(stream->in, 1, sizeof stream->in, stream->file);

    if (got < sizeof stream->in && ferror(stream->file))
        return fail_errno(stream->path, errno);
    stream->z.next_in = stream->in;
    stream->z.avail_in = (uInt)got;
    return MOT_OK;
}

/* Members may follow one another (the format allows it); anything else behind one is refused. */
static mot_status next_member(struct stream *stream)
{
    if (stream->z.avail_in == 0) {
        const mot_status status = stream_refill(stream);

        if (status != MOT_OK)
            return status;
    }
    if (stream->z.avail_in == 0)
        stream->ended = true;
    else if (stream->z.next_in[0] != 0x1f)
        return mot__fail(MOT_FORMAT, "%s: bytes follow the end of the gzip data", stream->path);
    else
        inflateReset(&stream->z);
    return MOT_OK;
}

/* Up to `bytes` unpacked bytes; fewer only at the end. */
static mot_status read_packed(struct stream *stream, unsigned char *out, size_t bytes, size_t *got)
{
    mot_status status = MOT_OK;
    size_t done_bytes = 0;

    while (done_bytes < bytes && !stream->ended) {
        const uInt room = (uInt)mot__size_min(bytes - done_bytes, 1u << 30);
        int answer;

        if (stream->z.avail_in == 0)
            MOT_TRY(stream_refill(stream));
        if (stream->z.avail_in == 0)
            MOT_TRY(mot__fail(MOT_FORMAT, "%s: the gzip data is cut short", stream->path));
        stream->z.next_out = out + done_bytes;
        stream->z.avail_out = room;
        answer = inflate(&stream->z, Z_NO_FLUSH);
        done_bytes += room - stream->z.avail_out;
        if (answer == Z_STREAM_END)
            MOT_TRY(next_member(stream));
        else if (answer == Z_MEM_ERROR)
            MOT_TRY(mot__fail(MOT_NO_MEMORY, "%s: no memory to unpack it", stream->path));
        else if (answer != Z_OK)
            MOT_TRY(mot__fail(MOT_FORMAT, "%s: the gzip data is damaged (%s)", stream->path,
                              stream->z.msg ? stream->z.msg : zError(answer)));
    }
    *got = done_bytes;
done:
    return status;
}

static mot_status stream_read(struct stream *stream, void *out, size_t bytes, size_t *got)
{
    if (stream->packed)
        return read_packed(stream, out, bytes, got);
    *got = fread(out, 1, bytes, stream->file);
    if (*got < bytes && ferror(stream->file))
        return fail_errno(stream->path, errno);
    return MOT_OK;
}

static void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    if (stream->packed)
        inflateEnd(&stream->z);
    if (stream->file)
        fclose(stream->file);
    free(stream);
}

static mot_status stream_open(const char *path, struct stream **out)
{
    mot_status status = MOT_OK;
    unsigned char magic[2] = {0};
    struct stat info;
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return mot__fail(MOT_NO_MEMORY, "%s: no %zu bytes to read it", path, sizeof *stream);
    stream->path = path;
    stream->file = fopen(path, "rb");
    if (!stream->file || fstat(fileno(stream->file), &info) != 0)
        MOT_TRY(fail_errno(path, errno));
    if (!S_ISREG(info.st_mode))
        MOT_TRY(mot__fail(MOT_IO, "%s: not a plain file", path));
    stream->bytes = (size_t)info.st_size;
    if (fread(magic, 1, 2, stream->file) == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
        if (inflateInit2(&stream->z, 15 + 16) != Z_OK) /* 15: any window; + 16: gzip */
            MOT_TRY(mot__fail(MOT_NO_MEMORY, "%s: no memory to unpack it", path));
        stream->packed = true;
    }
    if (fseek(stream->file, 0, SEEK_SET) != 0)
        MOT_TRY(fail_errno(path, errno));

    *out = stream;
    stream = NULL;
done:
    stream_close(stream);
    return status;
}

static size_t big_endian(const unsigned char *four)
{
    return (size_t)four[0] << 24 | (size_t)four[1] << 16 | (size_t)four[2] << 8 | four[3];
}

static mot_status check_magic(const char *path, const unsigned char *head, size_t rank)
{
    if (head[0] != 0 || head[1] != 0)
        return mot__fail(MOT_FORMAT, "%s: not an IDX file (it begins with %02x %02x %02x %02x)",
                         path, head[0], head[1], head[2], head[3]);
    if (head[2] != TYPE_BYTE)
        return mot__fail(MOT_FORMAT, "%s: holds IDX type 0x%02x; only bytes (0x08) can be read",
                         path, head[2]);
    if (head[3] != rank)
        return mot__fail(MOT_FORMAT, "%s: has %d dimensions where %zu are needed", path, head[3],
                         rank);
    return MOT_OK;
}

static mot_status check_sizes(const char *path, const unsigned char *head, struct mot__idx *idx)
{
    idx->bytes = 1;
    for (size_t i = 0; i < idx->rank; i++) {
        idx->dim[i] = big_endian(head + 4 + 4 * i);
        if (idx->dim[i] == 0)
            return mot__fail(MOT_FORMAT, "%s: dimension %zu is 0", path, i);
        if (i > 0 && idx->dim[i] > SIDE_MAX)
            return mot__fail(MOT_FORMAT, "%s: dimension %zu is %zu; at most %d can be read", path,
                             i, idx->dim[i], SIDE_MAX);
        if (!mot__size_mul(idx->bytes, idx->dim[i], &idx->bytes))
            return mot__fail(MOT_FORMAT, "%s: its sizes are too large for this machine", path);
    }
    return MOT_OK;
}

/* Can the file hold what the header promises? Exact for plain files, a bound for packed ones. */
static mot_status check_length(const struct stream *stream, const struct mot__idx *idx)
{
    const size_t head = 4 + 4 * idx->rank;

    if (!stream->packed && stream->bytes < head) /* it grew while it was read */
        return mot__fail(MOT_FORMAT, "%s: too short for an IDX header", stream->path);
    if (stream->packed && idx->bytes / DEFLATE_RATIO > stream->bytes)
        return mot__fail(MOT_FORMAT,
                         "%s: its header promises %zu bytes, more than %zu packed bytes can hold",
                         stream->path, idx->bytes, stream->bytes);
    if (!stream->packed && stream->bytes - head < idx->bytes)
        return mot__fail(MOT_FORMAT, "%s: cut short: %zu bytes where its header promises %zu",
                         stream->path, stream->bytes - head, idx->bytes);
    if (!stream->packed && stream->bytes - head > idx->bytes)
        return mot__fail(MOT_FORMAT, "%s: %zu bytes follow the %zu its header promises",
                         stream->path, stream->bytes - head - idx->bytes, idx->bytes);
    return MOT_OK;
}

static mot_status read_header(struct stream *stream, struct mot__idx *idx)
{
    mot_status status = MOT_OK;
    unsigned char head[4 + 4 * MOT__IDX_RANK_MAX];
    size_t got = 0;

    MOT_TRY(stream_read(stream, head, 4, &got));
    if (got == 4)
        MOT_TRY(check_magic(stream->path, head, idx->rank));
    if (got == 4)
        MOT_TRY(stream_read(stream, head + 4, 4 * idx->rank, &got));
    if (got < 4 * idx->rank)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: too short for an IDX header", stream->path));
    MOT_TRY(check_sizes(stream->path, head, idx));
    MOT_TRY(check_length(stream, idx));
done:
    return status;
}

mot_status mot__idx_read(const char *path, size_t rank, struct mot__idx *out)
{
    mot_status status = MOT_OK;
    struct stream *stream = NULL;
    struct mot__idx idx = {.rank = rank};
    unsigned char more;
    size_t got = 0;

    MOT_TRY(stream_open(path, &stream));
    MOT_TRY(read_header(stream, &idx));
    idx.data = malloc(idx.bytes);
    if (!idx.data)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "%s: no %zu bytes to read it", path, idx.bytes));
    MOT_TRY(stream_read(stream, idx.data, idx.bytes, &got));
    if (got < idx.bytes)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: cut short: %zu bytes where its header promises %zu",
                          path, got, idx.bytes));
    MOT_TRY(stream_read(stream, &more, 1, &got)); /* also has the gzip checksum looked at */
    if (got != 0)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: more bytes follow the %zu its header promises", path,
                          idx.bytes));

    *out = idx;
    idx.data = NULL; /* the caller's now */
done:
    free(idx.data);
    stream_close(stream);
    return status;
}
