/* explain.c - from what a lane spent to the parts of a breakdown. */
#include "bench/explain.h"

#include <math.h>

static double take(double *rest, double wanted)
{
    const double got = wanted < *rest ? wanted : *rest;

    *rest -= got > 0 ? got : 0;
    return got > 0 ? got : 0;
}

/* What it takes until the device begins a command that it has only to be given. */
static double launch_s(const struct mot__phases *device)
{
    const uint64_t commands =
        device->commands[MOT__PHASE_FORWARD] + device->commands[MOT__PHASE_BACKWARD];

    return commands
               ? (device->before_s[MOT__PHASE_FORWARD] + device->before_s[MOT__PHASE_BACKWARD]) /
                     (double)commands
               : 0;
}

/* Launching the update. */
static double updating_s(const struct mot__spent *spent)
{
    return fmin(spent->device.before_s[MOT__PHASE_UPDATE],
                launch_s(&spent->device) * (double)spent->device.commands[MOT__PHASE_UPDATE]);
}

/* Waking up to reduce and to launch anew then: what the device stands still for gradients to leave
 * and to come back, and until it updates, but for launching that and for the host's adding and
 * waiting itself. Who is alone reduces nothing. */
static double woken_s(const struct mot__spent *spent)
{
    const double *before_s = spent->device.before_s;
    const double host_s = spent->reduce_s + spent->waited_s;

    return host_s > 0 ? before_s[MOT__PHASE_STAGING] + before_s[MOT__PHASE_UPDATE] -
                            updating_s(spent) - host_s - spent->copied_s
                      : 0;
}

struct mot_breakdown mot__explain(const struct mot__spent *spent, double seconds)
{
    const double *device = spent->device.s;
    double rest = seconds;
    struct mot_breakdown b = {.out = !spent->seated,
                              .hosted = spent->hosted,
                              .streams = spent->streams,
                              .whole = spent->whole,
                              .cut = spent->cut};
    double *const part[] = {&b.input,   &b.upload, &b.forward, &b.backward,
                            &b.staging, &b.reduce, &b.update,  &b.waiting};
    size_t i;

    b.forward = take(&rest, device[MOT__PHASE_FORWARD]);
    b.backward = take(&rest, device[MOT__PHASE_BACKWARD]);
    b.update = take(&rest, device[MOT__PHASE_UPDATE]);
    b.upload = take(&rest, device[MOT__PHASE_UPLOAD]);
    b.staging = take(&rest, device[MOT__PHASE_STAGING]);
    b.staging += take(&rest, spent->copied_s);
    b.reduce = take(&rest, spent->reduce_s);
    b.others = take(&rest, spent->waited_s);
    b.waiting = b.others + take(&rest, device[MOT__PHASE_OTHER]); /* no part of a step */
    b.input = take(&rest, spent->starved_s);
    b.waiting += rest;
    b.woken = take(&rest, woken_s(spent));
    b.updating = take(&rest, updating_s(spent));
    for (i = 0; i < MOT__COUNT(part); i++)
        *part[i] /= seconds;
    b.others /= seconds;
    b.woken /= seconds;
    b.updating /= seconds;
    return b;
}
