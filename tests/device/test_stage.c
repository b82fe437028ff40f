/* test_stage.c - device buffers with a host side, by map and by copy: bytes arrive intact up and
 * down, over many rounds, in ranges and slots of their own, with kernels in between. */
#include "support/room.h"

#include "base/clock.h"
#include "device/internal.h"
#include "device/quirks.h"

#include <time.h>

static mot__device *open_staging(const struct mot__pick *pick, enum mot__staging kind)
{
    struct mot__device_options options = room_options();
    mot__device *device;

    options.staging = kind;
    device = room_device(pick, &options);
    assert_int_equal(mot__device_facts(device)->staging, kind);
    return device;
}

#define EACH_STAGING(pick, device)                                                                 \
    ROOM_EACH(pick)                                                                                \
    for (int kind_ = MOT__STAGING_MAP; kind_ <= MOT__STAGING_COPY; kind_++)                        \
        for (mot__device *device = open_staging(pick, (enum mot__staging)kind_); device;           \
             mot__device_close(device), device = NULL)

static size_t rounds(void)
{
    return test_small() ? 5 : 60;
}

static mot__stage *open_stage(mot__device *device, size_t bytes)
{
    mot__stage *stage = NULL;

    assert_ok(mot__stage_open(device, bytes, &stage));
    assert_non_null(mot__stage_host(stage));
    assert_non_null(mot__stage_buffer(stage));
    return stage;
}

static void what_goes_up_comes_down(void **state)
{
    const size_t sizes[] = {1, 31, 1025, 40000}; /* floats */

    (void)state;
    EACH_STAGING(pick, device)
    for (size_t s = 0; s < 4; s++) {
        const size_t n = sizes[s];
        mot__stage *stage = open_stage(device, n * 4);
        float *host = mot__stage_host(stage), *want = test_floats(n), *got = test_floats(n);

        for (size_t r = 0; r < 4; r++) { /* no launch between: the transfers alone keep the order */
            test_fill(want, n, 10 * n + r, -1, 1);
            memcpy(host, want, n * 4);
            assert_ok(mot__stage_up(stage, 0, n * 4));
            assert_ok(mot__buffer_read(mot__stage_buffer(stage), 0, got, n * 4));
            check_bits("read", got, want, n);
            assert_ok(mot__stage_down(stage, 0, 0, n * 4));
            assert_ok(mot__stage_wait(stage, 0));
            check_bits("host", host, want, n);
        }
        assert_ptr_equal(mot__stage_host(stage), host);
        mot__stage_close(stage);
        free(want);
        free(got);
    }
}

/* Where the sides are two, a download that overtakes the upload would bring the old bytes. */
static void a_download_waits_for_the_upload_before_it(void **state)
{
    const size_t n = test_small() ? 1000 : 500000;

    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, n * 4);
        uint32_t *host = mot__stage_host(stage);

        for (uint32_t r = 1; r <= rounds(); r++) {
            for (size_t i = 0; i < n; i++)
                host[i] = r;
            assert_ok(mot__stage_up(stage, 0, n * 4));
            assert_ok(mot__stage_down(stage, 1, 0, n * 4));
            assert_ok(mot__stage_wait(stage, 1));
            for (size_t i = 0; i < n; i++)
                if (host[i] != r)
                    fail_msg("[%s] round %u, word %zu: %u", check_where(), r, i, host[i]);
        }
        mot__stage_close(stage);
    }
}

/* As the feed does: fill, up, launch, take; the next filling must not touch what is on its way. */
static void a_taken_side_may_be_filled_anew(void **state)
{
    const size_t n = test_small() ? 500 : 100000;

    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, n * 4);
        float *host = mot__stage_host(stage), *got = test_floats(n), want = 0;
        mot__buffer *sum = NULL;

        assert_ok(mot__buffer_open(device, n * 4, &sum));
        assert_ok(mot__buffer_zero(sum, 0, n * 4));
        for (size_t r = 1; r <= rounds(); r++) {
            for (size_t i = 0; i < n; i++)
                host[i] = (float)(r + i % 16);
            want += (float)r;
            assert_ok(mot__stage_up(stage, 0, n * 4));
            assert_ok(room_add(device, n, (struct mot__mem){sum, 0},
                               (struct mot__mem){mot__stage_buffer(stage), 0},
                               (struct mot__mem){sum, 0}));
            assert_ok(mot__stage_take(stage, 0));
            assert_ok(mot__stage_wait(stage, 0));
            for (size_t i = 0; i < n; i++)
                host[i] = -1e30f; /* what a launch that still reads would show */
        }
        assert_ok(mot__buffer_read(sum, 0, got, n * 4));
        for (size_t i = 0; i < n; i++)
            if (got[i] != want + (float)(rounds() * (i % 16)))
                fail_msg("[%s] sum[%zu] is %g", check_where(), i, (double)got[i]);
        mot__buffer_close(sum);
        mot__stage_close(stage);
        free(got);
    }
}

/* No launch behind the upload: its end alone gives the host side back. */
static void a_take_right_after_an_upload_waits_for_it(void **state)
{
    const size_t n = test_small() ? 1000 : 2000000;

    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, n * 4);
        uint32_t *host = mot__stage_host(stage), *got = test_alloc(n, 4);

        for (uint32_t r = 1; r <= 6; r++) {
            for (size_t i = 0; i < n; i++)
                host[i] = r;
            assert_ok(mot__stage_up(stage, 0, n * 4));
            assert_ok(mot__stage_take(stage, 3));
            assert_ok(mot__stage_wait(stage, 3));
            memset(host, 0xff, n * 4);
            if (mot__device_facts(device)->staging == MOT__STAGING_MAP)
                continue; /* one memory: what was written is there */
            assert_ok(mot__buffer_read(mot__stage_buffer(stage), 0, got, n * 4));
            for (size_t i = 0; i < n; i++)
                if (got[i] != r)
                    fail_msg("[%s] round %u, word %zu: %08x", check_where(), r, i, got[i]);
        }
        mot__stage_close(stage);
        free(got);
    }
}

/* As mirrored does: ranges come down in slots, the host changes them, they go up, the device works
 * on, and so on. */
/* A mapping goes back to the device before anybody waited for it: a wait only where the driver
 * needs one. */
static void a_mapping_is_given_back_before_it_was_made(void **state)
{
    (void)state;
    ROOM_EACH(pick)
    {
        mot__device *device = open_staging(pick, MOT__STAGING_MAP);
        const bool waits =
            mot__quirk_has(&mot__device_facts(device)->info, MOT__QUIRK_UNMAP_WAITS, NULL);
        mot__stage *stage = open_stage(device, 4096);
        float *host = mot__stage_host(stage), got = 0;
        uint64_t before;

        host[3] = 7;
        assert_ok(mot__stage_up(stage, 0, 4096));
        before = mot__device_counts(device)->waits;
        assert_ok(mot__stage_take(stage, 0));
        assert_ok(mot__stage_up(stage, 0, 4096));
        assert_int_equal(mot__device_counts(device)->waits - before, waits);
        assert_ok(mot__buffer_read(mot__stage_buffer(stage), 12, &got, 4));
        check_bits("value", &got, &(float){7}, 1);
        mot__stage_close(stage);
        mot__device_close(device);
    }
}

static void ranges_travel_in_slots_of_their_own(void **state)
{
    const size_t n = 4096, parts = 5;
    const size_t begin[6] = {0, 100, 1000, 1031, 4000, 4096};

    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, n * 4);
        float *host = mot__stage_host(stage), *got = test_floats(n);
        const struct mot__mem buffer = {mot__stage_buffer(stage), 0};

        memset(host, 0, n * 4);
        for (size_t i = 0; i < n; i++)
            host[i] = (float)i;
        assert_ok(mot__stage_up(stage, 0, n * 4));
        for (size_t r = 0; r < rounds(); r++) { /* x = 2 x; then each part p: x = x / 2 + p + 1 */
            assert_ok(room_add(device, n, buffer, buffer, buffer));
            for (size_t p = parts; p-- > 0;)
                assert_ok(mot__stage_down(stage, p, begin[p] * 4, (begin[p + 1] - begin[p]) * 4));
            for (size_t p = 0; p < parts; p++) {
                assert_ok(mot__stage_wait(stage, p));
                for (size_t i = begin[p]; i < begin[p + 1]; i++)
                    host[i] = host[i] / 2 + (float)(p + 1);
                assert_ok(mot__stage_up(stage, begin[p] * 4, (begin[p + 1] - begin[p]) * 4));
            }
        }
        assert_ok(mot__buffer_read(buffer.buffer, 0, got, n * 4));
        for (size_t p = 0; p < parts; p++)
            for (size_t i = begin[p]; i < begin[p + 1]; i++)
                if (got[i] != (float)(i + rounds() * (p + 1)))
                    fail_msg("[%s] part %zu, %zu: %g", check_where(), p, i, (double)got[i]);
        assert_ptr_equal(mot__stage_host(stage), host);
        mot__stage_close(stage);
        free(got);
    }
}

static void a_range_may_come_down_twice(void **state)
{
    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, 4096);
        uint32_t *host = mot__stage_host(stage);

        for (uint32_t i = 0; i < 1024; i++)
            host[i] = i;
        assert_ok(mot__stage_up(stage, 0, 4096));
        for (size_t r = 0; r < 3; r++) {
            assert_ok(mot__stage_down(stage, 0, 0, 2048));
            assert_ok(mot__stage_down(stage, 1, 1024, 3072)); /* over a part of the first */
            assert_ok(mot__stage_wait(stage, 1));
            assert_ok(mot__stage_wait(stage, 0));
        }
        for (uint32_t i = 0; i < 1024; i++)
            assert_int_equal(host[i], i);
        mot__stage_close(stage);
    }
}

/* Whether the newest launch ends while we look; a launch that is held never does. */
static bool newest_ends(mot__device *device)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const double until_s = mot__clock_s() + 30;
    cl_int state = CL_QUEUED;

    assert_ok(mot__device_flush(device));
    for (; state > CL_COMPLETE && mot__clock_s() < until_s; nanosleep(&pause, NULL))
        assert_int_equal(clGetEventInfo(device->last, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                        sizeof state, &state, NULL),
                         CL_SUCCESS);
    return state == CL_COMPLETE;
}

/* What was sent in two slots is waited for in two: while the second is held by an event of ours,
 * what needs the first alone runs. */
static void a_launch_waits_for_the_slots_that_arrived_alone(void **state)
{
    const size_t n = 256;

    (void)state;
    if (test_small()) /* not every implementation lets an event of ours hold its queue */
        skip();
    ROOM_EACH(pick)
    {
        mot__device *device = open_staging(pick, MOT__STAGING_COPY);
        mot__stage *stage = open_stage(device, 2 * n * 4);
        const struct mot__mem x = {mot__stage_buffer(stage), 0}, y = mot__mem_at(x, n);
        float *host = mot__stage_host(stage), got[2] = {0};
        struct mot__mem out = {NULL, 0};
        cl_int error, status;
        cl_event hold;
        bool ended;

        assert_ok(mot__buffer_open(device, 2 * n * 4, &out.buffer));
        for (size_t i = 0; i < 2 * n; i++)
            host[i] = i < n ? 3 : 5;
        assert_ok(mot__stage_send(stage, 0, 0, n * 4));
        hold = clCreateUserEvent(device->context, &error);
        assert_int_equal(error, CL_SUCCESS);
        assert_int_equal(clEnqueueBarrierWithWaitList(device->up, 1, &hold, NULL), CL_SUCCESS);
        assert_ok(mot__stage_send(stage, 1, n * 4, n * 4));

        assert_ok(mot__stage_arrive(stage, 0));
        assert_ok(room_add(device, n, x, x, out));
        ended = newest_ends(device);
        assert_ok(mot__stage_arrive(stage, 1));
        assert_ok(room_add(device, n, y, y, mot__mem_at(out, n)));
        assert_int_equal(clGetEventInfo(device->last, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                        sizeof status, &status, NULL),
                         CL_SUCCESS);
        assert_int_equal(clSetUserEventStatus(hold, CL_COMPLETE), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(hold), CL_SUCCESS);
        if (!ended)
            fail_msg("[%s] the launch behind the first slot waits for the second", check_where());
        assert_true(status > CL_COMPLETE);
        assert_true(newest_ends(device));
        assert_ok(mot__buffer_read(out.buffer, 0, &got[0], 4));
        assert_ok(mot__buffer_read(out.buffer, n * 4, &got[1], 4));
        assert_true(got[0] == 6 && got[1] == 10);
        mot__buffer_close(out.buffer);
        mot__stage_close(stage);
        mot__device_close(device);
    }
}

/* More uploads than gates before the first launch: it waits for all. */
static void a_launch_sees_every_upload_before_it(void **state)
{
    enum { STAGES = 20 };
    const size_t n = test_small() ? 64 : 5000;

    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage[STAGES];
        mot__buffer *sum = NULL;
        float *got = test_floats(n);

        assert_ok(mot__buffer_open(device, n * 4, &sum));
        for (size_t r = 0; r < 3; r++) {
            for (size_t s = 0; s < STAGES; s++) {
                stage[s] = open_stage(device, n * 4);
                for (size_t i = 0; i < n; i++)
                    ((float *)mot__stage_host(stage[s]))[i] = (float)(1u << s);
            }
            for (size_t s = 0; s < STAGES; s++)
                assert_ok(mot__stage_up(stage[s], 0, n * 4));
            assert_ok(mot__buffer_zero(sum, 0, n * 4));
            for (size_t s = 0; s < STAGES; s++)
                assert_ok(room_add(device, n, (struct mot__mem){sum, 0},
                                   (struct mot__mem){mot__stage_buffer(stage[s]), 0},
                                   (struct mot__mem){sum, 0}));
            assert_ok(mot__buffer_read(sum, 0, got, n * 4));
            for (size_t i = 0; i < n; i++)
                if (got[i] != (float)((1u << STAGES) - 1))
                    fail_msg("[%s] sum[%zu] is %g", check_where(), i, (double)got[i]);
            for (size_t s = 0; s < STAGES; s++)
                mot__stage_close(stage[s]);
        }
        mot__buffer_close(sum);
        free(got);
    }
}

static void transfers_are_counted(void **state)
{
    (void)state;
    EACH_STAGING(pick, device)
    {
        struct mot_counts *counts = mot__device_counts(device);
        mot__stage *stage = open_stage(device, 8192);

        memset(mot__stage_host(stage), 0, 8192);
        memset(counts, 0, sizeof *counts);
        assert_ok(mot__stage_up(stage, 0, 8192));
        assert_ok(mot__stage_down(stage, 2, 0, 100));
        assert_ok(mot__stage_down(stage, 3, 4096, 200));
        assert_int_equal(counts->waits, 0);
        assert_ok(mot__stage_wait(stage, 2));
        assert_ok(mot__stage_wait(stage, 3));
        assert_ok(mot__stage_wait(stage, 3)); /* nothing on its way any more */
        assert_int_equal(counts->waits, 2);
        assert_int_equal(counts->uploads, 1);
        assert_int_equal(counts->upload_bytes, 8192);
        assert_int_equal(counts->downloads, 2);
        assert_int_equal(counts->download_bytes, 300);
        assert_int_equal(counts->allocations, 0);
        mot__stage_close(stage);
    }
}

static void what_is_outside_a_stage_is_refused(void **state)
{
    (void)state;
    EACH_STAGING(pick, device)
    {
        mot__stage *stage = open_stage(device, 4096);

        assert_story(mot__stage_up(stage, 0, 4097), MOT_BAD_ARG, "4097 bytes from byte 0 on");
        assert_story(mot__stage_up(stage, 8, SIZE_MAX), MOT_BAD_ARG, "of 4096");
        assert_ok(mot__stage_up(stage, 0, 4096));
        assert_story(mot__stage_down(stage, 0, 4096, 1), MOT_BAD_ARG, "of 4096");
        assert_story(mot__stage_down(stage, MOT__STAGE_SLOTS, 0, 4), MOT_BAD_ARG, "slot 64");
        assert_story(mot__stage_take(stage, MOT__STAGE_SLOTS), MOT_BAD_ARG, "slot 64");
        assert_story(mot__stage_wait(stage, MOT__STAGE_SLOTS), MOT_BAD_ARG, "slot 64");
        if (mot__device_facts(device)->staging == MOT__STAGING_MAP)
            assert_story(mot__stage_up(stage, 0, 4), MOT_BAD_STATE, "are not the host's");
        mot__stage_close(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_up_comes_down),
        cmocka_unit_test(a_download_waits_for_the_upload_before_it),
        cmocka_unit_test(a_taken_side_may_be_filled_anew),
        cmocka_unit_test(a_take_right_after_an_upload_waits_for_it),
        cmocka_unit_test(a_mapping_is_given_back_before_it_was_made),
        cmocka_unit_test(ranges_travel_in_slots_of_their_own),
        cmocka_unit_test(a_range_may_come_down_twice),
        cmocka_unit_test(a_launch_waits_for_the_slots_that_arrived_alone),
        cmocka_unit_test(a_launch_sees_every_upload_before_it),
        cmocka_unit_test(transfers_are_counted),
        cmocka_unit_test(what_is_outside_a_stage_is_refused),
    };

    return ROOM_RUN(tests);
}
