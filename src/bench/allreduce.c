/* allreduce.c - one all-reduce of so many bytes over all lanes, beside what no host-staged one can
 * beat.
 *
 * Every device must send and receive all S bytes, and the host must read and write each lane's S
 * once: with B the slowest of the three rates, measured on all lanes at once, and o the fixed cost
 * of one transfer, chunks of the best size take T* = S/B + 2 sqrt(2 S o / B) + 2 o (both pipelines
 * filled and drained). */
#include "base/clock.h"
#include "base/size.h"
#include "collective/collective.h"
#include "strategy/fleet.h"

#include <math.h>
#include <motley/bench.h>
#include <stdlib.h>

#define BUCKET ((size_t)4 << 20) /* bytes, as in training where staging is by copy */
#define ROUNDS_LEAST 5
#define LIMIT_ROUNDS 20
#define ROUNDS_MOST 400

struct lane_result {
    double up_s, down_s, host_s, fixed_s;
    double round[ROUNDS_MOST];
    size_t rounds;
};

struct reduce {
    mot__group *group;
    size_t lanes, floats;
    double seconds;
    struct lane_result *result; /* (lanes) */
};

struct side { /* one lane's */
    const struct reduce *reduce;
    size_t rank;
    mot__device *device;
    mot__stage *stage;
    float *other; /* host memory of the lane's own, for the host's rate */
    struct lane_result *result;
};

static size_t bucket_bytes(const struct side *side)
{
    const size_t bytes = side->reduce->floats * sizeof(float);

    return mot__device_facts(side->device)->staging == MOT__STAGING_COPY
               ? mot__size_min(bytes, mot__size_max(BUCKET, bytes / (MOT__STAGE_SLOTS / 2)))
               : bytes;
}

static mot_status down(struct side *side, size_t step, size_t bytes)
{
    mot_status status = MOT_OK;
    size_t at, slot = 0;

    for (at = 0; at < bytes && status == MOT_OK; at += step, slot++)
        status = mot__stage_down(side->stage, slot, at, mot__size_min(step, bytes - at));
    return status;
}

/* One all-reduce as a training step does it; or, without a group, only its transfers. */
static mot_status round_trip(struct side *side, mot__group *group, double *down_s, double *up_s)
{
    const size_t bytes = side->reduce->floats * sizeof(float), step = bucket_bytes(side);
    float *host = mot__stage_host(side->stage);
    const double began = mot__clock_s();
    mot_status status = MOT_OK;
    size_t at, slot = 0;

    MOT_TRY(down(side, step, bytes));
    for (at = 0; at < bytes; at += step, slot++) {
        MOT_TRY(mot__stage_wait(side->stage, slot));
        if (group)
            MOT_TRY(mot__group_all_reduce(group, side->rank, host + at / sizeof(float),
                                          mot__size_min(step, bytes - at) / sizeof(float)));
        if (group)
            MOT_TRY(mot__stage_up(side->stage, at, mot__size_min(step, bytes - at)));
    }
    if (!group) {
        *down_s = mot__clock_s() - began;
        for (at = 0; at < bytes; at += step)
            MOT_TRY(mot__stage_up(side->stage, at, mot__size_min(step, bytes - at)));
    }
    MOT_TRY(mot__device_finish(side->device));
    if (!group)
        *up_s = mot__clock_s() - began - *down_s;
done:
    return status;
}

/* What the host must at least do: read and write one lane's bytes once for each lane's segment. */
static double host_work(const struct side *side)
{
    const size_t n = side->reduce->floats, part = n / side->reduce->lanes;
    float *restrict own = side->other;
    const double began = mot__clock_s();
    size_t lane, i;

    for (lane = 0; lane < side->reduce->lanes; lane++)
        for (i = lane * part; i < (lane + 1) * part; i++)
            own[i] = own[i] + 1.0f;
    return mot__clock_s() - began;
}

/* Times of the parts alone, all lanes at once: the best of a few. */
static mot_status measure_limits(struct side *side)
{
    struct lane_result *r = side->result;
    mot__group *group = side->reduce->group;
    mot_status status = MOT_OK;
    double down_s, up_s, host_s, began;
    size_t i;

    r->down_s = r->up_s = r->host_s = r->fixed_s = INFINITY;
    for (i = 0; i < LIMIT_ROUNDS; i++) {
        MOT_TRY(mot__group_barrier(group, side->rank));
        MOT_TRY(round_trip(side, NULL, &down_s, &up_s));
        MOT_TRY(mot__group_barrier(group, side->rank));
        host_s = host_work(side);
        MOT_TRY(mot__group_barrier(group, side->rank));
        began = mot__clock_s();
        MOT_TRY(mot__stage_down(side->stage, 0, 0, 64));
        MOT_TRY(mot__stage_wait(side->stage, 0));
        r->fixed_s = fmin(r->fixed_s, mot__clock_s() - began);
        MOT_TRY(mot__stage_up(side->stage, 0, 64));
        MOT_TRY(mot__device_finish(side->device));
        r->down_s = fmin(r->down_s, down_s);
        r->up_s = fmin(r->up_s, up_s);
        r->host_s = fmin(r->host_s, host_s);
    }
done:
    return status;
}

static mot_status measure_rounds(struct side *side)
{
    struct lane_result *r = side->result;
    const double end = mot__clock_s() + side->reduce->seconds;
    mot_status status = MOT_OK;
    double began;
    float more = 1;

    MOT_TRY(round_trip(side, side->reduce->group, NULL, NULL)); /* warm */
    while (more > 0) {
        MOT_TRY(mot__group_barrier(side->reduce->group, side->rank));
        began = mot__clock_s();
        MOT_TRY(round_trip(side, side->reduce->group, NULL, NULL));
        r->round[r->rounds++] = mot__clock_s() - began;
        /* Lane 0 decides, so that all do as many. */
        more = r->rounds < ROUNDS_MOST && (r->rounds < ROUNDS_LEAST || mot__clock_s() < end);
        MOT_TRY(mot__group_broadcast(side->reduce->group, side->rank, 0, &more, sizeof more));
    }
done:
    return status;
}

static mot_status open_side(struct side *side)
{
    const size_t bytes = side->reduce->floats * sizeof(float);
    float *host;
    size_t i;
    mot_status status = mot__stage_open(side->device, bytes, &side->stage);

    if (status != MOT_OK)
        return status;
    side->other = calloc(side->reduce->floats, sizeof *side->other);
    if (!side->other)
        return mot__fail(MOT_NO_MEMORY, "%zu bytes to reduce", bytes);
    host = mot__stage_host(side->stage);
    for (i = 0; i < side->reduce->floats; i++)
        host[i] = 0;
    return mot__stage_up(side->stage, 0, bytes);
}

static mot_status job_reduce(mot__lane *lane, void *user, void *payload)
{
    struct side side = {
        .reduce = user, .rank = *(const size_t *)payload, .device = mot__lane_device(lane)};
    mot_status status = MOT_OK;

    side.result = &side.reduce->result[side.rank];
    MOT_TRY(open_side(&side));
    MOT_TRY(measure_limits(&side));
    MOT_TRY(measure_rounds(&side));
done:
    if (status != MOT_OK)
        mot__group_abort(side.reduce->group, side.rank, status);
    mot__stage_close(side.stage);
    free(side.other);
    return status;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void judge(const struct reduce *reduce, struct mot_bench_reduce *out)
{
    const double bytes = (double)(reduce->floats * sizeof(float)), n = (double)reduce->lanes;
    double up = 0, down_s = 0, host = 0, fixed = 0, most;
    size_t i;

    for (i = 0; i < reduce->lanes; i++) {
        up = fmax(up, reduce->result[i].up_s);
        down_s = fmax(down_s, reduce->result[i].down_s);
        host = fmax(host, reduce->result[i].host_s);
        fixed = fmax(fixed, reduce->result[i].fixed_s);
    }
    qsort(reduce->result[0].round, reduce->result[0].rounds, sizeof(double), by_value);
    out->seconds = reduce->result[0].round[reduce->result[0].rounds / 2];
    out->gbps = bytes / out->seconds * 1e-9;
    out->bus_gbps = out->gbps * 2 * (n - 1) / n;
    most = fmax(fmax(up, down_s), host);
    out->bound_s = most + 2 * sqrt(2 * most * fixed) + 2 * fixed;
    out->bound = most < 2 * fixed ? MOT_BOUND_LATENCY
                 : most == host   ? MOT_BOUND_HOST
                 : most == up     ? MOT_BOUND_UP
                                  : MOT_BOUND_DOWN;
    out->up_gbps = bytes / up * 1e-9;
    out->down_gbps = bytes / down_s * 1e-9;
    out->host_gbps = 2 * n * bytes / host * 1e-9;
    out->fixed_s = fixed;
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
    if (!reduce.result)
        return mot__fail(MOT_NO_MEMORY, "%zu lanes", reduce.lanes);
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
    return status;
}
