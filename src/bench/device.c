/* device.c - speed, counts and kernel times of one opened device, asked on its own thread. */
#include "strategy/fleet.h"

#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>

static mot_status job_speed(mot__lane *lane, void *user, void *payload)
{
    (void)payload;
    return mot__device_measure(mot__lane_device(lane), user);
}

static mot_status job_counts(mot__lane *lane, void *user, void *payload)
{
    struct mot_counts *counts = mot__device_counts(mot__lane_device(lane));

    (void)payload;
    memcpy(user, counts, sizeof *counts);
    memset(counts, 0, sizeof *counts);
    return MOT_OK;
}

struct times {
    size_t capacity, count;
    struct mot_kernel_time row[]; /* (capacity) */
};

static mot_status job_profile(mot__lane *lane, void *user, void *payload)
{
    struct times *times = user;
    mot_status status = mot__device_finish(mot__lane_device(lane));

    (void)payload;
    if (status != MOT_OK)
        return status;
    return mot__device_profile(mot__lane_device(lane), times->row, times->capacity, &times->count);
}

mot_status mot_bench_device(mot_fleet *fleet, size_t lane, struct mot_device_speed *out)
{
    return mot__fleet_call(fleet, lane, job_speed, out, sizeof *out);
}

mot_status mot_bench_counts(mot_fleet *fleet, size_t lane, struct mot_counts *out)
{
    return mot__fleet_call(fleet, lane, job_counts, out, sizeof *out);
}

mot_status mot_bench_profile(mot_fleet *fleet, size_t lane, struct mot_kernel_time *row,
                             size_t capacity, size_t *count)
{
    const size_t bytes = sizeof(struct times) + capacity * sizeof *row;
    struct times *times = calloc(1, bytes);
    mot_status status;

    if (!times)
        return mot__fail(MOT_NO_MEMORY, "%zu kernels' times", capacity);
    times->capacity = capacity;
    status = mot__fleet_call(fleet, lane, job_profile, times, bytes);
    *count = times->count;
    if (times->count > 0)
        memcpy(row, times->row, times->count * sizeof *row);
    free(times);
    return status;
}
