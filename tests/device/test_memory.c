/* test_memory.c - the pool: its limit and its sentence, reuse, exact figures; plain copies. */
#include "support/room.h"

#define KB ((size_t)1024)

static mot__device *open_limited(const struct mot__pick *pick, size_t bytes)
{
    struct mot__device_options options = room_options();

    options.memory_bytes = bytes;
    return room_device(pick, &options);
}

static mot__buffer *take(mot__device *device, size_t bytes)
{
    mot__buffer *buffer = NULL;

    assert_ok(mot__buffer_open(device, bytes, &buffer));
    assert_non_null(buffer);
    return buffer;
}

static void what_passes_the_limit_is_refused_with_the_figures(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 64 * KB);
        mot__buffer *a = take(device, 40 * KB), *b = NULL;

        assert_story(mot__buffer_open(device, 24 * KB + 1, &b), MOT_NO_MEMORY,
                     "24832 more bytes would pass the limit of 65536 (40960 in use, 24576 free)");
        assert_null(b);
        b = take(device, 24 * KB); /* to the last byte */
        assert_int_equal(mot__device_used(device), 64 * KB);
        assert_story(mot__buffer_open(device, 1, &a), MOT_NO_MEMORY, "(65536 in use, 0 free)");
        mot__buffer_close(a);
        mot__buffer_close(b);
        assert_int_equal(mot__device_used(device), 0);
        mot__device_close(device);
    }
}

static void a_freed_block_serves_again(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 0);
        const struct mot_counts *counts = mot__device_counts(device);
        mot__buffer *a = take(device, 10 * KB), *b = NULL;
        const mot__buffer *first = a;

        assert_int_equal(counts->allocations, 1);
        assert_int_equal(counts->allocated_bytes, 10 * KB);
        mot__buffer_close(a);
        a = take(device, 8 * KB); /* wastes a fifth: the same block */
        assert_ptr_equal(a, first);
        assert_int_equal(counts->allocations, 1);
        assert_int_equal(mot__device_used(device), 10 * KB);
        mot__buffer_close(a);
        a = take(device, 7 * KB); /* would waste more than a quarter */
        assert_int_equal(counts->allocations, 2);
        b = take(device, 10 * KB);
        assert_ptr_equal(b, first);
        mot__buffer_close(a);
        mot__buffer_close(b);
        a = take(device, 7 * KB); /* the smallest that fits, not the newest */
        assert_int_equal(mot__device_used(device), 7 * KB);
        mot__buffer_close(a);
        mot__device_close(device);
    }
}

static void kept_blocks_make_room_when_the_limit_nears(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 64 * KB);
        mot__buffer *a = take(device, 20 * KB), *b = take(device, 20 * KB);

        mot__buffer_close(a);
        mot__buffer_close(b);
        a = take(device, 60 * KB); /* 40 KB are kept, but nobody uses them */
        assert_int_equal(mot__device_used(device), 60 * KB);
        mot__buffer_close(a);
        mot__device_close(device);
    }
}

static void used_and_peak_are_exact(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 0);
        mot__buffer *a = take(device, 1), *b = take(device, 257), *c;
        mot__stage *stage = NULL;
        size_t staged;

        assert_int_equal(mot__device_used(device), 256 + 512);
        c = take(device, 0); /* nothing is memory too: a place to point at */
        assert_int_equal(mot__device_peak(device), 256 + 512 + 256);
        mot__buffer_close(c);
        mot__buffer_close(b);
        assert_int_equal(mot__device_used(device), 256);
        assert_ok(mot__stage_open(device, 5000, &stage));
        staged = mot__device_used(device) - 256;
        assert_true(staged >= 5000 && staged <= 8192);
        assert_int_equal(mot__device_peak(device), 256 + staged);
        mot__stage_close(stage);
        mot__buffer_close(a);
        assert_int_equal(mot__device_used(device), 0);
        assert_int_equal(mot__device_peak(device), 256 + staged);
        mot__device_close(device);
    }
}

/* Tests of kernels may pass the limit by so much, and leave nothing behind. */
static void aside_the_limit_is_passed_by_no_more_than_is_told(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 64 * KB);
        mot__buffer *a = take(device, 40 * KB), *b = NULL, *c = NULL;

        mot__device_aside_begin(device);
        assert_story(mot__buffer_open(device, MOT__ASIDE_BYTES + 24 * KB + 1, &b), MOT_NO_MEMORY,
                     "would pass the limit of 1114112 (40960 in use, 1073152 free)");
        b = take(device, MOT__ASIDE_BYTES);
        mot__device_aside_begin(device); /* no second measure of it */
        c = take(device, 24 * KB);
        assert_int_equal(mot__device_used(device), MOT__ASIDE_BYTES + 64 * KB);
        mot__buffer_close(b);
        assert_story(mot__buffer_open(device, MOT__ASIDE_BYTES + 1, &b), MOT_NO_MEMORY,
                     "would pass");
        mot__buffer_close(c);
        mot__device_aside_end(device);
        mot__device_aside_end(device);
        assert_int_equal(mot__device_used(device), 40 * KB);
        assert_int_equal(mot__device_peak(device), 40 * KB);
        assert_story(mot__buffer_open(device, 24 * KB + 1, &b), MOT_NO_MEMORY, "limit of 65536");
        mot__buffer_close(a);
        mot__device_close(device);
    }
}

static void a_piece_larger_than_the_largest_is_refused(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        const struct mot_device_info *info = mot_inventory_get(room()->inventory, pick->device);
        mot__device *device = open_limited(pick, (size_t)info->largest_bytes * 2 + 1024);
        mot__buffer *buffer = NULL;
        mot__stage *stage = NULL;
        char words[96];

        snprintf(words, sizeof words, "in one piece, but its largest allocation is %llu",
                 (unsigned long long)info->largest_bytes);
        assert_story(mot__buffer_open(device, (size_t)info->largest_bytes + 1, &buffer),
                     MOT_NO_MEMORY, words);
        assert_story(mot__buffer_open(device, SIZE_MAX, &buffer), MOT_NO_MEMORY, "bytes");
        assert_story(mot__buffer_open(device, SIZE_MAX - 300, &buffer), MOT_NO_MEMORY, "bytes");
        assert_story(mot__stage_open(device, SIZE_MAX - 100, &stage), MOT_NO_MEMORY, "limit");
        assert_int_equal(mot__device_used(device), 0);
        mot__device_close(device);
    }
}

static void a_stage_that_does_not_fit_leaves_nothing_behind(void **state)
{
    const enum mot__staging kinds[] = {MOT__STAGING_MAP, MOT__STAGING_COPY};

    (void)state;
    ROOM_EACH(pick)
    for (size_t k = 0; k < 2; k++) {
        struct mot__device_options options = room_options();
        mot__device *device;
        mot__buffer *a;
        mot__stage *stage = NULL;

        options.memory_bytes = 64 * KB;
        options.staging = kinds[k];
        device = room_device(pick, &options);
        a = take(device, 60 * KB);
        assert_story(mot__stage_open(device, 5 * KB, &stage), MOT_NO_MEMORY, "61440 in use");
        assert_null(stage);
        assert_int_equal(mot__device_used(device), 60 * KB);
        assert_int_equal(mot__device_peak(device), 60 * KB);
        mot__buffer_close(a);
        mot__device_close(device);
    }
}

static void ranges_outside_a_buffer_are_refused(void **state)
{
    unsigned char bytes[600] = {0};

    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 0);
        mot__buffer *a = take(device, 512), *b = take(device, 512);
        const struct mot__mem from = {a, 0}, to = {b, 0};

        assert_story(mot__buffer_write(a, 0, bytes, 513), MOT_BAD_ARG,
                     "513 bytes from byte 0 on, of a buffer of 512");
        assert_story(mot__buffer_write(a, 513, bytes, 0), MOT_BAD_ARG, "of a buffer of 512");
        assert_story(mot__buffer_read(a, 512, bytes, 1), MOT_BAD_ARG, "of a buffer of 512");
        assert_story(mot__buffer_read(a, SIZE_MAX, bytes, 2), MOT_BAD_ARG, "of a buffer of 512");
        assert_story(mot__buffer_zero(a, 4, 512), MOT_BAD_ARG, "of a buffer of 512");
        assert_story(mot__buffer_copy(from, mot__mem_at(to, 1), 128), MOT_BAD_ARG, "of a buffer");
        assert_story(mot__buffer_copy(mot__mem_at(from, 128), to, 1), MOT_BAD_ARG, "of a buffer");
        assert_story(mot__buffer_copy(from, to, SIZE_MAX / 4 + 1), MOT_BAD_ARG, "floats");
        assert_story(mot__buffer_copy(mot__mem_at(from, SIZE_MAX / 4 + 1), to, 1), MOT_BAD_ARG,
                     "floats");
        assert_ok(mot__buffer_write(a, 512, bytes, 0)); /* nothing, at the very end */
        assert_ok(mot__buffer_read(a, 512, bytes, 0));
        assert_ok(mot__buffer_zero(a, 512, 0));
        assert_int_equal(mot__device_counts(device)->uploads, 0);
        assert_int_equal(mot__device_counts(device)->launches, 0);
        mot__buffer_close(a);
        mot__buffer_close(b);
        mot__device_close(device);
    }
}

/* Every range of a small buffer, aligned or not, against memset. */
static void zeroing_any_range_leaves_the_rest(void **state)
{
    unsigned char want[64], got[64];

    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 0);
        mot__buffer *a = take(device, sizeof want);

        for (size_t begin = 0; begin <= 9; begin++)
            for (size_t bytes = 0; bytes <= 10; bytes++) {
                memset(want, 0xa5, sizeof want);
                assert_ok(mot__buffer_write(a, 0, want, sizeof want));
                memset(want + begin, 0, bytes);
                assert_ok(mot__buffer_zero(a, begin, bytes));
                assert_ok(mot__buffer_read(a, 0, got, sizeof got));
                if (memcmp(want, got, sizeof want) != 0)
                    fail_msg("[%s] zero %zu + %zu", check_where(), begin, bytes);
            }
        mot__buffer_close(a);
        mot__device_close(device);
    }
}

static void copies_move_floats_by_offset(void **state)
{
    float x[96], y[96], got[96];

    (void)state;
    test_fill(x, 96, 1, -1, 1);
    test_fill(y, 96, 2, -1, 1);
    ROOM_EACH(pick)
    {
        mot__device *device = open_limited(pick, 0);
        mot__buffer *a = take(device, sizeof x), *b = take(device, sizeof y);

        assert_ok(mot__buffer_write(a, 0, x, sizeof x));
        assert_ok(mot__buffer_write(b, 0, y, sizeof y));
        assert_ok(mot__buffer_copy((struct mot__mem){a, 7}, (struct mot__mem){b, 30}, 41));
        assert_ok(mot__buffer_copy((struct mot__mem){b, 30}, (struct mot__mem){b, 0}, 20));
        assert_ok(mot__buffer_read(b, 0, got, sizeof got));
        check_bits("moved within", got, x + 7, 20);
        check_bits("between", got + 20, y + 20, 10);
        check_bits("moved", got + 30, x + 7, 41);
        check_bits("behind", got + 71, y + 71, 25);
        assert_ok(mot__buffer_read(b, 30 * 4, got, 4));
        check_bits("one", got, x + 7, 1);
        mot__buffer_close(a);
        mot__buffer_close(b);
        mot__device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_the_limit_is_refused_with_the_figures),
        cmocka_unit_test(a_freed_block_serves_again),
        cmocka_unit_test(kept_blocks_make_room_when_the_limit_nears),
        cmocka_unit_test(used_and_peak_are_exact),
        cmocka_unit_test(aside_the_limit_is_passed_by_no_more_than_is_told),
        cmocka_unit_test(a_piece_larger_than_the_largest_is_refused),
        cmocka_unit_test(a_stage_that_does_not_fit_leaves_nothing_behind),
        cmocka_unit_test(ranges_outside_a_buffer_are_refused),
        cmocka_unit_test(zeroing_any_range_leaves_the_rest),
        cmocka_unit_test(copies_move_floats_by_offset),
    };

    return ROOM_RUN(tests);
}
