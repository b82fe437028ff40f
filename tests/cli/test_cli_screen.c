/* test_cli_screen.c - the line a terminal shows fits it, and says what matters most. */
#include "support/check.h"

#include "cli/screen.h"

static const size_t shares[] = {71, 38, 19};

static struct mot_event event_of_three(void)
{
    struct mot_event event = {.kind = MOT_EVENT_PROGRESS,
                              .epoch = 2,
                              .epochs = 5,
                              .step = 312,
                              .steps = 469,
                              .batch = 128,
                              .replicas = 3,
                              .share = shares,
                              .loss = 0.09123,
                              .accuracy = 0.9721,
                              .samples_per_s = 48123,
                              .seconds_left = 72};

    return event;
}

static void every_width_is_respected(void **state)
{
    const struct mot_event event = event_of_three();
    char line[SCREEN_LINE];
    size_t width;

    (void)state;
    for (width = 1; width <= 200; width++) {
        screen_line(&event, width, false, line);
        if (strlen(line) >= width && width > 1)
            fail_msg("%zu columns, but %zu characters: %s", width, strlen(line), line);
        assert_null(strchr(line, '\x1b'));
    }
}

static void a_usual_terminal_shows_everything(void **state)
{
    static const char *const words[] = {"epoch 2/5",  "[",       "312/469",   "loss 0.0912",
                                        "acc 97.2 %", "48.1k/s", "1:12 left", "71+38+19"};
    const struct mot_event event = event_of_three();
    char line[SCREEN_LINE];
    size_t i;

    (void)state;
    screen_line(&event, 100, false, line);
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(line, words[i]))
            fail_msg("no \"%s\" in \"%s\"", words[i], line);
}

static void a_narrow_one_keeps_epoch_and_loss(void **state)
{
    const struct mot_event event = event_of_three();
    char line[SCREEN_LINE];

    (void)state;
    screen_line(&event, 30, false, line);
    assert_non_null(strstr(line, "epoch 2/5"));
    assert_non_null(strstr(line, "loss 0.0912"));
    assert_null(strstr(line, "312/469"));
}

static void colour_comes_only_when_asked(void **state)
{
    const struct mot_event event = event_of_three();
    char line[SCREEN_LINE];

    (void)state;
    screen_line(&event, 100, true, line);
    assert_non_null(strstr(line, "\x1b["));
}

static void a_batch_says_what_it_means(void **state)
{
    struct mot_event event = event_of_three();
    char text[128];

    (void)state;
    screen_batch(&event, text, sizeof text);
    assert_string_equal(text, "128 = 71 + 38 + 19");
    event.replicas = 1;
    screen_batch(&event, text, sizeof text);
    assert_string_equal(text, "128");
}

static void the_result_names_the_data(void **state)
{
    struct dataset data = {.name = "Fashion-MNIST", .note = "MNIST download failed: no network"};
    char text[256];

    (void)state;
    screen_result(0.3, 0.8812, &data, text, sizeof text);
    assert_string_equal(
        text, "test accuracy 88.1 % on Fashion-MNIST (MNIST download failed: no network)");
    data.note[0] = 0;
    screen_result(0.3, NAN, &data, text, sizeof text);
    assert_string_equal(text, "test loss 0.3000 on Fashion-MNIST");
}

static void numbers_that_are_none_do_not_upset_the_line(void **state)
{
    struct mot_event event = event_of_three();
    char line[SCREEN_LINE];

    (void)state;
    event.accuracy = event.samples_per_s = event.seconds_left = NAN;
    event.loss = INFINITY;
    event.steps = 0;
    event.share = NULL;
    screen_line(&event, 100, false, line);
    assert_non_null(strstr(line, "loss inf"));
    assert_null(strstr(line, "acc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_is_respected),
        cmocka_unit_test(a_usual_terminal_shows_everything),
        cmocka_unit_test(a_narrow_one_keeps_epoch_and_loss),
        cmocka_unit_test(colour_comes_only_when_asked),
        cmocka_unit_test(a_batch_says_what_it_means),
        cmocka_unit_test(the_result_names_the_data),
        cmocka_unit_test(numbers_that_are_none_do_not_upset_the_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
