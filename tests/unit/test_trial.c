/* test_trial.c - a trial in the middle of a run costs no more than it must, and what it tells. */
#include "support/check.h"

#include "strategy/trial.h"

#include <math.h>

static void a_trial_passes_few_rows(void **state)
{
    static const struct {
        size_t rows, most, low, twice, high;
    } cases[] = {
        {1, 1, 0, 1, 1},
        {1, 2, 1, 2, 2},
        {1, 512, 1, 2, 8},
        {2, 2, 1, 2, 2},
        {7, 7, 3, 7, 7},
        {8, 64, 8, 16, 64},
        {64, 64, 32, 64, 64},
        {63, 64, 32, 64, 64},
        {64, 100, 64, 100, 100},
        {64, 512, 64, 128, 512},
        {128, 4096, 128, 256, 512},
        {512, 512, 256, 512, 512},
        {300, 600, 128, 512, 512},
        {513, 513, 128, 512, 512},
        {100, 801, 100, 200, 512},
        {4096, 4096, 128, 512, 512},
        {60000, 60000, 128, 512, 512},
    };
    struct mot__trial_rows t;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        t = mot__trial_rows(cases[i].rows, cases[i].most);
        if (t.low != cases[i].low || t.twice != cases[i].twice || t.high != cases[i].high)
            fail_msg("%zu rows of %zu: by %zu, %zu and %zu, not %zu, %zu and %zu", cases[i].rows,
                     cases[i].most, t.low, t.twice, t.high, cases[i].low, cases[i].twice,
                     cases[i].high);
    }
}

/* 10 us to begin, 1 us a row up to 128 rows, half of that from there; in the steps 20 us more. */
static void two_lines_are_followed_to_eight_times(void **state)
{
    static const struct {
        size_t rows, most;
    } cases[] = {{64, 512}, {64, 128}, {128, 256}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mot__trial_rows t = mot__trial_rows(cases[i].rows, cases[i].most);
        const size_t at[] = {t.low, t.twice, t.high};
        const double rows = (double)cases[i].rows;
        struct mot__steady told;
        double s[3], alone, slope;
        size_t k;

        for (k = 0; k < 3; k++)
            s[k] = 10 + (double)at[k] - 0.5 * fmax((double)at[k] - 128, 0);
        alone = 10 + rows;
        slope = cases[i].rows == 128 ? 0.5 : 1;
        told = mot__trial_told(&t, s, rows, alone + 20);
        assert_near(told.near, 1 - slope * rows / (alone + 20), 1e-12);
        if (cases[i].most == 512)
            assert_near(told.far, 1 - (64 + 0.5 * 384) / (7 * (alone + 20)), 1e-12);
        else
            assert_near(told.far, told.near, 1e-12); /* the last line goes on */
    }
}

static void what_has_no_time_is_not_told(void **state)
{
    const struct mot__trial_rows t = mot__trial_rows(8, 64);
    const struct mot__steady told = mot__trial_told(&t, (double[]){0, 0, 0}, 8, 0);

    (void)state;
    assert_true(told.near == 0 && told.far == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_lines_are_followed_to_eight_times),
        cmocka_unit_test(what_has_no_time_is_not_told),
        cmocka_unit_test(a_trial_passes_few_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
