/* bench_scale.c - motley bench scale: one device, two, ... beside the same without communication.
 */
#include "cli/bench.h"

#include <math.h>
#include <motley/bench.h>

static mot_status scale_row(struct bench *bench, const char *devices, size_t count, double *one)
{
    const struct mot_trainer_config trainer = bench_trainer(bench);
    struct mot_bench_scale scale;
    mot_fleet *fleet = NULL;
    mot_status status = bench_open_fleet(bench, devices, &fleet);
    double speed_up;

    if (status == MOT_OK)
        status = mot_bench_scale(fleet, bench->session.net, &trainer, bench->session.data.train,
                                 bench->options->seconds, &scale);
    mot_fleet_close(fleet);
    if (status != MOT_OK)
        return status;
    if (count == 1)
        *one = scale.by_speed;
    speed_up = scale.by_speed / *one;
    put_object(&bench->json, NULL);
    put_text(&bench->json, "devices", devices);
    put_count(&bench->json, "count", count);
    put_number(&bench->json, "even", scale.even);
    put_number(&bench->json, "by_speed", scale.by_speed);
    put_number(&bench->json, "ceiling", scale.ceiling);
    put_number(&bench->json, "speed_up", speed_up);
    put_number(&bench->json, "efficiency", speed_up / (double)count);
    put_number(&bench->json, "even_of_ceiling", scale.even_of_ceiling);
    put_number(&bench->json, "of_ceiling", scale.speed_of_ceiling);
    put_end(&bench->json);
    if (bench_people(bench))
        printf("%-24s  %10.0f  %10.0f  %10.0f  %7.2f  %10.3f  %7.3f  %7.3f\n", devices, scale.even,
               scale.by_speed, scale.ceiling, speed_up, speed_up / (double)count,
               scale.even_of_ceiling, scale.speed_of_ceiling);
    fflush(stdout);
    return MOT_OK;
}

int bench_scale(struct bench *bench)
{
    mot_status status = bench_open_fleet(bench, NULL, &bench->session.fleet);
    char devices[512] = "";
    size_t i, count, used = 0;
    double one = NAN;
    int code;

    if (status != MOT_OK)
        return fail_library(status);
    code = bench_open_data(bench);
    if (code)
        return code;
    count = mot_fleet_count(bench->session.fleet);
    bench_tell_what(bench);
    bench_tell_devices(bench, NULL);
    if (bench_people(bench))
        printf("%-24s  %10s  %10s  %10s  %7s  %10s  %16s\n%-24s  %59s  %7s  %7s\n",
               "devices, samples/s", "even", "by speed", "ceiling", "speedup", "efficiency",
               "of the ceiling:", "", "", "even", "speed");
    put_array(&bench->json, "rows");
    for (i = 0; status == MOT_OK && i < count && used + 40 < sizeof devices; i++) {
        used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%s", i ? "," : "",
                                 mot_fleet_label(bench->session.fleet, i));
        status = scale_row(bench, devices, i + 1, &one);
    }
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}
