/* fit_memory.c - micro-batches, recomputed activations.
 *
 * The rule. A share is run whole if that fits. Else it is cut into equal micro-batches, as few as
 * the room permits, whose gradients add up; or its activations are computed again in the backward
 * pass (a third more work), which leaves room for larger micro-batches; whichever costs less. A
 * micro-batch of b rows costs as much as b + QUANTUM rows: few rows fill no device. So recomputing
 * wins where micro-batches would be small, or where nothing else fits. All of it is reckoned from
 * sizes when a plan is made, never measured: the same network, limit and share give the same cut.
 * Where the variables live is decided before (rungs.h). Packed operands have what is left: a
 * product that cannot have its packs is computed by a kernel that needs none. */
#include "strategy/fit_memory.h"

#include "base/size.h"

#define QUANTUM 32       /* rows */
#define SEGMENTS_MOST 16 /* more boundaries than that keep more than they save */

struct mot__fit mot__fit_of(const struct mot__fit_wish *wish, size_t rows, size_t segments)
{
    const size_t largest = mot__device_facts(wish->device)->largest_bytes;
    struct mot__plan_config config = wish->plan;
    struct mot__fit fit = {.rows = rows,
                           .micros = (config.rows + rows - 1) / rows,
                           .segments = segments,
                           .arena = SIZE_MAX};
    size_t arena = 0, piece = 0;

    config.rows = rows;
    config.segments = segments;
    fit.staging = mot__feed_estimate(wish->device, wish->samples, rows, &piece);
    if (mot__plan_estimate(&config, &arena) == MOT_OK && arena <= largest && piece <= largest)
        fit.arena = mot__buffer_bytes(arena);
    return fit;
}

size_t mot__fit_bytes(const struct mot__fit *fit)
{
    return fit->arena > SIZE_MAX - fit->staging ? SIZE_MAX : fit->arena + fit->staging;
}

static bool fits(const struct mot__fit_wish *wish, const struct mot__fit *fit)
{
    return mot__fit_bytes(fit) <= wish->room;
}

/* The most rows at a time; 0: not even one. */
static size_t find_most(const struct mot__fit_wish *wish, size_t segments)
{
    size_t low = 1, high = wish->plan.rows, middle;
    struct mot__fit fit = mot__fit_of(wish, high, segments);

    if (fits(wish, &fit))
        return high;
    fit = mot__fit_of(wish, low, segments);
    if (!fits(wish, &fit))
        return 0;
    while (high - low > 1) { /* low fits, high does not */
        middle = low + (high - low) / 2;
        fit = mot__fit_of(wish, middle, segments);
        if (fits(wish, &fit))
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t mot__fit_most(const struct mot__fit_wish *wish)
{
    return find_most(wish, 1);
}

/* The fewest equal micro-batches that fit; false: not even one row does. */
static bool find_cut(const struct mot__fit_wish *wish, size_t segments, struct mot__fit *out)
{
    const size_t most = find_most(wish, segments), rows = wish->plan.rows;
    const size_t micros = most ? (rows + most - 1) / most : rows;

    *out = mot__fit_of(wish, (rows + micros - 1) / micros, segments);
    return most > 0;
}

static size_t find_segments(const struct mot__fit_wish *wish)
{
    const size_t rows = mot__size_min(wish->plan.rows, QUANTUM);
    size_t best = 1, least = mot__fit_of(wish, rows, 1).arena, segments, arena;

    for (segments = 2; wish->plan.training && segments <= SEGMENTS_MOST; segments++) {
        arena = mot__fit_of(wish, rows, segments).arena;
        if (arena < least)
            best = segments, least = arena;
    }
    return best;
}

/* In thirds of a forward pass over one row: forward is one, backward two, forward again one more.
 */
static size_t cost(const struct mot__fit *fit)
{
    return (fit->segments > 1 ? 4 : 3) * fit->micros * (fit->rows + QUANTUM);
}

/* What the products want, where the room is there; else what the device holds anyway. */
static size_t packs_of(const struct mot__fit_wish *wish, const struct mot__fit *fit)
{
    const size_t largest = mot__device_facts(wish->device)->largest_bytes;
    struct mot__plan_config config = wish->plan;
    size_t wanted = 0;

    config.rows = fit->rows;
    config.segments = fit->segments;
    if (!fits(wish, fit) || mot__plan_packs(wish->device, &config, &wanted) != MOT_OK || !wanted)
        return wish->packs;
    wanted = mot__size_max(mot__buffer_bytes(wanted), wish->packs);
    return wanted <= largest && wanted - wish->packs <= wish->room - mot__fit_bytes(fit)
               ? wanted
               : wish->packs;
}

static bool find(const struct mot__fit_wish *wish, struct mot__fit *out)
{
    struct mot__fit again;
    bool found = find_cut(wish, 1, out);

    if (found && out->micros == 1)
        return true;
    if (find_cut(wish, find_segments(wish), &again) && (!found || cost(&again) < cost(out))) {
        *out = again;
        return true;
    }
    if (!found && mot__fit_bytes(&again) < mot__fit_bytes(out))
        *out = again;
    return found;
}

bool mot__fit_find(const struct mot__fit_wish *wish, struct mot__fit *out)
{
    const bool found = find(wish, out);

    out->packs = packs_of(wish, out);
    return found;
}
