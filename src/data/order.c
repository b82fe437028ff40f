/* order.c - a full permutation for each epoch: Fisher and Yates' shuffle, inside out, so that no
 * earlier order plays a part. */
#include "data/order.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* One Philox block gives two draws of 64 bits; the bias of % is below count / 2^64. */
static void permute(uint64_t seed, uint64_t epoch, size_t count, uint64_t *place)
{
    const uint64_t stream = (uint64_t)MOT__STREAM_SHUFFLE << 32 | (epoch & UINT32_MAX);
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {0, 0, (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t word[4] = {0};

    for (size_t i = 0; i < count; i++) {
        const size_t half = i % 2 * 2;
        uint64_t draw;
        size_t j;

        if (half == 0) {
            counter[0] = (uint32_t)(i / 2);
            counter[1] = (uint32_t)((uint64_t)(i / 2) >> 32);
            mot__philox(counter, key, word);
        }
        draw = (uint64_t)word[half + 1] << 32 | word[half];
        j = (size_t)(draw % (i + 1));
        place[i] = place[j]; /* itself when j = i */
        place[j] = i;
    }
}

mot_status mot__order_begin(struct mot__order *order, uint64_t epoch)
{
    if (!order->shuffled ||
        (order->ready && order->epoch == epoch && order->of_seed == order->seed))
        return MOT_OK;
    if (!order->place)
        order->place = calloc(order->count, sizeof *order->place);
    if (!order->place)
        return mot__fail(MOT_NO_MEMORY, "data: no %zu bytes to shuffle %zu samples",
                         order->count * sizeof *order->place, order->count);
    permute(order->seed, epoch, order->count, order->place);
    order->epoch = epoch;
    order->of_seed = order->seed;
    order->ready = true;
    return MOT_OK;
}

void mot__order_take(const struct mot__order *order, uint64_t first, size_t rows, uint64_t *index)
{
    if (order->shuffled) {
        memcpy(index, order->place + first, rows * sizeof *index);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        index[i] = first + i;
}

void mot__order_clear(struct mot__order *order)
{
    free(order->place);
    order->place = NULL;
    order->ready = false;
}
