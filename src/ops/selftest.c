/* selftest.c - does this device compute? Each probe runs an op on small hard inputs and compares it
 * with plain C; the first value that differs is the reason why the device is not used. */
#include "ops/selftest.h"
#include "base/sum.h"
#include "base/text.h"
#include "device/gemm.h"
#include "device/kernels.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/dense.h"
#include "ops/dropout.h"
#include "ops/gather.h"
#include "ops/loss.h"
#include "ops/softmax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places for operands and results, and the floats of each. */
#define PLACE 4096
enum { A, B, C, D, E, F, G, PLACES };

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
        mot__text_into(probe->why, WHY, "%s is wrong: value %zu of %zu is %g, not %g", what, i, n,
                       (double)got[i], (double)probe->want[i]);
    }
    return status;
}

/* y = tanh(x W^T + b) over a tile's inside and its edges. */
static mot_status probe_dense(struct probe *probe, int which)
{
    const size_t rows = 33, in = 47, out = 65;
    const struct mot__dense dense = {rows,         in,           out,          MOT_ACT_TANH,
                                     at(probe, A), at(probe, B), at(probe, D), at(probe, C)};
    const struct mot__gemm same = {
        .trans_b = true, .m = rows, .n = out, .k = in, .alpha = 1, .act = MOT_ACT_TANH};
    mot_status status = MOT_OK;

    (void)which;
    fill(probe->host[A], rows * in, 1);
    fill(probe->host[B], out * in, 2);
    fill(probe->host[D], out, 4);
    MOT_TRY(put(probe, A, rows * in));
    MOT_TRY(put(probe, B, out * in));
    MOT_TRY(put(probe, D, out));
    MOT_TRY(mot__dense_forward(probe->device, &dense));
    mot__gemm_reference(&same, probe->host[A], probe->host[B], probe->host[D], probe->want);
    MOT_TRY(compare(probe, "dense", C, rows * out, 2e-5));
done:
    return status;
}

/* The slope of tanh, then dw = dy^T x, dx = dy w and db, the sums of columns. */
static mot_status probe_dense_back(struct probe *probe, int which)
{
    const size_t rows = 75, in = 31, out = 33;
    const struct mot__dense dense = {rows,         in,           out,       MOT_ACT_TANH,
                                     at(probe, A), at(probe, B), {NULL, 0}, at(probe, C)};
    const struct mot__dense_back back = {
        .dy = at(probe, D), .dw = at(probe, E), .db = at(probe, F), .dx = at(probe, G)};
    const struct mot__gemm dw = {.trans_a = true, .m = out, .n = in, .k = rows, .alpha = 1};
    const struct mot__gemm dx = {.m = rows, .n = in, .k = out, .alpha = 1};
    float *dy = probe->host[D];
    mot_status status = MOT_OK;

    (void)which;
    fill(probe->host[A], rows * in, 7);
    fill(probe->host[B], out * in, 3);
    fill(probe->host[C], rows * out, 8);
    fill(dy, rows * out, 9);
    MOT_TRY(put(probe, A, rows * in));
    MOT_TRY(put(probe, B, out * in));
    MOT_TRY(put(probe, C, rows * out));
    MOT_TRY(put(probe, D, rows * out));
    MOT_TRY(mot__dense_backward(probe->device, &dense, &back));
    for (size_t i = 0; i < rows * out; i++)
        dy[i] *= 1 - probe->host[C][i] * probe->host[C][i];
    for (size_t o = 0; o < out; o++) {
        double sum = 0;

        for (size_t i = o; i < rows * out; i += out)
            sum += (double)dy[i];
        probe->want[o] = (float)sum;
    }
    MOT_TRY(compare(probe, "sum of columns", F, out, 1e-5));
    mot__gemm_reference(&dw, dy, probe->host[A], NULL, probe->want);
    MOT_TRY(compare(probe, "gradient of the weights", E, out * in, 2e-5));
    mot__gemm_reference(&dx, dy, probe->host[B], NULL, probe->want);
    MOT_TRY(compare(probe, "gradient of the input", G, rows * in, 2e-5));
done:
    return status;
}

/* Narrow rows (an item each) and wide ones (a group each on GPUs), with logits of thousands. */
static mot_status probe_softmax(struct probe *probe, int which)
{
    static const size_t widths[] = {10, 150};
    const size_t rows = 19;
    mot_status status = MOT_OK;

    (void)which;
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
static mot_status probe_loss(struct probe *probe, int which)
{
    const size_t rows = 301, width = 10, n = rows * width;
    const enum mot__loss_kind kind = (enum mot__loss_kind)which;
    uint32_t *labels = malloc(rows * sizeof *labels);
    const struct mot__loss loss = {.kind = kind,
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
        probe->host[A][i] = kind == MOT__LOSS_PROBABILITIES ? 0.5f + 0.49f * probe->host[A][i]
                                                            : 6 * probe->host[A][i];
    for (size_t r = 0; r < rows; r++)
        labels[r] = (uint32_t)(r * 7 % width);
    MOT_TRY(put(probe, A, n));
    MOT_TRY(mot__buffer_write(probe->buffer[B], 0, labels, rows * sizeof *labels));
    MOT_TRY(mot__loss_launch(probe->device, &loss));
    sum = mot__loss_reference(kind, rows, width, probe->host[A], labels, NULL, probe->host[D],
                              probe->want, &correct);
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

static mot_status probe_activation(struct probe *probe, int which)
{
    static const enum mot_act acts[] = {MOT_ACT_RELU, MOT_ACT_LEAKY_RELU, MOT_ACT_SIGMOID,
                                        MOT_ACT_TANH, MOT_ACT_GELU};
    const size_t n = 300;
    const float *x = probe->host[A], *dy = probe->host[C];
    mot_status status = MOT_OK;

    (void)which;
    fill(probe->host[A], n, 10);
    fill(probe->host[C], n, 11);
    for (size_t i = 0; i < n; i++)
        probe->host[A][i] *= 5;
    MOT_TRY(put(probe, A, n));
    MOT_TRY(put(probe, C, n));
    for (size_t a = 0; a < MOT__COUNT(acts) && probe->good; a++) {
        MOT_TRY(mot__activation_forward(probe->device, acts[a], n, at(probe, A), at(probe, B)));
        MOT_TRY(mot__activation_backward(probe->device, acts[a], n, at(probe, A), at(probe, B),
                                         at(probe, C), at(probe, D)));
        for (size_t i = 0; i < n; i++)
            probe->want[i] = (float)mot__activation_reference(acts[a], (double)x[i]);
        MOT_TRY(compare(probe, "activation", B, n, 1e-5));
        for (size_t i = 0; i < n; i++)
            probe->want[i] = dy[i] * (float)mot__activation_slope_reference(acts[a], (double)x[i]);
        MOT_TRY(compare(probe, "gradient of an activation", D, n, 1e-4));
    }
done:
    return status;
}

static mot_status probe_dropout(struct probe *probe, int which)
{
    const struct mot__dropout dropout = {19, 21, 0.25, 7, 3, 5, 1000};
    const size_t n = dropout.rows * dropout.width;
    mot_status status = MOT_OK;

    (void)which;
    fill(probe->host[A], n, 12);
    mot__dropout_reference(&dropout, probe->host[A], probe->want);
    MOT_TRY(put(probe, A, n));
    MOT_TRY(mot__dropout_launch(probe->device, &dropout, at(probe, A), at(probe, B)));
    MOT_TRY(compare(probe, "dropout", B, n, 1e-6));
done:
    return status;
}

static mot_status probe_add(struct probe *probe, int which)
{
    const size_t n = 333;
    mot_status status = MOT_OK;

    (void)which;
    fill(probe->host[A], n, 13);
    fill(probe->host[B], n, 14);
    for (size_t i = 0; i < n; i++)
        probe->want[i] = probe->host[A][i] + probe->host[B][i];
    MOT_TRY(put(probe, A, n));
    MOT_TRY(put(probe, B, n));
    MOT_TRY(mot__add_launch(probe->device, n, at(probe, A), at(probe, B), at(probe, C)));
    MOT_TRY(compare(probe, "addition", C, n, 1e-7));
done:
    return status;
}

/* Rows from the last to the first, with a label each. */
static mot_status probe_gather(struct probe *probe, int which)
{
    const size_t rows = 35, width = 21;
    const bool bytes = which == MOT_DTYPE_U8;
    const struct mot__gather gather = {
        rows,         width, (enum mot_dtype)which, at(probe, A), at(probe, B),
        at(probe, C), 1,     at(probe, D),          at(probe, E)};
    uint32_t *index = (uint32_t *)(void *)probe->host[A];
    unsigned char *byte = (unsigned char *)probe->host[B];
    mot_status status = MOT_OK;

    fill(probe->host[B], rows * width, 15);
    fill(probe->host[D], rows, 16);
    for (size_t r = 0; r < rows; r++) {
        const size_t from = rows - 1 - r;

        index[r] = (uint32_t)from;
        for (size_t j = 0; j < width; j++)
            probe->want[r * width + j] =
                bytes ? (float)byte[from * width + j] / 255 : probe->host[B][from * width + j];
    }
    MOT_TRY(put(probe, A, rows));
    MOT_TRY(put(probe, B, rows * width));
    MOT_TRY(put(probe, D, rows));
    MOT_TRY(mot__gather_launch(probe->device, &gather));
    MOT_TRY(compare(probe, "gather", C, rows * width, 1e-6));
    for (size_t r = 0; r < rows; r++)
        probe->want[r] = probe->host[D][rows - 1 - r];
    MOT_TRY(compare(probe, "gather of labels", E, rows, 0));
done:
    return status;
}

static const struct {
    const char *name;
    mot_status (*run)(struct probe *probe, int which);
    int which;
    bool gemm, trans_a, trans_b; /* whose candidate the verdict is about */
} probes[MOT__OPS] = {
    [MOT__OP_DENSE] = {"dense", probe_dense, 0, true, false, true},
    [MOT__OP_DENSE_BACK] = {"dense-back", probe_dense_back, 0, true, true, false},
    [MOT__OP_SOFTMAX] = {"softmax", probe_softmax, 0, false, false, false},
    [MOT__OP_ACTIVATION] = {"activation", probe_activation, 0, false, false, false},
    [MOT__OP_DROPOUT] = {"dropout", probe_dropout, 0, false, false, false},
    [MOT__OP_ADD] = {"add", probe_add, 0, false, false, false},
    [MOT__OP_GATHER_F32] = {"gather-f32", probe_gather, MOT_DTYPE_F32, false, false, false},
    [MOT__OP_GATHER_U8] = {"gather-u8", probe_gather, MOT_DTYPE_U8, false, false, false},
    [MOT__OP_LOSS +
        MOT__LOSS_LOGITS] = {"loss-logits", probe_loss, MOT__LOSS_LOGITS, false, false, false},
    [MOT__OP_LOSS + MOT__LOSS_PROBABILITIES] = {"loss-probabilities", probe_loss,
                                                MOT__LOSS_PROBABILITIES, false, false, false},
    [MOT__OP_LOSS +
        MOT__LOSS_SQUARES] = {"loss-squares", probe_loss, MOT__LOSS_SQUARES, false, false, false},
};

static mot_status run(mot__device *device, enum mot__op op, bool *good, char *why)
{
    struct probe probe = {.device = device, .good = true, .why = why};
    float *memory = calloc((PLACES + 1) * PLACE, sizeof *memory);
    mot_status status = MOT_OK;

    if (!memory)
        return mot__fail(MOT_NO_MEMORY, "selftest: %zu floats", (size_t)(PLACES + 1) * PLACE);
    for (size_t p = 0; p < PLACES; p++)
        probe.host[p] = memory + p * PLACE;
    mot__device_aside_begin(device);
    probe.want = memory + PLACES * PLACE;
    for (size_t p = 0; p < PLACES; p++)
        MOT_TRY(mot__buffer_open(device, PLACE * sizeof(float), &probe.buffer[p]));
    MOT_TRY(probes[op].run(&probe, probes[op].which));
    *good = probe.good;
done:
    for (size_t p = 0; p < PLACES; p++)
        mot__buffer_close(probe.buffer[p]);
    mot__device_aside_end(device);
    free(memory);
    return status;
}

/* Other texts, another version, class or GEMM are another test. The device and driver are in the
 * store's own key. */
static mot_status key_of(mot__device *device, enum mot__op op, char *out, size_t bytes)
{
    enum mot__gemm_kind kind = MOT__GEMM_AUTO;
    const struct mot__kernel_text *row;
    mot_status status = MOT_OK;
    uint64_t sum = 0;

    if (probes[op].gemm)
        status = mot__gemm_choose(device, probes[op].trans_a, probes[op].trans_b, &kind);
    for (row = mot__kernel_texts; row->name; row++)
        sum = mot__hash64(row->text, strlen(row->text), sum);
    snprintf(out, bytes, "selftest.%s.%s.%s%s%s.%016llx", mot_version(),
             mot__device_facts(device)->device_class == MOT_CLASS_CPU ? "cpu" : "gpu",
             probes[op].name, probes[op].gemm ? "." : "",
             probes[op].gemm ? mot__gemm_name(kind) : "", (unsigned long long)sum);
    return status;
}

static mot_status judge(mot__device *device, enum mot__op op, bool fresh, bool *good, char *reason)
{
    char key[160];
    bool found = false;
    mot_status status = MOT_OK;

    MOT_TRY(key_of(device, op, key, sizeof key));
    if (!fresh)
        MOT_TRY(mot__store_get(device, key, reason, WHY, &found));
    if (found) {
        *good = strcmp(reason, "good") == 0;
        return MOT_OK;
    }
    MOT_TRY(run(device, op, good, reason));
    MOT_TRY(mot__store_set(device, key, *good ? "good" : reason));
done:
    return status;
}

mot_status mot__selftest(mot__device *device, enum mot__op op, bool fresh, bool *good, char *why,
                         size_t bytes)
{
    char reason[WHY] = "";
    mot_status status = judge(device, op, fresh, good, reason);

    if (status == MOT_DEVICE_FAILED || status == MOT_UNSUPPORTED) { /* may pass; not kept */
        *good = false;
        snprintf(reason, sizeof reason, "%.*s", WHY - 1, mot_error());
        status = MOT_OK;
    }
    snprintf(why, bytes, "%s", status == MOT_OK && *good ? "" : reason);
    return status;
}

mot_status mot__selftest_need(mot__device *device, enum mot__op op)
{
    char why[WHY] = "";
    bool good = false;
    mot_status status = mot__selftest(device, op, false, &good, why, sizeof why);

    if (status != MOT_OK || good)
        return status;
    return mot__fail(MOT_DEVICE_FAILED, "%s computes wrongly: %s",
                     mot__device_facts(device)->info.name, why);
}
