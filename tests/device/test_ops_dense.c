/* test_ops_dense.c - a fully connected layer against plain C and against finite differences. */
#include "support/device.h"

#include "device/gemm.h"
#include "ops/activation.h"
#include "ops/dense.h"

static const enum mot_act acts[] = {MOT_ACT_NONE, MOT_ACT_RELU, MOT_ACT_LEAKY_RELU, MOT_ACT_SIGMOID,
                                    MOT_ACT_TANH};

struct layer {
    size_t rows, in, out;
    enum mot_act act;
    float *x, *w, *b, *y;     /* (rows, in), (out, in), (out), (rows, out) */
    float *dy, *dw, *db, *dx; /* gradients; dy is what comes from above */
    float *dz;                /* dy after the backward pass */
    bool accumulate, wants_dx;
};

static struct layer layer_open(size_t rows, size_t in, size_t out, enum mot_act act)
{
    struct layer layer = {.rows = rows, .in = in, .out = out, .act = act, .wants_dx = true};

    layer.x = test_floats(rows * in);
    layer.w = test_floats(out * in);
    layer.b = test_floats(out);
    layer.y = test_floats(rows * out);
    layer.dy = test_floats(rows * out);
    layer.dw = test_floats(out * in);
    layer.db = test_floats(out);
    layer.dx = test_floats(rows * in);
    layer.dz = test_floats(rows * out);
    test_fill(layer.x, rows * in, 1 + rows, -1, 1);
    test_fill(layer.w, out * in, 2 + in, -0.5, 0.5);
    test_fill(layer.b, out, 3 + out, -0.5, 0.5);
    test_fill_away(layer.dy, rows * out, 4 + out, 1, 0.1);
    test_fill(layer.dw, out * in, 5, -1, 1); /* what accumulation adds to */
    test_fill(layer.db, out, 6, -1, 1);
    return layer;
}

static void layer_close(struct layer *layer)
{
    free(layer->x);
    free(layer->w);
    free(layer->b);
    free(layer->y);
    free(layer->dy);
    free(layer->dw);
    free(layer->db);
    free(layer->dx);
    free(layer->dz);
}

static void forward(mot__device *device, struct layer *layer)
{
    struct test_array x = test_put(device, layer->x, layer->rows * layer->in);
    struct test_array w = test_put(device, layer->w, layer->out * layer->in);
    struct test_array b = test_put(device, layer->b, layer->out);
    struct test_array y = test_put(device, NULL, layer->rows * layer->out);
    const struct mot__dense dense = {layer->rows, layer->in, layer->out, layer->act,
                                     x.mem,       w.mem,     b.mem,      y.mem};

    assert_ok(mot__dense_forward(device, &dense));
    test_get(&y, layer->y);
    test_drop(&x);
    test_drop(&w);
    test_drop(&b);
    test_drop(&y);
}

static void backward(mot__device *device, struct layer *layer)
{
    struct test_array x = test_put(device, layer->x, layer->rows * layer->in);
    struct test_array w = test_put(device, layer->w, layer->out * layer->in);
    struct test_array y = test_put(device, layer->y, layer->rows * layer->out);
    struct test_array dy = test_put(device, layer->dy, layer->rows * layer->out);
    struct test_array dw = test_put(device, layer->dw, layer->out * layer->in);
    struct test_array db = test_put(device, layer->db, layer->out);
    struct test_array dx = test_put(device, NULL, layer->rows * layer->in);
    const struct mot__dense dense = {layer->rows, layer->in, layer->out, layer->act,
                                     x.mem,       w.mem,     {NULL, 0},  y.mem};
    const struct mot__dense_back back = {.dy = dy.mem,
                                         .dw = dw.mem,
                                         .db = db.mem,
                                         .dx = layer->wants_dx ? dx.mem : (struct mot__mem){0},
                                         .accumulate = layer->accumulate};

    assert_ok(mot__dense_backward(device, &dense, &back));
    test_get(&dy, layer->dz);
    test_get(&dw, layer->dw);
    test_get(&db, layer->db);
    test_get(&dx, layer->dx);
    test_drop(&x);
    test_drop(&w);
    test_drop(&y);
    test_drop(&dy);
    test_drop(&dw);
    test_drop(&db);
    test_drop(&dx);
}

/* z = x W^T + b in double. */
static double sum_before(const struct layer *layer, size_t r, size_t o)
{
    double z = (double)layer->b[o];

    for (size_t i = 0; i < layer->in; i++)
        z += (double)layer->x[r * layer->in + i] * (double)layer->w[o * layer->in + i];
    return z;
}

static void forward_on(mot__device *device, struct layer *layer)
{
    float *want = test_floats(layer->rows * layer->out);

    for (size_t r = 0; r < layer->rows; r++)
        for (size_t o = 0; o < layer->out; o++)
            want[r * layer->out + o] =
                (float)mot__activation_reference(layer->act, sum_before(layer, r, o));
    forward(device, layer);
    check_close("y", layer->y, want, layer->rows * layer->out, 1e-5, 1e-5);
    if (layer->rows * layer->out > 8)
        check_seen("y", layer->y, layer->rows * layer->out);
    free(want);
}

/* The plain gradients into want, from the layer's y and dy. */
static void reference(const struct layer *layer, struct layer *want)
{
    for (size_t o = 0; o < layer->out; o++) {
        double db = layer->accumulate ? (double)layer->db[o] : 0;

        for (size_t r = 0; r < layer->rows; r++) {
            const size_t i = r * layer->out + o;
            const double y = (double)layer->y[i];
            double slope = 1;

            if (layer->act == MOT_ACT_RELU || layer->act == MOT_ACT_LEAKY_RELU)
                slope =
                    mot__activation_slope_reference(layer->act, y); /* the sign is the input's */
            else if (layer->act == MOT_ACT_SIGMOID)
                slope = y * (1 - y);
            else if (layer->act == MOT_ACT_TANH)
                slope = 1 - y * y;
            want->dz[i] = (float)((double)layer->dy[i] * slope);
            db += (double)want->dz[i];
        }
        want->db[o] = (float)db;
        for (size_t i = 0; i < layer->in; i++) {
            double dw = layer->accumulate ? (double)layer->dw[o * layer->in + i] : 0;

            for (size_t r = 0; r < layer->rows; r++)
                dw += (double)want->dz[r * layer->out + o] * (double)layer->x[r * layer->in + i];
            want->dw[o * layer->in + i] = (float)dw;
        }
    }
    for (size_t r = 0; r < layer->rows; r++)
        for (size_t i = 0; i < layer->in; i++) {
            double dx = 0;

            for (size_t o = 0; o < layer->out; o++)
                dx += (double)want->dz[r * layer->out + o] * (double)layer->w[o * layer->in + i];
            want->dx[r * layer->in + i] = (float)dx;
        }
}

static void backward_on(mot__device *device, struct layer *layer)
{
    struct layer want = layer_open(layer->rows, layer->in, layer->out, layer->act);

    reference(layer, &want);
    backward(device, layer);
    check_close("dz", layer->dz, want.dz, layer->rows * layer->out, 1e-5, 1e-6);
    check_close("db", layer->db, want.db, layer->out, 1e-5, 2e-5);
    check_close("dw", layer->dw, want.dw, layer->out * layer->in, 1e-5, 2e-5);
    check_close("dx", layer->dx, want.dx, layer->rows * layer->in, 1e-5, 2e-5);
    if (layer->rows > 8) {
        check_seen("dw", layer->dw, layer->out * layer->in);
        check_seen("dx", layer->dx, layer->rows * layer->in);
    }
    layer_close(&want);
}

static const size_t sizes[][3] = {{1, 1, 1},     {9, 10, 33},  {33, 9, 5},
                                  {31, 33, 10},  {33, 65, 31}, {65, 31, 33},
                                  {128, 20, 64}, {7, 100, 65}, {300, 5, 129}};

static bool leave_out(const size_t size[3])
{
    return test_small() && size[0] * size[1] * size[2] > 3500;
}

static void forward_matches_plain_c(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t s = 0; s < MOT__COUNT(sizes); s++)
        for (size_t a = 0; a < MOT__COUNT(acts); a++) {
            struct layer layer;

            if (leave_out(sizes[s]))
                continue;
            layer = layer_open(sizes[s][0], sizes[s][1], sizes[s][2], acts[a]);
            forward_on(device, &layer);
            layer_close(&layer);
        }
}

static void backward_matches_plain_c(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t s = 0; s < MOT__COUNT(sizes); s++)
        for (size_t a = 0; a < MOT__COUNT(acts); a++)
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                struct layer layer;

                if (leave_out(sizes[s]))
                    continue;
                layer = layer_open(sizes[s][0], sizes[s][1], sizes[s][2], acts[a]);
                layer.accumulate = accumulate;
                forward(device, &layer);
                backward_on(device, &layer);
                layer_close(&layer);
            }
}

static double weighed(mot__device *device, struct layer *layer)
{
    double sum = 0;

    forward(device, layer);
    for (size_t i = 0; i < layer->rows * layer->out; i++)
        sum += (double)layer->y[i] * (double)layer->dy[i];
    return sum;
}

/* Each step-th element of one input moved both ways, against the gradient that was computed. */
static void compare_moved(mot__device *device, struct layer *layer, const char *what, float *value,
                          const float *gradient, size_t n, size_t step)
{
    const float h = 1.0f / 64;

    check_seen(what, gradient, n);
    for (size_t i = 0; i < n; i += step) {
        const float keep = value[i];
        double up, down;
        float numeric;

        value[i] = keep + h;
        up = weighed(device, layer);
        value[i] = keep - h;
        down = weighed(device, layer);
        value[i] = keep;
        numeric = (float)((up - down) / (2 * (double)h));
        check_close(what, &gradient[i], &numeric, 1, 2e-3, 1e-3);
    }
}

static void backward_matches_finite_differences(void **state)
{
    static const enum mot_act smooth[] = {MOT_ACT_NONE, MOT_ACT_SIGMOID, MOT_ACT_TANH};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t a = 0; a < MOT__COUNT(smooth); a++) {
        struct layer layer = layer_open(9, 7, 5, smooth[a]);

        forward(device, &layer);
        backward(device, &layer);
        compare_moved(device, &layer, "dx", layer.x, layer.dx, 9 * 7, 11);
        compare_moved(device, &layer, "dw", layer.w, layer.dw, 5 * 7, 6);
        compare_moved(device, &layer, "db", layer.b, layer.db, 5, 2);
        layer_close(&layer);
    }
}

/* A rectifier has a kink: only layers whose every sum is away from it can be compared. */
static void backward_of_rectifiers_matches_finite_differences(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int a = MOT_ACT_RELU; a <= MOT_ACT_LEAKY_RELU; a++) {
        struct layer layer = layer_open(6, 4, 3, (enum mot_act)a);

        for (size_t o = 0; o < 3; o++) /* sums are within 2 of the bias */
            layer.b[o] = o == 1 ? -3.0f : 3.0f;
        forward(device, &layer);
        backward(device, &layer);
        compare_moved(device, &layer, "dx", layer.x, layer.dx, 6 * 4, 5);
        compare_moved(device, &layer, "dw", layer.w, layer.dw, 3 * 4, 3);
        compare_moved(device, &layer, "db", layer.b, layer.db, 3, 1);
        layer_close(&layer);
    }
}

static void no_rows_give_zero_gradients_or_add_nothing(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        struct layer layer = layer_open(0, 33, 9, MOT_ACT_RELU);
        struct layer want = layer_open(0, 33, 9, MOT_ACT_RELU);

        layer.accumulate = accumulate;
        if (!accumulate) {
            memset(want.dw, 0, 33 * 9 * sizeof(float));
            memset(want.db, 0, 9 * sizeof(float));
        }
        forward(device, &layer);
        backward(device, &layer);
        check_close("dw", layer.dw, want.dw, 33 * 9, 0, 0);
        check_close("db", layer.db, want.db, 9, 0, 0);
        layer_close(&layer);
        layer_close(&want);
    }
}

static void the_first_layer_needs_no_dx_and_no_slope_is_no_write(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct layer layer = layer_open(33, 17, 10, MOT_ACT_NONE);

        layer.wants_dx = false;
        backward(device, &layer);
        for (size_t i = 0; i < 33 * 17; i++)
            assert_true(isnan(layer.dx[i])); /* the pattern of what was never written */
        check_bits("dy stays", layer.dz, layer.dy, 33 * 10);
        layer_close(&layer);
    }
}

static void the_same_input_gives_the_same_bits(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        const size_t rows = test_small() ? 33 : 129, out = test_small() ? 10 : 70;
        struct layer a = layer_open(rows, 12, out, MOT_ACT_TANH);
        struct layer b = layer_open(rows, 12, out, MOT_ACT_TANH);

        forward(device, &a);
        forward(device, &b);
        backward(device, &a);
        backward(device, &b);
        check_bits("y", a.y, b.y, rows * out);
        check_bits("db", a.db, b.db, out);
        check_bits("dw", a.dw, b.dw, 12 * out);
        layer_close(&a);
        layer_close(&b);
    }
}

static void what_cannot_be_fused_is_refused(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct mot__dense dense = {.rows = 1, .in = 1, .out = 1, .act = MOT_ACT_GELU};

        assert_story(mot__dense_forward(device, &dense), MOT_BAD_ARG, "cannot be fused");
        dense.act = MOT_ACT_SOFTMAX;
        assert_story(mot__dense_forward(device, &dense), MOT_BAD_ARG, "cannot be fused");
        dense.act = MOT_ACT_NONE;
        dense.in = 0;
        assert_story(mot__dense_forward(device, &dense), MOT_BAD_ARG, "0 inputs");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_matches_plain_c),
        cmocka_unit_test(backward_matches_plain_c),
        cmocka_unit_test(backward_matches_finite_differences),
        cmocka_unit_test(backward_of_rectifiers_matches_finite_differences),
        cmocka_unit_test(no_rows_give_zero_gradients_or_add_nothing),
        cmocka_unit_test(the_first_layer_needs_no_dx_and_no_slope_is_no_write),
        cmocka_unit_test(the_same_input_gives_the_same_bits),
        cmocka_unit_test(what_cannot_be_fused_is_refused),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
