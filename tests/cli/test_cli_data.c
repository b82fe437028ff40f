/* test_cli_data.c - which data a run takes where none was asked for, and what it says of it. */
#include "command.h"

#include "cli/dataset.h"
#include "cli/fetch.h"

#include <time.h>
#include <utime.h>

#define STAMP "cache/motley/mnist/download-failed"

static void use(struct place *place, const char *mirror, bool fashion)
{
    setenv("XDG_CACHE_HOME", folder_path(&place->here, "cache"), 1);
    setenv("MOTLEY_MIRROR", mirror, 1);
    if (fashion) {
        idx_make(place); /* stands in for the package: the same format and names */
        assert_int_equal(
            rename(folder_path(&place->here, "data"), folder_path(&place->here, "fashion-mnist")),
            0);
    }
    setenv("MOTLEY_DATASETS", place->here.path, 1);
}

static int take(const char *which, bool offline, struct dataset *out)
{
    const struct dataset_wish wish = {which, offline, true, true};

    return dataset_open(&wish, out);
}

static void without_network_fashion_serves_and_the_result_says_so(void **state)
{
    struct place place;
    struct dataset data;

    (void)state;
    place_open(&place);
    use(&place, "file:///no/such/mirror", true);
    assert_int_equal(take(NULL, false, &data), 0);
    assert_string_equal(data.name, "Fashion-MNIST");
    assert_non_null(strstr(data.note, "MNIST download failed: "));
    assert_non_null(strstr(data.note, "/no/such/mirror/train-images-idx3-ubyte.gz"));
    assert_int_equal(mot_data_count(data.train), IDX_TRAIN);
    assert_int_equal(mot_data_count(data.test), IDX_TEST);
    dataset_close(&data);
    place_close(&place);
}

static void without_anything_it_draws_digits(void **state)
{
    struct place place;
    struct dataset data;

    (void)state;
    place_open(&place);
    use(&place, "file:///no/such/mirror", false);
    assert_int_equal(take(NULL, true, &data), 0);
    assert_string_equal(data.name, "drawn digits");
    assert_non_null(strstr(data.note, "--offline forbids the download; Fashion-MNIST is not in"));
    assert_int_equal(folder_count(place.here.path), 0); /* offline leaves no trace */
    dataset_close(&data);
    place_close(&place);
}

static void a_failed_download_rests_for_a_day(void **state)
{
    struct place place;
    struct dataset data;
    const time_t now = time(NULL);
    struct utimbuf old = {now - 25 * 3600, now - 25 * 3600};

    (void)state;
    place_open(&place);
    use(&place, "file:///first/mirror", true);
    assert_int_equal(take(NULL, false, &data), 0);
    dataset_close(&data);
    use(&place, "file:///second/mirror", false);
    assert_int_equal(take(NULL, false, &data), 0);
    assert_non_null(strstr(data.note, "/first/mirror")); /* not tried again */
    dataset_close(&data);
    assert_int_equal(take("mnist", false, &data), 1); /* asked for by name: tried */
    assert_non_null(strstr(data.note, "/second/mirror"));
    use(&place, "file:///third/mirror", false);
    assert_int_equal(utime(folder_path(&place.here, STAMP), &old), 0);
    assert_int_equal(take(NULL, false, &data), 0);
    assert_non_null(strstr(data.note, "/third/mirror")); /* a day has passed */
    dataset_close(&data);
    place_close(&place);
}

static void what_a_wrong_mirror_serves_is_not_kept(void **state)
{
    struct place place;
    struct dataset data;
    char mirror[300];

    (void)state;
    place_open(&place);
    use(&place, "", true);
    assert_int_equal(rename(folder_path(&place.here, "fashion-mnist/train-images-idx3-ubyte"),
                            folder_path(&place.here, "fashion-mnist/train-images-idx3-ubyte.gz")),
                     0);
    snprintf(mirror, sizeof mirror, "file://%s/fashion-mnist", place.here.path);
    setenv("MOTLEY_MIRROR", mirror, 1);
    assert_int_equal(take("mnist", false, &data), 1);
    assert_non_null(strstr(data.note, "the SHA-256 is not that of the file wanted"));
    assert_int_equal(folder_count(folder_path(&place.here, "cache/motley/mnist")), 1); /* stamp */
    place_close(&place);
}

static void the_cache_comes_first(void **state)
{
    struct place place;
    struct dataset data;

    (void)state;
    place_open(&place);
    use(&place, "file:///no/such/mirror", true);
    assert_int_equal(mkdir(folder_path(&place.here, "cache"), 0777), 0);
    assert_int_equal(mkdir(folder_path(&place.here, "cache/motley"), 0777), 0);
    idx_make(&place);
    assert_int_equal(
        rename(folder_path(&place.here, "data"), folder_path(&place.here, "cache/motley/mnist")),
        0);
    assert_int_equal(take(NULL, true, &data), 0);
    assert_string_equal(data.name, "MNIST");
    assert_string_equal(data.note, "");
    dataset_close(&data);
    /* damaged: it goes on to the next and does not crash */
    assert_int_equal(
        truncate(folder_path(&place.here, "cache/motley/mnist/train-labels-idx1-ubyte"), 20), 0);
    assert_int_equal(take(NULL, false, &data), 0);
    assert_string_equal(data.name, "Fashion-MNIST");
    dataset_close(&data);
    place_close(&place);
}

static void a_cache_that_cannot_be_written_is_no_error(void **state)
{
    struct place place;
    struct dataset data;

    (void)state;
    place_open(&place);
    use(&place, "file:///no/such/mirror", true);
    setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
    assert_int_equal(take(NULL, false, &data), 0);
    assert_string_equal(data.name, "Fashion-MNIST");
    assert_non_null(strstr(data.note, "/proc/nothing"));
    dataset_close(&data);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_network_fashion_serves_and_the_result_says_so),
        cmocka_unit_test(without_anything_it_draws_digits),
        cmocka_unit_test(a_failed_download_rests_for_a_day),
        cmocka_unit_test(what_a_wrong_mirror_serves_is_not_kept),
        cmocka_unit_test(the_cache_comes_first),
        cmocka_unit_test(a_cache_that_cannot_be_written_is_no_error),
    };

    if (!fetch_possible()) { /* a build without libcurl has nothing to try */
        puts("built without libcurl");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
