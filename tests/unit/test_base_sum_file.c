/* test_base_sum_file.c - the checksum of a file. */
#include "support/check.h"
#include "support/folder.h"

#include <motley/motley.h>

static void the_sum_of_a_file_is_that_of_its_bytes(void **state)
{
    struct folder folder;
    char hex[65];
    FILE *file;
    size_t i;

    (void)state;
    assert_true(folder_open(&folder));
    file = fopen(folder_path(&folder, "million"), "wb");
    assert_non_null(file);
    for (i = 0; i < 1000000; i++) /* longer than any one read; the published value */
        fputc('a', file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(mot_file_sha256(folder_path(&folder, "million"), hex), MOT_OK);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    folder_close(&folder);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct folder folder;
    char hex[65];

    (void)state;
    assert_true(folder_open(&folder));
    assert_int_equal(mot_file_sha256(folder_path(&folder, "missing"), hex), MOT_IO);
    assert_non_null(strstr(mot_error(), "missing"));
    assert_int_equal(mot_file_sha256(folder.path, hex), MOT_IO); /* a folder opens, but not reads */
    assert_non_null(strstr(mot_error(), folder.path));
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_of_a_file_is_that_of_its_bytes),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
