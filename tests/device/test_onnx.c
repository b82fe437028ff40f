/* test_onnx.c - optimizers, losses, activations and products against the cases that ONNX publishes,
 * on each device in both classes. A case that asks for what we do not have is counted with its
 * reason; how many ran is asserted, so that nothing falls away unseen. */
#include "support/device.h"
#include "support/onnx.h"

#include "device/gemm.h"
#include "ops/activation.h"
#include "ops/loss.h"
#include "ops/softmax.h"
#include "optim/optim.h"

#include <dirent.h>

/* ONNX's own tests allow 1e-3; float arithmetic in another order does not need it. */
#define RELATIVE 1e-5
#define ABSOLUTE 1e-6

/* Runs one case and says NULL, or why it does not apply. */
typedef const char *(*case_fn)(mot__device *device, const struct onnx_case *test);

struct tally {
    size_t ran, skipped;
};

/* Every case whose folder begins so; "_expanded" ones hold the same numbers, the operator written
 * out in smaller ones. */
static struct tally run_cases(mot__device *device, const char *prefix, case_fn run)
{
    struct tally tally = {0, 0};
    char where[CHECK_WHERE_BYTES];
    DIR *folder = opendir(onnx_folder());
    struct dirent *entry;

    if (!folder)
        fail_msg("no folder %s: install libonnx-testdata or set MOTLEY_ONNX_DATA", onnx_folder());
    snprintf(where, sizeof where, "%s", check_where());
    while ((entry = readdir(folder)) != NULL) {
        struct onnx_case *test;
        const char *reason;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(check_where(), CHECK_WHERE_BYTES, "%.100s, %.80s", where, entry->d_name);
        test = onnx_open(entry->d_name);
        reason = test->nodes == 1 ? run(device, test) : "written out in other operators";
        tally.ran += reason == NULL;
        tally.skipped += reason != NULL;
        if (reason && device == test_devices()->row[0])
            print_message("%s: %s\n", entry->d_name, reason);
        onnx_close(test);
    }
    closedir(folder);
    snprintf(check_where(), CHECK_WHERE_BYTES, "%s", where);
    return tally;
}

static void check_tally(const char *what, struct tally tally, size_t ran, size_t skipped)
{
    if (tally.ran < ran || tally.skipped > skipped)
        fail_msg("[%s] %s: %zu ran, %zu did not apply; wanted %zu and %zu", check_where(), what,
                 tally.ran, tally.skipped, ran, skipped);
}

/* ---- optimizers ---- */

enum { TENSOR = 16, FLAT = 2 * TENSOR }; /* two tensors at most, each padded as parameters are */

struct flat { /* p, g and slots of a case, and what is wanted of p and slots */
    float p[FLAT], g[FLAT], slot[2][FLAT];
};

static void take(float *flat, const struct onnx_tensor *tensor, size_t tensors)
{
    for (size_t t = 0; t < tensors; t++) {
        assert_true(tensor[t].f && tensor[t].count <= TENSOR);
        memcpy(flat + t * TENSOR, tensor[t].f, tensor[t].count * sizeof(float));
    }
}

static void check_flat(const char *what, const float *flat, const struct onnx_tensor *want,
                       size_t tensors)
{
    for (size_t t = 0; t < tensors; t++)
        check_close(what, flat + t * TENSOR, want[t].f, want[t].count, 1e-6, 0);
}

/* One step on the device. The record counts one term: ONNX's gradients are not sums. */
static void step_on(mot__device *device, const struct mot_optimizer *optimizer, float *verdict,
                    struct flat *flat)
{
    const float record[MOT__RECORD_FLOATS] = {[MOT__RECORD_COUNT] = 1};
    float *host[] = {flat->p, flat->g, flat->slot[0], flat->slot[1]};
    mot__buffer *buffer[4] = {NULL}, *small = NULL;
    struct mot__update piece = {.n = FLAT};

    for (size_t b = 0; b < 4; b++) {
        assert_ok(mot__buffer_open(device, FLAT * 4, &buffer[b]));
        assert_ok(mot__buffer_write(buffer[b], 0, host[b], FLAT * 4));
    }
    assert_ok(mot__buffer_open(device, (MOT__RECORD_FLOATS + MOT__VERDICT_FLOATS) * 4, &small));
    assert_ok(mot__buffer_write(small, 0, record, sizeof record));
    assert_ok(mot__buffer_write(small, sizeof record, verdict, MOT__VERDICT_FLOATS * 4));
    piece.p.buffer = buffer[0];
    piece.g.buffer = buffer[1];
    piece.slot[0].buffer = buffer[2];
    piece.slot[1].buffer = buffer[3];
    piece.verdict = (struct mot__mem){small, MOT__RECORD_FLOATS};
    assert_ok(mot__verdict_launch(device, optimizer, optimizer->lr, (struct mot__mem){small, 0},
                                  (struct mot__mem){NULL, 0}, piece.verdict));
    assert_ok(mot__update_launch(device, optimizer, optimizer->lr, &piece));
    for (size_t b = 0; b < 4; b++) {
        assert_ok(mot__buffer_read(buffer[b], 0, host[b], FLAT * 4));
        mot__buffer_close(buffer[b]);
    }
    mot__buffer_close(small);
}

/* The node of test_adam_multiple does not say its epsilon, yet all three of its numbers were made
 * with 0.01, not with the operator's 1e-6: 1 - 0.1 * 1.85005 / (sqrt(0.57470015) + 0.01) =
 * 0.7591363. */
static double adam_epsilon(const struct onnx_case *test)
{
    return onnx_f(test, "epsilon", strcmp(test->name, "test_adam_multiple") == 0 ? 0.01 : 1e-6);
}

/* ONNX: p -= R' m / (sqrt(v) + e), R' = R sqrt(1 - beta^T) / (1 - alpha^T), and R' = R at T = 0.
 * Ours divides v by c = 1 - beta^T under the root, so e becomes e / sqrt(c): the same quotient.
 * T = 0, no correction, is ours after endless steps: both weights 1 before this one. */
static const char *run_adam(mot__device *device, const struct onnx_case *test)
{
    const size_t tensors = (test->inputs - 2) / 4;
    const double steps = (double)test->input[1].i[0];
    const double alpha = onnx_f(test, "alpha", 0.9), beta = onnx_f(test, "beta", 0.999);
    const double c = steps > 0 ? 1 - pow(beta, steps) : 1;
    const struct mot_optimizer optimizer = {.rule = MOT_RULE_ADAM,
                                            .lr = (double)test->input[0].f[0],
                                            .beta1 = alpha,
                                            .beta2 = beta,
                                            .epsilon = adam_epsilon(test) / sqrt(c),
                                            .weight_decay = onnx_f(test, "norm_coefficient", 0)};
    float verdict[MOT__VERDICT_FLOATS];
    struct flat flat = {.p = {0}};

    if (strcmp(test->op, "Adam") != 0)
        return "another operator";
    if (onnx_f(test, "norm_coefficient_post", 0) != 0)
        return "weight decay after the step";
    mot__verdict_start(verdict);
    verdict[MOT__VERDICT_WEIGHT1] = steps > 0 ? (float)(1 - pow(alpha, steps - 1)) : 1;
    verdict[MOT__VERDICT_WEIGHT2] = steps > 0 ? (float)(1 - pow(beta, steps - 1)) : 1;
    assert_ok(mot__optim_check(&optimizer));
    take(flat.p, &test->input[2], tensors);
    take(flat.g, &test->input[2 + tensors], tensors);
    take(flat.slot[0], &test->input[2 + 2 * tensors], tensors);
    take(flat.slot[1], &test->input[2 + 3 * tensors], tensors);
    step_on(device, &optimizer, verdict, &flat);
    check_flat("x", flat.p, &test->output[0], tensors);
    check_flat("v", flat.slot[0], &test->output[tensors], tensors);
    check_flat("h", flat.slot[1], &test->output[2 * tensors], tensors);
    return NULL;
}

/* ONNX: u = alpha u + b g with b = beta, and b = 1 at T = 0; ours has b = 1. */
static const char *run_momentum(mot__device *device, const struct onnx_case *test)
{
    const size_t tensors = (test->inputs - 2) / 3;
    const struct onnx_attribute *mode = onnx_find(test, "mode");
    const struct mot_optimizer optimizer = {.rule = MOT_RULE_SGD,
                                            .lr = (double)test->input[0].f[0],
                                            .momentum = onnx_f(test, "alpha", 0),
                                            .nesterov = mode && strcmp(mode->s, "nesterov") == 0,
                                            .weight_decay = onnx_f(test, "norm_coefficient", 0)};
    float verdict[MOT__VERDICT_FLOATS];
    struct flat flat = {.p = {0}};

    if (strcmp(test->op, "Momentum") != 0)
        return "another operator";
    if (test->input[1].i[0] > 0 && onnx_f(test, "beta", 1) != 1)
        return "the gradient is dampened";
    mot__verdict_start(verdict);
    assert_ok(mot__optim_check(&optimizer));
    take(flat.p, &test->input[2], tensors);
    take(flat.g, &test->input[2 + tensors], tensors);
    take(flat.slot[0], &test->input[2 + 2 * tensors], tensors);
    step_on(device, &optimizer, verdict, &flat);
    check_flat("x", flat.p, &test->output[0], tensors);
    check_flat("v", flat.slot[0], &test->output[tensors], tensors);
    return NULL;
}

static void optimizers_agree(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        check_tally("adam", run_cases(device, "test_adam", run_adam), 2, 0);
        check_tally("momentum", run_cases(device, "test_momentum", run_momentum), 2, 0);
        check_tally("nesterov", run_cases(device, "test_nesterov", run_momentum), 1, 0);
    }
}

/* ---- losses ---- */

/* A row's target is its label's weight at the label, nothing where the label is to be ignored: so
 * weights and ignored labels are rows of targets for us, and the mean's divisor is their sum. */
struct loss_case {
    size_t outer, width, inner, rows;
    float *x, *t, *row; /* (rows, width) twice, (rows, 2) */
    uint32_t *label;
    double weight;
    bool plain; /* no weights, nothing ignored: labels will do */
};

static struct loss_case loss_case_of(const struct onnx_case *test)
{
    const struct onnx_tensor *x = &test->input[0], *y = &test->input[1];
    const float *weight = test->inputs > 2 ? test->input[2].f : NULL;
    const struct onnx_attribute *ignored = onnx_find(test, "ignore_index");
    struct loss_case out = {.outer = x->dim[0], .width = x->dim[1], .inner = 1};

    out.plain = !weight;
    for (size_t d = 2; d < x->rank; d++)
        out.inner *= x->dim[d];
    out.rows = out.outer * out.inner;
    assert_int_equal(y->count, out.rows);
    out.x = test_floats(x->count);
    out.t = test_floats(x->count);
    out.row = test_floats(2 * out.rows);
    out.label = test_alloc(out.rows, sizeof *out.label);
    onnx_axis_last(x->f, out.x, out.outer, out.width, out.inner, false);
    for (size_t r = 0; r < out.rows; r++) {
        const int64_t label = y->i[r];

        if (ignored && label == ignored->i) {
            out.plain = false;
            continue;
        }
        assert_true(label >= 0 && (size_t)label < out.width);
        out.label[r] = (uint32_t)label;
        out.t[r * out.width + (size_t)label] = weight ? weight[label] : 1;
        out.weight += weight ? (double)weight[label] : 1;
    }
    return out;
}

static void loss_case_clear(struct loss_case *in)
{
    free(in->x);
    free(in->t);
    free(in->row);
    free(in->label);
}

/* Fills in->row; returns the record's loss. */
static double launch_loss(mot__device *device, struct loss_case *in, bool labels)
{
    float record[MOT__RECORD_FLOATS] = {0};
    struct test_array x = test_put(device, in->x, in->rows * in->width);
    struct test_array t = test_put(device, in->t, in->rows * in->width);
    struct test_array y = test_put(device, in->label, in->rows);
    struct test_array row = test_put(device, NULL, 2 * in->rows);
    struct test_array sum = test_put(device, record, MOT__RECORD_FLOATS);
    struct mot__loss loss = {.kind = MOT__LOSS_LOGITS,
                             .rows = in->rows,
                             .width = in->width,
                             .x = x.mem,
                             .scale = 1,
                             .row = row.mem,
                             .record = sum.mem};

    if (labels)
        loss.labels = y.mem;
    else
        loss.targets = t.mem;
    assert_ok(mot__loss_launch(device, &loss));
    test_get(&row, in->row);
    test_get(&sum, record);
    test_drop(&x);
    test_drop(&t);
    test_drop(&y);
    test_drop(&row);
    test_drop(&sum);
    return (double)record[MOT__RECORD_LOSS];
}

static void check_loss(mot__device *device, const struct onnx_case *test, struct loss_case *in,
                       bool labels)
{
    const struct onnx_attribute *reduction = onnx_find(test, "reduction");
    const double sum = launch_loss(device, in, labels);
    const char *how = reduction ? reduction->s : "mean";
    float *got = test_floats(in->rows + 1);

    if (strcmp(how, "none") == 0)
        for (size_t r = 0; r < in->rows; r++)
            got[r] = in->row[2 * r];
    else if (strcmp(how, "sum") == 0)
        got[0] = (float)sum;
    else if (strcmp(how, "mean") == 0)
        got[0] = (float)(sum / in->weight);
    else
        fail_msg("reduction %s", how);
    assert_int_equal(test->output[0].count, strcmp(how, "none") == 0 ? in->rows : 1);
    check_close("loss", got, test->output[0].f, test->output[0].count, RELATIVE, ABSOLUTE);
    check_seen("loss", got, test->output[0].count);
    free(got);
}

/* The second output, log softmax, from our softmax. */
static void check_log(mot__device *device, const struct onnx_case *test, const struct loss_case *in)
{
    const size_t n = in->rows * in->width;
    struct test_array x = test_put(device, in->x, n);
    float *moved = test_floats(n), *got = test_floats(n);

    assert_ok(mot__softmax_forward(device, in->rows, in->width, x.mem, x.mem));
    test_get(&x, moved);
    for (size_t i = 0; i < n; i++)
        moved[i] = logf(moved[i]);
    onnx_axis_last(moved, got, in->outer, in->width, in->inner, true);
    check_close("log softmax", got, test->output[1].f, n, RELATIVE, ABSOLUTE);
    test_drop(&x);
    free(moved);
    free(got);
}

static const char *run_loss(mot__device *device, const struct onnx_case *test)
{
    struct loss_case in;

    if (strcmp(test->op, "SoftmaxCrossEntropyLoss") != 0)
        return "another operator";
    in = loss_case_of(test);
    check_loss(device, test, &in, false);
    if (in.plain)
        check_loss(device, test, &in, true);
    if (test->outputs > 1)
        check_log(device, test, &in);
    loss_case_clear(&in);
    return NULL;
}

static void cross_entropy_agrees(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    check_tally("cross-entropy", run_cases(device, "test_sce_", run_loss), 34, 34);
}

/* ---- softmax and activations ---- */

static const char *run_softmax(mot__device *device, const struct onnx_case *test)
{
    const struct onnx_tensor *x = &test->input[0];
    const int64_t given = onnx_i(test, "axis", -1);
    const size_t axis = given < 0 ? (size_t)(given + (int64_t)x->rank) : (size_t)given;
    size_t outer = 1, inner = 1;
    float *moved = test_floats(x->count), *got = test_floats(x->count);
    struct test_array array;

    assert_string_equal(test->op, "Softmax");
    for (size_t d = 0; d < x->rank; d++) {
        outer *= d < axis ? x->dim[d] : 1;
        inner *= d > axis ? x->dim[d] : 1;
    }
    onnx_axis_last(x->f, moved, outer, x->dim[axis], inner, false);
    array = test_put(device, moved, x->count);
    assert_ok(mot__softmax_forward(device, outer * inner, x->dim[axis], array.mem, array.mem));
    test_get(&array, moved);
    onnx_axis_last(moved, got, outer, x->dim[axis], inner, true);
    check_close("y", got, test->output[0].f, x->count, RELATIVE, ABSOLUTE);
    test_drop(&array);
    free(moved);
    free(got);
    return NULL;
}

static const char *run_activation(mot__device *device, const struct onnx_case *test)
{
    static const struct {
        const char *op;
        enum mot_act act;
    } row[] = {{"Relu", MOT_ACT_RELU},
               {"LeakyRelu", MOT_ACT_LEAKY_RELU},
               {"Sigmoid", MOT_ACT_SIGMOID},
               {"Tanh", MOT_ACT_TANH}};
    const struct onnx_tensor *x = &test->input[0];
    struct test_array in, out;
    float *got;
    size_t i = 0;

    while (i < MOT__COUNT(row) && strcmp(test->op, row[i].op) != 0)
        i++;
    if (i == MOT__COUNT(row))
        return "another operator";
    if (row[i].act == MOT_ACT_LEAKY_RELU &&
        fabs(onnx_f(test, "alpha", 0.01) - (double)MOT__LEAKY_SLOPE) > 1e-9)
        return "another slope than ours";
    got = test_floats(x->count);
    in = test_put(device, x->f, x->count);
    out = test_put(device, NULL, x->count);
    assert_ok(mot__activation_forward(device, row[i].act, x->count, in.mem, out.mem));
    test_get(&out, got);
    check_close("y", got, test->output[0].f, x->count, RELATIVE, ABSOLUTE);
    check_seen("y", got, x->count);
    test_drop(&in);
    test_drop(&out);
    free(got);
    return NULL;
}

static void softmax_agrees(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    check_tally("softmax", run_cases(device, "test_softmax_", run_softmax), 7, 7);
}

static void activations_agree(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        check_tally("relu", run_cases(device, "test_relu", run_activation), 1, 0);
        check_tally("leaky relu", run_cases(device, "test_leakyrelu", run_activation), 1, 2);
        check_tally("sigmoid", run_cases(device, "test_sigmoid", run_activation), 2, 0);
        check_tally("tanh", run_cases(device, "test_tanh", run_activation), 2, 0);
    }
}

/* ---- products ---- */

static void product(mot__device *device, struct mot__gemm *gemm, const float *a, const float *b,
                    const float *bias, float *c)
{
    struct test_array ta = test_put(device, a, gemm->m * gemm->k);
    struct test_array tb = test_put(device, b, gemm->k * gemm->n);
    struct test_array tbias = test_put(device, bias, gemm->n);
    struct test_array tc = test_put(device, gemm->accumulate ? c : NULL, gemm->m * gemm->n);

    gemm->a = ta.mem;
    gemm->b = tb.mem;
    gemm->c = tc.mem;
    if (bias)
        gemm->bias = tbias.mem;
    assert_ok(mot__gemm(device, gemm));
    test_get(&tc, c);
    test_drop(&ta);
    test_drop(&tb);
    test_drop(&tbias);
    test_drop(&tc);
}

/* beta C: one row or one number is our bias, a matrix is added to. */
static const char *run_gemm(mot__device *device, const struct onnx_case *test)
{
    const struct onnx_tensor *a = &test->input[0], *b = &test->input[1];
    const struct onnx_tensor *c = test->inputs > 2 ? &test->input[2] : NULL;
    const float beta = (float)onnx_f(test, "beta", 1);
    struct mot__gemm gemm = {.trans_a = onnx_i(test, "transA", 0) != 0,
                             .trans_b = onnx_i(test, "transB", 0) != 0,
                             .alpha = (float)onnx_f(test, "alpha", 1)};
    float *got, *bias;

    assert_string_equal(test->op, "Gemm");
    gemm.m = a->dim[gemm.trans_a ? 1 : 0];
    gemm.k = a->dim[gemm.trans_a ? 0 : 1];
    gemm.n = b->dim[gemm.trans_b ? 0 : 1];
    got = test_floats(gemm.m * gemm.n);
    bias = test_floats(gemm.n);
    gemm.accumulate = c && c->count == gemm.m * gemm.n && gemm.m > 1;
    for (size_t i = 0; gemm.accumulate && i < c->count; i++)
        got[i] = beta * c->f[i];
    for (size_t i = 0; c && !gemm.accumulate && i < gemm.n; i++)
        bias[i] = beta * c->f[i % c->count];
    product(device, &gemm, a->f, b->f, c && !gemm.accumulate ? bias : NULL, got);
    check_close("c", got, test->output[0].f, gemm.m * gemm.n, RELATIVE, ABSOLUTE);
    free(got);
    free(bias);
    return NULL;
}

/* The last two dimensions are the matrices, those before count them. */
static const char *run_matmul(mot__device *device, const struct onnx_case *test)
{
    const struct onnx_tensor *a = &test->input[0], *b = &test->input[1];
    struct mot__gemm gemm = {.alpha = 1};
    size_t matrices = 1;
    float *got;

    if (strcmp(test->op, "MatMul") != 0)
        return "another operator";
    assert_true(a->rank == b->rank && a->rank >= 2);
    for (size_t d = 0; d + 2 < a->rank; d++)
        matrices *= a->dim[d];
    gemm.m = a->dim[a->rank - 2];
    gemm.k = a->dim[a->rank - 1];
    gemm.n = b->dim[b->rank - 1];
    got = test_floats(matrices * gemm.m * gemm.n);
    for (size_t i = 0; i < matrices; i++)
        product(device, &gemm, a->f + i * gemm.m * gemm.k, b->f + i * gemm.k * gemm.n, NULL,
                got + i * gemm.m * gemm.n);
    check_close("y", got, test->output[0].f, test->output[0].count, RELATIVE, ABSOLUTE);
    free(got);
    return NULL;
}

static void products_agree(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        check_tally("gemm", run_cases(device, "test_gemm_", run_gemm), 11, 0);
        check_tally("matmul", run_cases(device, "test_matmul_", run_matmul), 3, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_agree), cmocka_unit_test(cross_entropy_agrees),
        cmocka_unit_test(softmax_agrees),   cmocka_unit_test(activations_agree),
        cmocka_unit_test(products_agree),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
