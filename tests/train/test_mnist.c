/* test_mnist.c - the GPU-class kernels alone reach the accuracy of the task: on the real digits
 * where $MOTLEY_TEST_MNIST names their folder, else on drawn ones; by our tile, so that no product
 * is CLBlast's. */
#include "support/train.h"

#include <motley/bench.h>

#define BATCH 128

struct task {
    mot_data *train, *test;
    size_t epochs;
    double least; /* accuracy */
};

/* Seeds 1, 2, 3. Real, two epochs: 95.9, 96.2, 95.9 %. Drawn, ten: 96.6, 97.0, 96.4 %. */
static struct task open_task(void)
{
    const char *dir = getenv("MOTLEY_TEST_MNIST");
    struct task task = {NULL, NULL, 2, 0.95};

    if (dir) {
        assert_ok(mot_data_idx(dir, &task.train, &task.test));
    } else {
        assert_ok(mot_data_digits(1, 8000, &task.train));
        assert_ok(mot_data_digits(2, 500, &task.test));
        task.epochs = 10;
        task.least = 0.95;
    }
    assert_ok(mot_data_batch(task.train, BATCH));
    assert_ok(mot_data_shuffle(task.train, 2));
    assert_ok(mot_data_batch(task.test, BATCH));
    return task;
}

/* Every kernel the run used; none may be of the CPU's tile. */
static void only_gpu_kernels_ran(mot_fleet *fleet)
{
    struct mot_kernel_time row[64];
    size_t count = 0, products = 0;

    assert_ok(mot_bench_profile(fleet, 0, row, 64, &count));
    for (size_t i = 0; i < count; i++) {
        assert_string_not_equal(row[i].name, "gemm_cpu");
        assert_string_not_equal(row[i].name, "clblast");
        products += strcmp(row[i].name, "gemm_gpu") == 0;
    }
    assert_int_equal(products, 1);
}

static void gpu_kernels_alone_reach_the_accuracy(void **state)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    struct task task = open_task();
    struct train_run run = {.net = train_net("input 784, dense 64 relu, dense 10")};
    struct mot_metrics metrics;

    (void)state;
    fleet.devices = "0";
    fleet.device_class = MOT_CLASS_GPU;
    fleet.gemm = "tile";
    fleet.profile = true;
    config.seed = 1;
    config.optimizer.lr = 0.002;
    fit.epochs = task.epochs;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    assert_ok(mot_fit(run.trainer, task.train, NULL, &fit, NULL));
    assert_ok(mot_evaluate(run.trainer, task.test, &metrics));
    print_message("accuracy %.4f\n", metrics.accuracy);
    if (!(metrics.accuracy >= task.least))
        fail_msg("accuracy %.4f, wanted %.2f", metrics.accuracy, task.least);
    only_gpu_kernels_ran(run.fleet);
    run.data = task.train;
    mot_data_close(task.test);
    train_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_kernels_alone_reach_the_accuracy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
