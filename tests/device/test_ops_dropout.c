/* test_ops_dropout.c - the mask is Philox's, whatever the split, and the same backward. */
#include "support/device.h"

#include "base/rng.h"
#include "ops/dropout.h"

static void on_device(mot__device *device, const struct mot__dropout *dropout, const float *x,
                      float *y)
{
    const size_t n = dropout->rows * dropout->width;
    struct test_array from = test_put(device, x, n), to = test_put(device, NULL, n);

    assert_ok(mot__dropout_launch(device, dropout, from.mem, to.mem));
    test_get(&to, y);
    assert_ok(mot__dropout_launch(device, dropout, from.mem, from.mem));
    test_drop(&to);
    to = from; /* in place must give the same */
    {
        float *again = test_floats(n);

        test_get(&to, again);
        check_bits("y in place of x", again, y, n);
        free(again);
    }
    test_drop(&to);
}

static void matches_plain_c_to_the_bit(void **state)
{
    /* first_row * width around multiples of 4, and past 2^32, 2^34 (where the block's low word
     * turns over) */
    static const struct mot__dropout cases[] = {
        {1, 1, 0.5, 1, 0, 0, 0},
        {0, 7, 0.5, 1, 0, 0, 0},
        {33, 31, 0.3, 0x123456789abcdef0u, 3, 17, 0},
        {5, 13, 0.9, 0xffffffffffffffffu, 0xffffffffu, 0xffffffu, 1},
        {65, 33, 0.1, 7, 1, 1, 3},
        {3, 41, 0.25, 7, 2, 1u << 20, 0x40000000u},
        {4, 16, 0.5, 9, 2, 5, 0x3fffffffu},
        {70, 129, 0, 7, 1, 1, 2},
        {2, 4099, 0.75, 11, 1, 1, 1},
    };

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t c = 0; c < MOT__COUNT(cases); c++) {
        const size_t n = cases[c].rows * cases[c].width;
        float *x = test_floats(n), *y = test_floats(n), *want = test_floats(n);

        test_fill_away(x, n, c, 3, 0.1);
        mot__dropout_reference(&cases[c], x, want);
        on_device(device, &cases[c], x, y);
        check_bits("y", y, want, n);
        if (n > 8)
            check_seen("y", y, n);
        free(x);
        free(y);
        free(want);
    }
}

/* The reference itself: word by word from the published generator. */
static void the_draw_is_philox_of_the_global_element(void **state)
{
    const struct mot__dropout dropout = {3, 5, 0.5, 0x0123456789abcdefu, 9, 77, 2};
    const float x[15] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    float y[15];

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        on_device(device, &dropout, x, y);
        for (uint32_t i = 0; i < 15; i++) {
            const uint32_t g = 2 * 5 + i;
            const uint64_t stream = ((uint64_t)3 << 32 | 9) ^ (uint64_t)77 << 40;
            const uint32_t counter[4] = {g / 4, 0, (uint32_t)stream, (uint32_t)(stream >> 32)};
            const uint32_t key[2] = {0x89abcdefu, 0x01234567u};
            uint32_t word[4];

            mot__philox(counter, key, word);
            assert_true(y[i] == (word[g % 4] >= 0x80000000u ? 2.0f : 0.0f));
        }
    }
}

static void a_split_batch_has_the_mask_of_the_whole(void **state)
{
    enum { ROWS = 37, WIDTH = 11, CUT = 14 };
    const struct mot__dropout whole = {ROWS, WIDTH, 0.4, 5, 1, 2, 0};
    const struct mot__dropout upper = {CUT, WIDTH, 0.4, 5, 1, 2, 0};
    const struct mot__dropout lower = {ROWS - CUT, WIDTH, 0.4, 5, 1, 2, CUT};
    static float x[ROWS * WIDTH], y[ROWS * WIDTH], parts[ROWS * WIDTH];

    (void)state;
    test_fill_away(x, ROWS * WIDTH, 1, 1, 0.5);
    TEST_EACH_DEVICE(device)
    {
        on_device(device, &whole, x, y);
        on_device(device, &upper, x, parts);
        on_device(device, &lower, x + CUT * WIDTH, parts + CUT * WIDTH);
        check_bits("parts", parts, y, ROWS * WIDTH);
    }
}

static void as_many_are_dropped_as_the_rate_says(void **state)
{
    enum { N = 4096 };
    const struct mot__dropout dropout = {1, N, 0.25, 3, 1, 1, 0};
    static float x[N], y[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        x[i] = 3;
    TEST_EACH_DEVICE(device)
    {
        size_t kept = 0;

        on_device(device, &dropout, x, y);
        for (size_t i = 0; i < N; i++) {
            assert_true(y[i] == 0 || fabsf(y[i] - 4) < 1e-6f);
            kept += y[i] > 0;
        }
        assert_in_range(kept, N * 3 / 4 - 140, N * 3 / 4 + 140); /* five deviations */
    }
}

static void a_rate_of_one_is_refused(void **state)
{
    struct mot__dropout dropout = {1, 1, 1, 3, 1, 1, 0};

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array one = test_put(device, NULL, 1);

        dropout.rate = 1;
        assert_story(mot__dropout_launch(device, &dropout, one.mem, one.mem), MOT_BAD_ARG,
                     "rate 1 is not in [0, 1)");
        dropout.rate = NAN;
        assert_story(mot__dropout_launch(device, &dropout, one.mem, one.mem), MOT_BAD_ARG, "rate");
        test_drop(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_plain_c_to_the_bit),
        cmocka_unit_test(the_draw_is_philox_of_the_global_element),
        cmocka_unit_test(a_split_batch_has_the_mask_of_the_whole),
        cmocka_unit_test(as_many_are_dropped_as_the_rate_says),
        cmocka_unit_test(a_rate_of_one_is_refused),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
