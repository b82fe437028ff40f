/* allreduce.c - one all-reduce of so many bytes over all lanes, beside what no host-staged one can
 * beat.
 *
 * Every device must send and receive all S bytes, and the host must read and write each lane's S
 * once. With B the slowest of the three rates, o the fixed cost of one transfer (o_down, o_up by
 * direction) and h that of the lanes' meeting:
 *
 *   T* = S/B + o_down + h + o_up                    staged in place (mapped)
 *   T* = S/B + 2 sqrt(2 S o / B) + o_down + h + o_up     staged by copies, in chunks of the best
 *                                                   size: both pipelines are filled and drained
 *
 * n lanes in place cost 2 n S of the host's memory traffic; copies add theirs, about 3 n S.
 *
 * Every figure is measured on all lanes at once: they start at an agreed moment, and the last
 * lane's time counts. A round measures each part once beside one all-reduce, so that all saw the
 * same machine; the median of the rounds is told. */
#include "base/clock.h"
#include "base/median.h"
#include "base/size.h"
#include "collective/collective.h"
#include "strategy/fleet.h"

#include <math.h>
#include <motley/bench.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BUCKET ((size_t)4 << 20) /* bytes, as in training where staging is by copy */
#define ROUNDS_LEAST 7
#define ROUNDS_MOST 400
#define START_S 100e-6 /* until then every lane has heard of the start */
#define SMALL 64       /* bytes of a transfer that is all fixed cost */

enum part {
    PART_RUN, /* a whole all-reduce */
    PART_DOWN,
    PART_HOST,
    PART_UP, /* all S bytes */
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

/* What the host must at least do: this lane's segment of every lane's bytes, read and written once.
 */
static mot_status do_host(struct side *side)
{
    const size_t part = side->reduce->floats / side->reduce->lanes;
    size_t lane, i;

    for (lane = 0; lane < side->reduce->lanes; lane++) {
        float *own = side->reduce->host[lane] + side->rank * part;

        for (i = 0; i < part; i++)
            own[i] = own[i] + 1.0f;
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

static mot_status (*const do_part[PARTS])(struct side *side) = {[PART_RUN] = do_run,
                                                                [PART_DOWN] = do_down,
                                                                [PART_HOST] = do_host,
                                                                [PART_UP] = do_up,
                                                                [PART_SMALL_DOWN] = do_small_down,
                                                                [PART_MEET] = do_meet,
                                                                [PART_SMALL_UP] = do_small_up};

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

/* The last lane of each round; the median of the rounds. */
static double median_of(const struct reduce *reduce, enum part part)
{
    double *last = reduce->result[0].part[part];
    const size_t rounds = reduce->result[0].rounds;
    size_t i, k;

    for (i = 1; i < reduce->lanes; i++)
        for (k = 0; k < rounds; k++)
            last[k] = fmax(last[k], reduce->result[i].part[part][k]);
    return mot__median(last, rounds);
}

static void judge(const struct reduce *reduce, struct mot_bench_reduce *out)
{
    const bool copied = reduce->copied;
    const double bytes = (double)(reduce->floats * sizeof(float)), n = (double)reduce->lanes;
    const double down_o = median_of(reduce, PART_SMALL_DOWN),
                 up_o = median_of(reduce, PART_SMALL_UP);
    const double down = fmax(median_of(reduce, PART_DOWN) - down_o, 0);
    const double up = fmax(median_of(reduce, PART_UP) - up_o, 0);
    const double host = median_of(reduce, PART_HOST), busy = host * (copied ? 1.5 : 1);
    const double most = fmax(fmax(up, down), busy);

    out->rounds = reduce->result[0].rounds;
    out->meet_s = median_of(reduce, PART_MEET);
    out->fixed_s = (down_o + up_o) / 2;
    out->seconds = median_of(reduce, PART_RUN);
    out->gbps = bytes / out->seconds * 1e-9;
    out->bus_gbps = out->gbps * 2 * (n - 1) / n;
    out->bound_s =
        most + (copied ? 2 * sqrt(2 * most * out->fixed_s) : 0) + 2 * out->fixed_s + out->meet_s;
    out->bound = most < 2 * out->fixed_s + out->meet_s ? MOT_BOUND_LATENCY
                 : most == busy                        ? MOT_BOUND_HOST
                 : most == up                          ? MOT_BOUND_UP
                                                       : MOT_BOUND_DOWN;
    out->up_gbps = bytes / (up + up_o) * 1e-9;
    out->down_gbps = bytes / (down + down_o) * 1e-9;
    out->host_gbps = 2 * n * bytes / host * 1e-9;
}

mot_status mot_bench_allreduce(mot_fleet *fleet, size_t bytes, bool ring, double seconds,
                               struct mot_bench_reduce *out)
{
    struct reduce reduce = {
        .lanes = mot_fleet_count(fleet), .floats = bytes / sizeof(float), .seconds = seconds};
    mot_status status = MOT_OK, one;
    size_t i;

    if (reduce.floats == 0)
        return mot__fail(MOT_BAD_ARG, "mot_bench_allreduce: %zu bytes", bytes);
    reduce.result = calloc(reduce.lanes, sizeof *reduce.result);
    reduce.host = calloc(reduce.lanes, sizeof *reduce.host);
    if (!reduce.result || !reduce.host) {
        status = mot__fail(MOT_NO_MEMORY, "%zu lanes", reduce.lanes);
        goto done;
    }
    MOT_TRY(mot__group_open(reduce.lanes, reduce.floats,
                            ring ? MOT__ALGORITHM_RING : MOT__ALGORITHM_DIRECT,
                            mot__fleet_deadline(fleet), &reduce.group));
    for (i = 0; i < reduce.lanes && status == MOT_OK; i++)
        status = mot__lane_post(mot__fleet_lane(fleet, i), job_reduce, &reduce, &i, sizeof i);
    for (i = 0; i < reduce.lanes; i++) {
        one = mot__lane_wait(mot__fleet_lane(fleet, i));
        status = status != MOT_OK ? status : one;
    }
    if (status == MOT_OK)
        judge(&reduce, out);
done:
    mot__group_close(reduce.group);
    free(reduce.result);
    free(reduce.host);
    return status;
}
