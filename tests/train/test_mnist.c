/* test_mnist.c - the GPU-class kernels alone reach the accuracy of the task: on the real digits
 * where $MOTLEY_TEST_MNIST names their folder, else on drawn ones, and on Fashion-MNIST where it is
 * installed; which it was is printed. By our tile, so that no product is CLBlast's; with
 * MOTLEY_TEST_GEMM=clblast, behind a card that gets CLBlast by default, so that every one is. */
#include "support/train.h"

#include <motley/bench.h>

#define BATCH 128
#define FASHION "/usr/share/datasets/fashion-mnist"

static const struct task {
    const char *what;
    size_t epochs;
    double least;                         /* accuracy */
} drawn = {"drawn digits", 10, 0.95},     /* seeds 1, 2, 3: 96.6, 97.0, 96.4 % */
    real = {"MNIST", 2, 0.95},            /* 95.9, 96.2, 95.9 % */
    fashion = {"Fashion-MNIST", 1, 0.80}; /* 84.3, 83.0, 83.7 % */

struct data {
    mot_data *train, *test;
};

/* dir: NULL for drawn ones. */
static struct data open_data(const struct task *task, const char *dir)
{
    struct data data = {NULL, NULL};

    print_message("data: %s%s%s\n", task->what, dir ? " of " : "", dir ? dir : "");
    if (dir) {
        assert_ok(mot_data_idx(dir, &data.train, &data.test));
    } else {
        assert_ok(mot_data_digits(1, 8000, &data.train));
        assert_ok(mot_data_digits(2, 500, &data.test));
    }
    assert_ok(mot_data_batch(data.train, BATCH));
    assert_ok(mot_data_shuffle(data.train, 2));
    assert_ok(mot_data_batch(data.test, BATCH));
    return data;
}

static const char *wanted_gemm(void)
{
    const char *wanted = getenv("MOTLEY_TEST_GEMM");

    return wanted ? wanted : "gemm_gpu";
}

/* Every kernel the run used: its products are of one kind. */
static void only_the_wanted_gemm_ran(mot_fleet *fleet)
{
    static const char *const kinds[] = {"gemm_cpu", "gemm_gpu", "clblast"};
    struct mot_kernel_time row[64];
    size_t count = 0, products = 0;

    assert_ok(mot_bench_profile(fleet, 0, row, 64, &count));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strcmp(row[i].name, kinds[k]) == 0) {
                assert_string_equal(row[i].name, wanted_gemm());
                products++;
            }
    assert_int_equal(products, 1);
}

static void learns(const struct task *task, const char *dir)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_fit_config fit = mot_fit_config_default();
    struct data data = open_data(task, dir);
    struct train_run run = {.net = train_net("input 784, dense 64 relu, dense 10"),
                            .data = data.train};
    struct mot_metrics metrics;

    fleet.devices = "0";
    if (!getenv("MOTLEY_TEST_GEMM")) {
        fleet.device_class = MOT_CLASS_GPU;
        fleet.gemm = "tile";
    }
    fleet.profile = true;
    config.seed = 1;
    config.optimizer.lr = 0.002;
    fit.epochs = task->epochs;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    assert_ok(mot_fit(run.trainer, data.train, NULL, &fit, NULL));
    assert_ok(mot_evaluate(run.trainer, data.test, &metrics));
    print_message("accuracy %.4f\n", metrics.accuracy);
    if (!(metrics.accuracy >= task->least))
        fail_msg("%s: accuracy %.4f, wanted %.2f", task->what, metrics.accuracy, task->least);
    only_the_wanted_gemm_ran(run.fleet);
    mot_data_close(data.test);
    train_close(&run);
}

static void gpu_kernels_alone_reach_the_accuracy(void **state)
{
    const char *dir = getenv("MOTLEY_TEST_MNIST");

    (void)state;
    learns(dir ? &real : &drawn, dir);
}

static void and_that_of_clothes(void **state)
{
    FILE *file = fopen(FASHION "/train-images-idx3-ubyte.gz", "rb");

    (void)state;
    if (!file) {
        print_message("data: no " FASHION " (sh cmake/setup.sh)\n");
        skip();
    }
    fclose(file);
    if (getenv("MOTLEY_TEST_GEMM"))
        skip(); /* of the task; CLBlast on a CPU takes long enough for the digits */
    learns(&fashion, FASHION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_kernels_alone_reach_the_accuracy),
        cmocka_unit_test(and_that_of_clothes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
