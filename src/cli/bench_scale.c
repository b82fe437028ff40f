/* bench_scale.c - motley bench scale: one device, two, ... beside the same without communication,
 * and beside what each does by itself. */
#include "cli/bench.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>

enum { EVEN, SPEED, CENTRAL, CEILING, EACH }; /* from EACH on: a device by itself, one by one */
#define DEVICES_MOST 32

static const struct {
    const char *name;
    int way, to; /* EACH: the sum of all by themselves */
} ratio_table[] = {{"even_of_ceiling", EVEN, CEILING},
                   {"of_ceiling", SPEED, CEILING},
                   {"even_of_sum", EVEN, EACH},
                   {"of_sum", SPEED, EACH},
                   {"central_of_even", CENTRAL, EVEN}};

static void tell_row(struct bench *bench, const char *devices, size_t count,
                     const struct mot_bench_way *way, double *one)
{
    double speed_up;
    size_t i;

    if (count == 1)
        *one = mot_bench_way_rate(&way[SPEED]);
    speed_up = mot_bench_way_rate(&way[SPEED]) / *one;
    put_object(&bench->json, NULL);
    put_text(&bench->json, "devices", devices);
    put_count(&bench->json, "count", count);
    put_text(&bench->json, "strategy", way[SPEED].strategy);
    put_number(&bench->json, "even", mot_bench_way_rate(&way[EVEN]));
    put_number(&bench->json, "by_speed", mot_bench_way_rate(&way[SPEED]));
    put_number(&bench->json, "central", mot_bench_way_rate(&way[CENTRAL]));
    put_number(&bench->json, "ceiling", mot_bench_way_rate(&way[CEILING]));
    put_number(&bench->json, "sum_alone", mot_bench_way_rate(&way[EACH]));
    put_number(&bench->json, "speed_up", speed_up);
    put_number(&bench->json, "efficiency", speed_up / (double)count);
    for (i = 0; i < sizeof ratio_table / sizeof *ratio_table; i++)
        put_number(&bench->json, ratio_table[i].name,
                   mot_bench_way_ratio(&way[ratio_table[i].way], &way[ratio_table[i].to]));
    put_end(&bench->json);
    if (bench_people(bench))
        printf("%-20s  %9.0f  %9.0f  %9.0f  %9.0f  %9.0f  %7.2f  %10.3f\n", devices,
               mot_bench_way_rate(&way[EVEN]), mot_bench_way_rate(&way[SPEED]),
               mot_bench_way_rate(&way[CENTRAL]), mot_bench_way_rate(&way[CEILING]),
               mot_bench_way_rate(&way[EACH]), speed_up, speed_up / (double)count);
    if (bench_people(bench) && count > 1)
        printf("  of the ceiling: even %.3f, by speed %.3f; of the sum alone: even %.3f, by speed "
               "%.3f; central %.3f of even\n",
               mot_bench_way_ratio(&way[EVEN], &way[CEILING]),
               mot_bench_way_ratio(&way[SPEED], &way[CEILING]),
               mot_bench_way_ratio(&way[EVEN], &way[EACH]),
               mot_bench_way_ratio(&way[SPEED], &way[EACH]),
               mot_bench_way_ratio(&way[CENTRAL], &way[EVEN]));
    fflush(stdout);
}

static mot_status open_ways(struct bench *bench, const char *devices, size_t count,
                            struct mot_bench_way *way)
{
    mot_status status = bench_open_fleet(bench, devices, &way[EVEN].fleet);
    size_t i;

    for (i = 0; i < EACH + count; i++)
        way[i].trainer = bench_trainer(bench);
    for (i = SPEED; i < EACH; i++)
        way[i].fleet = way[EVEN].fleet;
    for (i = 0; i < count && status == MOT_OK; i++)
        status =
            bench_open_fleet(bench, mot_fleet_label(bench->session.fleet, i), &way[EACH + i].fleet);
    way[EVEN].trainer.shares = way[CENTRAL].trainer.shares = "even";
    way[SPEED].trainer.shares = way[CEILING].trainer.shares = "auto";
    way[CENTRAL].trainer.strategy = MOT_STRATEGY_CENTRAL;
    way[CEILING].alone = true;
    for (i = EACH; i < EACH + count; i++)
        way[i].trainer.strategy = MOT_STRATEGY_SINGLE;
    return status;
}

/* One device trains in one way, whatever it is called. */
static mot_status measure(struct bench *bench, size_t count, struct mot_bench_way *way)
{
    mot_status status =
        mot_bench_ways(bench->session.net, bench->session.data.train, bench->options->seconds,
                       count == 1 ? way + EACH : way, count == 1 ? 1 : EACH + count);
    size_t i, turn;

    for (i = 0; count == 1 && i < EACH; i++) {
        memcpy(way[i].rate, way[EACH].rate, sizeof way[i].rate);
        way[i].strategy = way[EACH].strategy;
    }
    for (i = EACH + 1; i < EACH + count; i++)
        for (turn = 0; turn < MOT_BENCH_TURNS; turn++)
            way[EACH].rate[turn] += way[i].rate[turn];
    return status;
}

static mot_status scale_row(struct bench *bench, const char *devices, size_t count, double *one)
{
    struct mot_bench_way way[EACH + DEVICES_MOST] = {{.fleet = NULL}};
    mot_status status = open_ways(bench, devices, count, way);
    size_t i;

    if (status == MOT_OK)
        status = measure(bench, count, way);
    if (status == MOT_OK)
        tell_row(bench, devices, count, way, one);
    for (i = EACH; i < EACH + count; i++)
        mot_fleet_close(way[i].fleet);
    mot_fleet_close(way[EVEN].fleet);
    return status;
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
        printf("%-20s  %9s  %9s  %9s  %9s  %9s  %7s  %10s\n", "devices, samples/s", "even",
               "by speed", "central", "ceiling", "sum alone", "speedup", "efficiency");
    put_array(&bench->json, "rows");
    for (i = 0; status == MOT_OK && i < count && i < DEVICES_MOST && used + 40 < sizeof devices;
         i++) {
        used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%s", i ? "," : "",
                                 mot_fleet_label(bench->session.fleet, i));
        status = scale_row(bench, devices, i + 1, &one);
    }
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}
