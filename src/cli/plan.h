/* plan.h - motley train --plan. */
#ifndef MOT_CLI_PLAN_H
#define MOT_CLI_PLAN_H

#include "cli/session.h"

/* What training would take of each device, as a table or as JSON; an exit code. */
int plan_tell(const struct options *options, const struct session *session);

/* A line for each device whose share of a batch does not fit at once. */
void plan_tell_cuts(const struct session *session);

#endif
