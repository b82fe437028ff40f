/* feed.c - staging ring and resident data. A staging buffer holds, one behind the other, the words
 * of y, the numbers of the samples (resident data) or the samples themselves. */
#include "feed/feed.h"

#include "base/size.h"
#include "ops/gather.h"
#include "ops/selftest.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 4 /* steps whose rows may be on their way */

struct mot__feed {
    mot__device *device;
    struct mot__samples samples; /* their form; x, labels and targets are not used */
    size_t rows;                 /* capacity */
    size_t x_bytes, y_words;     /* of one row */
    mot__stage *stage[DEPTH];
    size_t next;
    uint64_t loads;
    mot__buffer *all_x, *all_y; /* resident data */
    uint64_t resident_id;       /* 0: none */
    size_t resident_count;      /* samples */
};

static size_t words_of(const struct mot__samples *samples)
{
    return samples->target_width ? samples->target_width : samples->classes ? 1 : 0;
}

static size_t x_bytes_of(const struct mot__samples *samples)
{
    return samples->width * (samples->dtype == MOT_DTYPE_U8 ? 1 : sizeof(float));
}

static size_t x_begin(const mot__feed *feed, size_t rows)
{
    return mot__size_round_up(rows * feed->y_words * 4, 64);
}

/* Of one staging buffer: y, then samples or their numbers. */
static size_t stage_bytes(const struct mot__samples *samples, size_t rows)
{
    return mot__size_round_up(rows * words_of(samples) * 4, 64) +
           rows * mot__size_max(x_bytes_of(samples), sizeof(uint32_t));
}

size_t mot__feed_estimate(const mot__device *device, const struct mot__samples *samples,
                          size_t rows, size_t *piece)
{
    *piece = mot__stage_bytes(device, stage_bytes(samples, rows));
    return DEPTH * *piece;
}

static mot_status gather(mot__feed *feed, mot__stage *stage, size_t rows, bool resident,
                         struct mot__mem x, struct mot__mem y)
{
    const size_t element = feed->samples.dtype == MOT_DTYPE_U8 ? 1 : sizeof(float);
    struct mot__gather gather = {.rows = rows,
                                 .width = feed->samples.width,
                                 .dtype = feed->samples.dtype,
                                 .out = x,
                                 .y_width = feed->y_words,
                                 .y_out = y};
    mot__buffer *buffer = mot__stage_buffer(stage);

    if (resident) {
        gather.index = (struct mot__mem){buffer, 0};
        gather.x = (struct mot__mem){feed->all_x, 0};
        gather.y = (struct mot__mem){feed->all_y, 0};
    } else {
        gather.x = (struct mot__mem){buffer, x_begin(feed, rows) / element};
        gather.y = (struct mot__mem){buffer, 0};
    }
    return mot__gather_launch(feed->device, &gather);
}

/* The gather is built now, not in the first step; its places stand in for the plan's. */
static mot_status rehearse(mot__feed *feed)
{
    const struct mot__mem any = {mot__stage_buffer(feed->stage[0]), 0};
    mot_status status;

    mot__device_rehearse(feed->device, true);
    status = gather(feed, feed->stage[0], feed->rows, false, any, any);
    mot__device_rehearse(feed->device, false);
    return status;
}

mot_status mot__feed_open(mot__device *device, const struct mot__samples *samples, size_t rows,
                          mot__feed **out)
{
    mot_status status = MOT_OK;
    mot__feed *feed = calloc(1, sizeof *feed);
    size_t i;

    if (!feed)
        return mot__fail(MOT_NO_MEMORY, "a feed's %zu bytes", sizeof *feed);
    feed->device = device;
    feed->samples = *samples;
    feed->rows = rows;
    feed->x_bytes = x_bytes_of(samples);
    feed->y_words = words_of(samples);
    MOT_TRY(mot__selftest_need(device, samples->dtype == MOT_DTYPE_U8 ? MOT__OP_GATHER_U8
                                                                      : MOT__OP_GATHER_F32));
    for (i = 0; i < DEPTH; i++)
        MOT_TRY(mot__stage_open(device, stage_bytes(samples, rows), &feed->stage[i]));
    MOT_TRY(rehearse(feed));
    *out = feed;
    feed = NULL;
done:
    mot__feed_close(feed);
    return status;
}

void mot__feed_close(mot__feed *feed)
{
    size_t i;

    if (!feed)
        return;
    for (i = 0; i < DEPTH; i++)
        mot__stage_close(feed->stage[i]);
    mot__buffer_close(feed->all_x);
    mot__buffer_close(feed->all_y);
    free(feed);
}

void mot__feed_bytes(const mot__feed *feed, size_t *staging, size_t *resident)
{
    size_t piece;

    *staging = mot__feed_estimate(feed->device, &feed->samples, feed->rows, &piece);
    *resident = feed->resident_id ? mot__buffer_bytes(feed->resident_count * feed->x_bytes) +
                                        mot__buffer_bytes(feed->resident_count * feed->y_words * 4)
                                  : 0;
}

bool mot__feed_fits(const mot__feed *feed, const struct mot__samples *samples, size_t rows)
{
    return rows <= feed->rows && samples->width == feed->samples.width &&
           samples->dtype == feed->samples.dtype && words_of(samples) == feed->y_words;
}

/* Bytes of all samples and of all their y; false: they cannot be resident in that budget. */
static bool resident_bytes(const mot__device *device, const struct mot__samples *samples,
                           size_t budget, size_t *x, size_t *y)
{
    const size_t largest = mot__device_facts(device)->largest_bytes;

    return samples->x && samples->count <= UINT32_MAX &&
           mot__size_mul(samples->count, x_bytes_of(samples), x) &&
           mot__size_mul(samples->count, words_of(samples) * 4, y) && *x <= largest &&
           *y <= largest && *x <= budget && *y <= budget - *x &&
           *x / (samples->dtype == MOT_DTYPE_U8 ? 1 : sizeof(float)) <= UINT32_MAX;
}

size_t mot__feed_resident_estimate(const mot__device *device, const struct mot__samples *samples,
                                   size_t budget)
{
    size_t x, y;

    return resident_bytes(device, samples, budget, &x, &y)
               ? mot__buffer_bytes(x) + mot__buffer_bytes(y)
               : 0;
}

mot_status mot__feed_resident(mot__feed *feed, const struct mot__samples *samples, size_t budget,
                              bool *resident)
{
    const void *y = samples->targets ? (const void *)samples->targets : samples->labels;
    mot__buffer *all_x = NULL, *all_y = NULL;
    mot_status status = MOT_OK;
    size_t x_bytes, y_bytes;

    *resident = feed->resident_id == samples->id;
    if (*resident || !resident_bytes(feed->device, samples, budget, &x_bytes, &y_bytes))
        return MOT_OK;
    MOT_TRY(mot__buffer_open(feed->device, x_bytes, &all_x));
    MOT_TRY(mot__buffer_open(feed->device, y_bytes, &all_y));
    MOT_TRY(mot__buffer_write(all_x, 0, samples->x, x_bytes));
    if (y)
        MOT_TRY(mot__buffer_write(all_y, 0, y, y_bytes));
    mot__buffer_close(feed->all_x);
    mot__buffer_close(feed->all_y);
    feed->all_x = all_x;
    feed->all_y = all_y;
    feed->resident_id = samples->id;
    feed->resident_count = samples->count;
    *resident = true;
    return MOT_OK;
done:
    mot__buffer_close(all_x);
    mot__buffer_close(all_y);
    return status == MOT_NO_MEMORY ? MOT_OK : status; /* it does not fit: then not */
}

/* Fill the host side; returns the bytes used. */
static size_t fill(const mot__feed *feed, const mot_batch *batch, size_t begin, size_t rows,
                   bool resident, unsigned char *host)
{
    uint32_t *index = (uint32_t *)(void *)host;
    size_t r;

    if (!resident) {
        mot__batch_copy(batch, begin, rows, host + x_begin(feed, rows),
                        feed->y_words ? host : NULL);
        return x_begin(feed, rows) + rows * feed->x_bytes;
    }
    for (r = 0; r < rows; r++)
        index[r] = (uint32_t)batch->index[begin + r];
    return rows * sizeof *index;
}

/* Without a batch: rows of zeros, or the first sample again and again. */
static size_t fill_any(const mot__feed *feed, size_t rows, bool resident, unsigned char *host)
{
    const size_t bytes =
        resident ? rows * sizeof(uint32_t) : x_begin(feed, rows) + rows * feed->x_bytes;

    memset(host, 0, bytes);
    return bytes;
}

static mot_status load(mot__feed *feed, const mot_batch *batch, size_t begin, size_t rows,
                       bool resident, struct mot__mem x, struct mot__mem y)
{
    mot__stage *stage = feed->stage[feed->next];
    mot_status status = MOT_OK;
    unsigned char *host;
    size_t bytes;

    feed->next = (feed->next + 1) % DEPTH;
    if (feed->loads++ >= DEPTH)
        MOT_TRY(mot__stage_wait(stage, 0));
    host = mot__stage_host(stage);
    bytes = batch ? fill(feed, batch, begin, rows, resident, host)
                  : fill_any(feed, rows, resident, host);
    MOT_TRY(mot__stage_up(stage, 0, bytes));
    MOT_TRY(gather(feed, stage, rows, resident, x, y));
    MOT_TRY(mot__stage_take(stage, 0));
done:
    return status;
}

mot_status mot__feed_load(mot__feed *feed, const mot_batch *batch, size_t begin, size_t rows,
                          struct mot__mem x, struct mot__mem y)
{
    const bool resident = feed->resident_id && feed->resident_id == batch->samples->id;

    return load(feed, batch, begin, rows, resident, x, y);
}

mot_status mot__feed_any(mot__feed *feed, size_t rows, struct mot__mem x, struct mot__mem y)
{
    return load(feed, NULL, 0, rows, feed->resident_id != 0, x, y);
}
