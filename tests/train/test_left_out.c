/* test_left_out.c - a device that failed a self-test is not trained on: the verdict kept from an
 * earlier start is spoiled, as a start on a wrong device would have written it. */
#include "support/folder.h"
#include "support/train.h"

#include <glob.h>
#include <stdio.h>

static mot_status open_fleet(const char *cache, mot_fleet **out)
{
    struct mot_fleet_config config = mot_fleet_config_default();

    config.devices = "0";
    config.cache_dir = cache;
    return mot_fleet_open(&config, out);
}

/* The verdict about an op becomes a bad one; it must be there. */
static void spoil(const char *cache, const char *op, const char *why)
{
    char pattern[512];
    glob_t found;
    FILE *file;

    snprintf(pattern, sizeof pattern, "%s/choices/*/%s.*", cache, op);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    file = fopen(found.gl_pathv[0], "w");
    assert_non_null(file);
    fprintf(file, "%s\n", why);
    fclose(file);
    globfree(&found);
}

static void no_device_is_left_after_a_failed_self_test(void **state)
{
    struct folder folder;
    mot_fleet *fleet = NULL;

    (void)state;
    assert_true(folder_open(&folder));
    assert_ok(open_fleet(folder.path, &fleet));
    mot_fleet_close(fleet);
    spoil(folder.path, "selftest", "dense is wrong: value 2 of 2145 is 0.9, not 0.1");
    fleet = NULL;
    assert_story(open_fleet(folder.path, &fleet), MOT_NO_DEVICE,
                 "no device can be used: device 0 left out: ");
    assert_non_null(strstr(mot_error(), "computes wrongly: dense is wrong: value 2 of 2145"));
    assert_null(fleet);
    folder_close(&folder);
}

/* One step of a small net; its status. */
static mot_status try_step(const char *cache)
{
    struct train_set set = train_set_make(16, 8, 3, 1);
    mot_data *data = train_data(&set, false, 16);
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_trainer *trainer = NULL;
    mot_batch *batch = NULL;
    mot_status status;

    assert_ok(open_fleet(cache, &fleet));
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_text(net, "input 8, dense 5 relu, dense 3"));
    assert_ok(mot_trainer_open(fleet, net, NULL, &trainer));
    assert_ok(mot_data_next(data, &batch));
    status = mot_trainer_step(trainer, batch);
    mot_trainer_close(trainer);
    mot_model_close(net);
    mot_fleet_close(fleet);
    mot_data_close(data);
    train_set_clear(&set);
    return status;
}

/* What a plan takes is tested before its first step, and what is wrong is named. */
static void a_wrong_op_is_found_before_the_first_step(void **state)
{
    static const struct {
        const char *op, *why;
    } rows[] = {{"selftest.*.loss-logits", "gradient of the loss is wrong"},
                {"selftest.*.dense-back", "sum of columns is wrong"},
                {"selftest.*.gather-f32", "gather is wrong"}};
    struct folder folder;

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char story[96];

        assert_true(folder_open(&folder));
        assert_ok(try_step(folder.path));
        spoil(folder.path, rows[r].op, rows[r].why);
        snprintf(story, sizeof story, "computes wrongly: %s", rows[r].why);
        assert_story(try_step(folder.path), MOT_DEVICE_FAILED, story);
        folder_close(&folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device_is_left_after_a_failed_self_test),
        cmocka_unit_test(a_wrong_op_is_found_before_the_first_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
