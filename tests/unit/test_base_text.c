/* test_base_text.c - numbers, patterns and strings; all of it again under decimal commas. */
#include "support/check.h"
#include "support/comma.h"
#include "support/folder.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void whole_numbers_are_read_whole(void **state)
{
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x10",
                                      "1e3",
                                      "ten",
                                      "1_0",
                                      "1,0",
                                      "18446744073709551616",
                                      "99999999999999999999"};
    uint64_t value = 42;

    (void)state;
    assert_true(mot__text_u64("0", &value) && value == 0);
    assert_true(mot__text_u64("007", &value) && value == 7);
    assert_true(mot__text_u64("18446744073709551615", &value) && value == UINT64_MAX);
    value = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mot__text_u64(bad[i], &value) || value != 42)
            fail_msg("\"%s\" was taken as a number", bad[i]);
}

static void bytes_are_written_for_people(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 bytes"},
                {1023, "1023 bytes"},
                {1024, "1.0 KiB"},
                {230 << 10, "230 KiB"},
                {4500 << 10, "4.4 MiB"},
                {3219968, "3.1 MiB"},
                {16 << 20, "16.0 MiB"},
                {UINT64_C(100) << 20, "100 MiB"},
                {UINT64_C(2) << 30, "2.0 GiB"},
                {UINT64_MAX, "16777216 TiB"}};
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mot__text_of_bytes(rows[i].bytes, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void decimal_numbers_use_a_point(void **state)
{
    static const char *const bad[] = {"",      ".",      "1,5",      " 1.5", "1.5 ",  "1.5x",
                                      "0x1p3", "--1",    "1e",       "e5",   "1.2.3", "+",
                                      "nanx",  "nan(1)", "infinity", "1.5,2"};
    double value = 42;

    (void)state;
    assert_true(mot__text_f64("1.5", &value) && value == 1.5);
    assert_true(mot__text_f64("-2.5e-3", &value) && value == -2.5e-3);
    assert_true(mot__text_f64(".25", &value) && value == 0.25);
    assert_true(mot__text_f64("3.", &value) && value == 3);
    assert_true(mot__text_f64("+1e400", &value) && isinf(value));
    assert_true(mot__text_f64("NaN", &value) && isnan(value));
    assert_true(mot__text_f64("-inf", &value) && isinf(value) && value < 0);
    value = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mot__text_f64(bad[i], &value) || value != 42)
            fail_msg("\"%s\" was taken as a number", bad[i]);
}

static void bytes_have_units(void **state)
{
    static const char *const bad[] = {"",    "M",    "1.5",  "-1M", "1,5G",        "5X",
                                      "1MM", "nanM", "infG", "1 M", "17179869184G"};
    uint64_t value = 42;

    (void)state;
    assert_true(mot__text_bytes("4096", &value) && value == 4096);
    assert_true(mot__text_bytes("512M", &value) && value == (uint64_t)512 << 20);
    assert_true(mot__text_bytes("1.5g", &value) && value == (uint64_t)3 << 29);
    assert_true(mot__text_bytes("1K", &value) && value == 1024);
    assert_true(mot__text_bytes("2T", &value) && value == (uint64_t)2 << 40);
    value = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mot__text_bytes(bad[i], &value) || value != 42)
            fail_msg("\"%s\" was taken as bytes", bad[i]);
}

static void written_numbers_are_short_and_read_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.5, "0.5"},         {0.1, "0.1"},      {100, "1e+02"},
                 {1234567, "1234567"}, {-1e-7, "-1e-07"}, {1.0 / 3, "0.3333333333333333"}};
    static const double hard[] = {DBL_MAX, DBL_MIN, 5e-324, 0.1 + 0.2, 9007199254740993.0, -0.0};
    char out[32];
    double back;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mot__text_of_f64(cases[i].value, out);
        assert_string_equal(out, cases[i].text);
    }
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        mot__text_of_f64(hard[i], out);
        assert_true(mot__text_f64(out, &back));
        assert_memory_equal(&back, &hard[i], sizeof back);
    }
    mot__text_of_f64((double)-NAN, out);
    assert_string_equal(out, "nan");
    mot__text_of_f64((double)-INFINITY, out);
    assert_string_equal(out, "-inf");
}

static void patterns_match_whole_texts(void **state)
{
    (void)state;
    assert_true(mot__text_match("Arc*", "arc a770"));
    assert_true(mot__text_match("*a7?0*", "Intel(R) Arc(TM) A770 Graphics"));
    assert_true(mot__text_match("*", ""));
    assert_true(mot__text_match("a*b*c", "aXbXbXc"));
    assert_true(mot__text_match("**", "x"));
    assert_false(mot__text_match("Arc", "arc a770"));
    assert_false(mot__text_match("a*b", "abc"));
    assert_false(mot__text_match("?", ""));
    assert_false(mot__text_match("", "x"));
    assert_true(mot__text_same("ReLU", "relu"));
    assert_true(mot__text_same("", ""));
    assert_false(mot__text_same("relu", "relu6"));
    assert_false(mot__text_same("relu6", "relu"));
}

static void a_string_grows(void **state)
{
    struct mot__string string = {0};
    char *text = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++)
        mot__string_add(&string, "%d,", i);
    assert_ok(mot__string_take(&string, &text));
    assert_int_equal(strlen(text), 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(text + strlen(text) - 8, "998,999,", 8);
    free(text);
    assert_ok(mot__string_take(&string, &text)); /* taken: empty again */
    assert_string_equal(text, "");
    free(text);
    mot__string_add(&string, "x");
    mot__string_clear(&string);
    mot__string_clear(&string);
    string.failed = true;
    mot__string_add(&string, "lost");
    assert_story(mot__string_take(&string, &text), MOT_NO_MEMORY, "out of memory for a text");
}

static void stories_and_strings_write_a_point(void **state)
{
    struct mot__string string = {0};
    char *text = NULL, line[8];

    (void)state;
    assert_int_equal(mot__text_into(line, sizeof line, "%g of %.2f", 1.5, 0.25), 11);
    assert_string_equal(line, "1.5 of ");
    mot__string_add(&string, "%.2f", 0.25);
    assert_ok(mot__string_take(&string, &text));
    assert_string_equal(text, "0.25");
    free(text);
    mot__fail(MOT_BAD_ARG, "rate %g", 1.5);
    assert_string_equal(mot_error(), "rate 1.5");
    mot__fail_in(MOT_BAD_ARG, "at %.1f", 2.5);
    assert_string_equal(mot_error(), "at 2.5: rate 1.5");
}

static void the_locale_is_as_it_was_and_has_commas(void **state)
{
    char out[32];

    (void)state;
    snprintf(out, sizeof out, "%g", 1.5);
    assert_string_equal(out, "1,5");
    assert_true(strtod("1,5", NULL) == 1.5);
}

static int enter_commas(void **state)
{
    struct folder folder;
    bool entered;

    (void)state;
    if (!folder_open(&folder))
        return -1;
    entered = comma_locale(folder.path);
    folder_close(&folder);
    if (!entered)
        print_error("no locale with decimal commas: install the package \"locales\"\n");
    return entered ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read_whole),
        cmocka_unit_test(bytes_are_written_for_people),
        cmocka_unit_test(decimal_numbers_use_a_point),
        cmocka_unit_test(bytes_have_units),
        cmocka_unit_test(written_numbers_are_short_and_read_back),
        cmocka_unit_test(patterns_match_whole_texts),
        cmocka_unit_test(a_string_grows),
        cmocka_unit_test(stories_and_strings_write_a_point),
    };
    const struct CMUnitTest with_commas[] = {
        cmocka_unit_test(bytes_are_written_for_people),
        cmocka_unit_test(decimal_numbers_use_a_point),
        cmocka_unit_test(bytes_have_units),
        cmocka_unit_test(written_numbers_are_short_and_read_back),
        cmocka_unit_test(stories_and_strings_write_a_point),
        cmocka_unit_test(the_locale_is_as_it_was_and_has_commas),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return cmocka_run_group_tests(with_commas, enter_commas, NULL) || failed;
}
