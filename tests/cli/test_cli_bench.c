/* test_cli_bench.c - the documents of motley bench and of train --why, as a program reads them. No
 * figure is judged; each must be there and be a number. */
#include "cli/parts.h"
#include "command.h"

#include <jansson.h>
#include <math.h>

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

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void check_near(const char *what, double value, double wanted, double part)
{
    if (!(fabs(value - wanted) <= part * fabs(wanted))) /* so that NaN fails */
        fail_msg("%s: %g, wanted %g", what, value, wanted);
}

/* Of a sample in 'dense 16 relu, dense 10': forward, both gradients but the input's own. */
static double flop(double width)
{
    return 2 * (2 * (width * 16 + 16 * 10) + 16 * 10);
}

static void train_has_what_comparisons_need(void **state)
{
    static const char *const parts[] = {"input",   "upload", "forward", "backward",
                                        "staging", "reduce", "update",  "waiting"};
    static const char *const kinds[] = {"parameters", "gradients", "state", "arena",
                                        "packs",      "staging",   "data",  "other"};
    struct place place;
    json_t *root, *part, *bytes;
    double sum, limit;
    size_t i, k;

    (void)state;
    place_open(&place);
    idx_make(&place);
    root = document(&place, "bench train " SMALL);
    texts_in(root, "bench net strategy data");
    numbers_in(root, "batch samples_per_s first_step_s first_step_cold_s");
    assert_true(number(root, "cold_starts") >= 1);
    assert_int_equal((long)number(root, "cold_starts") % 2, 1); /* whose median is one of them */
    numbers_in(root, "peak_gflops limit_samples_per_s");
    limit = number(root, "limit_samples_per_s");
    check_near("the limit", limit * flop(784) * 1e-9, number(root, "peak_gflops"), 1e-6);
    assert_int_equal(json_array_size(json_object_get(root, "devices")), 1);
    for (i = 0; i < 2; i++) {
        const json_t *way = json_object_get(root, i ? "resident" : "host_batches");

        numbers_in(way, "samples_per_s slowest fastest of_limit");
        check_near("of the limit", number(way, "of_limit") * limit, number(way, "samples_per_s"),
                   1e-6);
        part = json_array_get(json_object_get(way, "breakdown"), 0);
        texts_in(part, "device");
        numbers_in(part, "forward backward update");
        for (k = 0, sum = 0; k < sizeof parts / sizeof *parts; k++)
            sum += number(part, parts[k]);
        check_near("the parts' sum", sum, 1, 1e-9);
        numbers_in(json_object_get(way, "per_step"), "launches waits upload_bytes");
        bytes = json_array_get(json_object_get(way, "bytes"), 0);
        texts_in(bytes, "device");
        numbers_in(bytes, "parameters gradients state live arena staging total");
        for (k = 0, sum = 0; k < sizeof kinds / sizeof *kinds; k++)
            sum += number(bytes, kinds[k]);
        check_near("bytes", sum, number(bytes, "total"), 0);
    }
    json_decref(root);
    place_close(&place);
}

/* What it came to, not what was asked for: devices and strategy of each way, and of a document. */
static void train_tells_who_trained_and_how(void **state)
{
    static const struct {
        const char *arguments, *strategy;
        size_t devices;
    } rows[] = {
        {"--devices 0,0 --strategy single", "single", 1},
        {"--devices 0 --strategy mirrored", "mirrored", 1},
        {"--devices 0,0 --shares even --memory 0=6M --net mlp512", "central", 2},
        {"--devices 0,0 --shares even --memory 0=4500K --net mlp512", "streamed", 2},
    };
    static const char *const ways[] = {NULL, "host_batches", "resident"};
    char arguments[512];
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        json_t *root;

        snprintf(arguments, sizeof arguments, "bench train " SMALL "%s --seconds 0.05",
                 rows[r].arguments);
        root = document(&place, arguments);
        for (size_t w = 0; w < 3; w++) {
            const json_t *way = ways[w] ? json_object_get(root, ways[w]) : root;
            const json_t *devices = json_object_get(way, "devices");

            texts_in(way, "strategy");
            assert_string_equal(json_string_value(json_object_get(way, "strategy")),
                                rows[r].strategy);
            assert_int_equal(json_array_size(devices), rows[r].devices);
            assert_string_equal(json_string_value(json_array_get(devices, 0)), "0");
        }
        /* where there are others to compare with */
        assert_int_equal(json_is_number(json_object_get(root, "verify_of_step")),
                         rows[r].devices > 1);
        json_decref(root);
    }
    place_close(&place);
}

/* "input 0.1 %  upload 2.0 % ...": what stands before each sign. */
static double percents_in(const char *line)
{
    const char *end = line + strcspn(line, "\n"), *sign = line;
    double sum = 0;

    while ((sign = strstr(sign, " %")) != NULL && sign < end) {
        const char *number = sign;

        while (number > line && number[-1] != ' ')
            number--;
        sum += atof(number);
        sign++;
    }
    return sum;
}

static void a_printed_breakdown_adds_up(void **state)
{
    /* thirds, sixths, and parts too small to be seen, all rounded down or up at first sight */
    static const struct mot_breakdown hard[] = {
        {.input = 1 / 3.0, .forward = 1 / 3.0, .waiting = 1 / 3.0},
        {.upload = 1 / 6.0, .backward = 1 / 6.0, .staging = 1 / 6.0, .update = 0.5},
        {.input = 0.0004, .upload = 0.0004, .reduce = 0.0004, .update = 0.0004, .forward = 0.9984},
        {.input = 0.0006, .upload = 0.0006, .reduce = 0.0006, .update = 0.0006, .forward = 0.9976},
        {.forward = 1}};
    double percent[PARTS], sum;
    struct place place;
    const char *line;
    size_t i, k, lines = 0;

    (void)state;
    for (i = 0; i < sizeof hard / sizeof *hard; i++) {
        parts_percent(&hard[i], percent);
        for (k = 0, sum = 0; k < PARTS; k++) {
            sum += percent[k];
            if (!(fabs(percent[k] - 100 * part_value(&hard[i], k)) < 0.1))
                fail_msg("%s: %g", part_name[k], percent[k]);
        }
        check_near("percents", sum, 100, 1e-12);
    }
    place_open(&place);
    idx_make(&place);
    place_run(&place, "",
              "bench train --data data --net 'dense 8, dense 10' --seconds 0.1 "
              "--devices 0,0 --shares even");
    assert_int_equal(place.code, 0);
    for (line = place.out; (line = strstr(line, "\n  device ")) != NULL; lines++)
        check_near("a line", percents_in(++line), 100, 1e-9);
    assert_int_equal(lines, 4);
    assert_non_null(strstr(place.out, "\nhost batches, mirrored on 0, 0: "));
    assert_non_null(strstr(place.out, "\nlimit: "));
    assert_non_null(strstr(place.out, "\ncomparing the replicas once (--verify): "));
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
    texts_in(root, "bench net data");
    numbers_in(root, "batch");
    rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 2);
    for (i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i);

        texts_in(row, "devices");
        texts_in(row, "strategy");
        numbers_in(row, "count even by_speed central ceiling sum_alone speed_up efficiency "
                        "even_of_ceiling of_ceiling even_of_sum of_sum central_of_even");
        assert_int_equal(json_integer_value(json_object_get(row, "count")), i + 1);
        check_near("efficiency", number(row, "efficiency"),
                   number(row, "speed_up") / (double)(i + 1), 1e-9);
    }
    json_decref(root);
    place_run(&place, "", "bench scale --data data --net 'dense 10' --batch 32 --seconds 0.05");
    place_expect(&place, 0, "");
    assert_non_null(strstr(place.out, "  speedup  efficiency\n"));
    place_close(&place);
}

static void gemm_takes_the_network_and_the_batch_that_were_asked_for(void **state)
{
    static const char *const what[] = {"net forward", "net weights"};
    struct place place;
    json_t *root, *rows;
    size_t i;

    (void)state;
    place_open(&place);
    root = document(&place, "bench gemm --net 'dense 9' --batch 3 --seconds 0.1 --json");
    rows = json_object_get(json_array_get(json_object_get(root, "devices"), 0), "rows");
    assert_int_equal(json_array_size(rows), 2); /* nothing wants a gradient of the input */
    for (i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i);

        numbers_in(row, "m n k tile-cpu");
        assert_string_equal(json_string_value(json_object_get(row, "what")), what[i]);
        assert_int_equal(json_integer_value(json_object_get(row, i ? "k" : "m")), 3);
        assert_int_equal(json_integer_value(json_object_get(row, i ? "m" : "n")), 9);
    }
    json_decref(root);
    place_run(&place, "", "bench gemm --net 'dense 9, folded 3'");
    place_expect(&place, 2, "folded");
    place_close(&place);
}

/* Presets and squares, of which the two large ones do not fit: they would take long, too. */
static void gemm_goes_on_where_a_product_does_not_fit(void **state)
{
    struct place place;
    json_t *root, *rows;
    size_t i, squares = 0, missing = 0;

    (void)state;
    place_open(&place);
    root = document(&place, "bench gemm --devices 0 --memory 8M --seconds 0.01 --json");
    rows = json_object_get(json_array_get(json_object_get(root, "devices"), 0), "rows");
    for (i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (number(row, "m") > 1000 && json_is_null(json_object_get(row, "tile-cpu")))
            missing++;
        else
            numbers_in(row, "m n k tile-cpu");
        squares += strcmp(json_string_value(json_object_get(row, "what")), "square") == 0;
    }
    assert_int_equal(squares, 4);
    assert_int_equal(missing, 2);
    assert_int_equal(json_array_size(rows), 4 + 5 + 5 + 8);
    json_decref(root);
    place_close(&place);
}

static void allreduce_goes_on_where_bytes_do_not_fit(void **state)
{
    struct place place;
    json_t *root, *rows;
    size_t i, missing = 0;

    (void)state;
    place_open(&place);
    root = document(&place, "bench allreduce --devices 0,0 --memory 2M --seconds 0.01 --json");
    rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 2 * 10); /* 1 KB to 256 MB, each four times the last */
    for (i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const bool none = json_is_null(json_object_get(row, "seconds"));

        missing += none;
        if (number(row, "bytes") > 1 << 21)
            assert_true(none && json_is_null(json_object_get(row, "bound")));
        else
            numbers_in(row, "seconds bound_s rounds");
    }
    assert_int_equal(missing, 2 * 4);
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
        numbers_in(row, "bytes seconds best_s gbps bus_gbps bound_s best_bound_s of_bound "
                        "best_of_bound up_gbps "
                        "down_gbps host_gbps "
                        "fixed_s meet_s rounds");
        assert_string_equal(json_string_value(json_object_get(row, "algorithm")),
                            i % 2 ? "ring" : "direct");
        assert_true(json_integer_value(json_object_get(row, "rounds")) >= 5);
    }
    json_decref(root);
    place_run(&place, "", "bench allreduce --bytes 0");
    place_expect(&place, 2, "--bytes");
    place_run(&place, "", "bench allreduce --devices 0,0 --bytes 3");
    place_expect(&place, 2, "--bytes 3: a number has 4");
    assert_string_equal(place.out, "");
    place_run(&place, "", "bench allreduce --devices 0 --bytes 1024");
    place_expect(&place, 2, "two devices or more");
    place_close(&place);
}

/* One run with a tiny batch; how many larger batches were tried. */
static size_t larger_batches_tried(struct place *place)
{
    json_t *last, *cures;
    char *line;
    size_t i, tried = 0;

    place_run(place, "",
              "train --data data --net 'dense 16 relu, dense 10' --batch 2 --epochs 2 --devices 0 "
              "--out '' --why --json");
    assert_int_equal(place->code, 0);
    place->out[strlen(place->out) - 1] = '\0';
    line = strrchr(place->out, '\n');
    last = json_loads(line ? line + 1 : place->out, 0, NULL);
    cures = json_object_get(last, "cures");
    texts_in(last, "limit");
    assert_true(json_array_size(cures) >= 1);
    for (i = 0; i < json_array_size(cures); i++) {
        const json_t *cure = json_array_get(cures, i);
        const char *advice = json_string_value(json_object_get(cure, "cure"));

        texts_in(cure, "kind device sentence");
        numbers_in(cure, "gain");
        if (advice && strncmp(advice, "--batch ", 8) == 0) {
            numbers_in(cure, "tried share");
            tried++;
        }
    }
    json_decref(last);
    return tried;
}

/* Where others take the machine, a batch of two rows may wait for its data and nothing else: then
 * once more. */
static void why_lists_cures_and_tries_them(void **state)
{
    struct place place;
    size_t tried = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    for (size_t turn = 0; turn < 4 && tried == 0; turn++)
        tried = larger_batches_tried(&place);
    assert_int_equal(tried, 1);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train_has_what_comparisons_need),
        cmocka_unit_test(train_tells_who_trained_and_how),
        cmocka_unit_test(a_printed_breakdown_adds_up),
        cmocka_unit_test(scale_has_a_row_for_each_number_of_devices),
        cmocka_unit_test(gemm_takes_the_network_and_the_batch_that_were_asked_for),
        cmocka_unit_test(gemm_goes_on_where_a_product_does_not_fit),
        cmocka_unit_test(allreduce_has_both_ways_beside_their_bound),
        cmocka_unit_test(allreduce_goes_on_where_bytes_do_not_fit),
        cmocka_unit_test(why_lists_cures_and_tries_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
