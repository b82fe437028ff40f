/* test_ops_selftest.c - right devices pass, one that computes wrongly is named, and the verdict is
 * remembered. The device is made wrong by spoiling one value after an op: selftest.c is compiled
 * into this file with its ops led through here. */
#include "support/device.h"

#include "device/gemm.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/selftest.h"
#include "ops/softmax.h"

enum fault { NONE, GEMM, SOFTMAX, LOSS_GRADIENT, LOSS_SUM, BIAS, REFUSED };
static enum fault fault; /* what goes wrong; the tests' own */

/* Value 2 of a place becomes what it never should be; value NaN is the hardest to see. */
static mot_status spoil(mot_status status, bool now, struct mot__mem mem, float value)
{
    if (status == MOT_OK && now)
        return mot__buffer_write(mem.buffer, (mem.offset + 2) * sizeof value, &value, sizeof value);
    return status;
}

static mot_status gemm_here(mot__device *device, const struct mot__gemm *gemm)
{
    return spoil(mot__gemm(device, gemm), fault == GEMM && gemm->trans_a && gemm->trans_b, gemm->c,
                 NAN);
}

static mot_status softmax_here(mot__device *device, size_t rows, size_t width, struct mot__mem x,
                               struct mot__mem y)
{
    if (fault == REFUSED)
        return mot__fail(MOT_DEVICE_FAILED, "building cl/softmax.cl: no");
    return spoil(mot__softmax_forward(device, rows, width, x, y), fault == SOFTMAX && width > 100,
                 y, 0.9f);
}

static mot_status loss_here(mot__device *device, const struct mot__loss *loss)
{
    mot_status status = mot__loss_launch(device, loss);

    status = spoil(status, fault == LOSS_GRADIENT, loss->dx, NAN);
    return spoil(status, fault == LOSS_SUM, loss->record, 300);
}

static mot_status dense_here(mot__device *device, const struct mot__dense *dense,
                             const struct mot__dense_back *back)
{
    return spoil(mot__dense_backward(device, dense, back), fault == BIAS, back->db, 0.001f);
}

#define mot__gemm(device, gemm) gemm_here(device, gemm) /* the function, not the struct */
#define mot__softmax_forward softmax_here
#define mot__loss_launch loss_here
#define mot__dense_backward dense_here
#include "ops/selftest.c"

static void a_right_device_is_good(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        char why[128] = "x";
        bool good = false;

        fault = NONE;
        assert_ok(mot__selftest(device, true, &good, why, sizeof why));
        if (!good)
            fail_msg("[%s] %s", check_where(), why);
        assert_string_equal(why, "");
    }
}

static void one_wrong_value_is_found_and_named(void **state)
{
    static const struct {
        enum fault fault;
        const char *text;
    } rows[] = {{GEMM, "matrix product is wrong: value 2 of 35 is "},
                {SOFTMAX, "softmax is wrong: value 2 of 2850 is 0.9"},
                {LOSS_GRADIENT, "gradient of the loss is wrong: value 2 of "},
                {LOSS_SUM, "sum of the losses is wrong: value 2 of 4 is 300, not 301"},
                {BIAS, "sum of columns is wrong: value 2 of 70 is 0.001"},
                {REFUSED, "building cl/softmax.cl: no"}};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t r = test_small() ? 4 : 0; r < MOT__COUNT(rows); r++) {
        char why[128] = "";
        bool good = true;

        fault = rows[r].fault;
        assert_ok(mot__selftest(device, true, &good, why, sizeof why));
        assert_false(good);
        if (!strstr(why, rows[r].text))
            fail_msg("[%s] \"%s\" does not say \"%s\"", check_where(), why, rows[r].text);
    }
    fault = NONE;
}

static void the_verdict_is_remembered(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int wrong = 1; wrong >= 0; wrong--) {
        struct mot_counts before, *after = mot__device_counts(device);
        char why[128], again[128];
        bool good = wrong;

        fault = wrong ? BIAS : NONE;
        assert_ok(mot__selftest(device, true, &good, why, sizeof why));
        assert_true(good == !wrong);
        fault = NONE;
        before = *after;
        good = wrong;
        assert_ok(mot__selftest(device, false, &good, again, sizeof again));
        assert_true(good == !wrong);
        assert_string_equal(again, why);
        assert_int_equal(after->launches, before.launches);
        assert_int_equal(after->waits, before.waits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_device_is_good),
        cmocka_unit_test(one_wrong_value_is_found_and_named),
        cmocka_unit_test(the_verdict_is_remembered),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
