/* explain.c - from what a lane spent to the parts of a breakdown. */
#include "bench/explain.h"

static double take(double *rest, double wanted)
{
    const double got = wanted < *rest ? wanted : *rest;

    *rest -= got > 0 ? got : 0;
    return got > 0 ? got : 0;
}

struct mot_breakdown mot__explain(const struct mot__spent *spent, double seconds)
{
    const double *device = spent->device.s;
    double rest = seconds;
    struct mot_breakdown b = {0};
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
    for (i = 0; i < MOT__COUNT(part); i++)
        *part[i] /= seconds;
    b.others /= seconds;
    return b;
}
