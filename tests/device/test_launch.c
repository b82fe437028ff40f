/* test_launch.c - launches: offsets, empty grids, what is refused, exact counters, marks, the ring
 * of commands whose fate is not known yet, times. */
#include "support/room.h"

static mot__device *open_plain(const struct mot__pick *pick, enum mot_device_class device_class,
                               bool profile)
{
    struct mot__device_options options = room_options();

    options.device_class = device_class;
    options.profile = profile;
    return room_device(pick, &options);
}

#define EACH_CLASS(pick, device)                                                                   \
    ROOM_EACH(pick)                                                                                \
    for (int class_ = MOT_CLASS_CPU; class_ <= MOT_CLASS_GPU; class_++)                            \
        for (mot__device *device = open_plain(pick, (enum mot_device_class)class_, false); device; \
             mot__device_close(device), device = NULL)

static struct mot__mem take(mot__device *device, size_t floats, float value)
{
    struct mot__mem mem = {NULL, 0};
    float *host = test_floats(floats);

    for (size_t i = 0; i < floats; i++)
        host[i] = value;
    assert_ok(mot__buffer_open(device, floats * 4, &mem.buffer));
    assert_ok(mot__buffer_write(mem.buffer, 0, host, floats * 4));
    free(host);
    return mem;
}

static void offsets_are_in_elements(void **state)
{
    enum { N = 300 };
    float a[N], b[N], y[N], want[N];

    (void)state;
    test_fill(a, N, 1, -1, 1);
    test_fill(b, N, 2, -1, 1);
    EACH_CLASS(pick, device)
    {
        struct mot__mem at_a = take(device, N, 0), at_b = take(device, N, 0),
                        at_y = take(device, N, 7);

        for (size_t i = 0; i < N; i++)
            want[i] = i >= 11 && i < 111 ? a[i - 8] + b[i + 90] : 7;
        assert_ok(mot__buffer_write(at_a.buffer, 0, a, sizeof a));
        assert_ok(mot__buffer_write(at_b.buffer, 0, b, sizeof b));
        assert_ok(room_add(device, 100, mot__mem_at(at_a, 3), mot__mem_at(at_b, 101),
                           mot__mem_at(at_y, 11)));
        assert_ok(mot__buffer_read(at_y.buffer, 0, y, sizeof y));
        check_bits("sum", y, want, N);
        mot__buffer_close(at_a.buffer);
        mot__buffer_close(at_b.buffer);
        mot__buffer_close(at_y.buffer);
    }
}

static void an_empty_grid_queues_nothing(void **state)
{
    (void)state;
    EACH_CLASS(pick, device)
    {
        struct mot_counts *counts = mot__device_counts(device);
        struct mot__mem x = take(device, 8, 1);
        uint64_t mark;

        memset(counts, 0, sizeof *counts);
        assert_ok(room_add(device, 0, x, x, x));
        assert_int_equal(counts->launches, 0);
        assert_ok(mot__device_mark(device, &mark));
        assert_ok(mot__device_reached(device, mark));
        assert_int_equal(counts->waits, 0); /* nothing to wait for */
        mot__buffer_close(x.buffer);
    }
}

static struct mot__launch add_of(const struct mot__arg *args, size_t count)
{
    return (struct mot__launch){.program = "add",
                                .kernel = "add_forward",
                                .dims = 1,
                                .global = {8},
                                .args = args,
                                .count = count};
}

static void what_cannot_run_is_refused_in_words(void **state)
{
    (void)state;
    EACH_CLASS(pick, device)
    {
        const struct mot__device_facts *facts = mot__device_facts(device);
        struct mot__mem x = take(device, 8, 1), far = {x.buffer, (size_t)UINT32_MAX + 1};
        struct mot__arg args[] = {MOT__U32(8), MOT__U32(8), MOT__MEM(x), MOT__MEM(x), MOT__MEM(x)};
        const struct mot__arg local[] = {MOT__LOCAL(facts->local_bytes + 1)};
        const struct mot__arg wrong[] = {MOT__U32(8), MOT__U32(8), MOT__MEM(x),
                                         MOT__MEM(x), MOT__MEM(x), MOT__U32(1)};
        struct mot__launch launch = add_of(args, 5);

        launch.local[0] = facts->max_group * 2;
        assert_story(mot__launch(device, &launch), MOT_DEVICE_FAILED, "add_forward wants groups");
        launch = add_of(args, 5);
        launch.dims = 0;
        assert_story(mot__launch(device, &launch), MOT_BAD_ARG, "0 dimensions");
        launch.dims = 4;
        assert_story(mot__launch(device, &launch), MOT_BAD_ARG, "4 dimensions");
        launch = add_of(local, 1);
        assert_story(mot__launch(device, &launch), MOT_DEVICE_FAILED, "of local memory of");
        launch = add_of(wrong, 6);
        assert_story(mot__launch(device, &launch), MOT_DEVICE_FAILED, "argument 5 of kernel add");
        assert_story(room_add(device, 8, x, far, x), MOT_UNSUPPORTED, "4294967296 elements");
        assert_false(mot__device_lost(device)); /* none of this is the device's fault */
        assert_ok(room_add(device, 8, x, x, x));
        assert_ok(mot__device_finish(device));
        mot__buffer_close(x.buffer);
    }
}

static void a_rehearsal_builds_and_queues_nothing(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        struct mot__device_options options = {.cache_dir = ""};
        mot__device *device = room_device(pick, &options);
        struct mot_counts *counts = mot__device_counts(device);
        struct mot__mem x = take(device, 8, 1), far = {x.buffer, (size_t)UINT32_MAX + 1};
        float got[8], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

        memset(counts, 0, sizeof *counts);
        mot__device_rehearse(device, true);
        assert_true(mot__device_rehearsing(device));
        assert_ok(room_add(device, 8, x, x, x));
        assert_ok(mot__buffer_zero(x.buffer, 0, 32));
        assert_ok(mot__buffer_copy(x, mot__mem_at(x, 4), 4));
        assert_int_equal(room_add(device, 8, x, far, x),
                         MOT_UNSUPPORTED); /* checked all the same */
        assert_int_equal(counts->compiles, 1);
        assert_int_equal(counts->launches, 0);
        mot__device_rehearse(device, false);
        assert_ok(mot__buffer_read(x.buffer, 0, got, sizeof got));
        check_bits("untouched", got, ones, 8);
        assert_ok(room_add(device, 8, x, x, x));
        assert_int_equal(counts->compiles, 1); /* built already */
        assert_int_equal(counts->launches, 1);
        mot__buffer_close(x.buffer);
        mot__device_close(device);
    }
}

static void counters_are_exact(void **state)
{
    (void)state;
    EACH_CLASS(pick, device)
    {
        struct mot_counts *counts = mot__device_counts(device);
        struct mot__mem x = take(device, 1000, 1), y = take(device, 1000, 2);
        float got[10];
        uint64_t mark[3];

        assert_ok(room_add(device, 1000, x, y, y)); /* built and warm */
        assert_ok(mot__device_finish(device));
        memset(counts, 0, sizeof *counts);
        for (size_t m = 0; m < 3; m++) {
            for (size_t i = 0; i < 5; i++)
                assert_ok(room_add(device, 1000, x, y, y));
            assert_ok(mot__device_mark(device, &mark[m]));
        }
        assert_int_equal(counts->launches, 15);
        assert_int_equal(counts->waits, 0);
        for (size_t m = 0; m < 3; m++)
            assert_ok(mot__device_reached(device, mark[m]));
        assert_int_equal(counts->waits, 3);
        assert_ok(mot__device_reached(device, mark[0])); /* long since */
        assert_ok(mot__device_finish(device));
        assert_int_equal(counts->waits, 3);
        assert_ok(mot__buffer_write(x.buffer, 0, got, 0));
        assert_ok(mot__buffer_read(y.buffer, 0, got, sizeof got));
        assert_int_equal(counts->waits, 4);
        assert_int_equal(counts->downloads, 1);
        assert_int_equal(counts->download_bytes, sizeof got);
        assert_int_equal(counts->uploads, 0);
        assert_int_equal(counts->allocations, 0);
        assert_int_equal(counts->compiles, 0);
        assert_true(got[9] == 2 + 16); /* every one of the sixteen ran once */
        mot__buffer_close(x.buffer);
        mot__buffer_close(y.buffer);
    }
}

/* The ring of pending commands wraps several times; nothing is lost and nobody has to ask. */
static void ten_thousand_launches_need_no_wait_between(void **state)
{
    const size_t many = test_small() ? 2500 : 10000;

    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_plain(pick, MOT_CLASS_AUTO, false);
        struct mot__mem one = take(device, 4, 1), sum = take(device, 4, 0);
        float got[4];

        for (size_t i = 0; i < many; i++)
            assert_ok(room_add(device, 4, one, sum, sum));
        assert_int_equal(mot__device_counts(device)->launches, many);
        assert_ok(mot__buffer_read(sum.buffer, 0, got, sizeof got));
        for (size_t i = 0; i < 4; i++)
            assert_true(got[i] == (float)many);
        mot__buffer_close(one.buffer);
        mot__buffer_close(sum.buffer);
        mot__device_close(device);
    }
}

static void a_profile_names_what_ran(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_plain(pick, MOT_CLASS_AUTO, true);
        struct mot__mem x = take(device, 4096, 1);
        struct mot_kernel_time row[8];
        size_t count = 0, seen = 0;

        for (size_t i = 0; i < 6; i++)
            assert_ok(room_add(device, 4096, x, x, x));
        assert_ok(mot__buffer_zero(x.buffer, 0, 4096));
        assert_ok(mot__device_profile(device, row, 8, &count));
        assert_int_equal(count, 0); /* not known to have ended */
        assert_ok(mot__device_finish(device));
        assert_ok(mot__device_profile(device, row, 8, &count));
        assert_int_equal(count, 2);
        for (size_t i = 0; i < count; i++) {
            const bool add = strcmp(row[i].name, "add_forward") == 0;

            seen += add || strcmp(row[i].name, "zero") == 0;
            assert_int_equal(row[i].calls, add ? 6 : 1);
            if (add && !(row[i].seconds > 0 && row[i].seconds < 60))
                fail_msg("[%s] %g s", check_where(), row[i].seconds);
        }
        assert_int_equal(seen, 2);
        assert_ok(mot__device_profile(device, row, 8, &count));
        assert_int_equal(count, 0); /* since the last call */
        mot__buffer_close(x.buffer);
        mot__device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_in_elements),
        cmocka_unit_test(an_empty_grid_queues_nothing),
        cmocka_unit_test(what_cannot_run_is_refused_in_words),
        cmocka_unit_test(a_rehearsal_builds_and_queues_nothing),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(ten_thousand_launches_need_no_wait_between),
        cmocka_unit_test(a_profile_names_what_ran),
    };

    return cmocka_run_group_tests(tests, room_open, room_close);
}
