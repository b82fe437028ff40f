/* test_async.c - commands that fail on the device, behind their queue: whoever waits next tells,
 * once, what failed first; a lost device is called no more. A command is made to fail by an event
 * of ours that it waits for. */
#include "support/room.h"

#include "device/internal.h"
#include "device/quirks.h"

#include <time.h>

#define N 64

struct bench {
    mot__device *device;
    struct mot__mem x;
    cl_event event; /* ours; the next command waits for it */
};

static struct bench bench_open(enum mot__staging staging)
{
    struct mot__device_options options = room_options();
    struct bench bench = {NULL, {NULL, 0}, NULL};
    float zero[N] = {0};

    options.staging = staging;
    bench.device = room_device(room()->pick, &options);
    assert_ok(mot__buffer_open(bench.device, sizeof zero, &bench.x.buffer));
    assert_ok(mot__buffer_write(bench.x.buffer, 0, zero, sizeof zero));
    return bench;
}

static mot_status add(struct bench *bench)
{
    return room_add(bench->device, N, bench->x, bench->x, bench->x);
}

/* The device works on as before. */
static void bench_close(struct bench *bench)
{
    float got[N];

    assert_ok(add(bench));
    assert_ok(mot__device_finish(bench->device));
    assert_ok(mot__buffer_read(bench->x.buffer, 0, got, sizeof got));
    mot__buffer_close(bench->x.buffer);
    mot__device_close(bench->device);
}

static void hold(struct bench *bench)
{
    cl_int error;

    bench->event = clCreateUserEvent(bench->device->context, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(mot__gate_add(bench->device, bench->event));
}

static void let_go(struct bench *bench, cl_int state)
{
    assert_int_equal(clSetUserEventStatus(bench->event, state), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(bench->event), CL_SUCCESS);
}

static void queue_failure(struct bench *bench)
{
    hold(bench);
    assert_ok(add(bench));
    assert_ok(mot__device_flush(bench->device));
    let_go(bench, -9999);
}

static void finish_tells_a_failed_launch_once(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_AUTO);

    (void)state;
    queue_failure(&bench);
    assert_story(mot__device_finish(bench.device), MOT_DEVICE_FAILED,
                 "add_forward failed on the device");
    assert_ok(mot__device_finish(bench.device));
    assert_false(mot__device_lost(bench.device));
    bench_close(&bench);
}

static void a_mark_tells_what_failed_before_it(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_AUTO);
    uint64_t before, behind;

    (void)state;
    assert_ok(add(&bench));
    assert_ok(mot__device_mark(bench.device, &before));
    queue_failure(&bench);
    assert_ok(mot__device_mark(bench.device, &behind));
    assert_ok(mot__device_reached(bench.device, before)); /* not its business */
    assert_story(mot__device_reached(bench.device, behind), MOT_DEVICE_FAILED, "add_forward");
    bench_close(&bench);
}

static void a_read_tells_too(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_AUTO);
    float got[N];

    (void)state;
    queue_failure(&bench);
    assert_story(mot__buffer_read(bench.x.buffer, 0, got, sizeof got), MOT_DEVICE_FAILED,
                 "add_forward failed");
    bench_close(&bench);
}

static void a_download_tells_what_it_waited_for(void **state)
{
    (void)state;
    for (int kind = MOT__STAGING_MAP; kind <= MOT__STAGING_COPY; kind++) {
        struct bench bench = bench_open((enum mot__staging)kind);
        mot__stage *stage = NULL;

        assert_ok(mot__stage_open(bench.device, 4 * N, &stage));
        memset(mot__stage_host(stage), 0, 4 * N);
        assert_ok(mot__stage_up(stage, 0, 4 * N));
        hold(&bench);
        assert_ok(add(&bench));
        assert_ok(mot__stage_down(stage, 5, 0, 4 * N));
        let_go(&bench, -9999);
        assert_story(mot__stage_wait(stage, 5), MOT_DEVICE_FAILED, "add_forward failed");
        mot__stage_close(stage);
        bench_close(&bench);
    }
}

static void of_several_the_first_is_told(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_AUTO);

    (void)state;
    hold(&bench);
    assert_ok(mot__buffer_zero(bench.x.buffer, 0, 4));
    assert_ok(add(&bench)); /* fails as well, for what stands before it */
    let_go(&bench, -9999);
    assert_story(mot__device_finish(bench.device), MOT_DEVICE_FAILED, "zero failed");
    bench_close(&bench);
}

/* Nobody asks for longer than the ring holds: one launch tells, and only one. */
static void a_ring_that_wraps_forgets_no_failure(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_AUTO);
    unsigned told = 0;

    (void)state;
    queue_failure(&bench);
    while (bench.device->settled == bench.device->queued - 1)
        if (clFinish(bench.device->compute) == CL_SUCCESS)
            break; /* it has ended: what follows does not hang on it */
    for (size_t i = 0; i < 2 * MOT__PENDING + 10; i++)
        if (add(&bench) != MOT_OK) {
            assert_non_null(strstr(mot_error(), "add_forward failed"));
            told++;
        }
    assert_int_equal(told, 1);
    bench_close(&bench);
}

static void a_lost_device_is_called_no_more(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_COPY);
    mot__device *device = bench.device;
    struct mot__buffer *buffer = NULL;
    mot__stage *stage = NULL, *other = NULL;
    uint64_t mark, queued;
    float got[N] = {0};

    (void)state;
    assert_ok(mot__stage_open(device, 4 * N, &stage));
    assert_ok(add(&bench));
    if (mot__quirk_has(&device->facts.info, MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES, NULL)) {
        assert_story(mot__cl_fail(device, CL_OUT_OF_RESOURCES, "a launch"), MOT_DEVICE_FAILED,
                     "a launch: out of resources (OpenCL -5)");
        assert_false(mot__device_lost(device));
        assert_ok(add(&bench));
    }
    assert_story(mot__cl_fail(device, CL_DEVICE_NOT_AVAILABLE, "a launch"), MOT_DEVICE_LOST,
                 "a launch: device not available (OpenCL -2)");
    assert_true(mot__device_lost(device));
    queued = device->queued;
    assert_story(add(&bench), MOT_DEVICE_LOST, "was lost earlier");
    assert_int_equal(mot__buffer_write(bench.x.buffer, 0, got, 4), MOT_DEVICE_LOST);
    assert_int_equal(mot__buffer_read(bench.x.buffer, 0, got, 4), MOT_DEVICE_LOST);
    assert_int_equal(mot__buffer_zero(bench.x.buffer, 0, 4), MOT_DEVICE_LOST);
    assert_int_equal(mot__buffer_copy(bench.x, mot__mem_at(bench.x, 8), 8), MOT_DEVICE_LOST);
    assert_int_equal(mot__buffer_open(device, 1 << 20, &buffer), MOT_DEVICE_LOST);
    assert_int_equal(mot__stage_open(device, 4 * N, &other), MOT_DEVICE_LOST);
    assert_int_equal(mot__stage_up(stage, 0, 4), MOT_DEVICE_LOST);
    assert_int_equal(mot__stage_down(stage, 0, 0, 4), MOT_DEVICE_LOST);
    assert_int_equal(mot__stage_take(stage, 0), MOT_DEVICE_LOST);
    assert_int_equal(mot__stage_wait(stage, 0), MOT_DEVICE_LOST);
    assert_int_equal(mot__device_flush(device), MOT_DEVICE_LOST);
    assert_int_equal(mot__device_mark(device, &mark), MOT_DEVICE_LOST);
    assert_int_equal(mot__device_finish(device), MOT_DEVICE_LOST);
    assert_int_equal(device->queued, queued);
    device->lost = false; /* it was not: give back what would be left on purpose */
    mot__device_finish(device);
    mot__stage_close(stage);
    bench_close(&bench);
}

/* The upload is held back: a download that did not wait for it would bring the old bytes. */
static void a_download_does_not_overtake_an_upload(void **state)
{
    struct bench bench = bench_open(MOT__STAGING_COPY);
    const struct timespec while_ = {0, 50 * 1000000};
    mot__stage *stage = NULL;
    uint32_t *host;
    cl_event held;
    cl_int error;

    (void)state;
    assert_ok(mot__stage_open(bench.device, 4 * N, &stage));
    host = mot__stage_host(stage);
    assert_ok(mot__buffer_zero(mot__stage_buffer(stage), 0, 4 * N));
    assert_ok(mot__device_finish(bench.device));
    for (uint32_t i = 0; i < N; i++)
        host[i] = 1000 + i;
    held = clCreateUserEvent(bench.device->context, &error);
    assert_int_equal(clEnqueueBarrierWithWaitList(bench.device->up, 1, &held, NULL), CL_SUCCESS);
    assert_ok(mot__stage_up(stage, 0, 4 * N));
    assert_ok(mot__stage_down(stage, 0, 0, 4 * N));
    nanosleep(&while_, NULL);
    assert_int_equal(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
    assert_ok(mot__stage_wait(stage, 0));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(host[i], 1000 + i);
    clReleaseEvent(held);
    mot__stage_close(stage);
    bench_close(&bench);
}

/* Uploads are held back until all of it is queued: a call that waited for one would wait for good.
 */
static void uploads_beyond_the_gates_hold_nobody_up(void **state)
{
    enum { PARTS = 2 * MOT__GATES + 4, FLOATS = PARTS * N };
    struct bench bench = bench_open(MOT__STAGING_COPY);
    struct mot_counts *counts = mot__device_counts(bench.device);
    struct mot__mem sum = {NULL, 0};
    mot__stage *stage = NULL;
    float *host, got[FLOATS];
    cl_event held;
    cl_int error;

    (void)state;
    assert_ok(mot__stage_open(bench.device, sizeof got, &stage));
    assert_ok(mot__buffer_open(bench.device, sizeof got, &sum.buffer));
    assert_ok(mot__buffer_zero(sum.buffer, 0, sizeof got));
    assert_ok(mot__buffer_zero(mot__stage_buffer(stage), 0, sizeof got));
    assert_ok(room_add(bench.device, FLOATS, sum, sum, sum)); /* built before it counts */
    assert_ok(mot__device_finish(bench.device));
    host = mot__stage_host(stage);
    for (uint32_t i = 0; i < FLOATS; i++)
        host[i] = 1.0f + (float)i;
    counts->waits = 0;
    held = clCreateUserEvent(bench.device->context, &error);
    assert_int_equal(clEnqueueBarrierWithWaitList(bench.device->up, 1, &held, NULL), CL_SUCCESS);
    for (size_t p = 0; p < PARTS; p++)
        assert_ok(mot__stage_up(stage, p * N * sizeof(float), N * sizeof(float)));
    assert_ok(
        room_add(bench.device, FLOATS, sum, (struct mot__mem){mot__stage_buffer(stage), 0}, sum));
    assert_int_equal(counts->waits, 0);
    assert_int_equal(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
    assert_ok(mot__buffer_read(sum.buffer, 0, got, sizeof got));
    check_bits("the sum", got, host, FLOATS);
    clReleaseEvent(held);
    mot__buffer_close(sum.buffer);
    mot__stage_close(stage);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_tells_a_failed_launch_once),
        cmocka_unit_test(a_mark_tells_what_failed_before_it),
        cmocka_unit_test(a_read_tells_too),
        cmocka_unit_test(a_download_tells_what_it_waited_for),
        cmocka_unit_test(of_several_the_first_is_told),
        cmocka_unit_test(a_ring_that_wraps_forgets_no_failure),
        cmocka_unit_test(a_lost_device_is_called_no_more),
        cmocka_unit_test(a_download_does_not_overtake_an_upload),
        cmocka_unit_test(uploads_beyond_the_gates_hold_nobody_up),
    };

    return cmocka_run_group_tests(tests, room_open, room_close);
}
