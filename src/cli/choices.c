/* choices.c - measure what is remembered, list it, forget it. */
#include "cli/choices.h"

#include "cli/interrupt.h"
#include "cli/screen.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>
#include <time.h>

enum { LINE = 79 };

struct telling {
    const struct options *options;
    struct json *json;
    struct screen screen;
    size_t count;
};

/* ---- figures as they come -------------------------------------------------------------------- */

static void write_value(double value, const char *unit, char *out, size_t bytes)
{
    if (isnan(value))
        snprintf(out, bytes, "does not run here");
    else
        snprintf(out, bytes, value < 1000 ? "%.4g %s" : "%.0f %s", value, unit);
}

static void json_trial(struct json *json, const struct mot_tune_trial *trial)
{
    put_object(json, NULL);
    put_text(json, "device", trial->device);
    put_text(json, "what", trial->what);
    put_text(json, "choice", trial->choice);
    put_number(json, "value", trial->value);
    put_text(json, "unit", trial->unit);
    put_end(json);
}

static void draw_trial(struct screen *screen, const struct mot_tune_trial *trial, const char *value)
{
    const unsigned long left = (unsigned long)(trial->seconds_left + 0.5);
    char line[160];

    snprintf(line, sizeof line, "tuning %3.0f %%  %lu:%02lu left  %s  %s  %s", 100 * trial->done,
             left / 60, left % 60, trial->what, trial->choice, value);
    fprintf(screen->out, "\r%.*s\x1b[K", LINE, line);
    fflush(screen->out);
    screen->drawn = true;
}

static int on_trial(const struct mot_tune_trial *trial, void *user)
{
    struct telling *telling = user;
    char value[48];

    write_value(trial->value, trial->unit, value, sizeof value);
    if (telling->options->json) {
        json_trial(telling->json, trial);
    } else if (telling->screen.live) {
        draw_trial(&telling->screen, trial, value);
    } else {
        printf("%-8s %-28s %-14s %s\n", trial->device ? trial->device : "all", trial->what,
               trial->choice, value);
        fflush(stdout);
    }
    return interrupt_seen();
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static int on_choice(const struct mot_tuned *tuned, void *user)
{
    struct telling *telling = user;
    const time_t seconds = (time_t)tuned->when;
    char value[48], before[48], when[32] = "";
    struct tm day;

    telling->count++;
    if (gmtime_r(&seconds, &day))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%MZ", &day);
    if (telling->options->json) {
        put_object(telling->json, NULL);
        put_text(telling->json, "device", tuned->device);
        put_text(telling->json, "what", tuned->what);
        put_text(telling->json, "choice", tuned->choice);
        put_number(telling->json, "value", tuned->value);
        put_text(telling->json, "usual", tuned->usual);
        put_number(telling->json, "before", tuned->before);
        put_text(telling->json, "unit", tuned->unit);
        put_text(telling->json, "when", when);
        put_end(telling->json);
        return 0;
    }
    write_value(tuned->value, tuned->unit, value, sizeof value);
    write_value(tuned->before, tuned->unit, before, sizeof before);
    printf("%-8s %-28s %-14s %-18s ", tuned->device ? tuned->device : "all", tuned->what,
           tuned->choice, value);
    if (strcmp(tuned->choice, tuned->usual) == 0)
        printf("as usual, %s\n", when);
    else
        printf("usual %s %s, %s\n", tuned->usual, before, when);
    return 0;
}

int choices_show(const struct options *options, mot_fleet *fleet, struct json *json)
{
    struct telling telling = {.options = options, .json = json};
    mot_status status;

    if (options->json)
        put_array(json, "choices");
    status = mot_tuned_each(fleet, on_choice, &telling);
    if (options->json)
        put_end(json);
    if (status != MOT_OK)
        return fail_library(status);
    if (telling.count == 0 && !options->json)
        printf("nothing is remembered of these devices; motley tune measures\n");
    return EXIT_FINE;
}

int choices_forget(const struct options *options, mot_fleet *fleet, struct json *json)
{
    size_t count = 0;
    const mot_status status = mot_tuned_forget(fleet, &count);

    if (status != MOT_OK)
        return fail_library(status);
    if (options->json)
        put_count(json, "forgotten", count);
    else
        printf("%zu choice%s forgotten\n", count, count == 1 ? "" : "s");
    return EXIT_FINE;
}

int choices_measure(const struct options *options, struct session *session, struct json *json)
{
    const struct mot_trainer_config trainer = session_trainer_config(options);
    struct mot_tune_config config = mot_tune_config_default();
    struct telling telling = {.options = options, .json = json};
    mot_status status;

    config.seconds = options->seconds;
    config.all = options->all;
    config.on_trial = on_trial;
    config.user = &telling;
    screen_open(&telling.screen, stdout, false);
    if (options->json)
        put_array(json, "trials");
    status = mot_tune(session->fleet, session->net, &trainer, session->data.train, options->rows,
                      &config);
    if (options->json)
        put_end(json);
    else
        screen_clear(&telling.screen);
    if (status != MOT_OK)
        return fail_library(status);
    return choices_show(options, session->fleet, json);
}
