/* test_ops_softmax.c - softmax against plain C and against finite differences. */
#include "support/device.h"

#include "ops/softmax.h"

/* Widths around the vector (8), the team (64) and the width from which a team works (128). */
static const struct {
    size_t rows, width;
} cases[] = {{0, 10},  {1, 1},   {1, 31},  {33, 10}, {65, 33}, {3, 64},   {2, 65},
             {5, 127}, {5, 128}, {3, 129}, {130, 7}, {257, 3}, {2, 1000}, {2, 5000}};

static bool leave_out(size_t rows, size_t width)
{
    return test_small() && rows * width > 1100;
}

static void forward(mot__device *device, const float *x, float *y, size_t rows, size_t width)
{
    struct test_array from = test_put(device, x, rows * width);
    struct test_array to = test_put(device, NULL, rows * width);

    assert_ok(mot__softmax_forward(device, rows, width, from.mem, to.mem));
    test_get(&to, y);
    test_drop(&from);
    test_drop(&to);
}

static void forward_on(mot__device *device, size_t rows, size_t width, double size)
{
    const size_t n = rows * width;
    float *x = test_floats(n), *y = test_floats(n), *want = test_floats(n);
    struct test_array place;

    test_fill(x, n, n, -size, size);
    mot__softmax_reference(rows, width, x, want);
    forward(device, x, y, rows, width);
    check_close("y", y, want, n, 2e-5 + 1e-6 * size, 1e-30);
    check_seen("y", y, n);
    place = test_put(device, x, n);
    assert_ok(mot__softmax_forward(device, rows, width, place.mem, place.mem));
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
    for (size_t c = 0; c < MOT__COUNT(cases); c++)
        if (!leave_out(cases[c].rows, cases[c].width))
            forward_on(device, cases[c].rows, cases[c].width, 4);
}

static void logits_of_ten_thousand_stay_finite(void **state)
{
    static const float x[] = {1e4f, -1e4f, 9999, -1e4f, -1e4f, -1e4f};
    float y[6];

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        forward(device, x, y, 2, 3);
        assert_true(fabsf(y[0] - 0.7310586f) < 1e-5f && y[1] == 0 &&
                    fabsf(y[2] - 0.2689414f) < 1e-5f);
        for (size_t j = 3; j < 6; j++)
            assert_true(fabsf(y[j] - 1 / 3.0f) < 1e-6f);
    }
}

static void backward_on(mot__device *device, size_t rows, size_t width)
{
    const size_t n = rows * width;
    float *x = test_floats(n), *y = test_floats(n), *dy = test_floats(n), *dx = test_floats(n);
    float *want = test_floats(n);
    struct test_array ys, dys, dxs = test_put(device, NULL, n);

    test_fill(x, n, 5, -2, 2);
    test_fill_away(dy, n, 6, 2, 0.1);
    mot__softmax_reference(rows, width, x, y);
    for (size_t r = 0; r < rows; r++) {
        double dot = 0;

        for (size_t j = r * width; j < (r + 1) * width; j++)
            dot += (double)y[j] * (double)dy[j];
        for (size_t j = r * width; j < (r + 1) * width; j++)
            want[j] = (float)((double)y[j] * ((double)dy[j] - dot));
    }
    ys = test_put(device, y, n);
    dys = test_put(device, dy, n);
    assert_ok(mot__softmax_backward(device, rows, width, ys.mem, dys.mem, dxs.mem));
    test_get(&dxs, dx);
    check_close("dx", dx, want, n, 1e-5, 2e-6);
    if (width > 1)
        check_seen("dx", dx, n);
    assert_ok(mot__softmax_backward(device, rows, width, ys.mem, dys.mem, dys.mem));
    test_get(&dys, want);
    check_bits("dx in place of dy", want, dx, n);
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
    for (size_t c = 0; c < MOT__COUNT(cases); c++)
        if (!leave_out(cases[c].rows, cases[c].width))
            backward_on(device, cases[c].rows, cases[c].width);
}

/* sum of dy * y, with column j of every row moved by h; from the device's own forward. */
static void moved_sums(mot__device *device, const float *x, const float *dy, size_t rows,
                       size_t width, size_t j, float h, double *sum)
{
    float *moved = test_floats(rows * width);

    memcpy(moved, x, rows * width * sizeof *x);
    for (size_t r = 0; r < rows; r++)
        moved[r * width + j] += h;
    forward(device, moved, moved, rows, width);
    for (size_t r = 0; r < rows; r++) {
        sum[r] = 0;
        for (size_t k = 0; k < width; k++)
            sum[r] += (double)dy[r * width + k] * (double)moved[r * width + k];
    }
    free(moved);
}

static void differences_on(mot__device *device, size_t rows, size_t width, size_t step)
{
    const size_t n = rows * width;
    const float h = 1.0f / 64;
    float *x = test_floats(n), *y = test_floats(n), *dy = test_floats(n), *dx = test_floats(n);
    double *up = test_alloc(rows, sizeof *up), *down = test_alloc(rows, sizeof *down);
    struct test_array ys, dys;

    test_fill(x, n, 8, -1, 1);
    test_fill_away(dy, n, 9, 1, 0.2);
    forward(device, x, y, rows, width);
    ys = test_put(device, y, n);
    dys = test_put(device, dy, n);
    assert_ok(mot__softmax_backward(device, rows, width, ys.mem, dys.mem, dys.mem));
    test_get(&dys, dx);
    check_seen("dx", dx, n);
    for (size_t j = 0; j < width; j += step) {
        moved_sums(device, x, dy, rows, width, j, h, up);
        moved_sums(device, x, dy, rows, width, j, -h, down);
        for (size_t r = 0; r < rows; r++) {
            const float numeric = (float)((up[r] - down[r]) / (2 * (double)h));

            check_close("dx against differences", &dx[r * width + j], &numeric, 1, 1e-3, 1e-4);
        }
    }
    test_drop(&ys);
    test_drop(&dys);
    free(x);
    free(y);
    free(dy);
    free(dx);
    free(up);
    free(down);
}

static void backward_matches_finite_differences(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        differences_on(device, 5, 9, 1);
        differences_on(device, 3, 130, 43);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_matches_plain_c),
        cmocka_unit_test(logits_of_ten_thousand_stay_finite),
        cmocka_unit_test(backward_matches_plain_c),
        cmocka_unit_test(backward_matches_finite_differences),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
