/* bench_allreduce.c - motley bench allreduce: beside the time that no host-staged one can beat. */
#include "cli/bench.h"

#include <math.h>
#include <motley/bench.h>

static const char *const bound_name[] = {[MOT_BOUND_UP] = "upload",
                                         [MOT_BOUND_DOWN] = "download",
                                         [MOT_BOUND_HOST] = "host memory",
                                         [MOT_BOUND_LATENCY] = "latency"};

/* NULL: it could not be had. */
static void tell_row(struct bench *bench, size_t bytes, bool ring, const struct mot_bench_reduce *r)
{
    static const struct mot_bench_reduce none = {NAN, NAN, NAN, NAN, NAN, NAN, MOT_BOUND_LATENCY,
                                                 NAN, NAN, NAN, NAN, NAN, 0};
    const char *how = ring ? "ring" : "direct", *bound = r ? bound_name[r->bound] : NULL;

    if (bench_people(bench) && !r)
        printf("%10zu  %-6s  %10s  %10s  %7s  %7s  %10s  %5s  %5s\n", bytes, how, "-", "-", "-",
               "-", "-", "-", "-");
    if (bench_people(bench) && r)
        printf("%10zu  %-6s  %10.1f  %10.1f  %7.2f  %7.2f  %10.1f  %5.2f  %5.2f  %s\n", bytes, how,
               r->seconds * 1e6, r->best_s * 1e6, r->gbps, r->bus_gbps, r->bound_s * 1e6,
               r->seconds / r->bound_s, r->best_s / r->best_bound_s, bound);
    fflush(stdout);
    r = r ? r : &none;
    put_object(&bench->json, NULL);
    put_count(&bench->json, "bytes", bytes);
    put_text(&bench->json, "algorithm", how);
    put_number(&bench->json, "seconds", r->seconds);
    put_number(&bench->json, "best_s", r->best_s);
    put_number(&bench->json, "gbps", r->gbps);
    put_number(&bench->json, "bus_gbps", r->bus_gbps);
    put_number(&bench->json, "bound_s", r->bound_s);
    put_number(&bench->json, "best_bound_s", r->best_bound_s);
    put_number(&bench->json, "of_bound", r->seconds / r->bound_s);
    put_number(&bench->json, "best_of_bound", r->best_s / r->best_bound_s);
    put_text(&bench->json, "bound", bound);
    put_number(&bench->json, "up_gbps", r->up_gbps);
    put_number(&bench->json, "down_gbps", r->down_gbps);
    put_number(&bench->json, "host_gbps", r->host_gbps);
    put_number(&bench->json, "fixed_s", r->fixed_s);
    put_number(&bench->json, "meet_s", r->meet_s);
    put_count(&bench->json, "rounds", r->rounds);
    put_end(&bench->json);
}

static mot_status reduce_row(struct bench *bench, size_t bytes, bool ring)
{
    struct mot_bench_reduce r;
    const mot_status status =
        mot_bench_allreduce(bench->session.fleet, bytes, ring, bench->options->seconds / 20, &r);

    if (!bench_goes_on(status))
        return status;
    tell_row(bench, bytes, ring, status == MOT_OK ? &r : NULL);
    return MOT_OK;
}

int bench_allreduce(struct bench *bench)
{
    const size_t first = bench->options->bytes ? bench->options->bytes : 1024;
    const size_t last = bench->options->bytes ? bench->options->bytes : (size_t)256 << 20;
    mot_status status;
    size_t bytes;

    if (first < sizeof(float))
        return fail(EXIT_USAGE, "--bytes %zu: a number has %zu, so no less", first, sizeof(float));
    status = bench_open_fleet(bench, NULL, &bench->session.fleet);
    if (status != MOT_OK)
        return fail_library(status);
    if (mot_fleet_count(bench->session.fleet) < 2)
        return fail(EXIT_USAGE, "an all-reduce wants two devices or more; 0/2 cuts a CPU in two");
    if (bench_people(bench))
        printf("%zu devices\n%10s  %-6s  %10s  %10s  %7s  %7s  %10s  %5s  %5s  %s\n",
               mot_fleet_count(bench->session.fleet), "bytes", "how", "us", "best us", "GB/s",
               "bus", "T* us", "T/T*", "best", "what binds");
    put_count(&bench->json, "devices", mot_fleet_count(bench->session.fleet));
    put_array(&bench->json, "rows");
    for (bytes = first; status == MOT_OK && bytes <= last; bytes *= 4) {
        status = reduce_row(bench, bytes, false);
        if (status == MOT_OK)
            status = reduce_row(bench, bytes, true);
    }
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}
