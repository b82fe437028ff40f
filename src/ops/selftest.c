/* selftest.c - does this device compute? Each probe runs an op on small hard inputs and compares it
 * with plain C; the first that differs is the reason why the device is left out. */
#include "ops/selftest.h"
#include "base/sum.h"
#include "device/gemm.h"
#include "device/kernels.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/softmax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places for operands and results, and the floats of each. */
#define PLACE 8192
enum { A, B, C, D, E, F, PLACES };

#define WHY 256

struct probe {
    mot__device *device;
    mot__buffer *buffer[PLACES]; /* PLACE floats each */
    float *host[PLACES];
    float *want;
    bool good;
    char *why; /* WHY bytes */
};

static struct mot__mem at(const struct probe *probe, size_t place)
{
    return (struct mot__mem){probe->buffer[place], 0};
}

/* Values in [-1, 1) that repeat: the same on every machine. */
static void fill(float *out, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)((double)seed / 2147483648.0 - 1);
    }
}

static mot_status put(struct probe *probe, size_t place, size_t n)
{
    return mot__buffer_write(probe->buffer[place], 0, probe->host[place], n * sizeof(float));
}

/* Read a place back and compare it with want; the first difference ends the test. */
static mot_status compare(struct probe *probe, const char *what, size_t place, size_t n,
                          double tolerance)
{
    const float *got = probe->host[place];
    mot_status status =
        mot__buffer_read(probe->buffer[place], 0, probe->host[place], n * sizeof(float));

    for (size_t i = 0; status == MOT_OK && probe->good && i < n; i++) {
        const double error = fabs((double)got[i] - (double)probe->want[i]);

        if (error <= tolerance * (1 + fabs((double)probe->want[i])))
            continue;
        probe->good = false; /* NaN comes here too */
        snprintf(probe->why, WHY, "%s is wrong: value %zu of %zu is %g, not %g", what, i, n,
                 (double)got[i], (double)probe->want[i]);
    }
    return status;
}

/* Every transpose, a tile's inside and its edges, bias, activation and accumulation. */
static mot_status probe_gemm(struct probe *probe)
{
    static const struct {
        bool trans_a, trans_b, accumulate, bias;
        size_t m, n, k;
    } rows[] = {{false, true, false, true, 33, 65, 47},
                {true, false, true, false, 65, 31, 33},
                {false, false, false, false, 70, 64, 17},
                {true, true, false, false, 5, 7, 130}};
    mot_status status = MOT_OK;

    for (size_t r = 0; r < MOT__COUNT(rows) && probe->good; r++) {
        const size_t m = rows[r].m, n = rows[r].n, k = rows[r].k;
        struct mot__gemm gemm = {rows[r].trans_a,
                                 rows[r].trans_b,
                                 m,
                                 n,
                                 k,
                                 at(probe, A),
                                 at(probe, B),
                                 at(probe, C),
                                 1,
                                 rows[r].accumulate,
                                 {NULL, 0},
                                 MOT_ACT_NONE};

        if (rows[r].bias) {
            gemm.bias = at(probe, D);
            gemm.act = MOT_ACT_TANH;
        }
        fill(probe->host[A], m * k, 1);
        fill(probe->host[B], k * n, 2);
        fill(probe->host[C], m * n, 3);
        fill(probe->host[D], n, 4);
        memcpy(probe->want, probe->host[C], m * n * sizeof(float));
        MOT_TRY(put(probe, A, m * k));
        MOT_TRY(put(probe, B, k * n));
        MOT_TRY(put(probe, C, m * n));
        MOT_TRY(put(probe, D, n));
        MOT_TRY(mot__gemm(probe->device, &gemm));
        mot__gemm_reference(&gemm, probe->host[A], probe->host[B],
                            rows[r].bias ? probe->host[D] : NULL, probe->want);
        MOT_TRY(compare(probe, "matrix product", C, m * n, 2e-5));
    }
done:
    return status;
}

/* Narrow rows (an item each) and wide ones (a group each on GPUs), with logits of thousands. */
static mot_status probe_softmax(struct probe *probe)
{
    static const size_t widths[] = {10, 150};
    const size_t rows = 19;
    mot_status status = MOT_OK;

    for (size_t w = 0; w < MOT__COUNT(widths) && probe->good; w++) {
        const size_t n = rows * widths[w];

        fill(probe->host[A], n, 5);
        for (size_t i = 0; i < n; i++)
            probe->host[A][i] *= i % 7 ? 4.0f : 2000.0f;
        mot__softmax_reference(rows, widths[w], probe->host[A], probe->want);
        MOT_TRY(put(probe, A, n));
        MOT_TRY(mot__softmax_forward(probe->device, rows, widths[w], at(probe, A), at(probe, B)));
        MOT_TRY(compare(probe, "softmax", B, n, 1e-4));
    }
done:
    return status;
}

/* Loss, gradient, and the sum over more rows than one lane adds. */
static mot_status probe_loss(struct probe *probe)
{
    const size_t rows = 301, width = 10, n = rows * width;
    uint32_t *labels = malloc(rows * sizeof *labels);
    const struct mot__loss loss = {.kind = MOT__LOSS_LOGITS,
                                   .rows = rows,
                                   .width = width,
                                   .x = at(probe, A),
                                   .labels = at(probe, B),
                                   .scale = 1,
                                   .dx = at(probe, C),
                                   .row = at(probe, D),
                                   .record = at(probe, E)};
    mot_status status = MOT_OK;
    size_t correct;
    double sum;

    if (!labels)
        return mot__fail(MOT_NO_MEMORY, "selftest: %zu labels", rows);
    fill(probe->host[A], n, 6);
    for (size_t i = 0; i < n; i++)
        probe->host[A][i] *= 6;
    for (size_t r = 0; r < rows; r++)
        labels[r] = (uint32_t)(r * 7 % width);
    MOT_TRY(put(probe, A, n));
    MOT_TRY(mot__buffer_write(probe->buffer[B], 0, labels, rows * sizeof *labels));
    MOT_TRY(mot__loss_launch(probe->device, &loss));
    sum = mot__loss_reference(MOT__LOSS_LOGITS, rows, width, probe->host[A], labels, NULL,
                              probe->host[D], probe->want, &correct);
    MOT_TRY(compare(probe, "gradient of the loss", C, n, 1e-5));
    probe->want[0] = (float)sum;
    probe->want[1] = (float)correct;
    probe->want[2] = (float)rows;
    probe->want[3] = 0;
    MOT_TRY(compare(probe, "sum of the losses", E, 4, 1e-5));
done:
    free(labels);
    return status;
}

/* Slope and column sums: the reduction of a bias. */
static mot_status probe_bias(struct probe *probe)
{
    const size_t rows = 75, in = 9, out = 70;
    const struct mot__dense dense = {rows,         in,           out,       MOT_ACT_TANH,
                                     at(probe, A), at(probe, B), {NULL, 0}, at(probe, C)};
    const struct mot__dense_back back = {
        .dy = at(probe, D), .dw = at(probe, E), .db = at(probe, F)};
    mot_status status = MOT_OK;

    fill(probe->host[A], rows * in, 7);
    fill(probe->host[C], rows * out, 8);
    fill(probe->host[D], rows * out, 9);
    for (size_t o = 0; o < out; o++) {
        double sum = 0;

        for (size_t i = o; i < rows * out; i += out) {
            const double y = (double)probe->host[C][i];

            sum += (double)probe->host[D][i] * (1 - y * y);
        }
        probe->want[o] = (float)sum;
    }
    MOT_TRY(put(probe, A, rows * in));
    MOT_TRY(put(probe, C, rows * out));
    MOT_TRY(put(probe, D, rows * out));
    MOT_TRY(mot__dense_backward(probe->device, &dense, &back));
    MOT_TRY(compare(probe, "sum of columns", F, out, 1e-5));
done:
    return status;
}

static mot_status run(mot__device *device, bool *good, char *why)
{
    static mot_status (*const probes[])(struct probe *) = {probe_gemm, probe_softmax, probe_loss,
                                                           probe_bias};
    struct probe probe = {.device = device, .good = true, .why = why};
    float *memory = calloc((PLACES + 1) * PLACE, sizeof *memory);
    mot_status status = MOT_OK;

    if (!memory)
        return mot__fail(MOT_NO_MEMORY, "selftest: %zu floats", (size_t)(PLACES + 1) * PLACE);
    for (size_t p = 0; p < PLACES; p++)
        probe.host[p] = memory + p * PLACE;
    probe.want = memory + PLACES * PLACE;
    for (size_t p = 0; p < PLACES; p++)
        MOT_TRY(mot__buffer_open(device, PLACE * sizeof(float), &probe.buffer[p]));
    for (size_t p = 0; p < MOT__COUNT(probes) && probe.good; p++)
        MOT_TRY(probes[p](&probe));
    *good = probe.good;
done:
    for (size_t p = 0; p < PLACES; p++)
        mot__buffer_close(probe.buffer[p]);
    free(memory);
    return status;
}

/* Other texts, another version, class or GEMM are another test. The device and driver are in the
 * store's own key. */
static void key_of(const mot__device *device, char *out, size_t bytes)
{
    const struct mot__kernel_text *row;
    uint64_t sum = 0;

    for (row = mot__kernel_texts; row->name; row++)
        sum = mot__hash64(row->text, strlen(row->text), sum);
    snprintf(out, bytes, "selftest.%s.%s.%s.%016llx", mot_version(),
             mot__device_facts(device)->device_class == MOT_CLASS_CPU ? "cpu" : "gpu",
             mot__gemm_name(mot__gemm_chosen(device)), (unsigned long long)sum);
}

mot_status mot__selftest(mot__device *device, bool fresh, bool *good, char *why, size_t bytes)
{
    char key[160], reason[WHY] = "";
    bool found = false;
    mot_status status = MOT_OK;

    key_of(device, key, sizeof key);
    if (!fresh)
        MOT_TRY(mot__store_get(device, key, reason, sizeof reason, &found));
    if (found) {
        *good = strcmp(reason, "good") == 0;
    } else {
        status = run(device, good, reason);
        if (status == MOT_DEVICE_FAILED || status == MOT_UNSUPPORTED) { /* may pass; not kept */
            *good = false;
            snprintf(reason, sizeof reason, "%.*s", WHY - 1, mot_error());
            status = MOT_OK;
        } else if (status == MOT_OK) {
            MOT_TRY(mot__store_set(device, key, *good ? "good" : reason));
        }
    }
    snprintf(why, bytes, "%s", status == MOT_OK && *good ? "" : reason);
done:
    return status;
}
