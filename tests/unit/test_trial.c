/* test_trial.c - a trial in the middle of a run costs no more than it must. */
#include "support/check.h"

#include "strategy/trial.h"

static void a_trial_passes_few_rows(void **state)
{
    static const struct {
        size_t rows, most, low, high;
    } cases[] = {
        {1, 1, 0, 1},          {1, 2, 1, 2},           {2, 2, 1, 2},
        {7, 7, 3, 7},          {64, 64, 32, 64},       {64, 100, 64, 100},
        {128, 4096, 128, 256}, {512, 512, 256, 512},   {300, 600, 128, 512},
        {513, 513, 128, 512},  {4096, 4096, 128, 512}, {60000, 60000, 128, 512},
    };
    size_t i, low, high;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        mot__trial_rows(cases[i].rows, cases[i].most, &low, &high);
        if (low != cases[i].low || high != cases[i].high)
            fail_msg("%zu rows of %zu: by %zu and %zu, not %zu and %zu", cases[i].rows,
                     cases[i].most, low, high, cases[i].low, cases[i].high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_passes_few_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
