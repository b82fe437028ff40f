/* measure.c - how fast this device is, by trying: GEMM, its memory, transfers. Each probe is
 * repeated until a tenth of a second has passed and the best round counts, since noise only ever
 * slows. */
#include "base/clock.h"
#include "device/gemm.h"
#include "device/internal.h"

#include <stdlib.h>

#define SIDE ((size_t)512)
#define PROBE_BYTES ((size_t)16 << 20)
#define PROBE_SECONDS 0.1

struct probe {
    mot__device *device;
    mot__buffer *a, *b, *c;
    void *host;
    size_t bytes;
};

static mot_status run_gemm(struct probe *probe)
{
    const struct mot__gemm gemm = {.m = SIDE,
                                   .n = SIDE,
                                   .k = SIDE,
                                   .alpha = 1,
                                   .a = {probe->a, 0},
                                   .b = {probe->b, 0},
                                   .c = {probe->c, 0}};

    return mot__gemm(probe->device, &gemm);
}

static mot_status run_copy(struct probe *probe)
{
    return mot__buffer_copy((struct mot__mem){probe->a, 0}, (struct mot__mem){probe->b, 0},
                            probe->bytes / sizeof(float));
}

static mot_status run_upload(struct probe *probe)
{
    return mot__buffer_write(probe->a, 0, probe->host, probe->bytes);
}

static mot_status run_download(struct probe *probe)
{
    return mot__buffer_read(probe->a, 0, probe->host, probe->bytes);
}

static mot_status best_rate(struct probe *probe, mot_status (*run)(struct probe *), double work,
                            double *out)
{
    double begin, round, best = 0, end;
    mot_status status = run(probe); /* warm */

    if (status == MOT_OK)
        status = mot__device_finish(probe->device);
    end = mot__clock_s() + PROBE_SECONDS;
    do {
        begin = mot__clock_s();
        if (status == MOT_OK)
            status = run(probe);
        if (status == MOT_OK)
            status = mot__device_finish(probe->device);
        round = work / (mot__clock_s() - begin);
        best = round > best ? round : best;
    } while (status == MOT_OK && mot__clock_s() < end);
    *out = best * 1e-9;
    return status;
}

mot_status mot__device_measure(mot__device *device, struct mot_device_speed *out)
{
    struct probe probe = {.device = device, .bytes = PROBE_BYTES};
    const double flop = 2.0 * SIDE * SIDE * SIDE;
    mot_status status = MOT_OK;

    if (probe.bytes > device->facts.memory_limit / 8)
        probe.bytes = device->facts.memory_limit / 8 / sizeof(float) * sizeof(float);
    if (probe.bytes < SIDE * SIDE * sizeof(float))
        return mot__fail(MOT_NO_MEMORY, "%s: %zu bytes are too few to measure its speed",
                         device->facts.info.name, device->facts.memory_limit);
    probe.host = calloc(1, probe.bytes);
    if (!probe.host)
        return mot__fail(MOT_NO_MEMORY, "a probe of %zu bytes", probe.bytes);
    MOT_TRY(mot__buffer_open(device, probe.bytes, &probe.a));
    MOT_TRY(mot__buffer_open(device, probe.bytes, &probe.b));
    MOT_TRY(mot__buffer_open(device, probe.bytes, &probe.c));
    MOT_TRY(mot__buffer_zero(probe.a, 0, probe.bytes));
    MOT_TRY(mot__buffer_zero(probe.b, 0, probe.bytes));
    MOT_TRY(best_rate(&probe, run_gemm, flop, &out->gemm_gflops));
    MOT_TRY(best_rate(&probe, run_copy, 2.0 * (double)probe.bytes, &out->memory_gbps));
    MOT_TRY(best_rate(&probe, run_upload, (double)probe.bytes, &out->upload_gbps));
    MOT_TRY(best_rate(&probe, run_download, (double)probe.bytes, &out->download_gbps));
done:
    mot__buffer_close(probe.a);
    mot__buffer_close(probe.b);
    mot__buffer_close(probe.c);
    free(probe.host);
    return status;
}
