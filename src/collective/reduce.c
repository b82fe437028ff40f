/* reduce.c - the two all-reduces, the fold and the broadcast, reading neighbours' memory in place.
 *
 * count floats are cut into one segment a lane, of equal size but the last ones. Both algorithms
 * write down one order of addition for a segment:
 *   ring    segment s: ((x[s] + x[s+1]) + x[s+2]) + ... + x[s-1], lanes modulo n
 *   direct  every segment: ((x[0] + x[1]) + x[2]) + ... + x[n-1]
 * A sum is formed once and copied, or by every lane from the same operands in the same order, so
 * all lanes hold the same bits, NaN's too. */
#include "base/odd.h"
#include "base/size.h"
#include "base/wide.h"
#include "collective/group.h"

#include <math.h>
#include <string.h>

#define SEGMENT_STEP 16 /* floats: lanes do not write into one cache line */
#define BLOCK 2048      /* floats: a sum that stays in L1 with what is made of it */
#define PIECE 1024      /* floats: some lanes' stay in L1 between adding and giving */

struct span {
    size_t at, count;
};

static struct span segment_of(const mot__group *group, size_t count, size_t segment)
{
    const size_t size = mot__size_round_up((count + group->lanes - 1) / group->lanes, SEGMENT_STEP);
    const size_t at = mot__size_min(segment * size, count);

    return (struct span){at, mot__size_min(size, count - at)};
}

static float *data_of(const mot__group *group, size_t rank, size_t lane)
{
    return mot__group_bring(group, rank, lane)->data;
}

static size_t count_of(const mot__group *group, size_t rank)
{
    return mot__group_bring(group, rank, rank)->count;
}

/* Each tells whether one of its sums is no finite number: such a sum stays one, whatever is added.
 */
MOT__WIDE static bool add(float *restrict sum, const float *restrict other, size_t count)
{
    uint32_t odd = 0;

    for (size_t i = 0; i < count; i++) {
        sum[i] += other[i];
        odd |= mot__odd_bits(sum[i]);
    }
    return odd >> 31;
}

MOT__WIDE static bool add_two(float *restrict sum, const float *restrict first,
                              const float *restrict second, size_t count)
{
    uint32_t odd = 0;

    for (size_t i = 0; i < count; i++) {
        sum[i] = first[i] + second[i];
        odd |= mot__odd_bits(sum[i]);
    }
    return odd >> 31;
}

/* own = earlier + own: the partial sum of the lanes before comes first. */
MOT__WIDE static bool add_own(float *restrict own, const float *restrict earlier, size_t count)
{
    uint32_t odd = 0;

    for (size_t i = 0; i < count; i++) {
        own[i] = earlier[i] + own[i];
        odd |= mot__odd_bits(own[i]);
    }
    return odd >> 31;
}

static void give_to_all(const mot__group *group, size_t rank, const float *sum, struct span span)
{
    for (size_t i = 0; i < group->lanes; i++)
        if (data_of(group, rank, i) + span.at != sum)
            memcpy(data_of(group, rank, i) + span.at, sum, span.count * sizeof *sum);
}

/* The operand of one lane, as long as it stands: NULL where the sum took its place. */
typedef const float *(*operand_fn)(const mot__group *group, size_t rank, size_t lane);

static const float *operand_direct(const mot__group *group, size_t rank, size_t lane)
{
    return lane == 0 ? NULL : data_of(group, rank, lane);
}

/* Whose value made a sum odd? If nobody's that still stands, the one's whose place it took. */
static void look(mot__group *group, size_t rank, operand_fn operand, const float *sum,
                 struct span span)
{
    const size_t last = mot__odd_last(sum, span.count), index = span.at + last;
    size_t lane, whose = 0;

    for (lane = 0; lane < group->lanes; lane++) {
        const float *own = operand(group, rank, lane);

        if (own && mot__odd(own[index])) {
            whose = lane;
            break;
        }
    }
    mot__group_note_odd(group, rank, &(struct mot__odd_sum){true, isnan(sum[last]), index, whose});
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

static mot_status reduce_direct(mot__group *group, size_t rank)
{
    const struct span own = segment_of(group, count_of(group, rank), rank);

    for (size_t p = 0; p < pieces_of(own); p++) {
        const struct span piece = piece_of(own, p);
        float *sum = data_of(group, rank, 0) + piece.at;
        bool odd = group->lanes == 1 && mot__odd_any(sum, piece.count);

        for (size_t i = 1; i < group->lanes; i++)
            odd = add(sum, data_of(group, rank, i) + piece.at, piece.count);
        if (odd)
            look(group, rank, operand_direct, sum, piece);
        give_to_all(group, rank, sum, piece);
    }
    return MOT_OK;
}

/* Where lane's progress stands when it begins its step: each step walks one segment, step k that of
 * lane - k. */
static size_t progress_at(const mot__group *group, size_t count, size_t lane, size_t step)
{
    const size_t n = group->lanes;
    size_t progress = 0;

    for (size_t k = 1; k < step; k++)
        progress += pieces_of(segment_of(group, count, (lane + n - k) % n));
    return progress;
}

/* Where the sum of the lanes before was odd already one of them has said so; but for the first
 * step, where it is the lane before's own. */
static void look_ring(mot__group *group, size_t rank, bool first, const float *sum,
                      struct span span)
{
    const size_t before = (rank + group->lanes - 1) % group->lanes;
    const size_t last = mot__odd_last(sum, span.count), index = span.at + last;
    const bool earlier = mot__odd(data_of(group, rank, before)[index]);

    if (!earlier || first)
        mot__group_note_odd(
            group, rank,
            &(struct mot__odd_sum){true, isnan(sum[last]), index, earlier ? before : rank});
}

/* Steps 1 ... n-1: add the sum that the lane before has made of segment rank - step to one's own.
 * The last step's sum is whole and goes to every lane at once: all have added theirs by then, and
 * were read by the lane after them. */
static mot_status reduce_ring(mot__group *group, size_t rank)
{
    const size_t n = group->lanes, before = (rank + n - 1) % n;
    const size_t count = count_of(group, rank);
    float *own = data_of(group, rank, rank);
    size_t progress = 0;

    for (size_t step = 1; step < n; step++) {
        const struct span segment = segment_of(group, count, (rank + n - step) % n);
        const size_t base = progress_at(group, count, before, step - 1);

        for (size_t p = 0; p < pieces_of(segment); p++) {
            const struct span piece = piece_of(segment, p);
            const size_t target = step == 1 ? 0 : base + p + 1;
            const mot_status status =
                mot__group_await(group, rank, before, &group->lane[before].progress, target);

            if (status != MOT_OK)
                return status;
            if (add_own(own + piece.at, data_of(group, rank, before) + piece.at, piece.count))
                look_ring(group, rank, step == 1, own + piece.at, piece);
            if (step == n - 1)
                give_to_all(group, rank, own + piece.at, piece);
            else
                mot__group_publish(group, &group->lane[rank].progress, ++progress);
        }
    }
    return MOT_OK;
}

static bool is_ring(const mot__group *group)
{
    return group->algorithm == MOT__ALGORITHM_RING;
}

/* sum = ((x[first] + x[first+1]) + ...) + x[first-1], of which one lane may be all. Is one odd? */
static bool sum_in_order(const mot__group *group, size_t rank, operand_fn operand, size_t first,
                         struct span span, float *sum)
{
    const size_t n = group->lanes;
    const float *own = operand(group, rank, first) + span.at;
    bool odd;

    if (n == 1) {
        memcpy(sum, own, span.count * sizeof *sum);
        return mot__odd_any(sum, span.count);
    }
    odd = add_two(sum, own, operand(group, rank, (first + 1) % n) + span.at, span.count);
    for (size_t i = 2; i < n; i++)
        odd = add(sum, operand(group, rank, (first + i) % n) + span.at, span.count);
    return odd;
}

/* Every lane forms every sum, from what all have copied; in the order of the algorithm. */
static mot_status reduce_small(mot__group *group, size_t rank)
{
    const size_t n = group->lanes, count = count_of(group, rank);
    float *own = data_of(group, rank, rank);
    bool odd = false;

    for (size_t segment = 0; segment < n; segment++) {
        const struct span span = segment_of(group, count, segment);

        odd |= sum_in_order(group, rank, mot__group_small, is_ring(group) ? segment : 0, span,
                            own + span.at);
    }
    if (odd)
        look(group, rank, mot__group_small, own, (struct span){0, count});
    return MOT_OK;
}

mot_status mot__group_all_reduce(mot__group *group, size_t rank, float *data, size_t count)
{
    const struct mot__bring bring = {.call = MOT__CALL_ALL_REDUCE,
                                     .data = data,
                                     .count = count,
                                     .small = count <= MOT__SMALL / group->lanes};

    return mot__group_call(group, rank, &bring,
                           bring.small                          ? reduce_small
                           : is_ring(group) && group->lanes > 1 ? reduce_ring
                                                                : reduce_direct);
}

/* ---- fold ---- */

static const float *operand_fold(const mot__group *group, size_t rank, size_t lane)
{
    return data_of(group, rank, lane);
}

/* sum = what the algorithm makes of these floats, which lie in one segment. All is in host memory,
 * so the ring's sum needs no journey: its order is enough. */
static bool sum_of(const mot__group *group, size_t rank, size_t segment, struct span span,
                   float *sum)
{
    return sum_in_order(group, rank, operand_fold, is_ring(group) ? segment : 0, span, sum);
}

static void fold_tail(mot__group *group, size_t rank)
{
    const struct mot__bring *bring = mot__group_bring(group, rank, rank);
    const size_t tail = bring->count - bring->fold->tail;
    float sum[BLOCK];

    for (size_t s = 0; s < group->lanes; s++) { /* a tail may lie in two segments */
        const struct span segment = segment_of(group, bring->count, s);
        const size_t begin = mot__size_max(segment.at, tail), end = segment.at + segment.count;

        if (begin < end)
            sum_of(group, rank, s, (struct span){begin, end - begin}, sum + (begin - tail));
    }
    bring->fold->first(bring->fold->user, sum);
}

/* The next block of a segment that nobody took: a lane has its own segment's first, and what is
 * left of the others' when it is through with it, so that all end together. Bits do not depend on
 * who. */
static bool claim(mot__group *group, size_t rank, size_t segment, struct span *out)
{
    const struct mot__bring *bring = mot__group_bring(group, rank, rank);
    const struct span whole = segment_of(group, bring->count, segment);
    const size_t end = mot__size_min(whole.at + whole.count, bring->count - bring->fold->tail);
    const size_t block = atomic_fetch_add(&group->lane[segment].progress, 1);
    const size_t at = whole.at + block * BLOCK;

    if (at >= end)
        return false;
    *out = (struct span){at, mot__size_min(BLOCK, end - at)};
    return true;
}

static mot_status fold_blocks(mot__group *group, size_t rank)
{
    const struct mot__bring *bring = mot__group_bring(group, rank, rank);
    const struct mot__fold *fold = bring->fold;
    struct span span;
    float sum[BLOCK];

    if (fold->tail > 0)
        fold_tail(group, rank);
    for (size_t i = 0; i < group->lanes; i++) {
        const size_t segment = (rank + i) % group->lanes;

        while (claim(group, rank, segment, &span)) {
            if (sum_of(group, rank, segment, span, sum))
                look(group, rank, operand_fold, sum, span);
            fold->block(fold->user, span.at, sum, span.count);
        }
    }
    return MOT_OK;
}

mot_status mot__group_fold(mot__group *group, size_t rank, float *data, size_t count,
                           const struct mot__fold *fold)
{
    const struct mot__bring bring = {
        .call = MOT__CALL_FOLD, .data = data, .count = count, .fold = fold};

    if (fold->tail > count || fold->tail > BLOCK)
        return mot__fail(MOT_BAD_ARG, "fold: a tail of %zu numbers of %zu; %d are the most",
                         fold->tail, count, BLOCK);
    return mot__group_call(group, rank, &bring, fold_blocks);
}

static mot_status copy_from_root(mot__group *group, size_t rank)
{
    const struct mot__bring *own = mot__group_bring(group, rank, rank);

    if (rank != own->root && own->count > 0)
        memcpy(own->data, mot__group_bring(group, rank, own->root)->data, own->count);
    return MOT_OK;
}

mot_status mot__group_broadcast(mot__group *group, size_t rank, size_t root, void *data,
                                size_t bytes)
{
    const struct mot__bring bring = {
        .call = MOT__CALL_BROADCAST, .data = data, .count = bytes, .root = root};

    return mot__group_call(group, rank, &bring, copy_from_root);
}
