/* test_base_rng.c - Philox against the published vectors, and the draws against their promises. */
#include "support/check.h"

#include "base/rng.h"

#include <math.h>

/* The three cases published with Random123 for philox4x32-10: zeros, ones, digits of pi. */
static void philox_gives_the_published_vectors(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];

        mot__philox(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void a_word_is_found_by_seed_stream_and_index(void **state)
{
    const uint64_t seed = 0x299f31d0a4093822u, stream = 0x0370734413198a2eu;
    const uint64_t block = 0x05a308d3243f6a88u; /* the highest bits of an index are two fewer */
    const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344};
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    uint32_t out[4];

    (void)state;
    mot__philox(counter, key, out);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(mot__rng_u32(seed, stream, block * 4 + i), out[i]);
}

static void units_fill_the_interval(void **state)
{
    enum { draws = 100000 };
    double sum = 0, low = 1, high = 0;

    (void)state;
    for (uint64_t i = 0; i < draws; i++) {
        const double u = (double)mot__rng_unit(1, MOT__STREAM_TEST, i);

        if (!(u >= 0 && u < 1))
            fail_msg("draw %u is %g", (unsigned)i, u);
        sum += u;
        low = fmin(low, u);
        high = fmax(high, u);
    }
    assert_true(fabs(sum / draws - 0.5) < 0.004); /* over four deviations */
    assert_true(low < 0.001 && high > 0.999);
}

static void normals_have_mean_zero_and_deviation_one(void **state)
{
    enum { draws = 100000 };
    double sum = 0, squares = 0, fourths = 0, neighbours = 0, last = 0;

    (void)state;
    for (uint64_t i = 0; i < draws; i++) {
        const double x = (double)mot__rng_normal(7, MOT__STREAM_TEST, i);

        assert_true(isfinite(x));
        sum += x;
        squares += x * x;
        fourths += x * x * x * x;
        neighbours += x * last;
        last = x;
    }
    assert_true(fabs(sum / draws) < 0.015);
    assert_true(fabs(squares / draws - 1) < 0.02);
    assert_true(fabs(fourths / draws - 3) < 0.15);
    assert_true(fabs(neighbours / draws) < 0.015); /* the two of one block are independent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(a_word_is_found_by_seed_stream_and_index),
        cmocka_unit_test(units_fill_the_interval),
        cmocka_unit_test(normals_have_mean_zero_and_deviation_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
