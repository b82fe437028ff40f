/* screen.h - a run as people see it: one line that redraws on a terminal, plain lines elsewhere. */
#ifndef MOT_CLI_SCREEN_H
#define MOT_CLI_SCREEN_H

#include "cli/dataset.h"

#include <stdio.h>

struct screen {
    FILE *out;
    bool quiet;  /* nothing but the result */
    bool live;   /* the stream is a terminal that can redraw */
    bool colour; /* live, and NO_COLOR is not set */
    bool drawn;  /* an unfinished line stands there */
};

enum { SCREEN_LINE = 512 };

void screen_open(struct screen *screen, FILE *out, bool quiet);
void screen_start(struct screen *screen, const struct mot_event *event, const char *net,
                  const struct dataset *data);
void screen_progress(struct screen *screen, const struct mot_event *event);
void screen_note(struct screen *screen, const struct mot_event *event);
void screen_epoch(struct screen *screen, const struct mot_event *event);
void screen_clear(struct screen *screen); /* take the unfinished line away */

/* The parts the above are made of, for tests: the line of a PROGRESS event in width columns, and
 * "128 = 64 + 64". */
void screen_line(const struct mot_event *event, size_t width, bool colour, char out[SCREEN_LINE]);
void screen_batch(const struct mot_event *event, char *out, size_t bytes);
/* "test accuracy 88.1 % on Fashion-MNIST (why)"; the loss where there are no classes. */
void screen_result(double loss, double accuracy, const struct dataset *data, char *out,
                   size_t bytes);

#endif
