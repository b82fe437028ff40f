/* store.c - samples, and the pool of batches that point into them. */
#include "data/store.h"

#include "base/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t dtype_bytes(enum mot_dtype dtype)
{
    return dtype == MOT_DTYPE_U8 ? 1 : sizeof(float);
}

size_t mot__samples_bytes(const struct mot__samples *like)
{
    return like->width * dtype_bytes(like->dtype);
}

/* The product of the dimensions, and that all samples together can be addressed. */
static mot_status check_width(const char *where, struct mot__samples *like)
{
    size_t row, all;

    if (like->shape.rank < 1 || like->shape.rank > MOT_RANK_MAX)
        return mot__fail(MOT_BAD_SHAPE, "%s: the shape has %zu dimensions; 1 to %d are possible",
                         where, like->shape.rank, MOT_RANK_MAX);
    like->width = 1;
    for (size_t i = 0; i < like->shape.rank; i++) {
        if (like->shape.dim[i] == 0)
            return mot__fail(MOT_BAD_SHAPE, "%s: dimension %zu of the shape is 0", where, i);
        if (!mot__size_mul(like->width, like->shape.dim[i], &like->width))
            return mot__fail(MOT_BAD_SHAPE, "%s: the shape is too large", where);
    }
    if (!mot__size_mul(like->width, dtype_bytes(like->dtype), &row) ||
        !mot__size_mul(row, like->count, &all) ||
        !mot__size_mul(like->target_width, sizeof(float), &row) ||
        !mot__size_mul(row, like->count, &all) ||
        !mot__size_mul(sizeof(uint64_t), like->count, &all))
        return mot__fail(MOT_BAD_SHAPE, "%s: %zu samples of this shape are too large", where,
                         like->count);
    return MOT_OK;
}

mot_status mot__samples_check(const char *where, struct mot__samples *like)
{
    if (like->count == 0)
        return mot__fail(MOT_BAD_ARG, "%s: count = 0", where);
    if (like->dtype != MOT_DTYPE_F32 && like->dtype != MOT_DTYPE_U8)
        return mot__fail(MOT_BAD_ARG, "%s: dtype %d is unknown", where, (int)like->dtype);
    if (like->classes && like->target_width)
        return mot__fail(MOT_BAD_ARG, "%s: a sample has a label or a row of targets, not both",
                         where);
    return check_width(where, like);
}

mot_status mot__samples_judge(const struct mot__samples *like, const uint64_t *index, size_t rows,
                              const uint32_t *labels, const float *targets)
{
    for (size_t i = 0; labels && i < rows; i++)
        if (labels[i] >= like->classes)
            return mot__fail(MOT_BAD_ARG, "label %lu of sample %llu is not below classes = %zu",
                             (unsigned long)labels[i], (unsigned long long)(index ? index[i] : i),
                             like->classes);
    for (size_t i = 0; targets && i < rows; i++)
        for (size_t j = 0; j < like->target_width; j++)
            if (!isfinite(targets[i * like->target_width + j]))
                return mot__fail(MOT_BAD_NUMBER, "target %zu of sample %llu is not finite", j,
                                 (unsigned long long)(index ? index[i] : i));
    return MOT_OK;
}

/* Another number for each memory, so that who keeps a copy of it knows which memory it has. Not a
 * state: nothing else depends on it. */
static uint64_t next_id(void)
{
    static atomic_uint_fast64_t last;

    return (uint64_t)atomic_fetch_add(&last, 1) + 1;
}

mot_status mot__store_open(const struct mot__samples *like, struct mot__store **out)
{
    mot_status status = MOT_OK;
    struct mot__store *store = calloc(1, sizeof *store);

    if (!store)
        return mot__fail(MOT_NO_MEMORY, "data: no %zu bytes for a store", sizeof *store);
    MOT_TRY(mot__lock_init(&store->lock));
    store->samples = *like;
    store->samples.id = next_id();
    atomic_init(&store->owners, 1);

    *out = store;
    store = NULL;
done:
    free(store);
    return status;
}

mot_status mot__store_open_own(const struct mot__samples *like, struct mot__store **out)
{
    mot_status status = MOT_OK;
    struct mot__store *store = NULL;
    const size_t bytes = like->count * mot__samples_bytes(like);

    MOT_TRY(mot__store_open(like, &store));
    store->x = malloc(bytes);
    if (like->classes)
        store->labels = malloc(like->count * sizeof *store->labels);
    if (like->target_width)
        store->targets = malloc(like->count * like->target_width * sizeof *store->targets);
    if (!store->x || (like->classes && !store->labels) || (like->target_width && !store->targets))
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "data: no %zu bytes for %zu samples", bytes, like->count));
    store->samples.x = store->x;
    store->samples.labels = store->labels;
    store->samples.targets = store->targets;

    *out = store;
    store = NULL;
done:
    mot__store_close(store);
    return status;
}

void mot__store_hold(struct mot__store *store)
{
    atomic_fetch_add(&store->owners, 1);
}

static void slot_free(struct mot__slot *slot)
{
    free(slot->index);
    free(slot->x);
    free(slot->labels);
    free(slot->targets);
    free(slot);
}

void mot__store_close(struct mot__store *store)
{
    struct mot__slot *slot;

    if (!store || atomic_fetch_sub(&store->owners, 1) != 1)
        return;
    while ((slot = store->pool) != NULL) {
        store->pool = slot->next;
        slot_free(slot);
    }
    mot__lock_clear(&store->lock);
    free(store->x);
    free(store->labels);
    free(store->targets);
    free(store);
}

/* A slot with room for that many rows; the pool's slots are too small only after mot_data_batch. */
static mot_status slot_open(const struct mot__samples *like, size_t capacity,
                            struct mot__slot **out)
{
    struct mot__slot *slot = calloc(1, sizeof *slot);
    const bool memory = like->x != NULL;
    const size_t bytes = capacity * mot__samples_bytes(like);

    if (!slot)
        goto no_memory;
    slot->capacity = capacity;
    slot->index = malloc(capacity * sizeof *slot->index);
    if (!slot->index)
        goto no_memory;
    if (!memory && !(slot->x = malloc(bytes)))
        goto no_memory;
    if (!memory && like->classes && !(slot->labels = malloc(capacity * sizeof *slot->labels)))
        goto no_memory;
    if (!memory && like->target_width &&
        !(slot->targets = malloc(capacity * like->target_width * sizeof *slot->targets)))
        goto no_memory;
    atomic_init(&slot->owners, 1);
    *out = slot;
    return MOT_OK;

no_memory:
    if (slot)
        slot_free(slot);
    return mot__fail(MOT_NO_MEMORY, "data: no memory for a batch of %zu rows (%zu bytes)", capacity,
                     bytes);
}

mot_status mot__store_batch(struct mot__store *store, size_t capacity, struct mot__slot **out)
{
    mot_status status = MOT_OK;
    struct mot__slot *slot;

    mot__lock_take(&store->lock);
    slot = store->pool;
    if (slot)
        store->pool = slot->next;
    mot__lock_give(&store->lock);
    if (slot && slot->capacity < capacity) {
        slot_free(slot);
        slot = NULL;
    }
    if (!slot)
        status = slot_open(&store->samples, capacity, &slot);
    if (status != MOT_OK)
        return status;
    mot__store_hold(store);
    atomic_store(&slot->owners, 1);
    slot->store = store;
    slot->next = NULL;
    slot->batch = (struct mot_batch){.samples = &store->samples,
                                     .index = slot->index,
                                     .x = slot->x,
                                     .labels = slot->labels,
                                     .targets = slot->targets};
    *out = slot;
    return MOT_OK;
}

void mot__batch_hold(mot_batch *batch)
{
    atomic_fetch_add(&((struct mot__slot *)batch)->owners, 1);
}

void mot_batch_close(mot_batch *batch)
{
    struct mot__slot *slot = (struct mot__slot *)batch;
    struct mot__store *store;

    if (!slot || atomic_fetch_sub(&slot->owners, 1) != 1)
        return;
    store = slot->store;
    mot__lock_take(&store->lock);
    slot->next = store->pool;
    store->pool = slot;
    mot__lock_give(&store->lock);
    mot__store_close(store); /* the batch's hold */
}

size_t mot_batch_rows(const mot_batch *batch)
{
    return batch ? batch->rows : 0;
}

/* Rows of `bytes` each: in one piece where the batch has its own, else gathered by number. */
static void copy_rows(const void *own, const void *all, const uint64_t *index, size_t begin,
                      size_t rows, size_t bytes, void *out)
{
    if (own) {
        memcpy(out, (const char *)own + begin * bytes, rows * bytes);
        return;
    }
    for (size_t i = 0; all && i < rows; i++)
        memcpy((char *)out + i * bytes, (const char *)all + (size_t)index[begin + i] * bytes,
               bytes);
}

void mot__batch_copy(const mot_batch *batch, size_t begin, size_t rows, void *x, void *y)
{
    const struct mot__samples *all = batch->samples;

    if (rows == 0)
        return;
    if (x)
        copy_rows(batch->x, all->x, batch->index, begin, rows, mot__samples_bytes(all), x);
    if (y && all->classes)
        copy_rows(batch->labels, all->labels, batch->index, begin, rows, sizeof *all->labels, y);
    if (y && all->target_width)
        copy_rows(batch->targets, all->targets, batch->index, begin, rows,
                  all->target_width * sizeof *all->targets, y);
}
