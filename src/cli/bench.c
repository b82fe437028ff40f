/* bench.c - motley bench: tables for people, one JSON document for machines. */
#include "cli/commands.h"
#include "cli/first.h"
#include "cli/json.h"
#include "cli/parts.h"
#include "cli/session.h"

#include <math.h>
#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench {
    const struct options *options;
    struct session session; /* no trainer: each measurement opens its own */
    struct json json;
    double limit; /* samples/s; NAN: not known */
};

/* ---- opening --------------------------------------------------------------------------------- */

static size_t batch_of(const struct options *options)
{
    if (options->batch > 0)
        return options->batch;
    return strcmp(options->net, "mlp64") == 0 ? 32 : 128; /* as its peers have it */
}

static mot_status open_fleet(const struct bench *bench, const char *devices, mot_fleet **out)
{
    struct mot_fleet_config config = session_fleet_config(bench->options);

    if (devices)
        config.devices = devices;
    config.profile = true;
    return mot_fleet_open(&config, out);
}

static int open_data(struct bench *bench)
{
    const struct dataset_wish wish = {bench->options->data, bench->options->offline, true, true};
    struct session *session = &bench->session;
    int code = dataset_open(&wish, &session->data);
    mot_status status;

    if (code)
        return code;
    status =
        session_open_net(bench->options->net, mot_data_shape(session->data.train), &session->net);
    if (status == MOT_OK)
        status = mot_data_shuffle(session->data.train, 1);
    if (status == MOT_OK)
        status = mot_data_batch(session->data.train, batch_of(bench->options));
    return status == MOT_OK ? 0 : fail_library(status);
}

static struct mot_trainer_config trainer_of(const struct bench *bench)
{
    struct mot_trainer_config config = mot_trainer_config_default();

    config.strategy = (enum mot_strategy)bench->options->strategy;
    config.shares = bench->options->shares;
    config.seed = 1;
    return config;
}

static bool people(const struct bench *bench)
{
    return !bench->options->json;
}

/* ---- gemm ------------------------------------------------------------------------------------ */

static mot_status gemm_row(struct bench *bench, size_t lane, const char *what,
                           const struct mot_bench_gemm *shape, double peak)
{
    mot_status status = MOT_OK;
    size_t kind;
    double gflops;

    if (people(bench))
        printf("%-18s %5zu %5zu %5zu %c%c", what, shape->m, shape->n, shape->k,
               shape->trans_a ? 'T' : 'N', shape->trans_b ? 'T' : 'N');
    put_object(&bench->json, NULL);
    put_text(&bench->json, "what", what);
    put_count(&bench->json, "m", shape->m);
    put_count(&bench->json, "n", shape->n);
    put_count(&bench->json, "k", shape->k);
    put_bool(&bench->json, "trans_a", shape->trans_a);
    put_bool(&bench->json, "trans_b", shape->trans_b);
    for (kind = 0; kind < mot_bench_gemm_kinds() && status == MOT_OK; kind++) {
        status = mot_bench_gemm(bench->session.fleet, lane, kind, shape,
                                bench->options->seconds / 25, &gflops);
        if (status == MOT_UNSUPPORTED)
            gflops = NAN, status = MOT_OK;
        put_number(&bench->json, mot_bench_gemm_name(kind), gflops);
        if (people(bench) && isnan(gflops))
            printf("  %9s", "-");
        else if (people(bench))
            printf("  %9.1f", gflops);
    }
    put_end(&bench->json);
    if (people(bench))
        printf("   (peak %.0f)\n", peak);
    fflush(stdout);
    return status;
}

static mot_status gemm_preset(struct bench *bench, size_t lane, const char *name, size_t batch,
                              double peak)
{
    struct mot_bench_gemm shape;
    mot_model *net = NULL;
    mot_status status = session_open_net(name, MOT_SHAPE(784), &net);
    const char *pass;
    char what[48];
    size_t i;

    for (i = 0; status == MOT_OK && mot_bench_gemm_of(net, batch, i, &shape, &pass); i++) {
        snprintf(what, sizeof what, "%s %s", name, pass);
        status = gemm_row(bench, lane, what, &shape, peak);
    }
    mot_model_close(net);
    return status;
}

static mot_status gemm_lane(struct bench *bench, size_t lane)
{
    static const size_t side[] = {256, 512, 1024, 2048};
    const char *name;
    mot_status status;
    double peak = NAN;
    size_t i, kind;

    status = mot_bench_peak(bench->session.fleet, lane, &peak);
    put_object(&bench->json, NULL);
    put_text(&bench->json, "device", mot_fleet_label(bench->session.fleet, lane));
    put_number(&bench->json, "peak_gflops", peak);
    put_array(&bench->json, "rows");
    if (people(bench)) {
        printf("device %s: %s, GFLOP/s\n%-18s %5s %5s %5s   ",
               mot_fleet_label(bench->session.fleet, lane),
               mot_fleet_get(bench->session.fleet, lane)->name, "product", "m", "n", "k");
        for (kind = 0; kind < mot_bench_gemm_kinds(); kind++)
            printf("  %9s", mot_bench_gemm_name(kind));
        printf("\n");
    }
    for (i = 0; status == MOT_OK && (name = mot_preset(i, NULL)) != NULL; i++)
        status = gemm_preset(bench, lane, name, strcmp(name, "mlp64") ? 128 : 32, peak);
    for (i = 0; status == MOT_OK && i < sizeof side / sizeof *side; i++)
        status = gemm_row(bench, lane, "square",
                          &(struct mot_bench_gemm){false, false, side[i], side[i], side[i]}, peak);
    put_end(&bench->json);
    put_end(&bench->json);
    return status;
}

static int bench_gemm(struct bench *bench)
{
    mot_status status = open_fleet(bench, NULL, &bench->session.fleet);
    size_t lane;

    put_array(&bench->json, "devices");
    for (lane = 0; status == MOT_OK && lane < mot_fleet_count(bench->session.fleet); lane++)
        status = gemm_lane(bench, lane);
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}

/* ---- allreduce ------------------------------------------------------------------------------- */

static const char *const bound_name[] = {[MOT_BOUND_UP] = "upload",
                                         [MOT_BOUND_DOWN] = "download",
                                         [MOT_BOUND_HOST] = "host memory",
                                         [MOT_BOUND_LATENCY] = "latency"};

static mot_status reduce_row(struct bench *bench, size_t bytes, bool ring)
{
    struct mot_bench_reduce r;
    const mot_status status =
        mot_bench_allreduce(bench->session.fleet, bytes, ring, bench->options->seconds / 20, &r);

    if (status != MOT_OK)
        return status;
    put_object(&bench->json, NULL);
    put_count(&bench->json, "bytes", bytes);
    put_text(&bench->json, "algorithm", ring ? "ring" : "direct");
    put_number(&bench->json, "seconds", r.seconds);
    put_number(&bench->json, "gbps", r.gbps);
    put_number(&bench->json, "bus_gbps", r.bus_gbps);
    put_number(&bench->json, "bound_s", r.bound_s);
    put_number(&bench->json, "of_bound", r.seconds / r.bound_s);
    put_text(&bench->json, "bound", bound_name[r.bound]);
    put_number(&bench->json, "up_gbps", r.up_gbps);
    put_number(&bench->json, "down_gbps", r.down_gbps);
    put_number(&bench->json, "host_gbps", r.host_gbps);
    put_number(&bench->json, "fixed_s", r.fixed_s);
    put_number(&bench->json, "meet_s", r.meet_s);
    put_count(&bench->json, "rounds", r.rounds);
    put_end(&bench->json);
    if (people(bench))
        printf("%10zu  %-6s  %10.1f  %7.2f  %7.2f  %10.1f  %5.2f  %s\n", bytes,
               ring ? "ring" : "direct", r.seconds * 1e6, r.gbps, r.bus_gbps, r.bound_s * 1e6,
               r.seconds / r.bound_s, bound_name[r.bound]);
    fflush(stdout);
    return MOT_OK;
}

static int bench_allreduce(struct bench *bench)
{
    const size_t first = bench->options->bytes ? bench->options->bytes : 1024;
    const size_t last = bench->options->bytes ? bench->options->bytes : (size_t)256 << 20;
    mot_status status;
    size_t bytes;

    if (first < sizeof(float))
        return fail(EXIT_USAGE, "--bytes %zu: a number has %zu, so no less", first, sizeof(float));
    status = open_fleet(bench, NULL, &bench->session.fleet);
    if (status != MOT_OK)
        return fail_library(status);
    if (mot_fleet_count(bench->session.fleet) < 2)
        return fail(EXIT_USAGE, "an all-reduce wants two devices or more; 0/2 cuts a CPU in two");
    if (people(bench))
        printf("%zu devices\n%10s  %-6s  %10s  %7s  %7s  %10s  %5s  %s\n",
               mot_fleet_count(bench->session.fleet), "bytes", "how", "us", "GB/s", "bus", "T* us",
               "T/T*", "what binds");
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

/* ---- train ----------------------------------------------------------------------------------- */

static void tell_parts(struct bench *bench, const struct mot_breakdown *part, size_t replicas)
{
    double percent[PARTS];
    size_t r, i;

    put_array(&bench->json, "breakdown");
    for (r = 0; r < replicas; r++) {
        put_object(&bench->json, NULL);
        put_text(&bench->json, "device", mot_fleet_label(bench->session.fleet, r));
        if (people(bench))
            printf("  device %-6s", mot_fleet_label(bench->session.fleet, r));
        parts_percent(&part[r], percent);
        for (i = 0; i < PARTS; i++) {
            put_number(&bench->json, part_name[i], part_value(&part[r], i));
            if (people(bench))
                printf("  %s %.1f %%", part_name[i], percent[i]);
        }
        if (people(bench))
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
    if (people(bench))
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
    BYTES(staging),    BYTES(data),      BYTES(other), BYTES(total),
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
        if (people(bench))
            printf("  bytes %-6s", label);
        for (i = 0; i < sizeof bytes_table / sizeof *bytes_table; i++) {
            memcpy(&value, (const char *)b + bytes_table[i].offset, sizeof value);
            put_count(&bench->json, bytes_table[i].name, value);
            if (people(bench))
                printf("  %s %llu", bytes_table[i].name, (unsigned long long)value);
        }
        put_end(&bench->json);
        always = b->parameters + b->gradients + b->state;
        if (people(bench))
            printf("; all but staging and data %.2f x what lives\n",
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
    if (people(bench) && flop > 0)
        printf("limit: %.0f samples/s, if a step were its matrix products at the measured peak of "
               "%.0f GFLOP/s\n",
               bench->limit, peak);
    return MOT_OK;
}

static void tell_rate(struct bench *bench, bool resident, const struct mot_bench_train *t)
{
    put_number(&bench->json, "samples_per_s", t->samples_per_s);
    put_number(&bench->json, "slowest", t->slowest);
    put_number(&bench->json, "fastest", t->fastest);
    put_number(&bench->json, "of_limit", t->samples_per_s / bench->limit);
    if (!people(bench))
        return;
    printf("%s: %.0f samples/s (%.0f to %.0f), %.1f us a step",
           resident ? "resident data" : "host batches", t->samples_per_s, t->slowest, t->fastest,
           (double)t->batch / t->samples_per_s * 1e6);
    if (!isnan(bench->limit))
        printf(", %.3f of the limit", t->samples_per_s / bench->limit);
    printf("\n");
}

static mot_status train_once(struct bench *bench, bool resident, struct mot_breakdown *part,
                             struct mot_bytes *bytes)
{
    const struct mot_trainer_config trainer = trainer_of(bench);
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    mot_status status;

    config.seconds = bench->options->seconds;
    config.resident = resident;
    config.bytes = bytes;
    status = mot_bench_train(bench->session.fleet, bench->session.net, &trainer,
                             bench->session.data.train, &config, &t, part);
    if (status != MOT_OK)
        return status;
    put_object(&bench->json, resident ? "resident" : "host_batches");
    tell_rate(bench, resident, &t);
    tell_parts(bench, part, t.replicas);
    tell_counts(bench, &t);
    tell_bytes(bench, bytes, t.replicas);
    put_end(&bench->json);
    if (!resident) /* the figure for comparisons stands at the top */
        put_number(&bench->json, "samples_per_s", t.samples_per_s);
    return MOT_OK;
}

static void tell_what(struct bench *bench)
{
    const mot_fleet *fleet = bench->session.fleet;
    const size_t asked = bench->options->strategy;
    const char *strategy = mot_fleet_count(fleet) == 1 || asked == MOT_STRATEGY_SINGLE ? "single"
                           : asked == MOT_STRATEGY_CENTRAL                             ? "central"
                                                                                       : "mirrored";
    size_t i;

    put_text(&bench->json, "net", bench->options->net);
    put_count(&bench->json, "batch", batch_of(bench->options));
    put_text(&bench->json, "strategy", strategy);
    put_text(&bench->json, "data", bench->session.data.name);
    put_array(&bench->json, "devices");
    for (i = 0; i < mot_fleet_count(fleet); i++)
        put_text(&bench->json, NULL, mot_fleet_label(fleet, i));
    put_end(&bench->json);
    if (people(bench))
        printf("%s, batch %zu, %s, %zu device%s, %s\n", bench->options->net,
               batch_of(bench->options), bench->session.data.name, mot_fleet_count(fleet),
               mot_fleet_count(fleet) == 1 ? "" : "s", strategy);
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
    const struct mot_trainer_config trainer = trainer_of(bench);
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    double began;

    config.seconds = 1e-3;
    config.windows = 1;
    if (open_data(bench))
        return false;
    began = now_s();
    if (open_fleet(bench, NULL, &bench->session.fleet))
        return false;
    *seconds = now_s() - began;
    if (mot_bench_train(bench->session.fleet, bench->session.net, &trainer,
                        bench->session.data.train, &config, &t, NULL))
        return false;
    *seconds += t.first_step_s;
    return true;
}

static void tell_first(struct bench *bench, double cold, double warm)
{
    put_number(&bench->json, "first_step_s", warm);
    put_number(&bench->json, "first_step_cold_s", cold);
    if (people(bench) && !isnan(warm))
        printf("first step: cold %.2f s, warm %.3f s\n", cold, warm);
}

static int bench_train(struct bench *bench)
{
    struct mot_breakdown *part;
    struct mot_bytes *bytes;
    double cold, warm;
    mot_status status;
    int code;

    first_measure(start_cold, bench, &cold, &warm); /* before this process loads a driver */
    status = open_fleet(bench, NULL, &bench->session.fleet);
    if (status != MOT_OK)
        return fail_library(status);
    code = open_data(bench);
    if (code)
        return code;
    part = calloc(mot_fleet_count(bench->session.fleet), sizeof *part);
    bytes = calloc(mot_fleet_count(bench->session.fleet), sizeof *bytes);
    if (!part || !bytes) {
        free(part);
        free(bytes);
        return fail(EXIT_FAILED, "out of memory");
    }
    tell_what(bench);
    tell_first(bench, cold, warm);
    status = measure_limit(bench);
    if (status == MOT_OK)
        status = train_once(bench, false, part, bytes);
    if (status == MOT_OK)
        status = train_once(bench, true, part, bytes);
    free(part);
    free(bytes);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}

/* ---- scale ----------------------------------------------------------------------------------- */

static mot_status rate_of(struct bench *bench, const char *devices, const char *shares, bool alone,
                          double *rate)
{
    struct mot_trainer_config trainer = trainer_of(bench);
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    mot_fleet *fleet = NULL;
    mot_status status = open_fleet(bench, devices, &fleet);

    trainer.shares = shares;
    config.seconds = bench->options->seconds;
    config.alone = alone;
    if (status == MOT_OK)
        status = mot_bench_train(fleet, bench->session.net, &trainer, bench->session.data.train,
                                 &config, &t, NULL);
    mot_fleet_close(fleet);
    *rate = status == MOT_OK ? t.samples_per_s : NAN;
    return status;
}

static mot_status scale_row(struct bench *bench, const char *devices, size_t count, double *one)
{
    double even, speed, ceiling;
    mot_status status = rate_of(bench, devices, "even", false, &even);

    if (status == MOT_OK)
        status = rate_of(bench, devices, "auto", false, &speed);
    if (status == MOT_OK)
        status = rate_of(bench, devices, "auto", true, &ceiling);
    if (status != MOT_OK)
        return status;
    if (count == 1)
        *one = speed;
    put_object(&bench->json, NULL);
    put_text(&bench->json, "devices", devices);
    put_count(&bench->json, "count", count);
    put_number(&bench->json, "even", even);
    put_number(&bench->json, "by_speed", speed);
    put_number(&bench->json, "ceiling", ceiling);
    put_number(&bench->json, "speed_up", speed / *one);
    put_number(&bench->json, "efficiency", speed / *one / (double)count);
    put_number(&bench->json, "of_ceiling", speed / ceiling);
    put_end(&bench->json);
    if (people(bench))
        printf("%-24s  %10.0f  %10.0f  %10.0f  %7.2f  %10.3f  %7.3f\n", devices, even, speed,
               ceiling, speed / *one, speed / *one / (double)count, speed / ceiling);
    fflush(stdout);
    return MOT_OK;
}

static int bench_scale(struct bench *bench)
{
    mot_status status = open_fleet(bench, NULL, &bench->session.fleet);
    char devices[512] = "";
    size_t i, count, used = 0;
    double one = NAN;
    int code;

    if (status != MOT_OK)
        return fail_library(status);
    code = open_data(bench);
    if (code)
        return code;
    count = mot_fleet_count(bench->session.fleet);
    tell_what(bench);
    if (people(bench))
        printf("%-24s  %10s  %10s  %10s  %7s  %10s  %7s\n", "devices, samples/s", "even",
               "by speed", "ceiling", "speedup", "efficiency", "of ceil");
    put_array(&bench->json, "rows");
    for (i = 0; status == MOT_OK && i < count && used + 40 < sizeof devices; i++) {
        used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%s", i ? "," : "",
                                 mot_fleet_label(bench->session.fleet, i));
        status = scale_row(bench, devices, i + 1, &one);
    }
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct bench *bench);
} what_table[] = {{"gemm", bench_gemm},
                  {"allreduce", bench_allreduce},
                  {"train", bench_train},
                  {"scale", bench_scale}};

int command_bench(const struct options *options)
{
    struct bench bench = {.options = options};
    char *document = NULL;
    size_t i, bytes = 0;
    int code;

    for (i = 0; i < sizeof what_table / sizeof *what_table; i++)
        if (options->topic && strcmp(options->topic, what_table[i].name) == 0)
            break;
    if (i == sizeof what_table / sizeof *what_table)
        return options->topic
                   ? fail(EXIT_USAGE, "bench \"%s\" is none of gemm, allreduce, train, scale",
                          options->topic)
                   : fail(EXIT_USAGE, "bench what? gemm, allreduce, train or scale");
    bench.json.out = open_memstream(&document, &bytes); /* told whole or not at all */
    if (!bench.json.out)
        return fail(EXIT_FAILED, "out of memory");
    put_object(&bench.json, NULL);
    put_text(&bench.json, "bench", options->topic);
    code = what_table[i].run(&bench);
    if (code == EXIT_FINE)
        put_end(&bench.json);
    fclose(bench.json.out);
    if (code == EXIT_FINE && options->json)
        fwrite(document, 1, bytes, stdout);
    free(document);
    session_close(&bench.session);
    return code;
}
