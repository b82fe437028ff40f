/* test_ops_activation.c - activations against plain C and against finite differences. */
#include "support/device.h"

#include "ops/activation.h"

static const enum mot_act acts[] = {MOT_ACT_NONE, MOT_ACT_RELU,    MOT_ACT_LEAKY_RELU,
                                    MOT_ACT_GELU, MOT_ACT_SIGMOID, MOT_ACT_TANH};
static const size_t sizes[] = {0, 1, 31, 33, 65, 513, 4099};

static void forward(mot__device *device, enum mot_act act, const float *x, float *y, size_t n)
{
    struct test_array from = test_put(device, x, n), to = test_put(device, NULL, n);

    assert_ok(mot__activation_forward(device, act, n, from.mem, to.mem));
    test_get(&to, y);
    test_drop(&from);
    test_drop(&to);
}

static void forward_on(mot__device *device, enum mot_act act, size_t n)
{
    float *x = test_floats(n), *y = test_floats(n), *want = test_floats(n);
    struct test_array place = {0};

    test_fill(x, n, n + 7, -6, 6);
    for (size_t i = 0; i < n; i++)
        want[i] = (float)mot__activation_reference(act, (double)x[i]);
    forward(device, act, x, y, n);
    check_close("y", y, want, n, 4e-6, 1e-7);
    check_seen("y", y, n);
    place = test_put(device, x, n);
    assert_ok(mot__activation_forward(device, act, n, place.mem, place.mem));
    test_get(&place, want);
    check_bits("y in place of x", want, y, n);
    test_drop(&place);
    free(x);
    free(y);
    free(want);
}

static void forward_matches_plain_c(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t a = 0; a < MOT__COUNT(acts); a++)
        for (size_t s = 0; s < MOT__COUNT(sizes); s++)
            forward_on(device, acts[a], sizes[s]);
}

static void backward_on(mot__device *device, enum mot_act act, size_t n)
{
    float *x = test_floats(n), *y = test_floats(n), *dy = test_floats(n), *dx = test_floats(n);
    float *want = test_floats(n);
    struct test_array xs, ys, dys, dxs = test_put(device, NULL, n);

    test_fill_away(x, n, n + 1, 5, 0.01);
    test_fill_away(dy, n, n + 2, 2, 0.1);
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)mot__activation_reference(act, (double)x[i]);
        want[i] = (float)((double)dy[i] * mot__activation_slope_reference(act, (double)x[i]));
    }
    xs = test_put(device, x, n);
    ys = test_put(device, y, n);
    dys = test_put(device, dy, n);
    assert_ok(mot__activation_backward(device, act, n, xs.mem, ys.mem, dys.mem, dxs.mem));
    test_get(&dxs, dx);
    /* 1 - y * y from a float y near 1 keeps about 1e-7 of absolute error */
    check_close("dx", dx, want, n, 1e-5, 1e-6);
    if (n > 8)
        check_seen("dx", dx, n);
    assert_ok(mot__activation_backward(device, act, n, xs.mem, ys.mem, dys.mem, dys.mem));
    test_get(&dys, dy);
    check_bits("dx in place of dy", dy, dx, n);
    test_drop(&xs);
    test_drop(&ys);
    test_drop(&dys);
    test_drop(&dxs);
    free(x);
    free(y);
    free(dy);
    free(dx);
    free(want);
}

static void backward_matches_plain_c(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t a = 0; a < MOT__COUNT(acts); a++)
        for (size_t s = 0; s < MOT__COUNT(sizes); s++)
            backward_on(device, acts[a], sizes[s]);
}

/* The device's own forward, moved by h both ways: knows nothing of the reference. */
static void differences_on(mot__device *device, enum mot_act act)
{
    enum { N = 65 };
    const float h = 1.0f / 64;
    float x[N], y[N], up[N], down[N], moved[N], dy[N], dx[N];
    struct test_array xs, ys, dys;

    test_fill_away(x, N, 3, 3, 0.1);
    forward(device, act, x, y, N);
    for (size_t i = 0; i < N; i++)
        moved[i] = x[i] + h;
    forward(device, act, moved, up, N);
    for (size_t i = 0; i < N; i++)
        moved[i] = x[i] - h;
    forward(device, act, moved, down, N);
    for (size_t i = 0; i < N; i++)
        dy[i] = 1;
    xs = test_put(device, x, N);
    ys = test_put(device, y, N);
    dys = test_put(device, dy, N);
    assert_ok(mot__activation_backward(device, act, N, xs.mem, ys.mem, dys.mem, dys.mem));
    test_get(&dys, dx);
    for (size_t i = 0; i < N; i++)
        moved[i] = (up[i] - down[i]) / (2 * h);
    check_close("dx against differences", dx, moved, N, 1e-3, 2e-4);
    check_seen("dx", dx, N);
    test_drop(&xs);
    test_drop(&ys);
    test_drop(&dys);
}

static void backward_matches_finite_differences(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t a = 0; a < MOT__COUNT(acts); a++)
        differences_on(device, acts[a]);
}

static void large_inputs_saturate_and_nan_stays_nan(void **state)
{
    const float x[] = {-1e4f, 1e4f, -100, 100, 0, NAN, -1e30f, 1e30f, NAN, 1};
    float y[MOT__COUNT(x)], want[MOT__COUNT(x)];

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t a = 0; a < MOT__COUNT(acts); a++) {
        forward(device, acts[a], x, y, MOT__COUNT(x));
        for (size_t i = 0; i < MOT__COUNT(x); i++) {
            assert_true(isnan(x[i]) == isnan(y[i]));
            want[i] = isnan(x[i]) ? 0 : (float)mot__activation_reference(acts[a], (double)x[i]);
            y[i] = isnan(y[i]) ? 0 : y[i];
        }
        check_close("y", y, want, MOT__COUNT(x), 4e-6, 1e-30);
    }
}

static void what_is_not_of_elements_is_refused(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array one = test_put(device, NULL, 1);

        assert_story(mot__activation_forward(device, MOT_ACT_SOFTMAX, 1, one.mem, one.mem),
                     MOT_BAD_ARG, "activation 6");
        assert_story(
            mot__activation_forward(device, MOT_ACT_RELU, (size_t)1 << 33, one.mem, one.mem),
            MOT_UNSUPPORTED, "2^32");
        test_drop(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_matches_plain_c),
        cmocka_unit_test(backward_matches_plain_c),
        cmocka_unit_test(backward_matches_finite_differences),
        cmocka_unit_test(large_inputs_saturate_and_nan_stays_nan),
        cmocka_unit_test(what_is_not_of_elements_is_refused),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
