/* test_ops_selftest.c - right devices pass, one that computes wrongly is named, and the verdict is
 * remembered. The device is made wrong by spoiling one value after an op: selftest.c is compiled
 * into this file with its ops led through here. */
#include "support/comma.h"
#include "support/device.h"

#include "device/gemm.h"
#include "ops/dense.h"
#include "ops/gather.h"
#include "ops/loss.h"
#include "ops/selftest.h"
#include "ops/softmax.h"

enum fault { NONE, DENSE, WEIGHTS, BIAS, SOFTMAX, LOSS_GRADIENT, LOSS_SUM, GATHER, REFUSED };
static enum fault fault; /* what goes wrong; the tests' own */

/* Value 2 of a place becomes what it never should be; value NaN is the hardest to see. */
static mot_status spoil(mot_status status, bool now, struct mot__mem mem, float value)
{
    if (status == MOT_OK && now)
        return mot__buffer_write(mem.buffer, (mem.offset + 2) * sizeof value, &value, sizeof value);
    return status;
}

static mot_status forward_here(mot__device *device, const struct mot__dense *dense)
{
    return spoil(mot__dense_forward(device, dense), fault == DENSE, dense->y, NAN);
}

static mot_status gather_here(mot__device *device, const struct mot__gather *gather)
{
    return spoil(mot__gather_launch(device, gather), fault == GATHER, gather->y_out, 0.5f);
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
    mot_status status = mot__dense_backward(device, dense, back);

    status = spoil(status, fault == BIAS, back->db, 0.001f);
    return spoil(status, fault == WEIGHTS, back->dw, 9);
}

#define mot__dense_forward forward_here
#define mot__gather_launch gather_here
#define mot__softmax_forward softmax_here
#define mot__loss_launch loss_here
#define mot__dense_backward dense_here
#include "ops/selftest.c"

static void a_right_device_is_good(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int op = 0; op < MOT__OPS; op++) {
        char why[128] = "x";
        bool good = false;

        fault = NONE;
        assert_ok(mot__selftest(device, (enum mot__op)op, true, &good, why, sizeof why));
        if (!good)
            fail_msg("[%s] %s", check_where(), why);
        assert_string_equal(why, "");
        assert_ok(mot__selftest_need(device, (enum mot__op)op));
    }
}

static void one_wrong_value_is_found_and_named(void **state)
{
    static const struct {
        enum fault fault;
        enum mot__op op;
        const char *text;
    } rows[] = {
        {DENSE, MOT__OP_DENSE, "dense is wrong: value 2 of 2145 is "},
        {SOFTMAX, MOT__OP_SOFTMAX, "softmax is wrong: value 2 of 2850 is 0.9"},
        {LOSS_GRADIENT, MOT__OP_LOSS, "gradient of the loss is wrong: value 2 of "},
        {LOSS_GRADIENT, MOT__OP_LOSS + MOT__LOSS_SQUARES, "gradient of the loss is wrong: value 2"},
        {LOSS_SUM, MOT__OP_LOSS + MOT__LOSS_PROBABILITIES,
         "sum of the losses is wrong: value 2 of 4 is 300, not 301"},
        {WEIGHTS, MOT__OP_DENSE_BACK, "gradient of the weights is wrong: value 2 of 1023 is 9"},
        {BIAS, MOT__OP_DENSE_BACK, "sum of columns is wrong: value 2 of 33 is 0.001"},
        {GATHER, MOT__OP_GATHER_U8, "gather of labels is wrong: value 2 of 35 is 0.5"},
        {REFUSED, MOT__OP_SOFTMAX, "building cl/softmax.cl: no"}};
    struct folder folder;

    (void)state;
    assert_true(folder_open(&folder));
    assert_true(comma_locale(folder.path)); /* a sentence is the same on every host */
    folder_close(&folder);
    TEST_EACH_DEVICE(device)
    for (size_t r = test_small() ? 6 : 0; r < MOT__COUNT(rows); r++) {
        char why[128] = "";
        bool good = true;

        fault = rows[r].fault;
        assert_ok(mot__selftest(device, rows[r].op, true, &good, why, sizeof why));
        assert_false(good);
        if (!strstr(why, rows[r].text))
            fail_msg("[%s] \"%s\" does not say \"%s\"", check_where(), why, rows[r].text);
    }
    setlocale(LC_ALL, "C");
    fault = NONE;
    TEST_EACH_DEVICE(device) /* nothing wrong stays in the store */
    for (int op = 0; op < MOT__OPS; op++) {
        char why[128];
        bool good = false;

        assert_ok(mot__selftest(device, (enum mot__op)op, true, &good, why, sizeof why));
        assert_true(good);
    }
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
        assert_ok(mot__selftest(device, MOT__OP_DENSE_BACK, true, &good, why, sizeof why));
        assert_true(good == !wrong);
        fault = NONE;
        before = *after;
        good = wrong;
        assert_ok(mot__selftest(device, MOT__OP_DENSE_BACK, false, &good, again, sizeof again));
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
