/* test_left_out.c - a device that failed its self-test is not trained on: the verdict kept from an
 * earlier start is spoiled, as a start on a wrong device would have written it. */
#include "support/check.h"
#include "support/folder.h"

#include <glob.h>
#include <stdio.h>

static mot_status open_fleet(const char *cache, mot_fleet **out)
{
    struct mot_fleet_config config = mot_fleet_config_default();

    config.devices = "0";
    config.cache_dir = cache;
    return mot_fleet_open(&config, out);
}

static void no_device_is_left_after_a_failed_self_test(void **state)
{
    struct folder folder;
    mot_fleet *fleet = NULL;
    char pattern[512];
    glob_t found;
    FILE *file;

    (void)state;
    assert_true(folder_open(&folder));
    assert_ok(open_fleet(folder.path, &fleet));
    mot_fleet_close(fleet);
    snprintf(pattern, sizeof pattern, "%s/choices/*/selftest.*", folder.path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    file = fopen(found.gl_pathv[0], "w");
    assert_non_null(file);
    fputs("softmax is wrong: value 2 of 2850 is 0.9, not 0.1\n", file);
    fclose(file);
    globfree(&found);
    fleet = NULL;
    assert_story(open_fleet(folder.path, &fleet), MOT_NO_DEVICE,
                 "no device can be used: device 0 left out: ");
    assert_non_null(strstr(mot_error(), "computes wrongly: softmax is wrong: value 2 of 2850"));
    assert_null(fleet);
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device_is_left_after_a_failed_self_test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
