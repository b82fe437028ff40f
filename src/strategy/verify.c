/* verify.c - sums of what every lane should have alike. */
#include "strategy/verify.h"

#include "base/size.h"
#include "ops/scan.h"
#include "strategy/sent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS, SLOT0, SLOT1, FLATS };

struct mot__verify {
    mot__buffer *chunk; /* (chunks, 4) words: every parameter, in the flat order */
    size_t *first;      /* (pieces + 1): the chunk a piece begins with */
    mot__stage *sums;   /* words of the table, then one row for the verdict's chunk */
    bool pending;       /* sums are on their way, and the buffer is the host's */
    bool stale;         /* they are not of the variables that are there now */
    uint64_t step;      /* of which */
};

/* Flats of rows of two words; the verdict is one row more. */
static size_t rows_of(const struct mot__common *common)
{
    return FLATS * common->net->table.count + 1;
}

static size_t bytes_of(const mot_replica *replica)
{
    return 2 * rows_of(replica->common) * sizeof(uint32_t);
}

/* ---- what the lanes share ---- */

mot_status mot__agree_open(const struct mot__common *common, struct mot__agree *agree)
{
    agree->words = 2 * rows_of(common);
    agree->table = calloc((common->replicas + 1) * agree->words, sizeof *agree->table);
    agree->to = calloc(common->replicas, sizeof *agree->to);
    return agree->table && agree->to
               ? MOT_OK
               : mot__fail(MOT_NO_MEMORY, "sums of %zu replicas", common->replicas);
}

void mot__agree_clear(struct mot__agree *agree)
{
    free(agree->table);
    free(agree->to);
}

/* ---- a lane's side ---- */

static const mot__flat *flat_of(const mot_replica *replica, size_t which)
{
    return which == PARAMETERS ? replica->parameters : replica->slot[which - SLOT0];
}

/* Chunks of all parameters, and where each piece begins among them; out NULL: only count. */
static size_t cut(const mot_replica *replica, struct mot__scan_chunk *out, size_t *first)
{
    const struct mot__parameters *table = &replica->common->net->table;
    const mot__flat *flat = replica->parameters;
    size_t chunks = 0, piece = 0, p, place;

    for (p = 0; p < table->count; p++) {
        const struct mot__parameter *row = &table->row[p];

        while (piece < flat->pieces && flat->piece[piece].begin <= row->offset)
            first[piece++] = chunks;
        for (place = 0; place < row->count; place += MOT__SCAN_CHUNK, chunks++)
            if (out)
                out[chunks] = (struct mot__scan_chunk){
                    (uint32_t)p, (uint32_t)place,
                    (uint32_t)(row->offset - flat->piece[piece - 1].begin + place),
                    (uint32_t)mot__size_min(MOT__SCAN_CHUNK, row->count - place)};
    }
    first[piece] = chunks;
    return chunks;
}

static mot_status open_chunks(mot_replica *replica, mot__verify *verify)
{
    const size_t chunks = cut(replica, NULL, verify->first);
    /* The last is the verdict's: one row, from its own beginning. */
    struct mot__scan_chunk *chunk = calloc(chunks + 1, sizeof *chunk);
    mot_status status = MOT_OK;

    if (!chunk)
        return mot__fail(MOT_NO_MEMORY, "%zu chunks", chunks);
    cut(replica, chunk, verify->first);
    chunk[chunks].count = MOT__VERDICT_FLOATS;
    MOT_TRY(mot__buffer_open(replica->device, (chunks + 1) * sizeof *chunk, &verify->chunk));
    MOT_TRY(mot__buffer_write(verify->chunk, 0, chunk, (chunks + 1) * sizeof *chunk));
done:
    free(chunk);
    return status;
}

static struct mot__mem sums_at(const mot__verify *verify, size_t row)
{
    return (struct mot__mem){mot__stage_buffer(verify->sums), 2 * row};
}

static mot_status launch(mot_replica *replica)
{
    const mot__verify *verify = replica->verify;
    const size_t rows = replica->common->net->table.count, pieces = replica->parameters->pieces;
    mot_status status = MOT_OK;
    size_t f, i;

    for (f = 0; f < FLATS; f++)
        for (i = 0; flat_of(replica, f) && i < pieces; i++)
            MOT_TRY(mot__scan_sum(
                replica->device, (struct mot__mem){flat_of(replica, f)->piece[i].buffer, 0},
                (struct mot__mem){verify->chunk, 4 * verify->first[i]},
                verify->first[i + 1] - verify->first[i], sums_at(verify, f * rows)));
    if (replica->verdict)
        MOT_TRY(mot__scan_sum(replica->device, (struct mot__mem){replica->verdict, 0},
                              (struct mot__mem){verify->chunk, 4 * verify->first[pieces]}, 1,
                              sums_at(verify, FLATS * rows)));
done:
    return status;
}

size_t mot__verify_bytes(const mot_replica *replica)
{
    const struct mot__parameters *table = &replica->common->net->table;
    size_t chunks = 1, p;

    for (p = 0; p < table->count; p++)
        chunks += (table->row[p].count + MOT__SCAN_CHUNK - 1) / MOT__SCAN_CHUNK;
    return mot__buffer_bytes(chunks * sizeof(struct mot__scan_chunk)) +
           mot__stage_bytes(replica->device, bytes_of(replica));
}

mot_status mot__verify_open(mot_replica *replica, mot__verify **out)
{
    mot__verify *verify = calloc(1, sizeof *verify);
    mot_status status = MOT_OK;

    if (verify)
        verify->first = calloc(replica->parameters->pieces + 1, sizeof *verify->first);
    if (!verify || !verify->first) {
        status = mot__fail(MOT_NO_MEMORY, "the comparison of replicas");
        goto done;
    }
    if (replica->windows) { /* nothing of it is on the device */
        *out = verify;
        return MOT_OK;
    }
    MOT_TRY(open_chunks(replica, verify));
    MOT_TRY(mot__stage_open(replica->device, bytes_of(replica), &verify->sums));
    MOT_TRY(mot__stage_up(verify->sums, 0, bytes_of(replica)));
    replica->verify = *out = verify;
    verify = NULL;
    mot__device_rehearse(replica->device, true);
    status = launch(replica);
    mot__device_rehearse(replica->device, false);
done:
    mot__verify_close(verify);
    return status;
}

void mot__verify_close(mot__verify *verify)
{
    if (!verify)
        return;
    mot__buffer_close(verify->chunk);
    mot__stage_close(verify->sums);
    free(verify->first);
    free(verify);
}

void mot__verify_forget(mot__verify *verify)
{
    if (verify)
        verify->stale = verify->pending;
}

/* Nobody will compare them: the device has its buffer back. */
static mot_status drop(mot_replica *replica)
{
    mot__verify *verify = replica->verify;
    const bool mapped = verify->pending && !replica->windows;
    mot_status status = MOT_OK;

    verify->pending = verify->stale = false;
    if (!mapped)
        return MOT_OK;
    MOT_TRY(mot__stage_wait(verify->sums, 0));
    MOT_TRY(mot__stage_give(verify->sums, 0, bytes_of(replica)));
done:
    return status;
}

/* Behind what was queued so far. */
static mot_status queue(mot_replica *replica)
{
    mot__verify *verify = replica->verify;
    const size_t bytes = bytes_of(replica);
    const struct mot__strategy *strategy = replica->common->strategy;
    mot_status status = MOT_OK;
    size_t b;

    MOT_TRY(drop(replica));
    verify->step = replica->step.number;
    verify->pending = true;
    if (replica->windows)
        return MOT_OK; /* no copy of its own */
    for (b = 0; strategy->need && b < replica->common->buckets; b++)
        MOT_TRY(strategy->need(replica, b));
    MOT_TRY(mot__buffer_zero(mot__stage_buffer(verify->sums), 0, bytes));
    MOT_TRY(launch(replica));
    MOT_TRY(mot__stage_down(verify->sums, 0, 0, bytes));
done:
    return status;
}

/* ---- comparing ---- */

/* The seat whose sums most have; of several the first. */
static size_t judge(const struct mot__agree *agree, size_t seats)
{
    size_t best = 0, most = 0, i, k;

    for (i = 0; i < seats; i++) {
        size_t same = 0;

        for (k = 0; k < seats; k++)
            same += memcmp(agree->table + i * agree->words, agree->table + k * agree->words,
                           agree->words * sizeof *agree->table) == 0;
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return best;
}

static const char *name_row(const struct mot__common *common, size_t row, char out[96])
{
    static const char *const of[] = {"", "the first state of ", "the second state of "};
    const struct mot__parameters *table = &common->net->table;

    if (row >= FLATS * table->count)
        snprintf(out, 96, "the optimizer's count of steps");
    else
        snprintf(out, 96, "%s%s", of[row / table->count], table->row[row % table->count].name);
    return out;
}

/* The first row in which two seats differ; rows: in none. */
static size_t first_difference(const struct mot__agree *agree, size_t a, size_t b)
{
    size_t w;

    for (w = 0; w < agree->words; w++)
        if (agree->table[a * agree->words + w] != agree->table[b * agree->words + w])
            break;
    return w / 2;
}

static void tell(mot_replica *replica, size_t row, const char *right, char *story)
{
    const struct mot__common *common = replica->common;
    const bool stop = common->config.on_differ == MOT_ON_DIFFER_STOP;
    struct mot_note note = {.kind = MOT_NOTE_DIFFER,
                            .step = replica->verify->step,
                            .replica = (ptrdiff_t)replica->rank};
    char name[96];

    snprintf(note.device, sizeof note.device, "%s", mot__lane_label(replica->lane));
    if (row < FLATS * common->net->table.count)
        snprintf(note.parameter, sizeof note.parameter, "%s",
                 common->net->table.row[row % common->net->table.count].name);
    snprintf(note.text, sizeof note.text, "step %llu: %s on device %s differs from %s%s",
             (unsigned long long)note.step, name_row(common, row, name), note.device, right,
             stop ? "" : "; all of it is sent anew");
    if (story)
        memcpy(story, note.text, sizeof note.text);
    mot__notes_add(common->notes, &note);
}

struct seat {
    size_t rank;
    char device[32];
};

static mot_status gather_seats(mot_replica *replica, size_t right, struct seat *out)
{
    out->rank = replica->rank;
    snprintf(out->device, sizeof out->device, "%s", mot__lane_label(replica->lane));
    return mot__group_broadcast(replica->common->group, replica->seat, right, out, sizeof *out);
}

/* Every lane sees the same table. Who differs tells so; one of them tells the engine. */
static mot_status compare(mot_replica *replica, size_t seats, bool host)
{
    struct mot__agree *agree = replica->common->agree;
    const size_t right = host ? seats : judge(agree, seats);
    const size_t row = first_difference(agree, replica->seat, right);
    const bool differs = row < agree->words / 2;
    struct seat from = {0, "the host"};
    char text[48] = "the host's copy";
    mot_status status = MOT_OK;
    size_t first = 0;

    while (first < seats && first_difference(agree, first, right) == agree->words / 2)
        first++;
    if (first == seats)
        return MOT_OK;
    if (!host) {
        MOT_TRY(gather_seats(replica, right, &from));
        snprintf(text, sizeof text, "device %s's", from.device);
    }
    if (differs)
        tell(replica, row, text, replica->seat == first ? agree->text : NULL);
    agree->to[replica->rank] = differs;
    MOT_TRY(mot__group_barrier(replica->common->group, replica->seat));
    if (replica->seat > 0)
        return MOT_OK;
    agree->from = from.rank;
    agree->host = host;
    atomic_store(&agree->found, true);
done:
    return status;
}

/* What lies on the host: central storage's copy, or the state of a lane that is sent weights. */
static void add_rows(const mot_replica *replica, const float *flat, uint32_t *words)
{
    const struct mot__parameters *table = &replica->common->net->table;
    size_t p;

    for (p = 0; p < table->count; p++)
        mot__scan_sum_host(flat + table->row[p].offset, table->row[p].count, words + 2 * p);
}

/* A lane with windows has what the host has. */
static mot_status take_sums(mot_replica *replica, uint32_t *own)
{
    mot__stage *sums = replica->verify->sums;
    const size_t bytes = replica->common->agree->words * sizeof *own;
    mot_status status = MOT_OK;

    if (replica->windows) {
        memset(own, 0, bytes);
        add_rows(replica, mot__variables_now(replica->common->variables, replica->rank), own);
        return MOT_OK;
    }
    MOT_TRY(mot__stage_wait(sums, 0));
    memcpy(own, mot__stage_host(sums), bytes);
    MOT_TRY(mot__stage_give(sums, 0, bytes));
done:
    return status;
}

static mot_status collect(mot_replica *replica)
{
    struct mot__agree *agree = replica->common->agree;
    mot__group *group = replica->common->group;
    const size_t seats = mot__group_lanes(group), bytes = agree->words * sizeof *agree->table;
    const size_t rows = replica->common->net->table.count;
    const bool host = replica->common->variables != NULL;
    uint32_t *own = agree->table + replica->seat * agree->words;
    mot_status status = MOT_OK;
    size_t f;

    MOT_TRY(take_sums(replica, own));
    for (f = SLOT0; replica->sent && f < FLATS; f++)
        if (replica->sent->slot[f - SLOT0])
            add_rows(replica, replica->sent->slot[f - SLOT0], own + 2 * f * rows);
    if (host && replica->seat == 0) {
        memset(agree->table + seats * agree->words, 0, bytes);
        add_rows(replica, mot__variables_now(replica->common->variables, replica->rank),
                 agree->table + seats * agree->words);
    }
    MOT_TRY(mot__group_barrier(group, replica->seat));
    if (!atomic_load(&agree->found)) /* else the engine has not acted yet */
        MOT_TRY(compare(replica, seats, host));
done:
    return status;
}

/* A lane that was away has none that count: then nobody compares. */
static mot_status collect_pending(mot_replica *replica)
{
    mot__group *group = replica->common->group;
    mot__verify *verify = replica->verify;
    float pending = verify->pending && !verify->stale;
    mot_status status = mot__group_all_reduce(group, replica->seat, &pending, 1);

    if (status != MOT_OK)
        return status;
    if (pending != (float)mot__group_lanes(group))
        return drop(replica);
    verify->pending = false;
    return collect(replica);
}

static bool alone(const mot_replica *replica)
{
    return !replica->verify || !replica->common->group;
}

/* Steps are counted alike on every lane. */
static bool due(const mot_replica *replica, uint64_t step)
{
    const size_t every = replica->common->config.verify;

    return !alone(replica) && every > 0 && step % every == 0;
}

mot_status mot__verify_before(mot_replica *replica)
{
    return replica->step.number > 0 && due(replica, replica->step.number) ? collect_pending(replica)
                                                                          : MOT_OK;
}

mot_status mot__verify_after(mot_replica *replica)
{
    return due(replica, replica->step.number + 1) ? queue(replica) : MOT_OK;
}

mot_status mot__verify_now(mot_replica *replica, bool fresh)
{
    mot_status status = MOT_OK;

    if (alone(replica))
        return MOT_OK;
    if (fresh)
        status = queue(replica);
    return status != MOT_OK ? status : collect_pending(replica);
}
