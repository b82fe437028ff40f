/* test_measure.c - the speed of a device is positive and sensible, and measuring leaves nothing. */
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

static void it_is_measured_and_leaves_nothing(void **state)
{
    struct mot__device_options options = {.gemm = MOT__GEMM_TILE};

    (void)state;
    options.cache_dir = folder_path(&room()->folder, "measure");
    ROOM_EACH(pick)
    {
        struct mot_device_speed speed = {0};
        mot__device *device = room_device(pick, &options);

        assert_ok(mot__device_measure(device, &speed));
        check_sensible(&speed);
        assert_int_equal(mot__device_used(device), 0); /* it gave its buffers back */
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

        assert_ok(mot__device_measure(device, &speed));
        check_sensible(&speed);
        mot__device_close(device);
        options.memory_bytes = 1 << 20;
        device = room_device(pick, &options);
        assert_story(mot__device_measure(device, &speed), MOT_NO_MEMORY,
                     "1048576 bytes are too few to measure");
        mot__device_close(device);
        options.memory_bytes = 8 * 1048577 + 5;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_measured_and_leaves_nothing),
        cmocka_unit_test(a_memory_limit_that_is_not_round_is_no_trouble),
    };

    return ROOM_RUN(tests);
}
