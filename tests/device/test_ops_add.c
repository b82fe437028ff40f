/* test_ops_add.c - y = a + b, also over either operand. */
#include "support/device.h"

#include "ops/add.h"

static void add_on(mot__device *device, size_t n)
{
    float *a = test_floats(n), *b = test_floats(n), *y = test_floats(n), *want = test_floats(n);
    struct test_array as, bs, ys = test_put(device, NULL, n);

    test_fill(a, n, 1, -2, 2);
    test_fill(b, n, 2, -2, 2);
    for (size_t i = 0; i < n; i++)
        want[i] = a[i] + b[i];
    as = test_put(device, a, n);
    bs = test_put(device, b, n);
    assert_ok(mot__add_launch(device, n, as.mem, bs.mem, ys.mem));
    test_get(&ys, y);
    check_bits("y", y, want, n);
    assert_ok(mot__add_launch(device, n, as.mem, bs.mem, as.mem));
    test_get(&as, y);
    check_bits("y over a", y, want, n);
    assert_ok(mot__add_launch(device, n, ys.mem, bs.mem, bs.mem));
    test_get(&bs, y);
    for (size_t i = 0; i < n; i++)
        want[i] += b[i];
    check_bits("y over b", y, want, n);
    test_drop(&as);
    test_drop(&bs);
    test_drop(&ys);
    free(a);
    free(b);
    free(y);
    free(want);
}

static void sums_are_exact_in_any_place(void **state)
{
    static const size_t sizes[] = {0, 1, 31, 33, 65, 513, 4099};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t s = 0; s < MOT__COUNT(sizes); s++)
        add_on(device, sizes[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_exact_in_any_place)};

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
