/* test_ops_gather.c - rows by index, as floats, with their labels or targets. */
#include "support/device.h"

#include "ops/gather.h"

#define SOURCE 40 /* rows of the data set */

struct batch {
    size_t rows, width, y_width;
    bool indexed;
};

static const struct batch cases[] = {{0, 5, 1, true},   {1, 1, 1, true},    {31, 33, 0, true},
                                     {33, 8, 3, true},  {65, 31, 1, true},  {40, 10, 2, false},
                                     {7, 784, 1, true}, {17, 65, 10, false}};

/* What the batch does not have takes no part. */
static void launch(mot__device *device, const struct batch *batch, struct mot__gather gather)
{
    const struct mot__mem none = {NULL, 0};

    if (!batch->indexed)
        gather.index = none;
    if (batch->y_width == 0)
        gather.y = gather.y_out = none;
    assert_ok(mot__gather_launch(device, &gather));
}

static void gather_on(mot__device *device, const struct batch *batch, enum mot_dtype dtype)
{
    const size_t width = batch->width, y_width = batch->y_width, n = batch->rows * width;
    float *x = test_floats(SOURCE * width), *out = test_floats(n), *want = test_floats(n);
    unsigned char *bytes = test_alloc(SOURCE * width, 1);
    uint32_t *index = test_alloc(batch->rows, 4), *y = test_alloc(SOURCE * y_width, 4);
    uint32_t *y_out = test_alloc(batch->rows * y_width, 4);
    uint32_t *y_want = test_alloc(batch->rows * y_width, 4);
    struct test_array xs, indexes, ys, outs, y_outs;
    uint64_t seed = n;

    test_fill_away(x, SOURCE * width, 4, 2, 0.1);
    for (size_t i = 0; i < SOURCE * width; i++)
        bytes[i] = (unsigned char)(test_random(&seed) >> 24);
    for (size_t i = 0; i < SOURCE * y_width; i++)
        y[i] = test_random(&seed); /* any bits: NaNs too */
    for (size_t r = 0; r < batch->rows; r++) {
        const size_t s = batch->indexed ? test_random(&seed) % SOURCE : r;

        index[r] = (uint32_t)s;
        for (size_t j = 0; j < width; j++)
            want[r * width + j] =
                dtype == MOT_DTYPE_U8 ? bytes[s * width + j] * (1 / 255.0f) : x[s * width + j];
        memcpy(y_want + r * y_width, y + s * y_width, 4 * y_width);
    }
    xs = test_put_sized(device, dtype == MOT_DTYPE_U8 ? (void *)bytes : (void *)x, SOURCE * width,
                        dtype == MOT_DTYPE_U8 ? 1 : 4);
    indexes = test_put(device, index, batch->rows);
    ys = test_put(device, y, SOURCE * y_width);
    outs = test_put(device, NULL, n);
    y_outs = test_put(device, NULL, batch->rows * y_width);
    launch(device, batch,
           (struct mot__gather){.rows = batch->rows,
                                .width = width,
                                .dtype = dtype,
                                .index = indexes.mem,
                                .x = xs.mem,
                                .out = outs.mem,
                                .y_width = y_width,
                                .y = ys.mem,
                                .y_out = y_outs.mem});
    test_get(&outs, out);
    test_get(&y_outs, y_out);
    check_bits("out", out, want, n);
    check_seen("out", out, n);
    check_bits("y_out", y_out, y_want, batch->rows * y_width);
    test_drop(&xs);
    test_drop(&indexes);
    test_drop(&ys);
    test_drop(&outs);
    test_drop(&y_outs);
    free(x);
    free(out);
    free(want);
    free(bytes);
    free(index);
    free(y);
    free(y_out);
    free(y_want);
}

static void floats_are_copied_by_index(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t c = 0; c < MOT__COUNT(cases); c++)
        gather_on(device, &cases[c], MOT_DTYPE_F32);
}

static void bytes_become_units_by_index(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t c = 0; c < MOT__COUNT(cases); c++)
        gather_on(device, &cases[c], MOT_DTYPE_U8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_copied_by_index),
        cmocka_unit_test(bytes_become_units_by_index),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
