/* reader.c - the one thread that asks a source's reader for batches ahead of their use.
 * The thread owns one hold of the struct, mot_data the other: a source that never returns cannot
 * stop mot_data_close, and nothing is freed under the thread's feet. */
#include "data/reader.h"

#include "base/clock.h"
#include "base/size.h"
#include "data/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mot__reader {
    struct mot_source source;
    struct mot__store *store, *cache;
    mot__thread *thread;
    atomic_int owners;
    struct mot__order order; /* these three: the thread's alone */
    unsigned char *seen;     /* (count): 1 once the sample is in the cache */
    size_t unseen;

    struct mot__lock lock; /* of all below */
    struct mot__reader_plan plan;
    uint64_t generation; /* of the plan: what was read for an older one is dropped */
    struct mot__slot *head, *tail;
    size_t queued;
    struct mot__story failure;
    bool cached, stop, ended;
};

static void reader_release(mot__reader *reader)
{
    if (atomic_fetch_sub(&reader->owners, 1) != 1)
        return;
    mot__order_clear(&reader->order);
    mot__lock_clear(&reader->lock);
    mot__store_close(reader->store);
    mot__store_close(reader->cache);
    free(reader->seen);
    free(reader);
}

static void keep_rows(mot__reader *reader, const mot_batch *batch)
{
    struct mot__store *cache = reader->cache;
    const size_t bytes = mot__samples_bytes(&cache->samples);
    const size_t width = cache->samples.target_width;

    for (size_t i = 0; i < batch->rows; i++) {
        const size_t to = (size_t)batch->index[i];

        if (reader->seen[to])
            continue;
        memcpy((char *)cache->x + to * bytes, (const char *)batch->x + i * bytes, bytes);
        if (cache->labels)
            cache->labels[to] = batch->labels[i];
        if (cache->targets)
            memcpy(cache->targets + to * width, batch->targets + i * width,
                   width * sizeof *cache->targets);
        reader->seen[to] = 1;
        reader->unseen--;
    }
}

/* Rows from the full cache: the source is not asked again. */
static void recall_rows(const mot__reader *reader, struct mot__slot *slot)
{
    mot_batch from = slot->batch;

    from.samples = &reader->cache->samples;
    from.x = NULL;
    from.labels = NULL;
    from.targets = NULL;
    mot__batch_copy(&from, 0, from.rows, slot->x,
                    slot->labels ? (void *)slot->labels : (void *)slot->targets);
}

static mot_status ask_source(mot__reader *reader, struct mot__slot *slot)
{
    const mot_batch *batch = &slot->batch;
    const int answer = reader->source.read(reader->source.user, slot->index, batch->rows, slot->x,
                                           slot->labels, slot->targets);
    mot_status status;

    if (answer != 0)
        return mot__fail(MOT_IO,
                         "the source's reader returned %d for %zu samples at place %llu of epoch "
                         "%llu",
                         answer, batch->rows, (unsigned long long)batch->first,
                         (unsigned long long)batch->epoch);
    status =
        mot__samples_judge(batch->samples, slot->index, batch->rows, slot->labels, slot->targets);
    return status == MOT_OK ? MOT_OK : mot__fail_in(status, "the source's reader");
}

static mot_status read_batch(mot__reader *reader, const struct mot__reader_plan *plan,
                             struct mot__slot **out)
{
    mot_status status = MOT_OK;
    struct mot__slot *slot = NULL;
    const size_t count = reader->order.count;

    MOT_TRY(mot__store_batch(reader->store, mot__size_min(plan->rows, count), &slot));
    reader->order.shuffled = plan->shuffled;
    reader->order.seed = plan->seed;
    MOT_TRY(mot__order_begin(&reader->order, plan->epoch));
    slot->batch.epoch = plan->epoch;
    slot->batch.first = plan->first;
    slot->batch.rows = mot__size_min(plan->rows, count - (size_t)plan->first);
    mot__order_take(&reader->order, plan->first, slot->batch.rows, slot->index);
    if (reader->cache && reader->unseen == 0) {
        recall_rows(reader, slot);
    } else {
        MOT_TRY(ask_source(reader, slot));
        if (reader->cache)
            keep_rows(reader, &slot->batch);
    }

    *out = slot;
    slot = NULL;
done:
    mot_batch_close(slot ? &slot->batch : NULL);
    return status;
}

/* With the lock taken: put the batch last, and the plan behind it. */
static void enqueue(mot__reader *reader, struct mot__slot *slot)
{
    if (reader->tail)
        reader->tail->next = slot;
    else
        reader->head = slot;
    reader->tail = slot;
    reader->queued++;
    reader->plan.first += slot->batch.rows;
    if (reader->plan.first >= reader->order.count) {
        reader->plan.first = 0;
        reader->plan.epoch++;
    }
}

/* With the lock taken. */
static struct mot__slot *dequeue(mot__reader *reader)
{
    struct mot__slot *slot = reader->head;

    if (!slot)
        return NULL;
    reader->head = slot->next;
    if (!reader->head)
        reader->tail = NULL;
    slot->next = NULL;
    reader->queued--;
    return slot;
}

static void read_ahead(void *user)
{
    mot__reader *reader = user;

    mot__lock_take(&reader->lock);
    while (!reader->stop) {
        const struct mot__reader_plan plan = reader->plan;
        const uint64_t generation = reader->generation;
        struct mot__slot *slot = NULL;
        mot_status status;

        if (reader->queued >= plan.ahead || reader->failure.status != MOT_OK) {
            mot__lock_wait(&reader->lock, INFINITY);
            continue;
        }
        mot__lock_give(&reader->lock);
        status = read_batch(reader, &plan, &slot);
        mot__lock_take(&reader->lock);
        reader->cached = reader->cache && reader->unseen == 0;
        if (reader->stop || reader->generation != generation)
            mot_batch_close(slot ? &slot->batch : NULL);
        else if (status != MOT_OK)
            mot__story_take(status, &reader->failure);
        else
            enqueue(reader, slot);
        mot__lock_signal(&reader->lock);
    }
    reader->ended = true;
    mot__lock_signal(&reader->lock);
    mot__lock_give(&reader->lock);
    reader_release(reader);
}

mot_status mot__reader_open(const struct mot_source *source, struct mot__store *store,
                            struct mot__store *cache, const struct mot__reader_plan *plan,
                            mot__reader **out)
{
    mot_status status = MOT_OK;
    mot__reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return mot__fail(MOT_NO_MEMORY, "data: no %zu bytes for a reader", sizeof *reader);
    status = mot__lock_init(&reader->lock);
    if (status != MOT_OK) {
        free(reader);
        return status;
    }
    atomic_init(&reader->owners, 1);
    reader->source = *source;
    reader->plan = *plan;
    reader->order.count = store->samples.count;
    reader->unseen = store->samples.count;
    mot__store_hold(store);
    reader->store = store;
    if (cache) {
        mot__store_hold(cache);
        reader->cache = cache;
        reader->seen = calloc(reader->unseen, 1);
        if (!reader->seen)
            MOT_TRY(mot__fail(MOT_NO_MEMORY, "data: no %zu bytes for a cache", reader->unseen));
    }
    atomic_store(&reader->owners, 2);
    status = mot__thread_open("motley-read", read_ahead, reader, &reader->thread);
    if (status != MOT_OK) {
        atomic_store(&reader->owners, 1); /* the thread's hold: there is none */
        goto done;
    }

    *out = reader;
    reader = NULL;
done:
    if (reader)
        reader_release(reader);
    return status;
}

/* With the lock taken. */
static void drop_queue(mot__reader *reader)
{
    struct mot__slot *slot;

    while ((slot = dequeue(reader)) != NULL)
        mot_batch_close(&slot->batch);
}

void mot__reader_restart(mot__reader *reader, const struct mot__reader_plan *plan)
{
    mot__lock_take(&reader->lock);
    drop_queue(reader);
    reader->plan = *plan;
    reader->generation++;
    reader->failure.status = MOT_OK;
    mot__lock_signal(&reader->lock);
    mot__lock_give(&reader->lock);
}

mot_status mot__reader_take(mot__reader *reader, mot_batch **out)
{
    mot_status status = MOT_OK;
    struct mot__slot *slot;

    mot__lock_take(&reader->lock);
    while (!reader->head && reader->failure.status == MOT_OK)
        mot__lock_wait(&reader->lock, INFINITY);
    slot = dequeue(reader); /* what was read before the failure still counts */
    if (slot)
        *out = &slot->batch;
    else
        status = mot__story_tell(&reader->failure);
    mot__lock_signal(&reader->lock);
    mot__lock_give(&reader->lock);
    return status;
}

bool mot__reader_cached(mot__reader *reader)
{
    bool cached;

    mot__lock_take(&reader->lock);
    cached = reader->cached;
    mot__lock_give(&reader->lock);
    return cached;
}

void mot__reader_close(mot__reader *reader, double wait_s)
{
    const double deadline = mot__clock_s() + wait_s;
    bool ended;

    if (!reader)
        return;
    mot__lock_take(&reader->lock);
    reader->stop = true;
    drop_queue(reader);
    mot__lock_signal(&reader->lock);
    while (!reader->ended && mot__lock_wait(&reader->lock, deadline))
        continue;
    ended = reader->ended;
    mot__lock_give(&reader->lock);
    if (ended)
        mot__thread_join(reader->thread);
    else
        mot__thread_abandon(reader->thread);
    reader_release(reader);
}
