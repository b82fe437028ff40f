/* test_cli_fetch.c - files come whole, with the right sum, or not at all; and not by surprise. */
#include "support/check.h"
#include "support/folder.h"

#include "cli/fetch.h"

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct fetch_file wanted[] = {{"one", ABC}, {"two", EMPTY}};

struct place {
    struct folder from, to;
    char url[300];
    char reason[FETCH_REASON];
};

static void put(const struct folder *folder, const char *name, const char *text)
{
    FILE *file = fopen(folder_path(folder, name), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void open_place(struct place *place)
{
    assert_true(folder_open(&place->from));
    assert_true(folder_open(&place->to));
    snprintf(place->url, sizeof place->url, "file://%s/", place->from.path);
    put(&place->from, "one", "abc");
    put(&place->from, "two", "");
    place->reason[0] = 0;
}

static void close_place(struct place *place)
{
    folder_close(&place->from);
    folder_close(&place->to);
}

static bool fetch(struct place *place, const char *first, const char *second)
{
    const char *const mirror[] = {first, second};

    return fetch_files(mirror, second ? 2 : 1, wanted, 2, place->to.path, place->reason);
}

static void all_files_arrive_and_nothing_else(void **state)
{
    struct place place;
    char sum[65];

    (void)state;
    open_place(&place);
    assert_true(fetch(&place, place.url, NULL));
    assert_int_equal(folder_count(place.to.path), 2);
    assert_int_equal(mot_file_sha256(folder_path(&place.to, "one"), sum), MOT_OK);
    assert_string_equal(sum, ABC);
    close_place(&place);
}

static void a_wrong_sum_is_refused_and_leaves_nothing(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    put(&place.from, "one", "abd");
    assert_false(fetch(&place, place.url, NULL));
    assert_non_null(strstr(place.reason, "SHA-256"));
    assert_int_equal(folder_count(place.to.path), 0);
    close_place(&place);
}

static void the_second_mirror_serves_what_the_first_has_not(void **state)
{
    struct place place;
    char missing[320];

    (void)state;
    open_place(&place);
    snprintf(missing, sizeof missing, "%snowhere/", place.url);
    assert_true(fetch(&place, missing, place.url));
    assert_int_equal(folder_count(place.to.path), 2);
    close_place(&place);
}

static void a_mirror_that_has_nothing_gives_a_reason(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_false(fetch(&place, "file:///no/such/folder/", NULL));
    assert_non_null(strstr(place.reason, "/no/such/folder/one"));
    assert_int_equal(folder_count(place.to.path), 0);
    close_place(&place);
}

static void a_dead_server_gives_a_reason(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_false(fetch(&place, "http://127.0.0.1:1/", NULL)); /* nobody serves port 1 */
    assert_non_null(strstr(place.reason, "127.0.0.1"));
    assert_int_equal(folder_count(place.to.path), 0);
    close_place(&place);
}

static void files_that_are_there_are_not_fetched_again(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_true(fetch(&place, place.url, NULL));
    assert_true(fetch(&place, "file:///no/such/folder/", NULL));
    put(&place.to, "one", "damaged");
    assert_false(fetch(&place, "file:///no/such/folder/", NULL));
    assert_true(fetch(&place, place.url, NULL)); /* a damaged one is replaced */
    assert_true(fetch(&place, "file:///no/such/folder/", NULL));
    close_place(&place);
}

static void a_folder_that_is_missing_gives_a_reason(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    folder_close(&place.to);
    assert_false(fetch(&place, place.url, NULL));
    assert_non_null(strstr(place.reason, place.to.path));
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_files_arrive_and_nothing_else),
        cmocka_unit_test(a_wrong_sum_is_refused_and_leaves_nothing),
        cmocka_unit_test(the_second_mirror_serves_what_the_first_has_not),
        cmocka_unit_test(a_mirror_that_has_nothing_gives_a_reason),
        cmocka_unit_test(a_dead_server_gives_a_reason),
        cmocka_unit_test(files_that_are_there_are_not_fetched_again),
        cmocka_unit_test(a_folder_that_is_missing_gives_a_reason),
    };

    if (!fetch_possible()) { /* a build without libcurl: there is nothing to test */
        puts("built without libcurl");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
