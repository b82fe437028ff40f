/* test_cli_tune.c - motley tune as a user meets it: what it found is shown, taken and forgotten,
 * and devices that have gone since are no obstacle. Each test has a memory of its own: what it
 * measures must not change what other tests run with. */
#include "command.h"

#include <jansson.h>

/* Our cache is new, the compiler's is not. */
static const char *memory_of(const struct place *place, const char *more)
{
    static char text[1024];

    snprintf(text, sizeof text,
             "XDG_CACHE_HOME='%s/cache' POCL_CACHE_DIR=\"$XDG_CACHE_HOME/pocl/kcache\" "
             "MOTLEY_GEMM=tile %s",
             place->beside.path, more);
    return text;
}

#define TUNE "tune --choices --data data --net mlp10 --seconds 0.01 --rows 64 "
#define TRAIN "train --data data --net mlp10 --epochs 1 --out '' "

static size_t lines_of(const char *text)
{
    size_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void what_was_found_is_shown_and_forgotten(void **state)
{
    struct place place;
    json_t *object, *row;
    char words[64];
    size_t count;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, memory_of(&place, ""), "tune --show --devices 0,0");
    place_expect(&place, 0, "nothing is remembered of these devices; motley tune measures\n");
    place_run(&place, memory_of(&place, ""), TUNE "--devices 0,0");
    place_expect(&place, 0, "all      reduce ");
    place_expect(&place, 0, "ring-0 ");
    place_run(&place, memory_of(&place, ""), "tune --show --devices 0,0");
    place_expect(&place, 0, "all      reduce of 7984 parameters");
    place_expect(&place, 0, "0        staging ");
    count = lines_of(place.out);
    assert_int_equal(count, 2);
    place_run(&place, memory_of(&place, ""), "tune --show --devices 0,0 --json");
    place_expect(&place, 0, "\"choices\":[{");
    object = json_loads(place.out, 0, NULL);
    assert_non_null(object);
    assert_int_equal(json_array_size(json_object_get(object, "choices")), count);
    row = json_array_get(json_object_get(object, "choices"), 1);
    assert_string_equal(json_string_value(json_object_get(row, "what")), "staging");
    assert_string_equal(json_string_value(json_object_get(row, "device")), "0");
    assert_true(json_number_value(json_object_get(row, "value")) > 0);
    json_decref(object);
    place_run(&place, memory_of(&place, ""), "tune --forget --devices 0,0");
    snprintf(words, sizeof words, "%zu choices forgotten\n", count);
    place_expect(&place, 0, words);
    place_run(&place, memory_of(&place, ""), "tune --show --devices 0,0");
    place_expect(&place, 0, "nothing is remembered");
    place_close(&place);
}

/* Two devices are tuned, then there is one. */
static void a_device_that_has_gone_since_is_told(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, memory_of(&place, "POCL_DEVICES='pthread pthread'"), TUNE "--devices 0,1");
    if (place.code == 3) { /* not on PoCL */
        place_close(&place);
        skip();
    }
    place_expect(&place, 0, "reduce of 7984 parameters");
    place_run(&place, memory_of(&place, "POCL_DEVICES=pthread"), TRAIN "--devices 0,1");
    place_expect(&place, 3, "\"1\" at character 3 is the index of no device");
    place_run(&place, memory_of(&place, "POCL_DEVICES=pthread"), "tune --show --devices 0,1");
    place_expect(&place, 3, "\"1\" at character 3 is the index of no device");
    place_run(&place, memory_of(&place, "POCL_DEVICES=pthread"), TRAIN "--devices 0");
    place_expect(&place, 0, "test accuracy ");
    place_run(&place, memory_of(&place, "POCL_DEVICES=pthread"), "tune --show --devices 0");
    place_expect(&place, 0, "staging");
    assert_null(strstr(place.out, "reduce")); /* of both together */
    place_close(&place);
}

static void more_rows_than_samples_are_refused(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, memory_of(&place, ""), "tune --choices --data data --net mlp10 --rows 401");
    place_expect(&place, 2, "batches of 401 rows, but there are 400 samples");
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_found_is_shown_and_forgotten),
        cmocka_unit_test(a_device_that_has_gone_since_is_told),
        cmocka_unit_test(more_rows_than_samples_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
