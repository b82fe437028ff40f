/* say.h - how the command ends: its exit codes, and the one sentence on stderr that explains a
 * failure. */
#ifndef MOT_CLI_SAY_H
#define MOT_CLI_SAY_H

#include <motley/motley.h>

#include <stdio.h>

#if defined(__GNUC__)
#define SAY_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SAY_PRINTF(text, first)
#endif

/* One table makes the enum and the help text. */
#define EXIT_TABLE(X)                                                                              \
    X(EXIT_FINE, 0, "success")                                                                     \
    X(EXIT_FAILED, 1, "a failure; the sentence on stderr tells which")                             \
    X(EXIT_USAGE, 2, "bad usage: options, texts or values that make no sense or do not fit")       \
    X(EXIT_NO_DEVICE, 3, "no device: none found, none that was asked for, or none that works")     \
    X(EXIT_INTERRUPTED, 130, "stopped by Ctrl-C; what was learned is saved")

#define EXIT_ENUM(name, code, text) name = code,
enum exit_code { EXIT_TABLE(EXIT_ENUM) EXIT_CODES_END };
#undef EXIT_ENUM

/* Print "motley: sentence" on stderr; gives back code, so that `return fail(...)` reads well. */
int fail(int code, const char *format, ...) SAY_PRINTF(2, 3);
int fail_library(mot_status status);                     /* the library's own story and its code */
void say_note(const char *format, ...) SAY_PRINTF(1, 2); /* a line on stderr; no failure */
void say_notes(FILE *out, const char *lines);            /* each line of them as a note */
void say_bytes(uint64_t bytes, char out[32]);            /* "2.6 MiB" */
int exit_code_of(mot_status status);
/* snprintf for sentences and checked paths: to cut a long one short is meant. */
void say_into(char *out, size_t bytes, const char *format, ...) SAY_PRINTF(3, 4);

#endif
