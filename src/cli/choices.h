/* choices.h - the parts of motley tune that are remembered. */
#ifndef MOT_CLI_CHOICES_H
#define MOT_CLI_CHOICES_H

#include "cli/json.h"
#include "cli/session.h"

/* Each: 0, or an exit code after the sentence. With --json they put members into the open object.
 */
int choices_measure(const struct options *options, struct session *session, struct json *json);
int choices_show(const struct options *options, mot_fleet *fleet, struct json *json);
int choices_forget(const struct options *options, mot_fleet *fleet, struct json *json);

#endif
