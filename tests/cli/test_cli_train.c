/* test_cli_train.c - train, eval and predict as a user runs them: lines, JSON, a terminal, Ctrl-C.
 */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "command.h"

#include <jansson.h>
#include <math.h>
#include <sys/ioctl.h>
#include <time.h>

#define SMALL "--data data --net 'dense 16 relu, dense 10' --batch 32 "

static void a_run_learns_saves_and_says_so(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--lr 0.01 --epochs 3 --out w.safetensors");
    place_expect(&place, 0, "epoch 3/3  loss ");
    place_expect(&place, 0, "batch 32\n");
    place_expect(&place, 0, "400 samples, 100 for the test\n");
    place_expect(&place, 0, "test accuracy 100.0 % on data\n");
    place_expect(&place, 0, "weights saved to w.safetensors\n");
    assert_null(strchr(place.out, '\r')); /* piped: plain lines */
    assert_null(strchr(place.out, '\x1b'));
    assert_int_equal(folder_count(place.here.path), 2);
    place_run(&place, "", "eval " SMALL "--weights w.safetensors");
    place_expect(&place, 0, "test accuracy 100.0 % on data\n");
    place_close(&place);
}

static void quiet_leaves_only_the_result(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--lr 0.01 --epochs 3 --quiet --out ''");
    assert_int_equal(place.code, 0);
    assert_string_equal(place.out, "test accuracy 100.0 % on data\n");
    assert_string_equal(place.err, "");
    assert_int_equal(folder_count(place.here.path), 1); /* --out "": no weights */
    place_close(&place);
}

static void a_run_that_diverges_stops_and_keeps_what_was_good(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--optimizer sgd --lr 1e30 --epochs 1 --on-nan skip");
    place_expect(&place, 1, "the test loss is not a finite number, so nothing was saved");
    place_run(&place, "", "train " SMALL "--optimizer sgd --lr 1e30 --epochs 2 --on-nan skip");
    place_expect(&place, 1, "epoch 2: the loss was not a finite number in any of 13 steps");
    assert_int_equal(folder_count(place.here.path), 1);
    place_run(&place, "", "train " SMALL "--optimizer sgd --lr 1e30 --json");
    place_expect(&place, 1, "the weights before that step were saved to motley.safetensors");
    assert_non_null(strstr(place.out, "\"kind\":\"number\",\"step\":1,\"device\":\"0\""));
    assert_non_null(strstr(place.out, "step 1: the loss of "));
    assert_int_equal(folder_count(place.here.path), 2);
    place_close(&place);
}

static void a_batch_over_two_devices_is_written_out(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--devices 0,0 --shares 3,1 --epochs 1");
    place_expect(&place, 0, "batch 32 = 24 + 8\n");
    place_run(&place, "", "train " SMALL "--devices 0,0 --shares even --epochs 1");
    place_expect(&place, 0, "batch 32 = 16 + 16\n");
    place_close(&place);
}

/* ---- what limits the speed ---- */

static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;

    for (; (text = strstr(text, words)) != NULL; text++)
        count++;
    return count;
}

#define LIMIT "\nwhat limits the speed: "

/* After the first epoch, when it is as short as here, and at the end. */
static void a_run_says_what_limits_it(void **state)
{
    struct place place;
    const char *first;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--epochs 3 --out ''");
    place_expect(&place, 0, "\ntest accuracy ");
    assert_int_equal(count_of(place.out, LIMIT), 2);
    first = strstr(place.out, LIMIT);
    assert_true(first > strstr(place.out, "\nepoch 1/3 "));
    assert_true(first < strstr(place.out, "\nepoch 2/3 "));
    assert_non_null(strstr(strstr(place.out, "\ntest accuracy "), LIMIT));
    place_run(&place, "", "train " SMALL "--epochs 1 --out ''");
    place_expect(&place, 0, LIMIT);
    assert_int_equal(count_of(place.out, LIMIT), 1);
    assert_null(strstr(place.out, "device   "));
    place_close(&place);
}

/* Each device's parts in a row that adds up; then the cures, tried. */
static void why_prints_the_whole_reckoning(void **state)
{
    struct place place;
    const char *line;
    size_t row, k;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--devices 0,0 --shares even --epochs 2 --out '' --why");
    place_expect(&place, 0, LIMIT);
    line = strstr(place.out, "\ndevice      input   upload  forward backward  staging   reduce   "
                             "update  waiting\n");
    assert_non_null(line);
    line = strchr(line + 1, '\n') + 1;
    for (row = 0; row < 2; row++, line = strchr(line, '\n') + 1) {
        double sum = 0;
        int at = 0;

        assert_memory_equal(line, "0 ", 2);
        for (k = 0, at = 1; k < 8; k++) {
            double percent;
            int used = 0;

            assert_int_equal(sscanf(line + at, "%lf %%%n", &percent, &used), 1);
            sum += percent;
            at += used;
        }
        assert_int_equal(line[at], '\n');
        if (!(fabs(sum - 100) < 0.01))
            fail_msg("a row adds up to %g %%:\n%s", sum, place.out);
    }
    place_close(&place);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Line number `line` of the output as an object, or NULL past the last. */
static json_t *object_at(const struct place *place, size_t line)
{
    const char *text = place->out;
    json_error_t error;
    json_t *read;

    for (; line && *text; line--)
        text += strcspn(text, "\n") + 1;
    if (!*text)
        return NULL;
    read = json_loadb(text, strcspn(text, "\n"), JSON_REJECT_DUPLICATES, &error);
    if (!read)
        fail_msg("%s in line: %s", error.text, text);
    return read;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    assert_true(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static void check_start(const json_t *start)
{
    const json_t *devices = json_object_get(start, "devices");

    assert_string_equal(text_of(start, "event"), "start");
    assert_string_equal(text_of(start, "data"), "data");
    assert_int_equal(json_array_size(devices), 2);
    assert_true(text_of(json_array_get(devices, 0), "name")[0] != 0);
    assert_true(number_of(json_array_get(devices, 1), "share") == 16);
    assert_true(number_of(start, "parameters") == 784 * 16 + 16 + 16 * 10 + 10);
    assert_true(number_of(start, "samples") == IDX_TRAIN);
}

static void check_epoch(const json_t *object, double epoch)
{
    assert_string_equal(text_of(object, "event"), "epoch");
    assert_string_equal(text_of(object, "data"), "data");
    assert_true(number_of(object, "epoch") == epoch);
    assert_true(number_of(object, "loss") > 0);
    assert_true(number_of(object, "accuracy") > 0.3);
    assert_true(number_of(object, "test_loss") > 0);
    assert_true(number_of(object, "test_accuracy") <= 1);
    assert_true(number_of(object, "samples_per_s") > 0);
}

static void json_has_one_object_for_each_event(void **state)
{
    struct place place;
    json_t *end;
    size_t i;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--lr 0.01 --devices 0,0 --shares even --epochs 2 --json");
    place_expect(&place, 0, "{\"event\":\"start\"");
    assert_string_equal(place.err, "");
    for (i = 0; i < 3; i++) {
        json_t *object = object_at(&place, i);

        assert_non_null(object);
        if (i == 0)
            check_start(object);
        else
            check_epoch(object, (double)i);
        json_decref(object);
    }
    end = object_at(&place, 3);
    assert_string_equal(text_of(end, "event"), "end");
    assert_string_equal(text_of(end, "data"), "data");
    assert_string_equal(text_of(end, "weights"), "motley.safetensors");
    assert_true(number_of(end, "test_accuracy") > 0.5);
    assert_true(number_of(end, "test_loss") > 0);
    json_decref(end);
    assert_null(object_at(&place, 4));
    place_close(&place);
}

/* Little memory has notes of a kind of its own, and every line is JSON. */
static void each_note_has_a_kind(void **state)
{
    struct place place;
    json_t *object;
    size_t i, notes = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train --data data --net mlp512 --devices 0 --memory 4500K --json");
    place_expect(&place, 0, "{\"event\":\"note\"");
    for (i = 0; (object = object_at(&place, i)) != NULL; i++) {
        if (strcmp(text_of(object, "event"), "note") == 0) {
            assert_string_equal(text_of(object, "kind"), "memory");
            assert_true(text_of(object, "text")[0] != 0);
            notes++;
        }
        json_decref(object);
    }
    assert_int_equal(notes, 2); /* the state is on the host; weights stream */
    place_close(&place);
}

static void devices_are_told_as_json_too(void **state)
{
    static const char *const keys[] = {"gemm_gflops",   "memory_gbps", "upload_gbps",
                                       "download_gbps", "units",       "memory_bytes",
                                       "largest_bytes"};
    struct place place;
    json_t *object, *device;
    size_t i;

    (void)state;
    place_open(&place);
    place_run(&place, "", "devices --devices 0 --json");
    place_expect(&place, 0, "\"devices\":[{");
    object = object_at(&place, 0);
    device = json_array_get(json_object_get(object, "devices"), 0);
    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(number_of(device, keys[i]) > 0);
    assert_true(json_is_true(json_object_get(device, "used")));
    json_decref(object);
    place_run(&place, "", "devices --devices 0");
    place_expect(&place, 0, "GFLOP/s");
    place_expect(&place, 0, "   used\n");
    place_close(&place);
}

/* ---- predict --------------------------------------------------------------------------------- */

static void predictions_are_classes_with_probabilities(void **state)
{
    struct place place;
    unsigned index, class;
    double probability;
    const char *line;
    size_t rows = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train " SMALL "--lr 0.01 --epochs 3 --quiet");
    assert_int_equal(place.code, 0);
    place_run(&place, "", "predict " SMALL);
    place_expect(&place, 0, "index,class,probability\n");
    for (line = strchr(place.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        assert_int_equal(sscanf(line, "%u,%u,%lf", &index, &class, &probability), 3);
        assert_int_equal(index, rows);
        assert_int_equal(class, rows % 10); /* as the data was made */
        assert_true(probability > 0.1 && probability <= 1);
        rows++;
    }
    assert_int_equal(rows, IDX_TEST);
    place_run(&place, "", "predict " SMALL "--count 2 --out p.csv");
    place_expect(&place, 0, "2 predictions written to p.csv\n");
    assert_int_equal(folder_count(place.here.path), 3);
    place_run(&place, "", "predict --data data --net 'dense 17 relu, dense 10'");
    place_expect(&place, 2,
                 "motley.safetensors: \"dense1.weight\""); /* the weights of another network */
    place_close(&place);
}

/* ---- Ctrl-C and terminals -------------------------------------------------------------------- */

static pid_t child; /* one at a time; a test that fails must not leave it running */

static int end_child(void **state)
{
    (void)state;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    child = 0;
    return 0;
}

/* Start the command with its output in `out`; with a terminal when terminal >= 0. */
static void start(const struct place *place, int terminal, const char *arguments)
{
    char line[2048];

    child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return;
    snprintf(line, sizeof line, "cd '%s' && exec '%s' %s'%s/out' %s", place->here.path,
             MOTLEY_COMMAND, terminal < 0 ? ">" : "2>", place->beside.path, arguments);
    if (terminal >= 0 && dup2(terminal, 1) < 0)
        _exit(99);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(99);
}

static bool wait_for(struct place *place, const char *words)
{
    const struct timespec tick = {0, 20 * 1000 * 1000};
    int i;

    for (i = 0; i < 50 * 60; i++) {
        place_read(place, "out", place->out, sizeof place->out);
        if (strstr(place->out, words))
            return true;
        nanosleep(&tick, NULL);
    }
    return false;
}

static int finish(void)
{
    int status = 0;

    assert_int_equal(waitpid(child, &status, 0), child);
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* In the first epoch, after the first word about what limits the speed. */
static void one_interrupt_saves_and_leaves(void **state)
{
    struct place place;
    const char *stopped;

    (void)state;
    place_open(&place);
    idx_make(&place);
    start(&place, -1, "train --data digits --net mlp512 --batch 1 --epochs 100000000");
    assert_true(wait_for(&place, LIMIT));
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(finish(), 130);
    place_read(&place, "out", place.out, sizeof place.out);
    stopped = strstr(place.out, "\nstopped in epoch ");
    assert_non_null(stopped);
    assert_non_null(strstr(stopped, LIMIT));
    assert_int_equal(count_of(place.out, LIMIT), 2);
    assert_non_null(strstr(stopped, "weights saved to motley.safetensors\n"));
    assert_int_equal(folder_count(place.here.path), 2);
    place_run(&place, "", "eval --data digits --net mlp512"); /* what was saved is whole */
    place_expect(&place, 0, "on drawn digits\n");
    place_close(&place);
}

static void two_interrupts_leave_at_once(void **state)
{
    const struct timespec moment = {0, 2 * 1000 * 1000};
    struct place place;
    int status = 0;

    (void)state;
    place_open(&place);
    /* Steps are long here, so that the second signal comes while the first still waits. */
    start(&place, -1, "train --data digits --net mlp512 --batch 4096 --epochs 100000 2>&1");
    assert_true(wait_for(&place, "batch 4096\n"));
    while (waitpid(child, &status, WNOHANG) == 0) {
        assert_int_equal(kill(child, SIGINT), 0);
        nanosleep(&moment, NULL);
    }
    child = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 130);
    place_read(&place, "out", place.out, sizeof place.out);
    assert_non_null(strstr(place.out, "motley: leaving at once"));
    assert_null(strstr(place.out, "weights saved"));
    assert_int_equal(folder_count(place.here.path), 0);
    place_close(&place);
}

/* What a terminal of that many columns is sent. */
static size_t on_terminal(struct place *place, unsigned short columns, const char *arguments)
{
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    const int control = posix_openpt(O_RDWR | O_NOCTTY);
    size_t used = 0;
    ssize_t bytes;
    int terminal;

    assert_true(control >= 0 && grantpt(control) == 0 && unlockpt(control) == 0);
    terminal = open(ptsname(control), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
    start(place, terminal, arguments);
    close(terminal);
    while (used + 1 < sizeof place->out &&
           (bytes = read(control, place->out + used, sizeof place->out - 1 - used)) > 0)
        used += (size_t)bytes;
    place->out[used] = 0;
    place->code = finish();
    close(control);
    return used;
}

/* A bare root folder has no /dev/pts, so no terminal can be made there. */
static bool terminals_exist(void)
{
    const int control = posix_openpt(O_RDWR | O_NOCTTY);

    if (control >= 0)
        close(control);
    return control >= 0;
}

static void a_terminal_gets_one_line_that_fits(void **state)
{
    struct place place;
    char *line, *end;
    size_t redrawn = 0;

    (void)state;
    if (!terminals_exist()) {
        print_message("no terminal can be made here (is /dev/pts mounted?)\n");
        skip();
    }
    place_open(&place);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    on_terminal(&place, 44, "train --data digits --net mlp64 --batch 4 --epochs 1");
    assert_int_equal(place.code, 0);
    for (line = place.out; (line = strstr(line, "\repoch")) != NULL; line = end) {
        end = strstr(line, "\x1b[K");
        assert_non_null(end);
        assert_true(end - line - 1 < 44);
        redrawn++;
    }
    assert_true(redrawn > 0); /* 5000 steps: longer than one redraw on any machine */
    for (line = place.out; (line = strstr(line, "what limits the speed: ")) != NULL; line++)
        assert_true(line[-1] == '\n' || memcmp(line - 4, "\r\x1b[K", 4) == 0);
    on_terminal(&place, 100, "train --data digits --net mlp64 --batch 4 --epochs 1");
    assert_non_null(strstr(place.out, "  ["));
    assert_null(strstr(place.out, "\x1b[3")); /* NO_COLOR */
    unsetenv("NO_COLOR");
    on_terminal(&place, 100, "train --data digits --net mlp64 --batch 4 --epochs 1");
    assert_non_null(strstr(place.out, "\x1b[3"));
    assert_non_null(strstr(place.out, " left"));
    on_terminal(&place, 100, "train --data digits --net mlp64 --epochs 1 --json");
    assert_null(strchr(place.out, '\x1b'));
    place_close(&place);
}

static void a_closed_pipe_does_not_lose_the_weights(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "sh -c 'exec \"$@\" | true' sh", "train " SMALL "--epochs 2");
    assert_int_equal(access(folder_path(&place.here, "motley.safetensors"), R_OK), 0);
    place_close(&place);
}

/* No time is asserted: both were measured, the figure is there, and the caches are gone. */
static void bench_train_tells_a_cold_and_a_warm_start(void **state)
{
    struct place place;
    char there[512];
    size_t files;
    json_t *all;

    (void)state;
    place_open(&place);
    idx_make(&place);
    files = folder_count(place.here.path);
    snprintf(there, sizeof there, "TMPDIR='%s'", place.here.path);
    place_run(&place, there, "bench train " SMALL "--seconds 0.01 --json");
    place_expect(&place, 0, "\"bench\":\"train\"");
    all = json_loads(place.out, 0, NULL);
    assert_non_null(all);
    assert_true(json_real_value(json_object_get(all, "first_step_s")) > 0);
    assert_true(json_real_value(json_object_get(all, "first_step_cold_s")) > 0);
    assert_true(json_real_value(json_object_get(all, "samples_per_s")) > 0);
    json_decref(all);
    assert_int_equal(folder_count(place.here.path), files);
    place_run(&place, there, "bench train " SMALL "--seconds 0.01");
    place_expect(&place, 0, "first step: cold ");
    place_close(&place);
}

static void a_bench_that_fails_prints_no_half_document(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    place_run(&place, "", "bench allreduce --json --devices 0");
    place_expect(&place, 2, "wants two devices or more");
    assert_string_equal(place.out, "");
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_learns_saves_and_says_so),
        cmocka_unit_test(quiet_leaves_only_the_result),
        cmocka_unit_test(a_run_that_diverges_stops_and_keeps_what_was_good),
        cmocka_unit_test(a_batch_over_two_devices_is_written_out),
        cmocka_unit_test(a_run_says_what_limits_it),
        cmocka_unit_test(why_prints_the_whole_reckoning),
        cmocka_unit_test(json_has_one_object_for_each_event),
        cmocka_unit_test(each_note_has_a_kind),
        cmocka_unit_test(devices_are_told_as_json_too),
        cmocka_unit_test(predictions_are_classes_with_probabilities),
        cmocka_unit_test_teardown(one_interrupt_saves_and_leaves, end_child),
        cmocka_unit_test_teardown(two_interrupts_leave_at_once, end_child),
        cmocka_unit_test_teardown(a_terminal_gets_one_line_that_fits, end_child),
        cmocka_unit_test(a_closed_pipe_does_not_lose_the_weights),
        cmocka_unit_test(bench_train_tells_a_cold_and_a_warm_start),
        cmocka_unit_test(a_bench_that_fails_prints_no_half_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
