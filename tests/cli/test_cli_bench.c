/* test_cli_bench.c - the documents of motley bench and of train --why, as a program reads them. No
 * figure is judged; each must be there and be a number. */
#include "command.h"

#include <jansson.h>

#define SMALL "--data data --net 'dense 16 relu, dense 10' --batch 32 --seconds 0.2 --json "

static json_t *document(struct place *place, const char *arguments)
{
    json_error_t error;
    json_t *root;

    if (place_run(place, "", arguments) != 0)
        fail_msg("%s: exit code %d: %s", arguments, place->code, place->err);
    root = json_loads(place->out, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s: %s\n%s", arguments, error.text, place->out);
    return root;
}

/* names: "a b c"; each a finite number above 0. */
static void numbers_in(const json_t *object, const char *names)
{
    char name[64];
    int used;

    for (; sscanf(names, "%63s%n", name, &used) == 1; names += used) {
        const json_t *value = json_object_get(object, name);

        if (!json_is_number(value) || !(json_number_value(value) > 0))
            fail_msg("%s is no number above 0", name);
    }
}

static void texts_in(const json_t *object, const char *names)
{
    char name[64];
    int used;

    for (; sscanf(names, "%63s%n", name, &used) == 1; names += used)
        if (!json_is_string(json_object_get(object, name)))
            fail_msg("%s is no text", name);
}

static void train_has_what_comparisons_need(void **state)
{
    struct place place;
    json_t *root, *part;
    size_t i;

    (void)state;
    place_open(&place);
    idx_make(&place);
    root = document(&place, "bench train " SMALL);
    texts_in(root, "bench net strategy data");
    numbers_in(root, "batch samples_per_s first_step_s open_s");
    assert_int_equal(json_array_size(json_object_get(root, "devices")), 1);
    for (i = 0; i < 2; i++) {
        const json_t *way = json_object_get(root, i ? "resident" : "host_batches");

        numbers_in(way, "samples_per_s slowest fastest first_step_s");
        part = json_array_get(json_object_get(way, "breakdown"), 0);
        texts_in(part, "device");
        numbers_in(part, "forward backward update");
        numbers_in(json_object_get(way, "per_step"), "launches");
        numbers_in(json_object_get(way, "bytes"), "parameters gradients state live arena total");
    }
    json_decref(root);
    place_close(&place);
}

static void scale_has_a_row_for_each_number_of_devices(void **state)
{
    struct place place;
    json_t *root, *rows;
    size_t i;

    (void)state;
    place_open(&place);
    idx_make(&place);
    root = document(&place, "bench scale --devices 0,0 " SMALL);
    texts_in(root, "bench net strategy data");
    numbers_in(root, "batch");
    rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 2);
    for (i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i);

        texts_in(row, "devices");
        numbers_in(row, "count even by_speed ceiling speed_up efficiency of_ceiling");
        assert_int_equal(json_integer_value(json_object_get(row, "count")), i + 1);
    }
    json_decref(root);
    place_close(&place);
}

static void allreduce_has_both_ways_beside_their_bound(void **state)
{
    struct place place;
    json_t *root, *rows;
    size_t i;

    (void)state;
    place_open(&place);
    root = document(&place, "bench allreduce --devices 0,0 --seconds 0.2 --json --bytes 65536");
    texts_in(root, "bench");
    numbers_in(root, "devices");
    rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 2);
    for (i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        texts_in(row, "algorithm bound");
        numbers_in(row, "bytes seconds gbps bus_gbps bound_s of_bound up_gbps down_gbps host_gbps "
                        "fixed_s meet_s rounds");
        assert_string_equal(json_string_value(json_object_get(row, "algorithm")),
                            i % 2 ? "ring" : "direct");
        assert_true(json_integer_value(json_object_get(row, "rounds")) >= 5);
    }
    json_decref(root);
    place_run(&place, "", "bench allreduce --bytes 0");
    place_expect(&place, 2, "--bytes");
    place_run(&place, "", "bench allreduce --devices 0 --bytes 1024");
    place_expect(&place, 2, "two devices or more");
    place_close(&place);
}

static void why_lists_cures_and_tries_them(void **state)
{
    struct place place;
    json_t *last, *cures;
    char *line;
    size_t i, tried = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "",
              "train --data data --net 'dense 16 relu, dense 10' --batch 2 --epochs 2 --devices 0 "
              "--out '' --why --json");
    assert_int_equal(place.code, 0);
    place.out[strlen(place.out) - 1] = '\0';
    line = strrchr(place.out, '\n');
    last = json_loads(line ? line + 1 : place.out, 0, NULL);
    cures = json_object_get(last, "cures");
    texts_in(last, "limit");
    assert_true(json_array_size(cures) >= 2);
    for (i = 0; i < json_array_size(cures); i++) {
        const json_t *cure = json_array_get(cures, i);

        texts_in(cure, "kind device sentence");
        numbers_in(cure, "gain");
        if (strcmp(json_string_value(json_object_get(cure, "kind")), "batch") == 0) {
            numbers_in(cure, "tried share");
            texts_in(cure, "cure");
            tried++;
        }
    }
    assert_int_equal(tried, 1);
    json_decref(last);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train_has_what_comparisons_need),
        cmocka_unit_test(scale_has_a_row_for_each_number_of_devices),
        cmocka_unit_test(allreduce_has_both_ways_beside_their_bound),
        cmocka_unit_test(why_lists_cures_and_tries_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
