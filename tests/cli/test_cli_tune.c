/* test_cli_tune.c - motley tune as a user meets it: what it found is shown, taken and forgotten,
 * and devices that have gone since are no obstacle. Each test has a memory of its own: what it
 * measures must not change what other tests run with. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "command.h"

#include <glob.h>
#include <jansson.h>
#include <pthread.h>

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

/* ---- on a terminal ---- */

struct terminal {
    int end; /* ours; the command has the other */
    char said[1 << 14];
    size_t bytes;
};

static void *listen_to(void *user)
{
    struct terminal *terminal = user;
    ssize_t got;

    while (terminal->bytes < sizeof terminal->said - 1 &&
           (got = read(terminal->end, terminal->said + terminal->bytes,
                       sizeof terminal->said - 1 - terminal->bytes)) > 0)
        terminal->bytes += (size_t)got;
    return NULL;
}

/* Run it with a terminal in the place of its standard output. */
static void run_on_terminal(struct place *place, struct terminal *terminal, const char *environment,
                            const char *arguments)
{
    char line[512];
    pthread_t listener;
    int other;

    memset(terminal, 0, sizeof *terminal);
    terminal->end = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal->end >= 0);
    assert_int_equal(grantpt(terminal->end), 0);
    assert_int_equal(unlockpt(terminal->end), 0);
    other = open(ptsname(terminal->end), O_RDWR | O_NOCTTY); /* until we have heard all */
    assert_true(other >= 0);
    assert_int_equal(pthread_create(&listener, NULL, listen_to, terminal), 0);
    snprintf(line, sizeof line, "%s >%s", arguments, ptsname(terminal->end));
    place_run(place, environment, line);
    close(other);
    assert_int_equal(pthread_join(listener, NULL), 0);
    close(terminal->end);
}

static void a_terminal_shows_progress_and_the_time_left(void **state)
{
    struct terminal terminal;
    struct place place;
    unsigned minutes, seconds, done, before = 0, lines = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    run_on_terminal(&place, &terminal, memory_of(&place, "TERM=xterm"), TUNE "--devices 0,0");
    if (place.code != 0)
        fail_msg("exit code %d: %s", place.code, place.err);
    for (const char *at = terminal.said; (at = strstr(at, "\rtuning ")) != NULL; at++) {
        assert_int_equal(sscanf(at, "\rtuning %u %% %u:%2u left", &done, &minutes, &seconds), 3);
        assert_true(done >= before && done <= 100 && seconds < 60);
        before = done;
        lines++;
    }
    assert_true(lines >= 3); /* direct, the other staging, ring */
    assert_non_null(strstr(terminal.said, "\rtuning 100 %  0:00 left  reduce  "));
    assert_non_null(strstr(terminal.said, "all      reduce of 7984 parameters")); /* what stays */
    place_close(&place);
}

/* ---- the hint ---- */

/* Into the memory of the one device there is. */
static void remember(const struct place *place, const char *key, const char *line)
{
    char path[512];
    glob_t found;
    FILE *file;

    snprintf(path, sizeof path, "%s/cache/motley/choices/*", place->beside.path);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s/%s", found.gl_pathv[0], key);
    globfree(&found);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    assert_int_equal(fclose(file), 0);
}

static size_t hints(const char *text)
{
    size_t count = 0;

    for (; (text = strstr(text, "was never tuned")) != NULL; text++)
        count++;
    return count;
}

static void a_run_says_once_that_a_device_was_never_tuned(void **state)
{
    static const char train[] = "train --data data --net mlp10 --epochs 2 --out '' --devices 0,0";
    char memory[512];
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    snprintf(memory, sizeof memory, "%s", memory_of(&place, "MOTLEY_GEMM=auto"));
    place_run(&place, memory, "tune --show --devices 0"); /* makes the folder */
    place_expect(&place, 0, "nothing is remembered");
    place_run(&place, memory, train);
    place_expect(&place, 0, "test accuracy ");
    remember(&place, "reach", "20 90");
    place_run(&place, memory, train);
    place_expect(&place, 0,
                 "device 0 was never tuned: matrix products reach 20 of 90 GFLOP/s (512 x 512 x "
                 "512, measured); motley tune could make them up to 4.5 x as fast\n");
    assert_int_equal(hints(place.out) + hints(place.err), 1);
    remember(&place, "tuned.staging", "map 2 map 1 1700000000");
    place_run(&place, memory, train);
    place_expect(&place, 0, "test accuracy ");
    assert_int_equal(hints(place.out) + hints(place.err), 0);
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
        cmocka_unit_test(a_terminal_shows_progress_and_the_time_left),
        cmocka_unit_test(a_run_says_once_that_a_device_was_never_tuned),
        cmocka_unit_test(more_rows_than_samples_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
