/* device.c - speed, counts and kernel times of one opened device, asked on its own thread. */
#include "strategy/fleet.h"

#include <motley/bench.h>
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
    struct mot_kernel_time *row;
    size_t capacity, *count;
};

static mot_status job_profile(mot__lane *lane, void *user, void *payload)
{
    const struct times *times = user;
    mot_status status = mot__device_finish(mot__lane_device(lane));

    (void)payload;
    if (status != MOT_OK)
        return status;
    return mot__device_profile(mot__lane_device(lane), times->row, times->capacity, times->count);
}

mot_status mot_bench_device(mot_fleet *fleet, size_t lane, struct mot_device_speed *out)
{
    return mot__fleet_call(fleet, lane, job_speed, out);
}

mot_status mot_bench_counts(mot_fleet *fleet, size_t lane, struct mot_counts *out)
{
    return mot__fleet_call(fleet, lane, job_counts, out);
}

mot_status mot_bench_profile(mot_fleet *fleet, size_t lane, struct mot_kernel_time *row,
                             size_t capacity, size_t *count)
{
    struct times times = {row, capacity, count};

    return mot__fleet_call(fleet, lane, job_profile, &times);
}
