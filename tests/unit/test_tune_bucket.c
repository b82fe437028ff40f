/* test_tune_bucket.c - which buckets tuning tries. */
#include "support/check.h"

#include "bench/tune.h"
#include "optim/optim.h"

#define K ((size_t)1024)

static void smaller_ones_are_tried_and_all_gradients_in_one(void **state)
{
    static const struct {
        size_t floats, count, first, last;
    } rows[] = {
        {1, 0, 0, 0}, /* nothing to cut */
        {128 * K, 0, 0, 0},
        {128 * K + 16, 2, 128 * K, 128 * K + 16 + MOT__RECORD_FLOATS},
        {669712, 4, 128 * K, 669712 + MOT__RECORD_FLOATS}, /* mlp512 */
        {4096 * K, 6, 128 * K, 4096 * K + MOT__RECORD_FLOATS},
        {4096 * K + 16, 6, 128 * K, 4096 * K}, /* too large for one */
        {(size_t)1 << 30, 6, 128 * K, 4096 * K},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        size_t count = 0, before = 0, bucket;

        while ((bucket = mot__tune_bucket(rows[r].floats, count)) > 0) {
            assert_true(count > 0 || bucket == rows[r].first);
            assert_true(bucket > before);
            before = bucket;
            count++;
        }
        if (count != rows[r].count || before != rows[r].last)
            fail_msg("%zu gradients: %zu buckets, the last of %zu", rows[r].floats, count, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_ones_are_tried_and_all_gradients_in_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
