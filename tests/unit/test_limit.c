/* test_limit.c - from a breakdown to the sentence: each cause, and what its cure would give by the
 * formula. */
#include "support/check.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>

static const char *const labels[] = {"0", "1"};

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) /* so that NaN fails */
        fail_msg("%g, wanted %g", value, wanted);
}

/* One device whose step of 128 rows takes 1 ms. */
static struct mot_reckoning one(const struct mot_breakdown *part)
{
    static const size_t share[] = {128};

    return (struct mot_reckoning){1, 128, 1000, 128e3, share, part, labels};
}

static void data_that_comes_late_is_told(void **state)
{
    const struct mot_breakdown part = {
        .input = 0.6, .forward = 0.2, .backward = 0.19, .update = 0.01};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_INPUT);
    assert_near(cure[0].gain, 2.5, 1e-9);
    assert_non_null(strstr(cure[0].sentence, "the data: 60 % of the time"));
}

static void a_small_batch_is_told_with_the_batch_that_helps(void **state)
{
    const struct mot_breakdown part = {
        .forward = 0.1, .backward = 0.1, .update = 0.1, .waiting = 0.7};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_BATCH);
    assert_string_equal(cure[0].cure, "--batch 2048");
    assert_near(cure[0].gain, 16 / (0.8 + 16 * 0.2), 1e-9); /* k (f + s) / (f + k s) */
}

static void a_device_the_others_wait_for_is_named(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.45, .backward = 0.5, .update = 0.05},
        {.forward = 0.1, .backward = 0.15, .update = 0.05, .waiting = 0.7, .others = 0.7}};
    const size_t share[] = {64, 64};
    const struct mot_reckoning r = {2, 128, 1000, 128e3, share, part, labels};
    struct mot_cure cure[MOT_CURES];
    const double rate = 64 / 0.95 + 64 / 0.25; /* rows a millisecond */

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_DEVICE);
    assert_int_equal(cure[0].replica, 0);
    assert_near(cure[0].gain, 1 / (0.05 + 128 / rate), 1e-6);
    assert_string_equal(cure[0].cure, "--shares auto");
    assert_non_null(strstr(cure[0].sentence, "device 0 is slow for its share of 64 rows"));
}

/* Its link alone takes longer than the other device would need for all the rows. */
static void a_device_that_only_costs_is_left_out(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.1, .backward = 0.1, .staging = 0.8},
        {.forward = 0.05, .backward = 0.05, .update = 0.05, .waiting = 0.85, .others = 0.85}};
    const size_t share[] = {64, 64};
    const struct mot_reckoning r = {2, 128, 1000, 128e3, share, part, labels};
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_DEVICE);
    assert_string_equal(cure[0].cure, "leave device 0 out");
    assert_near(cure[0].gain, 1 / (0.05 + 0.2), 1e-6);
}

static void links_and_host_memory_are_told_apart(void **state)
{
    struct mot_breakdown part = {.forward = 0.3, .backward = 0.3, .staging = 0.4};
    struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];
    size_t i, count, seen = 0;

    (void)state;
    r.parameters = 1000000;
    count = mot_bench_limit(&r, cure);
    for (i = 0; i < count; i++)
        if (cure[i].kind == MOT_LIMIT_LINK) {
            seen++;
            assert_near(cure[i].gain, 1 / 0.7, 1e-9);
            assert_non_null(
                strstr(cure[i].sentence, "the link of device 0: gradients travel 40 %"));
            assert_non_null(strstr(cure[i].sentence, "at 20.0 GB/s")); /* 8 MB in 0.4 ms */
        }
    part.reduce = part.staging;
    part.staging = 0;
    count = mot_bench_limit(&r, cure);
    for (i = 0; i < count; i++)
        if (cure[i].kind == MOT_LIMIT_HOST) {
            seen++;
            assert_non_null(strstr(cure[i].sentence, "host memory: gradients are added 40 %"));
        }
    assert_int_equal(seen, 2);
}

static void a_busy_device_has_no_cure(void **state)
{
    const struct mot_breakdown part = {
        .upload = 0.01, .forward = 0.33, .backward = 0.62, .update = 0.03, .waiting = 0.01};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_int_equal(mot_bench_limit(&r, cure), 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_COMPUTE);
    assert_non_null(strstr(cure[0].sentence, "the network itself: device 0 computes 99 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_that_comes_late_is_told),
        cmocka_unit_test(a_small_batch_is_told_with_the_batch_that_helps),
        cmocka_unit_test(a_device_the_others_wait_for_is_named),
        cmocka_unit_test(a_device_that_only_costs_is_left_out),
        cmocka_unit_test(links_and_host_memory_are_told_apart),
        cmocka_unit_test(a_busy_device_has_no_cure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
