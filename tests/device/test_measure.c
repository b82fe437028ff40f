/* test_measure.c - the speed of a device is positive, sensible, measured once and remembered. */
#include "support/room.h"

static void check_sensible(const struct mot_device_speed *speed)
{
    const double value[] = {speed->gemm_gflops, speed->memory_gbps, speed->upload_gbps,
                            speed->download_gbps};
    const char *const name[] = {"GEMM", "memory", "upload", "download"};

    for (size_t i = 0; i < 4; i++)
        if (!(value[i] > 1e-6 && value[i] < 1e6))
            fail_msg("[%s] %s: %g", check_where(), name[i], value[i]);
}

static void same(const struct mot_device_speed *a, const struct mot_device_speed *b)
{
    assert_true(a->gemm_gflops == b->gemm_gflops && a->memory_gbps == b->memory_gbps);
    assert_true(a->upload_gbps == b->upload_gbps && a->download_gbps == b->download_gbps);
}

static void it_is_measured_once_and_remembered(void **state)
{
    struct mot__device_options options = {.gemm = MOT__GEMM_TILE};

    (void)state;
    options.cache_dir = folder_path(&room()->folder, "measure");
    ROOM_EACH(pick)
    {
        struct mot_device_speed first = {0}, again = {0};
        mot__device *device = room_device(pick, &options);
        uint64_t launches;

        assert_ok(mot__device_measure(device, false, &first));
        check_sensible(&first);
        assert_int_equal(mot__device_used(device), 0); /* it gave its buffers back */
        launches = mot__device_counts(device)->launches;
        assert_ok(mot__device_measure(device, false, &again));
        same(&first, &again);
        assert_int_equal(mot__device_counts(device)->launches, launches);
        mot__device_close(device);

        device = room_device(pick, &options); /* another object reads the same figures */
        memset(&again, 0, sizeof again);
        assert_ok(mot__device_measure(device, false, &again));
        same(&first, &again);
        assert_int_equal(mot__device_counts(device)->launches, 0);
        assert_ok(mot__store_set(device, "speed", "1 2 nonsense 4")); /* then it tries again */
        assert_ok(mot__device_measure(device, false, &again));
        check_sensible(&again);
        assert_true(mot__device_counts(device)->launches > 0);
        assert_ok(mot__store_set(device, "speed", "1 2 3 4"));
        assert_ok(mot__device_measure(device, true, &again)); /* fresh: never what was kept */
        assert_true(again.upload_gbps != 3 && again.download_gbps != 4);
        mot__device_close(device);
    }
}

static void a_memory_limit_that_is_not_round_is_no_trouble(void **state)
{
    struct mot__device_options options = {.gemm = MOT__GEMM_TILE};

    (void)state;
    options.cache_dir = folder_path(&room()->folder, "measure"); /* GEMM is tested by now */
    options.memory_bytes = 8 * 1048577 + 5;                      /* an eighth is odd */
    ROOM_EACH(pick)
    {
        mot__device *device = room_device(pick, &options);
        struct mot_device_speed speed = {0};

        assert_ok(mot__device_measure(device, true, &speed));
        check_sensible(&speed);
        mot__device_close(device);
        options.memory_bytes = 1 << 20;
        device = room_device(pick, &options);
        assert_story(mot__device_measure(device, true, &speed), MOT_NO_MEMORY,
                     "1048576 bytes are too few to measure");
        mot__device_close(device);
        options.memory_bytes = 8 * 1048577 + 5;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_measured_once_and_remembered),
        cmocka_unit_test(a_memory_limit_that_is_not_round_is_no_trouble),
    };

    return ROOM_RUN(tests);
}
