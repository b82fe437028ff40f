/* turns.c - parts of a flat that take turns in windows of device memory.
 *
 * A window is a stage as large as the largest part. The n-th part is used in the n-th window,
 * counted round, so with two of them one part travels while launches work on the other. To that end
 * the window of the next part is taken from the device before the launches of this one are queued.
 */
#include "tensor/turns.h"

#include "base/clock.h"
#include "base/size.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64

struct mot__window {
    mot__stage *stage;
    const struct mot__piece *holds; /* NULL: nothing of worth */
    bool leaving;                   /* on its way to the host side, not home yet */
    bool taken;                     /* the host side is asked for, to fill it anew */
};

static size_t bytes_of(const struct mot__piece *piece)
{
    return piece->count * sizeof(float);
}

static size_t window_bytes(const struct mot__turns *turns)
{
    size_t i, most = 0;

    for (i = 0; i < turns->parts; i++)
        most = mot__size_max(most, turns->part[i].count);
    return most * sizeof(float);
}

/* ---- opening ---- */

size_t mot__turns_bytes(const mot__device *device, const struct mot__turns *turns)
{
    const size_t extra = turns->extra ? mot__buffer_bytes(turns->extra * sizeof(float)) : 0;

    return turns->windows * mot__stage_bytes(device, window_bytes(turns)) + extra;
}

size_t mot__windows_bytes(const mot__device *device, const mot__flat *flat)
{
    size_t i, most = 0;

    for (i = 0; flat->windows && i < flat->pieces; i++)
        if (flat->piece[i].window)
            most = mot__size_max(most, bytes_of(&flat->piece[i]));
    return flat->windows * mot__stage_bytes(device, most);
}

static mot_status open_windows(mot__device *device, const struct mot__turns *turns, mot__flat *flat)
{
    const size_t bytes = window_bytes(turns);
    mot_status status = MOT_OK;
    mot__stage *stage;

    while (flat->windows < turns->windows) {
        MOT_TRY(mot__stage_open(device, bytes, &stage));
        flat->window[flat->windows++].stage = stage;
        memset(mot__stage_host(stage), 0, bytes);
        MOT_TRY(mot__stage_up(stage, 0, bytes));
    }
done:
    return status;
}

/* Pieces are in the flat order, parts are not. */
static mot_status open_pieces(mot__device *device, const struct mot__turns *turns, mot__flat *flat)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = turns->parts; i-- > 0;) {
        struct mot__window *window = &flat->window[i % turns->windows];

        flat->piece[flat->pieces++] =
            (struct mot__piece){mot__stage_buffer(window->stage), NULL, window,
                                turns->part[i].begin, turns->part[i].count};
    }
    flat->floats = turns->part[0].begin + turns->part[0].count;
    if (turns->extra) {
        struct mot__piece *piece = &flat->piece[flat->pieces];

        *piece = (struct mot__piece){NULL, NULL, NULL, flat->floats, turns->extra};
        MOT_TRY(mot__buffer_open(device, bytes_of(piece), &piece->buffer));
        flat->pieces++;
        flat->floats += turns->extra;
        MOT_TRY(mot__buffer_zero(piece->buffer, 0, bytes_of(piece)));
    }
done:
    return status;
}

static mot_status open_home(const struct mot__turns *turns, mot__flat *flat)
{
    const size_t bytes = mot__size_round_up(flat->floats * sizeof(float), LINE);

    flat->home = turns->home;
    if (turns->home)
        return MOT_OK;
    flat->home = flat->own = aligned_alloc(LINE, bytes);
    if (!flat->own)
        return mot__fail(MOT_NO_MEMORY, "%zu bytes on the host", bytes);
    memset(flat->own, 0, bytes);
    return MOT_OK;
}

mot_status mot__flat_open_turns(mot__device *device, const struct mot__turns *turns,
                                mot__flat **out)
{
    mot_status status = MOT_OK;
    mot__flat *flat = calloc(1, sizeof *flat);

    if (flat) {
        flat->piece = calloc(turns->parts + 1, sizeof *flat->piece);
        flat->window = calloc(turns->windows, sizeof *flat->window);
    }
    if (!flat || !flat->piece || !flat->window) {
        status = mot__fail(MOT_NO_MEMORY, "%zu windows", turns->windows);
        goto done;
    }
    MOT_TRY(open_windows(device, turns, flat));
    MOT_TRY(open_pieces(device, turns, flat));
    MOT_TRY(open_home(turns, flat));
    *out = flat;
    flat = NULL;
done:
    mot__flat_close(flat);
    return status;
}

void mot__windows_close(mot__flat *flat)
{
    size_t i;

    for (i = 0; i < flat->windows; i++)
        mot__stage_close(flat->window[i].stage);
    free(flat->window);
    free(flat->own);
}

/* ---- coming and going ---- */

static struct mot__piece *piece_of(const mot__flat *flat, size_t part)
{
    const size_t parts = flat->pieces - (flat->piece[flat->pieces - 1].window ? 0 : 1);

    return &flat->piece[parts - 1 - part];
}

static void copy(mot__flat *flat, float *to, const float *from, size_t count)
{
    const double began_s = mot__clock_s();

    memcpy(to, from, count * sizeof *to);
    flat->copied_s += mot__clock_s() - began_s;
}

/* What is on its way arrives, and the device has its window back. */
static mot_status come_home(mot__flat *flat, struct mot__window *window)
{
    const struct mot__piece *piece = window->holds;
    mot_status status = MOT_OK;

    if (!window->leaving)
        return MOT_OK;
    MOT_TRY(mot__stage_wait(window->stage, 0));
    copy(flat, flat->own + piece->begin, mot__stage_host(window->stage), piece->count);
    MOT_TRY(mot__stage_give(window->stage, 0, bytes_of(piece)));
    window->leaving = false;
done:
    return status;
}

static mot_status take(struct mot__window *window)
{
    if (window->taken)
        return MOT_OK;
    window->taken = true;
    window->holds = NULL;
    return mot__stage_take(window->stage, 0);
}

static mot_status fetch(mot__flat *flat, const struct mot__piece *piece)
{
    struct mot__window *window = piece->window;
    mot_status status = MOT_OK;

    MOT_TRY(take(window));
    MOT_TRY(mot__stage_wait(window->stage, 0));
    copy(flat, mot__stage_host(window->stage), flat->home + piece->begin, piece->count);
    window->taken = false;
    MOT_TRY(mot__stage_up(window->stage, 0, bytes_of(piece)));
done:
    return status;
}

/* Behind the launches so far, and before those of the part that was just brought. Not at either
 * end, where the passes turn: what is there then is wanted next. */
static mot_status take_ahead(mot__flat *flat, const struct mot__piece *piece)
{
    const size_t next = (size_t)(piece->window - flat->window + 1) % flat->windows;

    if (flat->own || flat->windows < 2 || piece == flat->piece ||
        piece == &flat->piece[flat->pieces - 1])
        return MOT_OK;
    return take(&flat->window[next]);
}

mot_status mot__flat_bring(mot__flat *flat, size_t part, bool keep)
{
    const struct mot__piece *piece = piece_of(flat, part);
    struct mot__window *window = piece->window;
    mot_status status = MOT_OK;

    MOT_TRY(come_home(flat, window));
    if (window->holds == piece)
        return MOT_OK; /* what it has is what home has */
    window->holds = NULL;
    MOT_TRY(keep ? fetch(flat, piece) : mot__buffer_zero(piece->buffer, 0, bytes_of(piece)));
    window->holds = piece;
    MOT_TRY(take_ahead(flat, piece));
done:
    return status;
}

mot_status mot__flat_leave(mot__flat *flat, size_t part)
{
    const struct mot__piece *piece = piece_of(flat, part);
    struct mot__window *window = piece->window;

    if (window->holds != piece || window->leaving)
        return MOT_OK;
    window->leaving = true;
    return mot__stage_down(window->stage, 0, 0, bytes_of(piece));
}

static mot_status settle_windows(mot__flat *flat)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < flat->windows && status == MOT_OK; i++)
        status = come_home(flat, &flat->window[i]);
    return status;
}

mot_status mot__flat_settle(mot__flat *flat)
{
    const struct mot__piece *last = &flat->piece[flat->pieces - 1];
    mot_status status = settle_windows(flat);

    if (status != MOT_OK || last->window)
        return status;
    return mot__buffer_read(last->buffer, 0, flat->own + last->begin, bytes_of(last));
}

static void forget(mot__flat *flat)
{
    size_t i;

    for (i = 0; i < flat->windows; i++)
        flat->window[i].holds = NULL;
}

void mot__flat_rehome(mot__flat *flat, const float *home)
{
    forget(flat);
    if (home)
        flat->home = home;
}

/* ---- by offset ---- */

mot_status mot__home_read(mot__flat *flat, struct mot__range range, float *out)
{
    mot_status status = settle_windows(flat);

    if (status == MOT_OK)
        memcpy(out, flat->home + range.begin, range.count * sizeof *out);
    return status;
}

mot_status mot__home_write(mot__flat *flat, struct mot__range range, const float *value)
{
    mot_status status = settle_windows(flat);

    if (status != MOT_OK)
        return status;
    if (!flat->own)
        return mot__fail(MOT_BAD_STATE, "the device only reads these numbers");
    memcpy(flat->own + range.begin, value, range.count * sizeof *value);
    forget(flat);
    return MOT_OK;
}

mot_status mot__home_zero(mot__flat *flat)
{
    mot_status status = settle_windows(flat);

    if (status != MOT_OK || !flat->own)
        return status;
    memset(flat->own, 0, flat->floats * sizeof *flat->own);
    forget(flat);
    return MOT_OK;
}
