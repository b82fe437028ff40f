/* test_choice.c - which kernels a run really used, by the devices' own account. */
#include "support/train.h"

#include <motley/bench.h>
#include <string.h>

/* How often kernel ran in a few steps on a fleet of this class with this gemm. */
static uint64_t calls_of(enum mot_device_class device_class, const char *gemm, const char *kernel)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    struct train_set set = train_set_make(64, 8, 3, 1);
    mot_data *data = train_data(&set, false, 16);
    struct mot_kernel_time row[64];
    struct mot_metrics metrics;
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_trainer *trainer = NULL;
    mot_batch *batch = NULL;
    uint64_t calls = 0;
    size_t count, i;

    config.devices = "0";
    config.device_class = device_class;
    config.gemm = gemm;
    config.profile = true;
    assert_ok(mot_fleet_open(&config, &fleet));
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_text(net, "input 8, dense 5 relu, dense 3"));
    assert_ok(mot_trainer_open(fleet, net, NULL, &trainer));
    for (i = 0; i < 4; i++) {
        if (i == 1) { /* the first step may test the candidate it chose */
            assert_ok(mot_trainer_metrics(trainer, &metrics));
            assert_ok(mot_bench_profile(fleet, 0, row, 64, &count));
        }
        assert_ok(mot_data_next(data, &batch));
        assert_ok(mot_trainer_step(trainer, batch));
    }
    assert_ok(mot_trainer_metrics(trainer, &metrics));
    assert_ok(mot_bench_profile(fleet, 0, row, 64, &count));
    for (i = 0; i < count; i++)
        if (strcmp(row[i].name, kernel) == 0)
            calls = row[i].calls;
    mot_trainer_close(trainer);
    mot_model_close(net);
    mot_fleet_close(fleet);
    mot_data_close(data);
    train_set_clear(&set);
    return calls;
}

static void a_wish_for_the_tile_means_the_tile_of_the_class(void **state)
{
    (void)state;
    assert_int_equal(calls_of(MOT_CLASS_GPU, "tile", "gemm_gpu"), 3 * 5);
    assert_int_equal(calls_of(MOT_CLASS_GPU, "tile", "gemm_cpu"), 0);
    assert_int_equal(calls_of(MOT_CLASS_CPU, "tile", "gemm_cpu"), 3 * 5);
    assert_int_equal(calls_of(MOT_CLASS_CPU, "tile", "gemm_gpu"), 0);
}

static void what_the_configuration_says_wins_over_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("MOTLEY_GEMM", "clblast", 1), 0);
    assert_int_equal(calls_of(MOT_CLASS_CPU, "auto", "gemm_cpu"), 3 * 5);
    assert_int_equal(setenv("MOTLEY_GEMM", "tile", 1), 0);
    assert_int_equal(calls_of(MOT_CLASS_CPU, NULL, "gemm_cpu"), 3 * 5);
    assert_int_equal(setenv("MOTLEY_GEMM", "best", 1), 0);
    assert_story(mot_fleet_open(NULL, &(mot_fleet *){NULL}), MOT_BAD_ARG,
                 "MOTLEY_GEMM \"best\" is none of auto, clblast, tile");
    unsetenv("MOTLEY_GEMM");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_for_the_tile_means_the_tile_of_the_class),
        cmocka_unit_test(what_the_configuration_says_wins_over_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
