/* bench_train.c - motley bench train: rate, first step, where the time and the bytes go. */
#include "cli/bench.h"
#include "cli/first.h"
#include "cli/parts.h"

#include <math.h>
#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE 4 /* times --seconds are spent on cold starts */

static void tell_parts(struct bench *bench, const struct mot_breakdown *part, size_t replicas)
{
    double percent[PARTS];
    size_t r, i;

    put_array(&bench->json, "breakdown");
    for (r = 0; r < replicas; r++) {
        put_object(&bench->json, NULL);
        put_text(&bench->json, "device", mot_fleet_label(bench->session.fleet, r));
        if (bench_people(bench))
            printf("  device %-6s", mot_fleet_label(bench->session.fleet, r));
        parts_percent(&part[r], percent);
        for (i = 0; i < PARTS; i++) {
            put_number(&bench->json, part_name[i], part_value(&part[r], i));
            if (bench_people(bench))
                printf("  %s %.1f %%", part_name[i], percent[i]);
        }
        if (bench_people(bench))
            printf("\n");
        put_end(&bench->json);
    }
    put_end(&bench->json);
}

static void tell_counts(struct bench *bench, const struct mot_bench_train *t)
{
    const double n = (double)t->steps;

    put_object(&bench->json, "per_step");
    put_number(&bench->json, "launches", (double)t->count.launches / n);
    put_number(&bench->json, "waits", (double)t->count.waits / n);
    put_number(&bench->json, "upload_bytes", (double)t->count.upload_bytes / n);
    put_number(&bench->json, "download_bytes", (double)t->count.download_bytes / n);
    put_end(&bench->json);
    if (bench_people(bench))
        printf("  a step: %.1f launches, %.1f waits, %.0f bytes up, %.0f down (device %s)\n",
               (double)t->count.launches / n, (double)t->count.waits / n,
               (double)t->count.upload_bytes / n, (double)t->count.download_bytes / n,
               mot_fleet_label(bench->session.fleet, 0));
}

static const struct {
    const char *name;
    size_t offset;
} bytes_table[] = {
#define BYTES(field)                                                                               \
    {                                                                                              \
#field, offsetof(struct mot_bytes, field)                                                  \
    }
    BYTES(parameters), BYTES(gradients), BYTES(state), BYTES(live),  BYTES(arena),
    BYTES(packs),      BYTES(staging),   BYTES(data),  BYTES(other), BYTES(total),
#undef BYTES
};

static void tell_bytes(struct bench *bench, const struct mot_bytes *bytes, size_t replicas)
{
    const struct mot_bytes *b;
    uint64_t value, always;
    size_t i;

    put_array(&bench->json, "bytes");
    for (b = bytes; b < bytes + replicas; b++) {
        const char *label = mot_fleet_label(bench->session.fleet, (size_t)(b - bytes));

        put_object(&bench->json, NULL);
        put_text(&bench->json, "device", label);
        if (bench_people(bench))
            printf("  bytes %-6s", label);
        for (i = 0; i < sizeof bytes_table / sizeof *bytes_table; i++) {
            memcpy(&value, (const char *)b + bytes_table[i].offset, sizeof value);
            put_count(&bench->json, bytes_table[i].name, value);
            if (bench_people(bench))
                printf("  %s %llu", bytes_table[i].name, (unsigned long long)value);
        }
        put_end(&bench->json);
        always = b->parameters + b->gradients + b->state;
        if (bench_people(bench))
            printf("; parameters, gradients, state and arena %.2f x what lives\n",
                   (double)(always + b->arena) / (double)(always + b->live));
    }
    put_end(&bench->json);
}

/* No device multiplies faster than its units: samples/s if a step were its products alone. */
static mot_status measure_limit(struct bench *bench)
{
    const bool one = bench->options->strategy == MOT_STRATEGY_SINGLE;
    struct mot_bench_gemm shape;
    double peak = NAN, flop = 0;
    const char *pass;
    size_t i;
    const mot_status status = one ? mot_bench_peak(bench->session.fleet, 0, &peak)
                                  : mot_bench_peak_all(bench->session.fleet, &peak);

    if (status != MOT_OK)
        return status;
    for (i = 0; mot_bench_gemm_of(bench->session.net, 1, i, &shape, &pass); i++)
        flop += 2.0 * (double)shape.m * (double)shape.n * (double)shape.k;
    bench->limit = flop > 0 ? peak * 1e9 / flop : NAN;
    put_number(&bench->json, "peak_gflops", peak);
    put_number(&bench->json, "limit_samples_per_s", bench->limit);
    if (bench_people(bench) && flop > 0)
        printf("limit: %.0f samples/s, if a step were its matrix products at the measured peak of "
               "%.0f GFLOP/s\n",
               bench->limit, peak);
    return MOT_OK;
}

/* One way to feed, and what stands for each of its replicas. */
struct way {
    bool resident;
    struct mot_bench_train t;
    struct mot_breakdown *part; /* (devices) */
    struct mot_bytes *bytes;
    bool *used;
};

static void tell_rate(struct bench *bench, const struct way *way)
{
    const struct mot_bench_train *t = &way->t;
    const char *before = " on ";
    size_t i;

    put_text(&bench->json, "strategy", t->strategy);
    bench_tell_devices(bench, way->used);
    put_number(&bench->json, "samples_per_s", t->samples_per_s);
    put_number(&bench->json, "slowest", t->slowest);
    put_number(&bench->json, "fastest", t->fastest);
    put_number(&bench->json, "of_limit", t->samples_per_s / bench->limit);
    if (!bench_people(bench))
        return;
    printf("%s, %s", way->resident ? "resident data" : "host batches", t->strategy);
    for (i = 0; i < mot_fleet_count(bench->session.fleet); i++)
        if (way->used[i]) {
            printf("%s%s", before, mot_fleet_label(bench->session.fleet, i));
            before = ", ";
        }
    printf(": %.0f samples/s (%.0f to %.0f), %.1f us a step", t->samples_per_s, t->slowest,
           t->fastest, (double)t->batch / t->samples_per_s * 1e6);
    if (!isnan(bench->limit))
        printf(", %.3f of the limit", t->samples_per_s / bench->limit);
    printf("\n");
}

static mot_status train_once(struct bench *bench, struct way *way)
{
    const struct mot_trainer_config trainer = bench_trainer(bench);
    struct mot_bench_config config = mot_bench_config_default();
    mot_status status;

    config.seconds = bench->options->seconds;
    config.settle = bench->options->seconds / 2;
    config.resident = way->resident;
    config.bytes = way->bytes;
    config.used = way->used;
    memset(way->used, 0, mot_fleet_count(bench->session.fleet) * sizeof *way->used);
    status = mot_bench_train(bench->session.fleet, bench->session.net, &trainer,
                             bench->session.data.train, &config, &way->t, way->part);
    if (status != MOT_OK)
        return status;
    put_object(&bench->json, way->resident ? "resident" : "host_batches");
    tell_rate(bench, way);
    tell_parts(bench, way->part, way->t.replicas);
    tell_counts(bench, &way->t);
    tell_bytes(bench, way->bytes, way->t.replicas);
    put_end(&bench->json);
    if (way->resident)
        return MOT_OK;
    put_text(&bench->json, "strategy", way->t.strategy); /* the way that comparisons take */
    bench_tell_devices(bench, way->used);
    put_number(&bench->json, "samples_per_s", way->t.samples_per_s);
    return MOT_OK;
}

/* Every step's replicas compared against none, by turns. */
static mot_status measure_verify(struct bench *bench, const struct mot_bench_train *t)
{
    const bool mirrored = strcmp(t->strategy, "mirrored") == 0;
    struct mot_bench_way way[2] = {
        {.fleet = bench->session.fleet, .trainer = bench_trainer(bench)}};
    mot_status status;
    double part;

    way[0].trainer.strategy = mirrored ? MOT_STRATEGY_MIRRORED : MOT_STRATEGY_CENTRAL;
    way[0].trainer.shares = "even";
    way[1] = way[0];
    way[0].trainer.verify = 0;
    way[1].trainer.verify = 1;
    status = mot_bench_ways(bench->session.net, bench->session.data.train, bench->options->seconds,
                            way, 2);
    if (status != MOT_OK)
        return status;
    part = mot_bench_way_ratio(&way[0], &way[1]) - 1;
    put_number(&bench->json, "verify_of_step", part);
    if (bench_people(bench))
        printf("comparing the replicas once (--verify): %.3f of a step, by turns\n", part);
    return MOT_OK;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* From opening the devices to the first finished step; the data is there before. */
static bool start_cold(void *user, double *seconds)
{
    struct bench *bench = user;
    const struct mot_trainer_config trainer = bench_trainer(bench);
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    double began;

    config.seconds = 1e-3;
    config.windows = 1;
    if (bench_open_data(bench))
        return false;
    began = now_s();
    if (bench_open_fleet(bench, NULL, &bench->session.fleet))
        return false;
    *seconds = now_s() - began;
    if (mot_bench_train(bench->session.fleet, bench->session.net, &trainer,
                        bench->session.data.train, &config, &t, NULL))
        return false;
    *seconds += t.first_step_s;
    return true;
}

static void tell_first(struct bench *bench, const struct first *first)
{
    put_number(&bench->json, "first_step_s", first->warm);
    put_number(&bench->json, "first_step_cold_s", first->cold);
    put_count(&bench->json, "cold_starts", first->colds);
    if (bench_people(bench) && !isnan(first->warm))
        printf("first step: cold %.2f s (%zu start%s), warm %.3f s\n", first->cold, first->colds,
               first->colds == 1 ? "" : "s", first->warm);
}

static mot_status train_both(struct bench *bench)
{
    const size_t devices = mot_fleet_count(bench->session.fleet);
    struct way way = {.part = calloc(devices, sizeof *way.part),
                      .bytes = calloc(devices, sizeof *way.bytes),
                      .used = calloc(devices, sizeof *way.used)};
    mot_status status = way.part && way.bytes && way.used ? MOT_OK : MOT_NO_MEMORY;

    if (status == MOT_OK)
        status = train_once(bench, &way);
    way.resident = true;
    if (status == MOT_OK)
        status = train_once(bench, &way);
    if (status == MOT_OK && devices > 1 && strcmp(way.t.strategy, "single") != 0)
        status = measure_verify(bench, &way.t);
    free(way.part);
    free(way.bytes);
    free(way.used);
    return status;
}

int bench_train(struct bench *bench)
{
    struct first first;
    mot_status status;
    int code;

    /* Before this process loads a driver. */
    first = first_measure(start_cold, bench, PATIENCE * bench->options->seconds);
    status = bench_open_fleet(bench, NULL, &bench->session.fleet);
    if (status != MOT_OK)
        return fail_library(status);
    code = bench_open_data(bench);
    if (code)
        return code;
    bench_tell_what(bench);
    tell_first(bench, &first);
    status = measure_limit(bench);
    if (status == MOT_OK)
        status = train_both(bench);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}
