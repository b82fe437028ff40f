/* reduce.c - the two all-reduces and the broadcast, reading neighbours' memory in place.
 *
 * count floats are cut into one segment a lane, of equal size but the last ones. Both algorithms
 * write down one order of addition for a segment:
 *   ring    segment s: ((x[s] + x[s+1]) + x[s+2]) + ... + x[s-1], lanes modulo n
 *   direct  every segment: ((x[0] + x[1]) + x[2]) + ... + x[n-1]
 * A sum is formed once and copied, so all lanes hold the same bits, NaN's too. */
#include "base/size.h"
#include "collective/group.h"

#include <string.h>

#define SEGMENT_STEP 16 /* floats: lanes do not write into one cache line */
#define PIECE 16384     /* floats: what the next lane of a ring may start with; fits in L2 */
#define BLOCK 2048      /* floats: a partial sum that stays in L1 */
#define DIRECT_BELOW ((size_t)1 << 20) /* floats: up to here hand-offs cost more than memory */

struct span {
    size_t at, count;
};

static struct span segment_of(const mot__group *group, size_t count, size_t segment)
{
    const size_t size = mot__size_round_up((count + group->lanes - 1) / group->lanes, SEGMENT_STEP);
    const size_t at = mot__size_min(segment * size, count);

    return (struct span){at, mot__size_min(size, count - at)};
}

static float *data_of(const mot__group *group, size_t lane)
{
    return group->lane[lane].bring.data;
}

static void add(float *restrict sum, const float *restrict other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += other[i];
}

/* own = earlier + own: the partial sum of the lanes before comes first. */
static void add_own(float *restrict own, const float *restrict earlier, size_t count)
{
    for (size_t i = 0; i < count; i++)
        own[i] = earlier[i] + own[i];
}

static mot_status reduce_direct(mot__group *group, size_t rank)
{
    const struct span own = segment_of(group, group->lane[rank].bring.count, rank);
    float sum[BLOCK];

    for (size_t done = 0; done < own.count; done += BLOCK) {
        const size_t at = own.at + done, count = mot__size_min(BLOCK, own.count - done);

        memcpy(sum, data_of(group, 0) + at, count * sizeof *sum);
        for (size_t i = 1; i < group->lanes; i++)
            add(sum, data_of(group, i) + at, count);
        for (size_t i = 0; i < group->lanes; i++)
            memcpy(data_of(group, i) + at, sum, count * sizeof *sum);
    }
    return MOT_OK;
}

static size_t pieces_of(struct span span)
{
    return (span.count + PIECE - 1) / PIECE;
}

static struct span piece_of(struct span span, size_t piece)
{
    const size_t done = piece * PIECE;

    return (struct span){span.at + done, mot__size_min(PIECE, span.count - done)};
}

/* Where lane's progress stands when it has done `pieces` of its step: each step walks one segment,
 * step k that of lane - k. */
static size_t progress_at(const mot__group *group, size_t lane, size_t step, size_t pieces)
{
    const size_t n = group->lanes, count = group->lane[lane].bring.count;
    size_t progress = pieces;

    for (size_t k = 1; k < step; k++)
        progress += pieces_of(segment_of(group, count, (lane + n - k) % n));
    return progress;
}

/* Steps 1 ... n-1: add the sum that the lane before has made of segment rank - step to one's own.
 */
static mot_status ring_add(mot__group *group, size_t rank)
{
    const size_t n = group->lanes, before = (rank + n - 1) % n;
    const size_t count = group->lane[rank].bring.count;
    float *own = data_of(group, rank);
    size_t progress = 0;

    for (size_t step = 1; step < n; step++) {
        const struct span segment = segment_of(group, count, (rank + n - step) % n);
        const size_t base = progress_at(group, before, step - 1, 0);

        for (size_t p = 0; p < pieces_of(segment); p++) {
            const struct span piece = piece_of(segment, p);
            const size_t target = step == 1 ? 0 : base + p + 1;
            const mot_status status =
                mot__group_await(group, rank, before, &group->lane[before].progress, target);

            if (status != MOT_OK)
                return status;
            add_own(own + piece.at, data_of(group, before) + piece.at, piece.count);
            mot__group_publish(group, &group->lane[rank].progress, ++progress);
        }
    }
    return MOT_OK;
}

/* Segment s is whole at lane s - 1 after its last step. Nobody reads our own partial sum of it any
 * more then: the lane after us had to add to it first. */
static mot_status ring_copy(mot__group *group, size_t rank)
{
    const size_t n = group->lanes, count = group->lane[rank].bring.count;
    float *own = data_of(group, rank);

    for (size_t i = 1; i < n; i++) {
        const size_t owner = (rank + n - i) % n;
        const struct span segment = segment_of(group, count, (owner + 1) % n);
        const size_t base = progress_at(group, owner, n - 1, 0);

        for (size_t p = 0; p < pieces_of(segment); p++) {
            const struct span piece = piece_of(segment, p);
            const mot_status status =
                mot__group_await(group, rank, owner, &group->lane[owner].progress, base + p + 1);

            if (status != MOT_OK)
                return status;
            memcpy(own + piece.at, data_of(group, owner) + piece.at, piece.count * sizeof *own);
        }
    }
    return MOT_OK;
}

static mot_status reduce_ring(mot__group *group, size_t rank)
{
    const mot_status status = ring_add(group, rank);

    return status == MOT_OK ? ring_copy(group, rank) : status;
}

mot_status mot__group_all_reduce(mot__group *group, size_t rank, float *data, size_t count)
{
    const struct mot__bring bring = {MOT__CALL_ALL_REDUCE, data, count, 0};
    const bool direct =
        group->algorithm == MOT__ALGORITHM_DIRECT ||
        (group->algorithm == MOT__ALGORITHM_AUTO && (count < DIRECT_BELOW || group->lanes == 1));

    return mot__group_call(group, rank, &bring, direct ? reduce_direct : reduce_ring);
}

static mot_status copy_from_root(mot__group *group, size_t rank)
{
    const struct mot__bring *own = &group->lane[rank].bring;

    if (rank != own->root && own->count > 0)
        memcpy(own->data, group->lane[own->root].bring.data, own->count);
    return MOT_OK;
}

mot_status mot__group_broadcast(mot__group *group, size_t rank, size_t root, void *data,
                                size_t bytes)
{
    const struct mot__bring bring = {MOT__CALL_BROADCAST, data, bytes, root};

    return mot__group_call(group, rank, &bring, copy_from_root);
}
