/* say.c - sentences on stderr and the exit code that belongs to a status. */
#include "cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int exit_code_of(mot_status status)
{
    static const struct {
        mot_status status;
        int code;
    } row[] = {
        {MOT_OK, EXIT_FINE},
        {MOT_BAD_ARG, EXIT_USAGE},
        {MOT_BAD_SHAPE, EXIT_USAGE},
        {MOT_NO_DEVICE, EXIT_NO_DEVICE},
        {MOT_STOPPED, EXIT_INTERRUPTED},
    };
    size_t i;

    for (i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].status == status)
            return row[i].code;
    return EXIT_FAILED;
}

int fail(int code, const char *format, ...)
{
    va_list list;

    fflush(stdout); /* the sentence comes after what was printed before it */
    fputs("motley: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return code;
}

int fail_library(mot_status status)
{
    const char *story = mot_error();

    return fail(exit_code_of(status), "%s", *story ? story : mot_status_text(status));
}

void say_note(const char *format, ...)
{
    va_list list;

    fflush(stdout);
    fputs("note: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

void say_notes(FILE *out, const char *lines)
{
    while (*lines) {
        const size_t length = strcspn(lines, "\n");

        if (length)
            fprintf(out, "note: %.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void say_into(char *out, size_t bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(out, bytes, format, list);
    va_end(list);
}

void say_bytes(uint64_t bytes, char out[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    size_t i = 0;

    while (amount >= 1024 && i + 1 < sizeof unit / sizeof *unit) {
        amount /= 1024;
        i++;
    }
    snprintf(out, 32, amount < 100 && i > 0 ? "%.1f %s" : "%.0f %s", amount, unit[i]);
}
