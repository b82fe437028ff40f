/* test_cli_json.c - what the JSON writer writes is JSON, whatever the names and the locale are. */
#include "support/check.h"
#include "support/comma.h"

#include "cli/json.h"

#include <jansson.h>

static char written[4096];

static struct json begin(void)
{
    struct json json = {.out = fmemopen(written, sizeof written, "w")};

    assert_non_null(json.out);
    put_object(&json, NULL);
    return json;
}

static json_t *end(struct json *json)
{
    json_error_t error;
    json_t *read;

    put_end(json);
    fclose(json->out);
    read = json_loads(written, JSON_REJECT_DUPLICATES, &error);
    if (!read)
        fail_msg("%s in %s", error.text, written);
    return read;
}

static void nested_values_read_back(void **state)
{
    struct json json = begin();
    json_t *read;

    (void)state;
    put_array(&json, "list");
    put_count(&json, NULL, 1);
    put_object(&json, NULL);
    put_end(&json);
    put_bool(&json, NULL, true);
    put_end(&json);
    put_count(&json, "large", 9007199254740993u);
    put_null(&json, "nothing");
    put_lines(&json, "lines", "one\n\ntwo\n");
    read = end(&json);
    assert_string_equal(written, "{\"list\":[1,{},true],\"large\":9007199254740993,\"nothing\":"
                                 "null,\"lines\":[\"one\",\"two\"]}\n");
    json_decref(read);
}

static void any_bytes_become_valid_text(void **state)
{
    static const struct {
        const char *value, *wanted;
    } cases[] = {
        {"a \"quoted\" \\ name", "a \"quoted\" \\ name"},
        {"tab\tline\nbell\a", "tab\tline\nbell\a"},
        {"Radeon\xc2\xae \xe2\x82\xac \xf0\x9f\x98\x80",
         "Radeon\xc2\xae \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"lone \xc2", "lone \xef\xbf\xbd"},
        {"latin \xae!", "latin \xef\xbf\xbd!"},
        {"long \xc0\x80", "long \xef\xbf\xbd\xef\xbf\xbd"},
        {"half \xed\xa0\x80", "half \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut \xf0\x9f\x98", "cut \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json json = begin();
        json_t *read;

        put_text(&json, "name", cases[i].value);
        read = end(&json);
        assert_string_equal(json_string_value(json_object_get(read, "name")), cases[i].wanted);
        json_decref(read);
    }
}

static void numbers_read_back_equal(void **state)
{
    static const double cases[] = {0,      -0.5, 1.0 / 3, 1e300, -1e-300, 123456789.125,
                                   0.0001, 97.7, 5e-324,  1e15,  48123,   2.0 / 3 * 1e9};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json json = begin();
        json_t *read;

        put_number(&json, "n", cases[i]);
        read = end(&json);
        if (json_number_value(json_object_get(read, "n")) != cases[i])
            fail_msg("%.17g came back from %s", cases[i], written);
        json_decref(read);
    }
}

static void what_is_no_number_is_null(void **state)
{
    struct json json = begin();

    (void)state;
    put_number(&json, "a", NAN);
    put_number(&json, "b", INFINITY);
    put_number(&json, "c", -INFINITY);
    json_decref(end(&json));
    assert_string_equal(written, "{\"a\":null,\"b\":null,\"c\":null}\n");
}

static void a_decimal_comma_does_not_leak_in(void **state)
{
    struct folder folder;
    struct json json = begin();

    (void)state;
    assert_true(folder_open(&folder));
    assert_true(comma_locale(folder.path));
    put_number(&json, "n", 0.5);
    put_number(&json, "m", 1234567.25);
    put_end(&json);
    fclose(json.out);
    setlocale(LC_ALL, "C");
    assert_string_equal(written, "{\"n\":0.5,\"m\":1234567.25}\n");
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_values_read_back),
        cmocka_unit_test(any_bytes_become_valid_text),
        cmocka_unit_test(numbers_read_back_equal),
        cmocka_unit_test(what_is_no_number_is_null),
        cmocka_unit_test(a_decimal_comma_does_not_leak_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
