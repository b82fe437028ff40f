/* screen.c - lines for people; what does not fit the terminal is left out, least needed first. */
#include "cli/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PARTS = 9, PART = 96, NARROWEST = 20, BAR_LEAST = 5, BAR_MOST = 30 };
#define BAR_COLOUR "\x1b[36m"
#define NO_COLOUR "\x1b[0m"

struct part {
    char text[PART];
    int rank; /* 0 always stays; the highest goes first */
};

static size_t terminal_width(FILE *out)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROWEST)
        return size.ws_col;
    return columns && atoi(columns) >= NARROWEST ? (size_t)atoi(columns) : 80;
}

/* ---- amounts --------------------------------------------------------------------------------- */

static void write_rate(double per_s, char *out, size_t bytes)
{
    if (!isfinite(per_s))
        snprintf(out, bytes, "-/s");
    else if (per_s >= 1e6)
        snprintf(out, bytes, "%.2fM/s", per_s / 1e6);
    else if (per_s >= 1e4)
        snprintf(out, bytes, "%.1fk/s", per_s / 1e3);
    else
        snprintf(out, bytes, "%.0f/s", per_s);
}

static void write_time(double s, char *out, size_t bytes)
{
    const unsigned long whole = isfinite(s) && s > 0 && s < 1e9 ? (unsigned long)(s + 0.5) : 0;

    if (whole >= 3600)
        snprintf(out, bytes, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(out, bytes, "%lu:%02lu", whole / 60, whole % 60);
}

/* 669706 as 669,706 */
static void write_grouped(size_t number, char out[32])
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%zu", number);
    int i;

    for (i = 0; i < count; i++) {
        *out++ = digits[i];
        if ((count - i) % 3 == 1 && i + 1 < count)
            *out++ = ',';
    }
    *out = 0;
}

static void write_accuracy(double accuracy, const char *before, char *out, size_t bytes)
{
    if (isnan(accuracy))
        *out = 0; /* no classes, no accuracy */
    else
        snprintf(out, bytes, "%s %.1f %%", before, 100 * accuracy);
}

static void write_shares(const struct mot_event *event, const char *between, char *out,
                         size_t bytes)
{
    size_t i, used = 0;

    *out = 0;
    for (i = 0; event->share && i < event->replicas && used < bytes; i++)
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%zu", i ? between : "", event->share[i]);
}

void screen_batch(const struct mot_event *event, char *out, size_t bytes)
{
    char shares[256];

    write_shares(event, " + ", shares, sizeof shares);
    if (event->replicas > 1 && *shares)
        snprintf(out, bytes, "%zu = %s", event->batch, shares);
    else
        snprintf(out, bytes, "%zu", event->batch);
}

void screen_result(double loss, double accuracy, const struct dataset *data, char *out,
                   size_t bytes)
{
    const char *open = data->note[0] ? " (" : "", *close = data->note[0] ? ")" : "";

    if (isnan(accuracy))
        snprintf(out, bytes, "test loss %.4f on %s%s%s%s", loss, data->name, open, data->note,
                 close);
    else
        snprintf(out, bytes, "test accuracy %.1f %% on %s%s%s%s", 100 * accuracy, data->name, open,
                 data->note, close);
}

/* ---- a line of parts ------------------------------------------------------------------------- */

static size_t joined_width(const struct part *part, size_t count)
{
    size_t i, width = 0;

    for (i = 0; i < count; i++)
        if (part[i].text[0])
            width += (width ? 2 : 0) + strlen(part[i].text);
    return width;
}

/* Empty the parts of the highest rank until the rest fits. */
static void drop_parts(struct part *part, size_t count, size_t width)
{
    while (joined_width(part, count) > width) {
        size_t i, worst = count;

        for (i = 0; i < count; i++)
            if (part[i].text[0] && part[i].rank > 0 &&
                (worst == count || part[i].rank > part[worst].rank))
                worst = i;
        if (worst == count)
            return;
        part[worst].text[0] = 0;
    }
}

static void join_parts(const struct part *part, size_t count, char *out, size_t bytes)
{
    size_t i, used = 0;

    *out = 0;
    for (i = 0; i < count && used < bytes; i++)
        if (part[i].text[0])
            used +=
                (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "  " : "", part[i].text);
}

static void write_bar(double done, size_t room, bool colour, char *out, size_t bytes)
{
    const size_t cells = room < BAR_MOST ? room : BAR_MOST;
    const size_t full = (size_t)(done * (double)cells + 0.5);
    char bar[BAR_MOST + 1];
    size_t i;

    for (i = 0; i < cells; i++)
        bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[cells] = 0;
    snprintf(out, bytes, "[%s%s%s]", colour ? BAR_COLOUR : "", bar, colour ? NO_COLOUR : "");
}

void screen_line(const struct mot_event *event, size_t width, bool colour, char out[SCREEN_LINE])
{
    const double done = event->steps ? (double)event->step / (double)event->steps : 0;
    enum { BAR = 1 };
    struct part part[PARTS] = {{"", 0}, {"", 5}, {"", 7}, {"", 1},
                               {"", 2}, {"", 4}, {"", 3}, {"", 6}};
    char time[32], shares[64];
    size_t used;

    width = width > 1 ? width - 1 : 1; /* the last column would make some terminals wrap */
    snprintf(part[0].text, PART, "epoch %zu/%zu", event->epoch, event->epochs);
    snprintf(part[2].text, PART, "%zu/%zu", event->step, event->steps);
    if (!isnan(event->loss)) /* a first long group of steps is not applied yet */
        snprintf(part[3].text, PART, "loss %.4f", event->loss);
    write_accuracy(event->accuracy, "acc", part[4].text, PART);
    write_rate(event->samples_per_s, part[5].text, PART);
    write_time(event->seconds_left, time, sizeof time);
    snprintf(part[6].text, PART, "%s left", time);
    write_shares(event, "+", shares, sizeof shares);
    if (event->replicas > 1)
        snprintf(part[7].text, PART, "%s", shares);
    snprintf(part[BAR].text, PART, "[%*s]", BAR_LEAST, "");
    drop_parts(part, PARTS, width);
    if (part[BAR].text[0]) {
        used = joined_width(part, PARTS);
        write_bar(done, BAR_LEAST + (width - used), colour, part[BAR].text, PART);
    }
    join_parts(part, PARTS, out, SCREEN_LINE);
    if (!colour && strlen(out) > width)
        out[width] = 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

void screen_open(struct screen *screen, FILE *out, bool quiet)
{
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");

    screen->out = out;
    screen->quiet = quiet;
    screen->live = isatty(fileno(out)) && terminal && strcmp(terminal, "dumb") != 0;
    screen->colour = screen->live && !(no_color && *no_color);
    screen->drawn = false;
}

void screen_clear(struct screen *screen)
{
    if (screen->drawn)
        fputs("\r\x1b[K", screen->out);
    screen->drawn = false;
}

void screen_start(struct screen *screen, const struct mot_event *event, const char *net,
                  const struct dataset *data)
{
    char number[32], batch[320];
    size_t lane;

    if (screen->quiet)
        return;
    for (lane = 0; event->fleet && lane < event->replicas; lane++)
        fprintf(screen->out, "device %s: %s\n", mot_fleet_label(event->fleet, lane),
                mot_fleet_get(event->fleet, lane)->name);
    write_grouped(event->parameters, number);
    fprintf(screen->out, "network %s: %s parameters\n", net, number);
    write_grouped(event->samples, number);
    fprintf(screen->out, "data %s: %s samples", data->name, number);
    write_grouped(event->test_samples, number);
    fprintf(screen->out, ", %s for the test%s%s%s\n", number, data->note[0] ? " (" : "", data->note,
            data->note[0] ? ")" : "");
    screen_batch(event, batch, sizeof batch);
    fprintf(screen->out, "batch %s", batch);
    if (event->accumulate > 1)
        fprintf(screen->out, ", an update every %zu steps", event->accumulate);
    fputc('\n', screen->out);
    fflush(screen->out);
}

void screen_progress(struct screen *screen, const struct mot_event *event)
{
    char line[SCREEN_LINE];

    if (screen->quiet || !screen->live)
        return;
    screen_line(event, terminal_width(screen->out), screen->colour, line);
    fprintf(screen->out, "\r%s\x1b[K", line);
    fflush(screen->out);
    screen->drawn = true;
}

void screen_note(struct screen *screen, const struct mot_event *event)
{
    screen_clear(screen);
    fprintf(screen->out, "%s\n", event->note->text);
    fflush(screen->out);
}

void screen_epoch(struct screen *screen, const struct mot_event *event)
{
    struct part part[PARTS] = {{"", 0}, {"", 1}, {"", 3}, {"", 5}, {"", 2}, {"", 4}, {"", 6}};
    char line[SCREEN_LINE], rate[32];

    if (screen->quiet)
        return;
    screen_clear(screen);
    snprintf(part[0].text, PART, "epoch %zu/%zu", event->epoch, event->epochs);
    snprintf(part[1].text, PART, "loss %.4f", event->loss);
    write_accuracy(event->accuracy, "accuracy", part[2].text, PART);
    if (!isnan(event->test_loss))
        snprintf(part[3].text, PART, "test loss %.4f", event->test_loss);
    write_accuracy(event->test_accuracy, "test accuracy", part[4].text, PART);
    write_rate(event->samples_per_s, rate, sizeof rate);
    snprintf(part[5].text, PART, "%s", rate);
    snprintf(part[6].text, PART, "%.1f s", event->seconds);
    if (screen->live)
        drop_parts(part, PARTS, terminal_width(screen->out));
    join_parts(part, PARTS, line, sizeof line);
    fprintf(screen->out, "%s\n", line);
    fflush(screen->out);
}
