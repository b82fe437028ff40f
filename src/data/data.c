/* data.c - the stream: where it stands, how it runs, and the next batch of it. */
#include "data/data.h"

#include "base/config.h"
#include "base/size.h"
#include "data/order.h"
#include "data/reader.h"
#include "data/store.h"

#include <stdlib.h>

#define BATCH_DEFAULT 32
#define AHEAD_DEFAULT 4
#define CLOSE_WAIT_S 10.0 /* for a read that is under way when mot_data_close is called */

struct mot_data {
    struct mot__store *store;
    struct mot_source source; /* read is NULL: the samples are in memory */
    struct mot__store *cache; /* filled while the source is read; becomes the store when full */
    struct mot__store *past;  /* the store before that: others may still look at its samples */
    mot__reader *reader;      /* opened by the first mot_data_next */
    struct mot__order order;
    size_t rows, ahead;
    uint64_t epoch, first; /* the next batch */
    bool taken;            /* a batch in this epoch, by this object */
    bool whole;            /* it was taken from its first sample on */
};

mot_status mot__data_of(struct mot__store *store, mot_data **out)
{
    mot_data *data = calloc(1, sizeof *data);

    if (!data) {
        mot__store_close(store);
        return mot__fail(MOT_NO_MEMORY, "data: no %zu bytes for a stream", sizeof *data);
    }
    data->store = store;
    data->rows = BATCH_DEFAULT;
    data->ahead = AHEAD_DEFAULT;
    data->order.count = store->samples.count;
    *out = data;
    return MOT_OK;
}

mot_status mot_data_source(const struct mot_source *source, mot_data **out)
{
    mot_status status = MOT_OK;
    struct mot__samples like = {0};
    struct mot__store *store = NULL;

    if (!source || !out)
        return mot__fail(MOT_BAD_ARG, "mot_data_source: NULL argument");
    MOT_TRY(mot__config_check(source, sizeof *source, "mot_source"));
    if (!source->read)
        return mot__fail(MOT_BAD_ARG, "mot_data_source: read is NULL");
    like.count = source->count;
    like.shape = source->shape;
    like.dtype = source->dtype;
    like.classes = source->classes;
    like.target_width = source->target_width;
    MOT_TRY(mot__samples_check("mot_data_source", &like));
    MOT_TRY(mot__store_open(&like, &store));
    MOT_TRY(mot__data_of(store, out));
    (*out)->source = *source;
done:
    return status;
}

void mot_data_close(mot_data *data)
{
    if (!data)
        return;
    mot__reader_close(data->reader, CLOSE_WAIT_S);
    mot__store_close(data->cache);
    mot__store_close(data->past);
    mot__store_close(data->store);
    mot__order_clear(&data->order);
    free(data);
}

/* ---- how it runs ----------------------------------------------------------------------------- */

static mot_status check_fresh(const mot_data *data, const char *where)
{
    if (!data)
        return mot__fail(MOT_BAD_ARG, "%s: data is NULL", where);
    if (data->taken)
        return mot__fail(MOT_BAD_STATE,
                         "%s: a batch was taken in this epoch; finish it or call mot_data_rewind",
                         where);
    return MOT_OK;
}

static struct mot__reader_plan plan_of(const mot_data *data)
{
    struct mot__reader_plan plan = {.epoch = data->epoch,
                                    .first = data->first,
                                    .rows = data->rows,
                                    .ahead = data->ahead,
                                    .seed = data->order.seed,
                                    .shuffled = data->order.shuffled};

    if (plan.first >= data->order.count) { /* the epoch's end is still to be told */
        plan.first = 0;
        plan.epoch++;
    }
    return plan;
}

/* What was read ahead no longer fits. */
static void replan(mot_data *data)
{
    const struct mot__reader_plan plan = plan_of(data);

    if (data->reader)
        mot__reader_restart(data->reader, &plan);
}

mot_status mot_data_cache(mot_data *data)
{
    mot_status status = check_fresh(data, "mot_data_cache");

    if (status != MOT_OK || !data->source.read || data->cache)
        return status; /* in memory already, or asked before */
    status = mot__store_open_own(&data->store->samples, &data->cache);
    if (status != MOT_OK)
        return mot__fail_in(status, "mot_data_cache");
    mot__reader_close(data->reader, CLOSE_WAIT_S); /* the next one fills the cache */
    data->reader = NULL;
    return MOT_OK;
}

mot_status mot_data_shuffle(mot_data *data, uint64_t seed)
{
    const mot_status status = check_fresh(data, "mot_data_shuffle");

    if (status != MOT_OK)
        return status;
    data->order.shuffled = true;
    data->order.seed = seed;
    replan(data);
    return MOT_OK;
}

static mot_status check_count(const mot_data *data, const char *call, const char *what,
                              size_t count)
{
    const mot_status status = check_fresh(data, call);

    if (status == MOT_OK && count == 0)
        return mot__fail(MOT_BAD_ARG, "%s: %s = 0", call, what);
    return status;
}

mot_status mot_data_batch(mot_data *data, size_t rows)
{
    const mot_status status = check_count(data, "mot_data_batch", "rows", rows);

    if (status == MOT_OK) {
        data->rows = rows;
        replan(data);
    }
    return status;
}

mot_status mot_data_prefetch(mot_data *data, size_t batches)
{
    const mot_status status = check_count(data, "mot_data_prefetch", "batches", batches);

    if (status == MOT_OK) {
        data->ahead = batches;
        replan(data);
    }
    return status;
}

/* ---- what it is ------------------------------------------------------------------------------ */

const struct mot__samples *mot__data_samples(const mot_data *data)
{
    return &data->store->samples;
}

size_t mot_data_count(const mot_data *data)
{
    return data ? data->store->samples.count : 0;
}

struct mot_shape mot_data_shape(const mot_data *data)
{
    return data ? data->store->samples.shape : (struct mot_shape){0};
}

size_t mot_data_classes(const mot_data *data)
{
    return data ? data->store->samples.classes : 0;
}

size_t mot__data_rows(const mot_data *data)
{
    return mot__size_min(data->rows, data->order.count);
}

/* ---- where it stands ------------------------------------------------------------------------- */

static void go_to(mot_data *data, uint64_t epoch, uint64_t first)
{
    data->epoch = epoch;
    data->first = first;
    data->taken = false;
    data->whole = false;
}

mot_status mot_data_rewind(mot_data *data, uint64_t epoch)
{
    if (!data)
        return mot__fail(MOT_BAD_ARG, "mot_data_rewind: data is NULL");
    go_to(data, epoch, 0);
    replan(data);
    return MOT_OK;
}

void mot__data_cursor(const mot_data *data, struct mot__cursor *out)
{
    *out = (struct mot__cursor){.epoch = data->epoch,
                                .first = data->first,
                                .seed = data->order.seed,
                                .shuffled = data->order.shuffled};
}

mot_status mot__data_seek(mot_data *data, const struct mot__cursor *cursor)
{
    if (cursor->first > data->order.count)
        return mot__fail(MOT_BAD_ARG, "the cursor stands at sample %llu, the data has %zu",
                         (unsigned long long)cursor->first, data->order.count);
    data->order.seed = cursor->seed;
    data->order.shuffled = cursor->shuffled;
    go_to(data, cursor->epoch, cursor->first);
    replan(data);
    return MOT_OK;
}

/* ---- the next batch -------------------------------------------------------------------------- */

/* A whole epoch was taken, so every sample was read: from now on it is memory. (Not as soon as the
 * cache is full: when that is depends on how far the thread has read ahead.) */
static void take_cache(mot_data *data)
{
    if (!data->cache || !data->whole || !mot__reader_cached(data->reader))
        return;
    mot__reader_close(data->reader, CLOSE_WAIT_S);
    data->reader = NULL;
    data->past = data->store;
    data->store = data->cache;
    data->cache = NULL;
    data->source.read = NULL;
}

static mot_status next_read(mot_data *data, mot_batch **out)
{
    const struct mot__reader_plan plan = plan_of(data);
    mot_status status = MOT_OK;

    if (!data->reader)
        status = mot__reader_open(&data->source, data->store, data->cache, &plan, &data->reader);
    return status != MOT_OK ? status : mot__reader_take(data->reader, out);
}

static mot_status next_memory(mot_data *data, mot_batch **out)
{
    mot_status status = MOT_OK;
    struct mot__slot *slot = NULL;

    MOT_TRY(mot__order_begin(&data->order, data->epoch));
    MOT_TRY(mot__store_batch(data->store, mot__data_rows(data), &slot));
    slot->batch.rows = mot__size_min(data->rows, data->order.count - (size_t)data->first);
    slot->batch.epoch = data->epoch;
    slot->batch.first = data->first;
    mot__order_take(&data->order, data->first, slot->batch.rows, slot->index);
    *out = &slot->batch;
done:
    return status;
}

mot_status mot_data_next(mot_data *data, mot_batch **out)
{
    mot_status status;

    if (!data || !out)
        return mot__fail(MOT_BAD_ARG, "mot_data_next: NULL argument");
    *out = NULL;
    if (data->first >= data->order.count) {
        take_cache(data);
        go_to(data, data->epoch + 1, 0);
        return MOT_OK;
    }
    status = data->source.read ? next_read(data, out) : next_memory(data, out);
    if (status != MOT_OK)
        return status;
    data->taken = true;
    data->whole = data->whole || data->first == 0;
    data->first += (*out)->rows;
    return MOT_OK;
}
