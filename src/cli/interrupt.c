/* interrupt.c - the signal handler of the command; the library has none. */
#include "cli/interrupt.h"

#include "cli/say.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t seen; /* a handler can reach nothing else */

static void handle(int number)
{
    static const char leave[] = "\nmotley: leaving at once; nothing more is saved\n";

    (void)number;
    if (seen) {
        if (write(STDERR_FILENO, leave, sizeof leave - 1) < 0)
            _exit(EXIT_INTERRUPTED);
        _exit(EXIT_INTERRUPTED);
    }
    seen = 1;
}

void interrupt_watch(void)
{
    struct sigaction action = {0};

    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART; /* a read of the data goes on */
    action.sa_handler = handle;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN; /* `motley train | head` must still save what it learns */
    sigaction(SIGPIPE, &action, NULL);
}

bool interrupt_seen(void)
{
    return seen != 0;
}
