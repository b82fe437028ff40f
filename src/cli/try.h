/* try.h - what a cure of the sentence really gives. */
#ifndef MOT_CLI_TRY_H
#define MOT_CLI_TRY_H

#include "cli/session.h"

/* Samples/s of the session's network under these options with the cure ("--batch 512"; NULL: none),
 * a moment's training of a copy from the start. NaN where it cannot be tried. */
double try_cure(const struct options *options, const struct session *session, const char *cure);

#endif
