/* interrupt.h - Ctrl-C: the first is a wish that the work looks at, the second ends the process. */
#ifndef MOT_CLI_INTERRUPT_H
#define MOT_CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_watch(void); /* SIGINT and SIGTERM from now on; SIGPIPE becomes a write error */
bool interrupt_seen(void);

#endif
