/* together.h - options that make no sense beside each other, or on the devices at hand. */
#ifndef MOT_CLI_TOGETHER_H
#define MOT_CLI_TOGETHER_H

#include "cli/options.h"

/* 0, or the exit code after the sentence was printed. */
int together_check(const struct options *options);
/* What was asked for and does nothing on these devices: a note each. */
void together_note(const struct options *options, const mot_fleet *fleet);

#endif
