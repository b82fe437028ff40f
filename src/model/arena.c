/* arena.c - first fit, largest first: the largest values lie at the bottom, smaller ones fill what
 * time leaves free. */
#include "model/arena.h"

#include "base/size.h"

#include <stdlib.h>

#define ALIGN 16 /* floats */

/* Is it alive somewhere in [first, last]? */
static bool alive(const struct mot__life *life, size_t first, size_t last)
{
    return (life->first <= last && first <= life->last) ||
           (life->again_last > 0 && life->again_first <= last && first <= life->again_last);
}

static bool meet(const struct mot__life *a, const struct mot__life *b)
{
    return alive(a, b->first, b->last) ||
           (b->again_last > 0 && alive(a, b->again_first, b->again_last));
}

static size_t size_of(const struct mot__life *life)
{
    return mot__size_round_up(life->floats, ALIGN);
}

/* The lowest offset where life[at] fits among those placed before it in order. */
static size_t find_place(const struct mot__life *life, const size_t *order, size_t placed,
                         size_t at)
{
    size_t offset = 0, i;
    bool moved = true;

    while (moved) {
        moved = false;
        for (i = 0; i < placed; i++) {
            const struct mot__life *other = &life[order[i]];

            if (meet(other, &life[at]) && offset < other->offset + size_of(other) &&
                other->offset < offset + size_of(&life[at])) {
                offset = other->offset + size_of(other);
                moved = true;
            }
        }
    }
    return offset;
}

/* Largest first, earlier first among equals: insertion sort, networks have few values. */
static void sort_order(const struct mot__life *life, size_t *order, size_t count)
{
    size_t i, j, one;

    for (i = 0; i < count; i++) {
        one = i;
        for (j = i; j > 0 && life[order[j - 1]].floats < life[one].floats; j--)
            order[j] = order[j - 1];
        order[j] = one;
    }
}

static size_t alive_at(const struct mot__life *life, size_t count, size_t moment)
{
    size_t sum = 0, i;

    for (i = 0; i < count; i++)
        sum += alive(&life[i], moment, moment) ? size_of(&life[i]) : 0;
    return sum;
}

static size_t most_alive(const struct mot__life *life, size_t count)
{
    size_t most = 0, i;

    for (i = 0; i < count; i++) { /* the peak is where some value begins to live */
        most = mot__size_max(most, alive_at(life, count, life[i].first));
        if (life[i].again_last > 0)
            most = mot__size_max(most, alive_at(life, count, life[i].again_first));
    }
    return most;
}

mot_status mot__arena_place(struct mot__life *life, size_t count, size_t *floats, size_t *live)
{
    size_t *order = calloc(count ? count : 1, sizeof *order);
    size_t i;

    if (!order)
        return mot__fail(MOT_NO_MEMORY, "placing %zu values", count);
    sort_order(life, order, count);
    *floats = 0;
    for (i = 0; i < count; i++) {
        life[order[i]].offset = find_place(life, order, i, order[i]);
        *floats = mot__size_max(*floats, life[order[i]].offset + size_of(&life[order[i]]));
    }
    *live = most_alive(life, count);
    free(order);
    return MOT_OK;
}
