/* test_ops_scan.c - integer passes over flat buffers: a number that is not finite is found wherever
 * it lies, and sums of rows are the host's words and show every change. */
#include "support/device.h"

#include "ops/scan.h"

enum { EDGE = 16, MOST = 3 * 4096 + 48 };

/* ---- numbers that are none ---- */

static void find_on(mot__device *device, size_t n, size_t at, float value, uint32_t closed)
{
    uint32_t found[MOT__SCAN_WORDS] = {0, 0, 0, closed};
    const uint32_t now = 0x3f800000, kind = isnan(value) ? 2 : 1;
    const bool odd = !isfinite(value);
    float *x = test_floats(n + 2 * EDGE);
    struct test_array words = test_put(device, found, MOT__SCAN_WORDS);
    mot__buffer *buffer = NULL;

    test_fill(x, n + 2 * EDGE, 3, -1, 1);
    x[EDGE - 1] = x[EDGE + n] = NAN; /* neighbours do not count */
    x[EDGE + at] = value;
    assert_ok(mot__buffer_open(device, (n + 2 * EDGE) * 4, &buffer));
    assert_ok(mot__buffer_write(buffer, 0, x, (n + 2 * EDGE) * 4));
    assert_ok(mot__scan_odd(device, (struct mot__mem){buffer, EDGE}, n, 1000, words.mem));
    test_get(&words, found);
    assert_int_equal(found[MOT__SCAN_NOW], odd ? now : 0);
    assert_int_equal(found[MOT__SCAN_LAST], odd && !closed ? 1000 + at + 1 : 0);
    assert_int_equal(found[MOT__SCAN_KIND], odd && !closed ? kind : 0);
    assert_int_equal(found[MOT__SCAN_CLOSED], closed);
    test_drop(&words);
    mot__buffer_close(buffer);
    free(x);
}

static void an_odd_number_is_found_wherever_it_lies(void **state)
{
    static const size_t sizes[] = {16, 48, 4096, MOST};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t s = 0; s < MOT__COUNT(sizes); s++) {
        find_on(device, sizes[s], 0, NAN, 0);
        find_on(device, sizes[s], sizes[s] - 1, -INFINITY, 0);
        find_on(device, sizes[s], sizes[s] / 2, INFINITY, 0);
        find_on(device, sizes[s], sizes[s] / 3, 3e38f, 0);
        find_on(device, sizes[s], sizes[s] / 3, NAN, 1);
    }
}

static void of_several_the_last_is_told(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        uint32_t found[MOT__SCAN_WORDS] = {0};
        float *x = test_floats(MOST);
        struct test_array words = test_put(device, found, MOT__SCAN_WORDS);
        mot__buffer *buffer = NULL;

        for (size_t i = 0; i < MOST; i += 5)
            x[i] = i % 2 ? NAN : INFINITY;
        assert_ok(mot__buffer_open(device, MOST * 4, &buffer));
        assert_ok(mot__buffer_write(buffer, 0, x, MOST * 4));
        assert_ok(mot__scan_odd(device, (struct mot__mem){buffer, 0}, MOST, 0, words.mem));
        test_get(&words, found);
        assert_int_equal(found[MOT__SCAN_LAST], (MOST - 1) / 5 * 5 + 1);
        assert_int_equal(found[MOT__SCAN_KIND], 3);
        assert_story(mot__scan_odd(device, (struct mot__mem){buffer, 0}, 17, 0, words.mem),
                     MOT_BAD_ARG, "multiples of 16");
        test_drop(&words);
        mot__buffer_close(buffer);
        free(x);
    }
}

/* ---- sums ---- */

enum { ROWS = 3 };
static const size_t row_floats[ROWS] = {1, 33, MOT__SCAN_CHUNK + 65};

static size_t cut(struct mot__scan_chunk *chunk)
{
    size_t chunks = 0, at = 0;

    for (uint32_t r = 0; r < ROWS; r++)
        for (size_t place = 0; place < row_floats[r]; place += MOT__SCAN_CHUNK) {
            const size_t left = row_floats[r] - place;
            const size_t count = left < MOT__SCAN_CHUNK ? left : MOT__SCAN_CHUNK;

            chunk[chunks++] =
                (struct mot__scan_chunk){r, (uint32_t)place, (uint32_t)at, (uint32_t)count};
            at += count;
        }
    return chunks;
}

static void sum_on(mot__device *device, const float *x, size_t n, uint32_t sums[ROWS * 2])
{
    struct mot__scan_chunk chunk[8];
    const size_t chunks = cut(chunk);
    struct test_array xs = test_put(device, x, n), cs = test_put(device, chunk, chunks * 4), ss;

    memset(sums, 0, ROWS * 2 * sizeof *sums);
    ss = test_put(device, sums, ROWS * 2);
    assert_ok(mot__scan_sum(device, xs.mem, cs.mem, chunks, ss.mem));
    test_get(&ss, sums);
    test_drop(&xs);
    test_drop(&cs);
    test_drop(&ss);
}

static void sums_are_the_hosts_words(void **state)
{
    const size_t n = row_floats[0] + row_floats[1] + row_floats[2];
    float *x = test_floats(n);

    (void)state;
    test_fill(x, n, 9, -3, 3);
    x[5] = NAN;
    x[6] = -0.0f;
    x[7] = 1e-42f; /* small numbers are not flushed: they are bits here */
    TEST_EACH_DEVICE(device)
    {
        uint32_t sums[ROWS * 2], want[ROWS * 2] = {0};
        size_t at = 0;

        sum_on(device, x, n, sums);
        for (size_t r = 0; r < ROWS; at += row_floats[r++])
            mot__scan_sum_host(x + at, row_floats[r], want + 2 * r);
        assert_memory_equal(sums, want, sizeof want);
    }
    free(x);
}

static void a_changed_bit_and_swapped_values_show(void **state)
{
    enum { N = 100 };
    float x[N];
    uint32_t before[2] = {0, 0};

    (void)state;
    test_fill(x, N, 4, -1, 1);
    x[7] = -x[3]; /* differ in the sign alone */
    mot__scan_sum_host(x, N, before);
    for (size_t i = 0; i < N; i++)
        for (unsigned bit = 0; bit < 32; bit++) {
            uint32_t bits, after[2] = {0, 0};
            const float kept = x[i];

            memcpy(&bits, &x[i], sizeof bits);
            bits ^= 1u << bit;
            memcpy(&x[i], &bits, sizeof bits);
            mot__scan_sum_host(x, N, after);
            assert_int_not_equal(after[0], before[0]);
            x[i] = kept;
        }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < i; k++) {
            const float a = x[i], b = x[k];
            uint32_t after[2] = {0, 0};

            x[i] = b;
            x[k] = a;
            mot__scan_sum_host(x, N, after);
            assert_memory_not_equal(after, before, sizeof after);
            x[i] = a;
            x[k] = b;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_odd_number_is_found_wherever_it_lies),
        cmocka_unit_test(of_several_the_last_is_told),
        cmocka_unit_test(sums_are_the_hosts_words),
        cmocka_unit_test(a_changed_bit_and_swapped_values_show),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
