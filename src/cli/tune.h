/* tune.h - what motley tune measures and train uses too. */
#ifndef MOT_CLI_TUNE_H
#define MOT_CLI_TUNE_H

#include "cli/session.h"

/* Try growing batches on the session's devices, network and data; session->batch is the pick, told
 * on stderr. 0, or an exit code after the sentence. */
int tune_batch(const struct options *options, struct session *session);

#endif
