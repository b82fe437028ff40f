/* test_tuned.c - what tuning remembers, the next run takes; what the memory says wrongly, nobody
 * takes. The memory is a folder of small files, so a choice that no clock would make is written
 * there by hand, and what ran is told by the devices' own account. */
#include "support/folder.h"
#include "support/train.h"

#include <glob.h>
#include <motley/bench.h>

/* ---- CLBlast's call, in front of its own ---- */

/* Its kernels stay as they are, so that nothing has to be compiled. */
static struct {
    bool refuse;
    size_t calls, names;
} override;

int CLBlastOverrideParameters(const void *device, const char *kernel, int precision, size_t count,
                              const char **name, const size_t *value);

int CLBlastOverrideParameters(const void *device, const char *kernel, int precision, size_t count,
                              const char **name, const size_t *value)
{
    (void)device, (void)precision, (void)value;
    override.calls++;
    override.names += strcmp(kernel, "Xgemm") == 0 && strcmp(name[0], "GEMMK") == 0 ? count : 0;
    override.names += strcmp(kernel, "XgemmDirect") == 0 ? count : 0;
    return override.refuse ? -2047 : 0;
}

#define NET "input 8, dense 5 relu, dense 3"
#define WIDE "input 20, dense 256 relu, dense 256 relu, dense 5"
enum { BATCH = 16 };

static mot_fleet *open_fleet(const char *cache, const char *devices, const char *gemm)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = devices;
    config.cache_dir = cache;
    config.device_class = MOT_CLASS_CPU;
    config.gemm = gemm;
    config.profile = true;
    assert_ok(mot_fleet_open(&config, &fleet));
    return fleet;
}

static struct train_run open_run(const char *cache, const char *devices, const char *gemm,
                                 const char *net, const struct train_set *set)
{
    struct mot_trainer_config config = train_config();
    struct train_run run = {open_fleet(cache, devices, gemm), train_net(net), NULL,
                            train_data(set, false, BATCH)};

    config.verify = 0;
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    return run;
}

/* ---- the memory ---- */

/* The folder of the one device that was opened with this cache. */
static void folder_of(const char *cache, char *out, size_t bytes)
{
    char pattern[512];
    glob_t found;

    mot_fleet_close(open_fleet(cache, "0", "tile"));
    snprintf(pattern, sizeof pattern, "%s/choices/*", cache);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(out, bytes, "%s", found.gl_pathv[0]);
    globfree(&found);
}

static void write_line(const char *folder, const char *key, const char *line)
{
    char path[640];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, key);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    assert_int_equal(fclose(file), 0);
}

static size_t power_of_two(size_t n)
{
    size_t power = 1;

    while (power < n)
        power *= 2;
    return power;
}

static void remember_products(const char *folder, const char *line)
{
    mot_model *net = train_net(NET);
    struct mot_bench_gemm shape;
    const char *what;
    char key[100];
    size_t i;

    for (i = 0; mot_bench_gemm_of(net, BATCH, i, &shape, &what); i++) {
        snprintf(key, sizeof key, "tuned.gemm.%c%c.%zu.%zu.%zu", shape.trans_a ? 't' : 'n',
                 shape.trans_b ? 't' : 'n', power_of_two(shape.m), power_of_two(shape.n),
                 power_of_two(shape.k));
        write_line(folder, key, line);
    }
    assert_int_equal(i, 5);
    mot_model_close(net);
}

static int count_one(const struct mot_tuned *tuned, void *user)
{
    assert_true(tuned->value > 0 && tuned->before > 0);
    assert_non_null(tuned->what);
    assert_non_null(tuned->unit);
    ++*(size_t *)user;
    return 0;
}

static size_t remembered(mot_fleet *fleet)
{
    size_t count = 0;

    assert_ok(mot_tuned_each(fleet, count_one, &count));
    return count;
}

/* ---- taken ---- */

/* How often kernel ran in three steps. */
static uint64_t calls_of(const char *cache, const char *gemm, const char *kernel)
{
    struct train_set set = train_set_make(64, 8, 3, 1);
    struct train_run run = open_run(cache, "0", gemm, NET, &set);
    struct mot_kernel_time row[64];
    uint64_t calls = 0;
    size_t count;

    train_steps(&run, 1); /* which may test what was chosen */
    train_metrics(&run);
    assert_ok(mot_bench_profile(run.fleet, 0, row, 64, &count));
    train_steps(&run, 3);
    train_metrics(&run);
    assert_ok(mot_bench_profile(run.fleet, 0, row, 64, &count));
    for (size_t i = 0; i < count; i++)
        if (strcmp(row[i].name, kernel) == 0)
            calls = row[i].calls;
    train_close(&run);
    train_set_clear(&set);
    return calls;
}

static void a_remembered_product_is_taken(void **state)
{
    struct folder cache;
    char folder[512];

    (void)state;
    assert_true(folder_open(&cache));
    folder_of(cache.path, folder, sizeof folder);
    assert_int_equal(calls_of(cache.path, "auto", "gemm_cpu"), 3 * 5);
    remember_products(folder, "tile-gpu 2 tile-cpu 1 1700000000");
    assert_int_equal(calls_of(cache.path, "auto", "gemm_gpu"), 3 * 5);
    assert_int_equal(calls_of(cache.path, "auto", "gemm_cpu"), 0);
    assert_int_equal(calls_of(cache.path, "tile", "gemm_cpu"), 3 * 5); /* a wish goes before it */
    folder_close(&cache);
}

/* By another version, another build, a broken disk. */
static void what_makes_no_sense_is_not_taken(void **state)
{
    static const char *const lines[] = {
        "",
        "tile-gpu",
        "tile-gpu 2 tile-cpu 1",
        "tile-gpu 2 tile-cpu 1 1700000000 more",
        "tile-gpu nan tile-cpu 1 1700000000",
        "tile-gpu -2 tile-cpu 1 1700000000",
        "tile-gpu 2 tile-cpu 0 1700000000",
        "tile-tpu 2 tile-cpu 1 1700000000",
        "clblast-999 2 tile-cpu 1 1700000000",
        "a-name-that-is-far-too-long-for-a-choice 2 tile-cpu 1 1700000000",
    };
    struct folder cache;
    char folder[512];

    (void)state;
    assert_true(folder_open(&cache));
    folder_of(cache.path, folder, sizeof folder);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        remember_products(folder, lines[i]);
        snprintf(check_where(), CHECK_WHERE_BYTES, "line %zu", i);
        if (calls_of(cache.path, "auto", "gemm_cpu") != 3 * 5)
            fail_msg("\"%s\" was taken", lines[i]);
    }
    folder_close(&cache);
}

/* Downloads of one step on two lanes. */
static uint64_t downloads(const char *cache)
{
    struct train_set set = train_set_make(64, 20, 5, 1);
    struct train_run run = open_run(cache, "0,0", "tile", WIDE, &set);
    struct mot_counts counts;

    train_steps(&run, 2);
    train_metrics(&run);
    assert_ok(mot_bench_counts(run.fleet, 0, &counts));
    train_steps(&run, 4);
    assert_ok(mot_bench_counts(run.fleet, 0, &counts));
    train_close(&run);
    train_set_clear(&set);
    return counts.downloads / 4;
}

/* ---- measured ---- */

struct watch {
    size_t trials, stop_after;
    const char *stop_past; /* what begins otherwise is enough; NULL: nothing is */
    double done;
    size_t own_sets; /* trials of CLBlast with parameters of ours */
};

static int on_trial(const struct mot_tune_trial *trial, void *user)
{
    struct watch *watch = user;

    assert_true(trial->done >= 0 && trial->done <= 1);
    assert_true(trial->seconds_left >= 0);
    assert_non_null(trial->choice);
    watch->done = trial->done;
    watch->own_sets += strncmp(trial->choice, "clblast-", 8) == 0;
    if (watch->stop_past && strncmp(trial->what, watch->stop_past, strlen(watch->stop_past)) != 0)
        return 1;
    return ++watch->trials == watch->stop_after;
}

static mot_status tune(mot_fleet *fleet, const char *text, size_t batch, struct watch *watch)
{
    struct train_set set = train_set_make(64, 20, 5, 1);
    struct mot_tune_config config = mot_tune_config_default();
    struct mot_trainer_config trainer = train_config();
    mot_data *data = train_data(&set, false, BATCH);
    mot_model *net = train_net(text);
    mot_status status;

    config.seconds = 0.01;
    config.all = true;
    config.on_trial = on_trial;
    config.user = watch;
    status = mot_tune(fleet, net, &trainer, data, batch, &config);
    mot_model_close(net);
    mot_data_close(data);
    train_set_clear(&set);
    return status;
}

/* CLBlast with parameters of ours comes last: not here. */
static void each_product_is_tried_with_each_candidate(void **state)
{
    struct folder cache;
    struct watch watch = {.stop_past = "gemm "};
    mot_fleet *fleet;

    (void)state;
    assert_true(folder_open(&cache));
    fleet = open_fleet(cache.path, "0", "auto");
    assert_story(tune(fleet, "input 20, dense 6 relu, dense 5", BATCH, &watch), MOT_STOPPED,
                 "stopped while tuning steps");
    assert_int_equal(watch.trials, 5 * mot_bench_gemm_kinds());
    assert_int_equal(remembered(fleet), 5);
    assert_true(watch.done > 0.2 && watch.done < 1);
    mot_fleet_close(fleet);
    fleet = open_fleet(cache.path, "0", "auto"); /* and by the next process */
    assert_int_equal(remembered(fleet), 5);
    mot_fleet_close(fleet);
    folder_close(&cache);
}

/* First refused, all of them; then taken. CLBlast keeps the last one, here as in a process that it
 * really has: this is the last test. */
static void sets_of_parameters_are_tried_or_passed_over(void **state)
{
    enum { PRODUCTS = 5, SETS = 4 };
    const struct mot_bench_gemm small = {false, false, 8, 8, 8};
    struct folder cache;
    double rate;

    (void)state;
    assert_true(folder_open(&cache));
    for (size_t i = 0; i < 2; i++) {
        mot_fleet *fleet = open_fleet(cache.path, "0", "auto");
        struct watch watch = {0};

        if (mot_bench_gemm(fleet, 0, 0, &small, 0.001, &rate) == MOT_UNSUPPORTED) {
            mot_fleet_close(fleet); /* there is no CLBlast in this build */
            break;
        }

        memset(&override, 0, sizeof override);
        override.refuse = i == 0;
        assert_ok(tune(fleet, "input 20, dense 6 relu, dense 5", BATCH, &watch));
        assert_int_equal(watch.own_sets, i ? SETS * PRODUCTS : 0);
        assert_true(watch.done == 1 || i == 0); /* what is passed over has no trial to tell it */
        if (i == 0)
            assert_int_equal(override.calls, SETS);
        else
            assert_true(override.calls >= 2 * SETS); /* and once more for the best of them */
        assert_int_equal(override.names, override.calls / (i ? 2 : 1) * (i ? 16 + 10 : 16));
        assert_true(remembered(fleet) >= PRODUCTS);
        mot_fleet_close(fleet);
    }
    folder_close(&cache);
}

/* A fleet whose opener named the product has only staging and sums to measure. */
static void sums_and_staging_are_measured_taken_and_forgotten(void **state)
{
    struct folder cache;
    struct watch watch = {0};
    char folder[512], pattern[600];
    mot_fleet *fleet;
    glob_t found;
    size_t count = 0;

    (void)state;
    if (test_strategy() == MOT_STRATEGY_CENTRAL)
        skip();
    assert_true(folder_open(&cache));
    folder_of(cache.path, folder, sizeof folder);
    fleet = open_fleet(cache.path, "0,0", "tile");
    assert_int_equal(remembered(fleet), 0);
    assert_ok(tune(fleet, WIDE, BATCH, &watch));
    assert_true(watch.trials >= 3); /* direct, the other staging, ring */
    assert_true(watch.done == 1);
    assert_int_equal(remembered(fleet), 2);
    mot_fleet_close(fleet);

    snprintf(pattern, sizeof pattern, "%s/tuned.fleet.*", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    write_line(folder, "tuned.staging", "copy 2 map 1 1700000000");
    write_line(folder, strrchr(found.gl_pathv[0], '/') + 1, "direct-0 2 direct-0 1 1700000000");
    assert_int_equal(downloads(cache.path), 1);
    write_line(folder, strrchr(found.gl_pathv[0], '/') + 1, "ring-1024 2 direct-0 1 1700000000");
    assert_int_equal(downloads(cache.path), 2);
    write_line(folder, strrchr(found.gl_pathv[0], '/') + 1, "tree-1024 2 direct-0 1 1700000000");
    assert_int_equal(downloads(cache.path), 1);
    write_line(folder, strrchr(found.gl_pathv[0], '/') + 1, "ring-1024 2 direct-0 1 1700000000");
    write_line(folder, "tuned.staging", "map 2 map 1 1700000000");
    assert_int_equal(downloads(cache.path), 1);
    globfree(&found);

    fleet = open_fleet(cache.path, "0", "tile"); /* sums of two are none of its */
    assert_int_equal(remembered(fleet), 1);
    mot_fleet_close(fleet);
    fleet = open_fleet(cache.path, "0,0", "tile");
    assert_ok(mot_tuned_forget(fleet, &count));
    assert_int_equal(count, 2);
    assert_int_equal(remembered(fleet), 0);
    mot_fleet_close(fleet);
    folder_close(&cache);
}

static void tuning_may_be_stopped_and_refuses_nonsense(void **state)
{
    struct watch watch = {.stop_after = 1};
    mot_fleet *fleet = open_fleet("", "0,0", "tile");

    (void)state;
    assert_story(tune(fleet, WIDE, BATCH, &watch), MOT_STOPPED, "stopped while tuning reduce");
    assert_int_equal(watch.trials, 1);
    assert_story(tune(fleet, WIDE, 0, &watch), MOT_BAD_ARG, "batches of 0 rows");
    assert_story(tune(fleet, WIDE, 65, &watch), MOT_BAD_ARG,
                 "batches of 65 rows, but there are 64 samples");
    assert_story(mot_tune(fleet, NULL, NULL, NULL, 1, NULL), MOT_BAD_ARG, "is NULL");
    assert_int_equal(watch.trials, 1);
    mot_fleet_close(fleet);
}

/* ---- missed ---- */

static void a_device_that_was_never_tuned_is_told_of(void **state)
{
    struct folder cache;
    char folder[512], hint[256];
    mot_fleet *fleet;

    (void)state;
    assert_true(folder_open(&cache));
    folder_of(cache.path, folder, sizeof folder);
    for (size_t i = 0; i < 3; i++) {
        write_line(folder, "reach", i == 1 ? "90 100" : "10 100");
        if (i == 2)
            write_line(folder, "tuned.staging", "copy 2 map 1 1700000000");
        fleet = open_fleet(cache.path, "0,0", "auto");
        assert_ok(mot_tune_hint(fleet, hint, sizeof hint));
        if (i == 0)
            assert_string_equal(hint, "device 0 was never tuned: matrix products reach 10 of 100 "
                                      "GFLOP/s (512 x 512 x 512, measured); motley tune could make "
                                      "them up to 10.0 x as fast");
        else
            assert_string_equal(hint, ""); /* little to gain, or tuned */
        mot_fleet_close(fleet);
    }
    folder_close(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remembered_product_is_taken),
        cmocka_unit_test(what_makes_no_sense_is_not_taken),
        cmocka_unit_test(each_product_is_tried_with_each_candidate),
        cmocka_unit_test(sums_and_staging_are_measured_taken_and_forgotten),
        cmocka_unit_test(tuning_may_be_stopped_and_refuses_nonsense),
        cmocka_unit_test(a_device_that_was_never_tuned_is_told_of),
        cmocka_unit_test(sets_of_parameters_are_tried_or_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
