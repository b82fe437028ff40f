/* test_trial.c - a trial in the middle of a run costs no more than it must. */
#include "support/check.h"

#include "strategy/trial.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_passes_few_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
