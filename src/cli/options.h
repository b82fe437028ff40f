/* options.h - one table of commands and one of options: the parser, the help text and the advice on
 * a misspelt name all read them, so they cannot disagree. */
#ifndef MOT_CLI_OPTIONS_H
#define MOT_CLI_OPTIONS_H

#include "cli/say.h"

#include <stdio.h>

struct options { /* what the command line said; texts are argv's or the table's */
    const char *net, *data, *devices, *shares, *memory, *out, *weights, *report;
    size_t epochs, batch, rows, accumulate, count, bytes;
    double lr, seconds;
    uint64_t seed, verify;
    size_t optimizer, strategy, loss, on_nan, on_differ; /* place among the choices of the option */
    bool plan, tune_batch, tune_choices, show, forget;
    bool json, quiet, offline, all, help, why;
    const char *topic; /* the argument: a command to explain, what to measure */
    uint64_t given;    /* bit i: row i of the option table was on the command line */
};

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,  /* any text; "" too */
    OPTION_COUNT, /* a whole number from 1 up */
    OPTION_LIMIT, /* the same, or the word behind the argument's |, which is 0 */
    OPTION_SEED,  /* a whole number from 0 up */
    OPTION_RATE,  /* a finite number above 0 */
    OPTION_CHOICE /* one of the argument's words, joined by | */
};

struct option {
    const char *name, *argument, *fallback; /* fallback NULL: none */
    unsigned commands;                      /* whose option it is: bits of the command table */
    enum option_kind kind;
    size_t offset; /* of its value in struct options */
    const char *help;
};

struct command {
    const char *name;
    unsigned bit;
    const char *argument; /* of its own, without dashes; NULL: none */
    const char *summary, *more;
    int (*run)(const struct options *options);
};

extern const struct command command_table[]; /* ends with a name of NULL */
extern const struct option option_table[];

/* Read argv; 0, or the exit code after the sentence was printed. */
int options_parse(int argc, char **argv, struct options *out, const struct command **command);
/* Was one of that name on the command line? */
bool option_given(const struct options *options, const char *name);
int command_lookup(const char *name, const struct command **out); /* 0, or as above */

void help_print(FILE *out, const struct command *command); /* NULL: of all commands */

#endif
