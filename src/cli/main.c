/* main.c - motley, the command: read the options, run, say how it ended. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct command *command = NULL;
    struct options options;
    int code = options_parse(argc, argv, &options, &command);

    if (code == 0 && options.help)
        help_print(stdout, command->run == command_help ? NULL : command);
    else if (code == 0)
        code = command->run(&options);
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) &&
        code == 0) /* a full disk must not look like success */
        code = fail(EXIT_FAILED, "the output could not be written%s%s", errno ? ": " : "",
                    errno ? strerror(errno) : "");
    if (code == EXIT_FAILED || code == EXIT_NO_DEVICE) {
        /* A device that was given up may still have its thread inside the driver, which the exit
         * handlers would take down under it. */
        fflush(NULL);
        _exit(code);
    }
    return code;
}
