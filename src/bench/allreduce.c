/* allreduce.c - one all-reduce of so many bytes over all lanes, beside what the parts it is made of
 * would take if nothing were lost between them.
 *
 * Every device must send and receive all S bytes, and the host must read and write each lane's S
 * once. With B the slowest of the three rates, o the fixed cost of one transfer:
 *
 *   T* = S/B + 2 o                    staged in place (mapped)
 *   T* = S/B + 2 sqrt(2 S o / B) + 2 o     staged by copies, in chunks of the best size: both
 *                                     pipelines are filled and drained
 *
 * n lanes in place cost 2 n S of the host's memory traffic; copies add theirs, about 3 n S. That
 * the lanes' threads have to meet is no part of T*.
 *
 * Every figure is measured on all lanes at once: they start at an agreed moment, and the last
 * lane's time counts. A round measures each part once beside one all-reduce. Like is held beside
 * like: the median all-reduce beside T* of the parts' medians, the best beside T* of the best. */
#include "bench/allreduce.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/size.h"
#include "base/wide.h"
#include "collective/collective.h"
#include "strategy/fleet.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET ((size_t)4 << 20) /* bytes, as in training where staging is by copy */
#define ROUNDS_LEAST 7
#define ROUNDS_MOST 400
#define START_S 100e-6 /* until then every lane has heard of the start */
#define SMALL 64       /* bytes of a transfer that is all fixed cost */
#define PIECE 1024     /* floats: some lanes' stay in L1 */

enum part {
    PART_RUN, /* a whole all-reduce */
    PART_DOWN,
    PART_UP,    /* all S bytes */
    PART_TOUCH, /* the host reads and writes them: each lane's by themselves, */
    PART_SUM,   /* or as sums; the quicker counts */
    PART_SMALL_DOWN,
    PART_MEET,
    PART_SMALL_UP,
    PARTS
};

struct lane_result {
    double part[PARTS][ROUNDS_MOST]; /* seconds from the agreed start */
    size_t rounds;
};

struct reduce {
    mot__group *group;
    size_t lanes, floats;
    bool ring;
    double seconds;
    atomic_bool copied;         /* by at least one lane */
    struct lane_result *result; /* (lanes) */
    float **host;               /* (lanes) the stages' host sides */
};

struct side { /* one lane's */
    struct reduce *reduce;
    size_t rank;
    mot__device *device;
    mot__stage *stage;
    struct lane_result *result;
};

static size_t bytes_of(const struct side *side)
{
    return side->reduce->floats * sizeof(float);
}

static bool copies(const struct side *side)
{
    return mot__device_facts(side->device)->staging == MOT__STAGING_COPY;
}

static size_t bucket_bytes(const struct side *side)
{
    const size_t bytes = bytes_of(side);

    return copies(side)
               ? mot__size_min(bytes, mot__size_max(BUCKET, bytes / (MOT__STAGE_SLOTS / 2)))
               : bytes;
}

/* ---- the parts ---- */

static mot_status ask_down(struct side *side)
{
    const size_t bytes = bytes_of(side), step = bucket_bytes(side);
    mot_status status = MOT_OK;
    size_t at, slot = 0;

    for (at = 0; at < bytes && status == MOT_OK; at += step, slot++)
        status = mot__stage_down(side->stage, slot, at, mot__size_min(step, bytes - at));
    return status;
}

/* As a training step does it. */
static mot_status do_run(struct side *side)
{
    const size_t bytes = bytes_of(side), step = bucket_bytes(side);
    float *host = mot__stage_host(side->stage);
    mot_status status = MOT_OK;
    size_t at, slot = 0, count;

    MOT_TRY(ask_down(side));
    for (at = 0; at < bytes; at += step, slot++) {
        count = mot__size_min(step, bytes - at);
        MOT_TRY(mot__stage_wait(side->stage, slot));
        MOT_TRY(mot__group_all_reduce(side->reduce->group, side->rank, host + at / sizeof(float),
                                      count / sizeof(float)));
        MOT_TRY(mot__stage_up(side->stage, at, count));
    }
    MOT_TRY(mot__device_finish(side->device));
done:
    return status;
}

static mot_status do_down(struct side *side)
{
    mot_status status = MOT_OK;
    size_t at, slot = 0;

    MOT_TRY(ask_down(side));
    for (at = 0; at < bytes_of(side); at += bucket_bytes(side), slot++)
        MOT_TRY(mot__stage_wait(side->stage, slot));
done:
    return status;
}

MOT__WIDE static void touch(float *x, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] * scale + 1.0f;
}

MOT__WIDE static void sum_up(float *restrict sum, const float *restrict other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += other[i];
}

/* Where the segment begins whose sums this lane ends, of a reduction in one bucket: its core's
 * caches may hold it. */
static size_t segment_at(const struct side *side)
{
    const size_t lanes = side->reduce->lanes;

    return (side->rank + side->reduce->ring) % lanes * (side->reduce->floats / lanes);
}

/* What the host must at least do: this lane's segment of every lane's bytes, read and written once.
 */
static mot_status do_touch(struct side *side)
{
    const size_t lanes = side->reduce->lanes, part = side->reduce->floats / lanes;
    const float scale = 1.0f / (float)(lanes * lanes); /* a round adds up twice: no sum overflows */
    size_t lane;

    for (lane = 0; lane < lanes; lane++)
        touch(side->reduce->host[lane] + segment_at(side), part, scale);
    return MOT_OK;
}

static mot_status do_sum(struct side *side)
{
    const size_t part = side->reduce->floats / side->reduce->lanes;
    float *const *host = side->reduce->host;
    size_t at, lane, count;

    for (at = segment_at(side); at < segment_at(side) + part; at += count) {
        count = mot__size_min(PIECE, segment_at(side) + part - at);
        for (lane = 1; lane < side->reduce->lanes; lane++)
            sum_up(host[0] + at, host[lane] + at, count);
        for (lane = 1; lane < side->reduce->lanes; lane++)
            memcpy(host[lane] + at, host[0] + at, count * sizeof(float));
    }
    return MOT_OK;
}

static mot_status do_up(struct side *side)
{
    const size_t bytes = bytes_of(side), step = bucket_bytes(side);
    mot_status status = MOT_OK;
    size_t at;

    for (at = 0; at < bytes; at += step)
        MOT_TRY(mot__stage_up(side->stage, at, mot__size_min(step, bytes - at)));
    MOT_TRY(mot__device_finish(side->device));
done:
    return status;
}

static mot_status do_small_down(struct side *side)
{
    const mot_status status = mot__stage_down(side->stage, 0, 0, SMALL);

    return status == MOT_OK ? mot__stage_wait(side->stage, 0) : status;
}

static mot_status do_meet(struct side *side)
{
    return mot__group_barrier(side->reduce->group, side->rank);
}

static mot_status do_small_up(struct side *side)
{
    const mot_status status = mot__stage_up(side->stage, 0, SMALL);

    return status == MOT_OK ? mot__device_finish(side->device) : status;
}

static mot_status (*const do_part[PARTS])(struct side *side) = {
    [PART_RUN] = do_run,     [PART_DOWN] = do_down,        [PART_UP] = do_up,
    [PART_TOUCH] = do_touch, [PART_SUM] = do_sum,          [PART_SMALL_DOWN] = do_small_down,
    [PART_MEET] = do_meet,   [PART_SMALL_UP] = do_small_up};

/* ---- rounds ---- */

static mot_status measure(struct side *side, enum part part, double *seconds)
{
    double start = mot__clock_s() + START_S;
    mot_status status =
        mot__group_broadcast(side->reduce->group, side->rank, 0, &start, sizeof start);

    while (status == MOT_OK && mot__clock_s() < start)
        ;
    if (status == MOT_OK)
        status = do_part[part](side);
    *seconds = mot__clock_s() - start;
    return status;
}

static mot_status measure_rounds(struct side *side)
{
    struct lane_result *r = side->result;
    mot_status status = MOT_OK;
    double end = INFINITY, warm;
    enum part part;
    float more = 1;

    for (part = 0; part < PARTS; part++)
        MOT_TRY(measure(side, part, &warm));
    end = mot__clock_s() + side->reduce->seconds;
    while (more > 0) {
        for (part = 0; part < PARTS; part++)
            MOT_TRY(measure(side, part, &r->part[part][r->rounds]));
        r->rounds++;
        /* Lane 0 decides, so that all do as many. */
        more = r->rounds < ROUNDS_MOST && (r->rounds < ROUNDS_LEAST || mot__clock_s() < end);
        MOT_TRY(mot__group_broadcast(side->reduce->group, side->rank, 0, &more, sizeof more));
    }
done:
    return status;
}

static mot_status open_side(struct side *side)
{
    mot_status status = mot__stage_open(side->device, bytes_of(side), &side->stage);
    float *host;
    size_t i;

    if (status != MOT_OK)
        return status;
    host = mot__stage_host(side->stage);
    for (i = 0; i < side->reduce->floats; i++)
        host[i] = 0;
    side->reduce->host[side->rank] = host;
    if (copies(side))
        side->reduce->copied = true;
    return mot__stage_up(side->stage, 0, bytes_of(side));
}

static mot_status job_reduce(mot__lane *lane, void *user, void *payload)
{
    struct side side = {
        .reduce = user, .rank = *(const size_t *)payload, .device = mot__lane_device(lane)};
    mot_status status = MOT_OK;

    side.result = &side.reduce->result[side.rank];
    MOT_TRY(open_side(&side));
    MOT_TRY(measure_rounds(&side));
done:
    if (status != MOT_OK)
        mot__group_abort(side.reduce->group, side.rank, status);
    mot__stage_close(side.stage);
    return status;
}

/* ---- what follows from them ---- */

/* The slowest of the three ways. */
static double most_of(const struct mot__reduce_times *t, const struct mot__reduce_parts *p,
                      enum mot_bound *bound)
{
    const double down = fmax(p->down - p->small_down, 0), up = fmax(p->up - p->small_up, 0);
    const double host = p->host * (t->copied ? 1.5 : 1), most = fmax(fmax(up, down), host);

    *bound = most < p->small_down + p->small_up ? MOT_BOUND_LATENCY
             : most == host                     ? MOT_BOUND_HOST
             : most == up                       ? MOT_BOUND_UP
                                                : MOT_BOUND_DOWN;
    return most;
}

static double least_of(const struct mot__reduce_times *t, const struct mot__reduce_parts *p,
                       enum mot_bound *bound)
{
    const double fixed = (p->small_down + p->small_up) / 2, most = most_of(t, p, bound);

    return most + (t->copied ? 2 * sqrt(2 * most * fixed) : 0) + 2 * fixed;
}

void mot__reduce_judge(const struct mot__reduce_times *t, struct mot_bench_reduce *out)
{
    const struct mot__reduce_parts *p = &t->median;
    const double bytes = (double)t->bytes, n = (double)t->lanes;
    enum mot_bound unused;

    out->seconds = p->run;
    out->best_s = t->best.run;
    out->gbps = bytes / p->run * 1e-9;
    out->bus_gbps = out->gbps * 2 * (n - 1) / n;
    out->best_bound_s = least_of(t, &t->best, &unused);
    out->bound_s = least_of(t, p, &out->bound);
    out->up_gbps = bytes / t->best.up * 1e-9;
    out->down_gbps = bytes / t->best.down * 1e-9;
    out->host_gbps = 2 * n * bytes / t->best.host * 1e-9;
    out->fixed_s = (p->small_down + p->small_up) / 2;
    out->meet_s = p->meet;
}

/* Of each round what the last lane took, the shortest first. */
static const double *sorted(const struct reduce *reduce, enum part part)
{
    double *last = reduce->result[0].part[part];
    const size_t rounds = reduce->result[0].rounds;
    size_t i, k;

    for (i = 1; i < reduce->lanes; i++)
        for (k = 0; k < rounds; k++)
            last[k] = fmax(last[k], reduce->result[i].part[part][k]);
    mot__median(last, rounds);
    return last;
}

static struct mot__reduce_parts parts_at(const double *const of[PARTS], size_t round)
{
    return (struct mot__reduce_parts){.run = of[PART_RUN][round],
                                      .down = of[PART_DOWN][round],
                                      .up = of[PART_UP][round],
                                      .host = fmin(of[PART_TOUCH][round], of[PART_SUM][round]),
                                      .small_down = of[PART_SMALL_DOWN][round],
                                      .small_up = of[PART_SMALL_UP][round],
                                      .meet = of[PART_MEET][round]};
}

static void judge(const struct reduce *reduce, struct mot_bench_reduce *out)
{
    const size_t rounds = reduce->result[0].rounds;
    struct mot__reduce_times times = {
        .bytes = reduce->floats * sizeof(float), .lanes = reduce->lanes, .copied = reduce->copied};
    const double *of[PARTS];
    enum part part;

    for (part = 0; part < PARTS; part++)
        of[part] = sorted(reduce, part);
    times.best = parts_at(of, 0);
    times.median = parts_at(of, rounds / 2);
    mot__reduce_judge(&times, out);
    out->rounds = rounds;
}

mot_status mot_bench_allreduce(mot_fleet *fleet, size_t bytes, bool ring, double seconds,
                               struct mot_bench_reduce *out)
{
    const size_t lanes = mot_fleet_count(fleet);
    struct reduce *reduce = calloc(1, sizeof *reduce);
    mot_status status = MOT_OK;

    if (bytes < sizeof(float)) {
        status = mot__fail(MOT_BAD_ARG, "mot_bench_allreduce: %zu bytes", bytes);
        goto done;
    }
    if (reduce) {
        reduce->lanes = lanes;
        reduce->floats = bytes / sizeof(float);
        reduce->ring = ring;
        reduce->seconds = seconds;
        reduce->result = calloc(lanes, sizeof *reduce->result);
        reduce->host = calloc(lanes, sizeof *reduce->host);
    }
    if (!reduce || !reduce->result || !reduce->host) {
        status = mot__fail(MOT_NO_MEMORY, "%zu lanes", lanes);
        goto done;
    }
    MOT_TRY(mot__group_open(lanes, reduce->floats,
                            ring ? MOT__ALGORITHM_RING : MOT__ALGORITHM_DIRECT,
                            mot__fleet_deadline(fleet), &reduce->group));
    MOT_TRY(mot__fleet_meet(fleet, reduce->group, job_reduce, reduce));
    judge(reduce, out);
done:
    if (reduce && mot__fleet_idle(fleet)) {
        mot__group_close(reduce->group);
        free(reduce->result);
        free(reduce->host);
        free(reduce);
    }
    return status;
}
