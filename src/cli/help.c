/* help.c - the help text, made from the tables of options.c. */
#include "cli/commands.h"

#include <string.h>

enum { WIDTH = 80, INDENT = 4, COLUMN = 14 };

/* Print text from column on, broken at spaces before WIDTH; `at` is where the cursor stands. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t column)
{
    while (*text) {
        const size_t word = strcspn(text, " ");

        if (at > column && at + 1 + word > WIDTH) {
            fputc('\n', out);
            at = 0;
        } else if (at > column) {
            fputc(' ', out);
            at++;
        }
        for (; at < column; at++)
            fputc(' ', out);
        fprintf(out, "%.*s", (int)word, text);
        at += word;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const char *name, const char *text)
{
    const size_t at = (size_t)fprintf(out, "  %s", name);

    if (at + 1 > COLUMN)
        fputc('\n', out);
    print_wrapped(out, text, at + 1 > COLUMN ? 0 : at, COLUMN);
}

static void print_presets(FILE *out)
{
    const char *name, *text;
    size_t i;

    fputs("\nPresets:\n", out);
    for (i = 0; (name = mot_preset(i, &text)) != NULL; i++)
        print_row(out, name, text);
}

static void print_options(FILE *out, const struct command *command)
{
    const struct option *row;

    fputs("\nOptions:\n", out);
    for (row = option_table; row->name; row++) {
        char text[256];

        if (!(row->commands & command->bit))
            continue;
        snprintf(text, sizeof text, "  --%s%s%s", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        fprintf(out, "%s\n", text);
        if (row->fallback)
            snprintf(text, sizeof text, "%s (default %s)", row->help, row->fallback);
        else
            snprintf(text, sizeof text, "%s", row->help);
        print_wrapped(out, text, 0, INDENT + 4);
    }
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, "usage: motley %s [options]%s%s\n\n", command->name, command->argument ? " " : "",
            command->argument ? command->argument : "");
    fprintf(out, "motley %s: %s.\n", command->name, command->summary);
    if (command->more)
        print_wrapped(out, command->more, 0, 0);
    print_options(out, command);
    if (command->run == command_train)
        print_presets(out);
}

static void print_variable(FILE *out, const char *name, const char *text)
{
    const int at = fprintf(out, "  %-15s", name);

    print_wrapped(out, text, (size_t)at, 19);
}

static void print_all(FILE *out)
{
    static const struct {
        const char *name, *text;
    } environment[] = {
        /* what this command alone reads; the library's own come first */
        {"MOTLEY_MIRROR", "URL of the folder that MNIST is fetched from"},
        {"MOTLEY_DATASETS", "folder that has fashion-mnist (default /usr/share/datasets)"},
        {"XDG_CACHE_HOME", "where fetched data and compiled kernels are kept (default ~/.cache)"},
        {"NO_COLOR", "set: no colours"},
    };
#define EXIT_ROW(name, code, text) {#code, text},
    static const struct {
        const char *name, *text;
    } codes[] = {EXIT_TABLE(EXIT_ROW)};
#undef EXIT_ROW
    const struct command *row;
    const char *name, *text;
    size_t i;

    fputs("usage: motley COMMAND [options]\n\nTrain one network on every GPU in the box, whoever "
          "made it.\n\nCommands:\n",
          out);
    for (row = command_table; row->name; row++)
        print_row(out, row->name, row->summary);
    fputs("\nmotley help COMMAND lists its options.\n\nEnvironment:\n", out);
    for (i = 0; (name = mot_environment(i, &text)); i++)
        print_variable(out, name, text);
    for (i = 0; i < sizeof environment / sizeof *environment; i++)
        print_variable(out, environment[i].name, environment[i].text);
    fputs("\nExit codes:\n", out);
    for (i = 0; i < sizeof codes / sizeof *codes; i++)
        print_row(out, codes[i].name, codes[i].text);
}

void help_print(FILE *out, const struct command *command)
{
    if (command)
        print_command(out, command);
    else
        print_all(out);
}

int command_help(const struct options *options)
{
    const struct command *command = NULL;
    const int code = options->topic ? command_lookup(options->topic, &command) : 0;

    if (code == 0)
        help_print(stdout, command);
    return code;
}

int command_version(const struct options *options)
{
    (void)options;
    printf("motley %s\n", mot_version());
    return EXIT_FINE;
}
