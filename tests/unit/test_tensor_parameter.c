/* test_tensor_parameter.c - shapes, and the values that parameters start with. */
#include "support/check.h"

#include "base/rng.h"
#include "tensor/tensor.h"

#include <math.h>

enum { IN = 300, OUT = 200 };

static struct mot__parameters table_of(struct mot__parameter *row, enum mot_init init)
{
    for (size_t i = 0; i < 2; i++) {
        memset(&row[i], 0, sizeof row[i]);
        row[i].shape = MOT_SHAPE(OUT, IN);
        row[i].count = IN * OUT;
        row[i].init = init;
        row[i].fan_in = IN;
        row[i].fan_out = OUT;
        row[i].offset = i * IN * OUT;
        row[i].name[0] = (char)('a' + i);
    }
    return (struct mot__parameters){row, 2, 2 * IN * OUT};
}

struct moments {
    double mean, deviation, low, high;
};

static struct moments moments_of(enum mot_init init)
{
    struct mot__parameter row[2];
    const struct mot__parameters table = table_of(row, init);
    struct moments m = {0, 0, INFINITY, -INFINITY};

    for (size_t i = 0; i < IN * OUT; i++) {
        const double x = (double)mot__parameter_start(&table, 0, 42, i);

        assert_true(isfinite(x));
        m.mean += x;
        m.deviation += x * x;
        m.low = fmin(m.low, x);
        m.high = fmax(m.high, x);
    }
    m.mean /= IN * OUT;
    m.deviation = sqrt(m.deviation / (IN * OUT) - m.mean * m.mean);
    return m;
}

static void he_is_normal_with_its_deviation(void **state)
{
    const double deviation = sqrt(2.0 / IN);
    const struct moments m = moments_of(MOT_INIT_HE);

    (void)state;
    assert_near(m.mean, 0, deviation * 0.02);
    assert_near(m.deviation, deviation, deviation * 0.02);
    assert_true(m.high > 3.5 * deviation && m.low < -3.5 * deviation); /* tails: not uniform */
}

static void glorot_fills_its_limits_evenly(void **state)
{
    const double limit = sqrt(6.0 / (IN + OUT));
    const struct moments m = moments_of(MOT_INIT_GLOROT);

    (void)state;
    assert_near(m.mean, 0, limit * 0.02);
    assert_near(m.deviation, limit / sqrt(3.0), limit * 0.02);
    assert_true(m.high <= limit && m.high > 0.999 * limit);
    assert_true(m.low >= -limit && m.low < -0.999 * limit);
}

static void normal_has_deviation_one_twentieth(void **state)
{
    const struct moments m = moments_of(MOT_INIT_NORMAL);

    (void)state;
    assert_near(m.mean, 0, 0.001);
    assert_near(m.deviation, 0.05, 0.001);
}

static void zero_is_zero(void **state)
{
    const struct moments m = moments_of(MOT_INIT_ZERO);

    (void)state;
    assert_true(m.low == 0 && m.high == 0);
}

static void a_value_depends_on_seed_parameter_and_index(void **state)
{
    struct mot__parameter row[2];
    const struct mot__parameters table = table_of(row, MOT_INIT_HE);
    const float first = mot__parameter_start(&table, 0, 42, 7);
    const double unit = (double)mot__rng_normal(42, (uint64_t)MOT__STREAM_INIT << 32 | 1, 7);

    (void)state;
    assert_true(first == mot__parameter_start(&table, 0, 42, 7));
    assert_true(first != mot__parameter_start(&table, 0, 42, 8));
    assert_true(first != mot__parameter_start(&table, 1, 42, 7));
    assert_true(first != mot__parameter_start(&table, 0, 43, 7));
    assert_true(mot__parameter_start(&table, 1, 42, 7) == (float)(sqrt(2.0 / IN) * unit));
}

static void a_parameter_is_found_by_its_name(void **state)
{
    struct mot__parameter row[2];
    struct mot__parameters table = table_of(row, MOT_INIT_HE);
    const struct mot__parameters none = {NULL, 0, 0};
    size_t found = 9;

    (void)state;
    assert_ok(mot__parameter_find(&table, "b", &found));
    assert_int_equal(found, 1);
    assert_story(mot__parameter_find(&table, "c", &found), MOT_BAD_ARG,
                 "there is no parameter \"c\"; there are: a, b");
    assert_story(mot__parameter_find(&none, "c", &found), MOT_BAD_ARG, "there are: none");
}

static void shapes_are_counted_written_and_compared(void **state)
{
    char text[64], narrow[6];

    (void)state;
    assert_int_equal(mot_shape_count(MOT_SHAPE(1, 28, 28)), 784);
    assert_int_equal(mot_shape_count(MOT_SHAPE(5)), 5);
    assert_int_equal(mot_shape_count(MOT_SHAPE(5, 0)), 0);
    assert_int_equal(mot_shape_count(MOT_SHAPE(SIZE_MAX, SIZE_MAX, 0)), 0);
    assert_true(mot_shape_count(MOT_SHAPE(SIZE_MAX / 2, 3)) == SIZE_MAX);
    assert_true(mot_shape_count((struct mot_shape){7, {1}}) == SIZE_MAX);
    mot__shape_text(MOT_SHAPE(1, 28, 28), text, sizeof text);
    assert_string_equal(text, "(1, 28, 28)");
    mot__shape_text(MOT_SHAPE(784), text, sizeof text);
    assert_string_equal(text, "(784)");
    mot__shape_text((struct mot_shape){0, {0}}, text, sizeof text);
    assert_string_equal(text, "()");
    mot__shape_text(MOT_SHAPE(1, 28, 28), narrow, sizeof narrow);
    assert_string_equal(narrow, "(1, 2");
    assert_true(mot__shape_same(MOT_SHAPE(2, 3), MOT_SHAPE(2, 3)));
    assert_false(mot__shape_same(MOT_SHAPE(2, 3), MOT_SHAPE(3, 2)));
    assert_false(mot__shape_same(MOT_SHAPE(2), MOT_SHAPE(2, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(he_is_normal_with_its_deviation),
        cmocka_unit_test(glorot_fills_its_limits_evenly),
        cmocka_unit_test(normal_has_deviation_one_twentieth),
        cmocka_unit_test(zero_is_zero),
        cmocka_unit_test(a_value_depends_on_seed_parameter_and_index),
        cmocka_unit_test(a_parameter_is_found_by_its_name),
        cmocka_unit_test(shapes_are_counted_written_and_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
