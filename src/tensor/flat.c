/* flat.c - flat buffers, cut where the largest allocation demands. */
#include "tensor/flat.h"

#include "base/size.h"
#include "tensor/turns.h"

#include <stdlib.h>

/* Where the piece that starts at parameter p ends: as far as piece_floats reaches. Extra floats do
 * not count, so that buffers with and without them cut alike. */
static mot_status piece_end(const struct mot__parameters *table, size_t piece_floats, size_t *p,
                            size_t begin, size_t *end)
{
    size_t next;

    *end = begin;
    while (*p < table->count) {
        next = *p + 1 < table->count ? table->row[*p + 1].offset : table->floats;
        if (next - begin > piece_floats && *end == begin)
            return mot__fail(MOT_NO_MEMORY, "%s: %zu bytes, but the largest allocation is %zu",
                             table->row[*p].name, (next - begin) * sizeof(float),
                             piece_floats * sizeof(float));
        if (next - begin > piece_floats)
            return MOT_OK;
        *end = next;
        ++*p;
    }
    return MOT_OK;
}

static mot_status open_piece(mot__device *device, struct mot__piece *piece, bool staged)
{
    const size_t bytes = piece->count * sizeof(float);
    mot_status status;

    if (!staged) {
        status = mot__buffer_open(device, bytes, &piece->buffer);
        return status != MOT_OK ? status : mot__buffer_zero(piece->buffer, 0, bytes);
    }
    status = mot__stage_open(device, bytes, &piece->stage);
    if (status != MOT_OK)
        return status;
    piece->buffer = mot__stage_buffer(piece->stage);
    for (size_t i = 0; i < piece->count; i++)
        ((float *)mot__stage_host(piece->stage))[i] = 0;
    return mot__stage_up(piece->stage, 0, bytes);
}

mot_status mot__flat_cut(const struct mot__parameters *table, size_t extra, size_t piece_floats,
                         struct mot__range **out, size_t *count)
{
    struct mot__range *made = calloc(table->count, sizeof *made);
    mot_status status = MOT_OK;
    size_t p = 0, begin = 0, end;

    if (!made)
        return mot__fail(MOT_NO_MEMORY, "flat buffers of %zu parameters", table->count);
    for (*count = 0; p < table->count; begin = end) {
        MOT_TRY(piece_end(table, piece_floats, &p, begin, &end));
        end += p == table->count ? extra : 0;
        made[(*count)++] = (struct mot__range){begin, end - begin};
    }
    *out = made;
    made = NULL;
done:
    free(made);
    return status;
}

mot_status mot__flat_open(mot__device *device, const struct mot__parameters *table, size_t extra,
                          size_t piece_floats, bool staged, mot__flat **out)
{
    mot_status status = MOT_OK;
    mot__flat *flat = calloc(1, sizeof *flat);
    struct mot__range *range = NULL;
    size_t pieces = 0;

    if (!flat || !(flat->piece = calloc(table->count, sizeof *flat->piece))) {
        status = mot__fail(MOT_NO_MEMORY, "flat buffers of %zu parameters", table->count);
        goto done;
    }
    flat->floats = table->floats + extra;
    MOT_TRY(mot__flat_cut(table, extra, piece_floats, &range, &pieces));
    while (flat->pieces < pieces) {
        struct mot__piece *piece = &flat->piece[flat->pieces];

        piece->begin = range[flat->pieces].begin;
        piece->count = range[flat->pieces++].count;
        MOT_TRY(open_piece(device, piece, staged));
    }
    *out = flat;
    flat = NULL;
done:
    free(range);
    mot__flat_close(flat);
    return status;
}

void mot__flat_close(mot__flat *flat)
{
    size_t i;

    if (!flat)
        return;
    for (i = 0; i < flat->pieces; i++) {
        if (flat->piece[i].stage)
            mot__stage_close(flat->piece[i].stage);
        else if (!flat->piece[i].window)
            mot__buffer_close(flat->piece[i].buffer);
    }
    mot__windows_close(flat);
    free(flat->piece);
    free(flat);
}

size_t mot__flat_bytes(const mot__device *device, const mot__flat *flat)
{
    size_t sum = mot__windows_bytes(device, flat), i, bytes;

    for (i = 0; i < flat->pieces; i++) {
        bytes = flat->piece[i].count * sizeof(float);
        if (flat->piece[i].stage)
            sum += mot__stage_bytes(device, bytes);
        else if (!flat->piece[i].window)
            sum += mot__buffer_bytes(bytes);
    }
    return sum;
}

struct mot__mem mot__flat_at(const mot__flat *flat, size_t offset)
{
    size_t i = 0;

    while (i + 1 < flat->pieces && offset >= flat->piece[i + 1].begin)
        i++;
    return (struct mot__mem){flat->piece[i].buffer, offset - flat->piece[i].begin};
}

struct mot__range mot__range_inside(struct mot__range other, struct mot__range range)
{
    const size_t begin = mot__size_max(other.begin, range.begin);
    const size_t end = mot__size_min(other.begin + other.count, range.begin + range.count);

    return (struct mot__range){begin, end > begin ? end - begin : 0};
}

struct mot__range mot__piece_range(const struct mot__piece *piece, struct mot__range range)
{
    return mot__range_inside((struct mot__range){piece->begin, piece->count}, range);
}

/* A range from the host or, where from is NULL, to it. */
static mot_status copy(mot__flat *flat, struct mot__range range, const float *from, float *to)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < flat->pieces && status == MOT_OK; i++) {
        const struct mot__piece *piece = &flat->piece[i];
        const struct mot__range part = mot__piece_range(piece, range);
        const size_t skip = part.begin - range.begin, bytes = part.count * sizeof(float);
        const size_t place = (part.begin - piece->begin) * sizeof(float);

        if (part.count == 0)
            continue;
        if (from)
            status = piece->window ? mot__home_write(flat, part, from + skip)
                                   : mot__buffer_write(piece->buffer, place, from + skip, bytes);
        else
            status = piece->window ? mot__home_read(flat, part, to + skip)
                                   : mot__buffer_read(piece->buffer, place, to + skip, bytes);
    }
    return status;
}

mot_status mot__flat_write(mot__flat *flat, size_t offset, const float *host, size_t count)
{
    return copy(flat, (struct mot__range){offset, count}, host, NULL);
}

mot_status mot__flat_read(mot__flat *flat, size_t offset, float *host, size_t count)
{
    return copy(flat, (struct mot__range){offset, count}, NULL, host);
}

mot_status mot__flat_zero(mot__flat *flat)
{
    mot_status status = mot__home_zero(flat);
    size_t i;

    for (i = 0; i < flat->pieces && status == MOT_OK; i++)
        if (!flat->piece[i].window)
            status =
                mot__buffer_zero(flat->piece[i].buffer, 0, flat->piece[i].count * sizeof(float));
    return status;
}
