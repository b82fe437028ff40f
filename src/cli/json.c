/* json.c - the writer: commas, escapes and numbers. RFC 8259. */
#include "cli/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at text, or 0 if it is none (RFC 3629's table). */
static size_t character(const unsigned char *text)
{
    static const struct {
        unsigned char first, last, second_low, second_high;
        size_t bytes;
    } row[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    size_t i, k;

    for (i = 0; i < sizeof row / sizeof *row; i++) {
        if (text[0] < row[i].first || text[0] > row[i].last)
            continue;
        if (row[i].bytes == 1)
            return 1;
        if (text[1] < row[i].second_low || text[1] > row[i].second_high)
            return 0;
        for (k = 2; k < row[i].bytes; k++) /* a byte of 0 is no continuation: the end stops it */
            if (text[k] < 0x80 || text[k] > 0xbf)
                return 0;
        return row[i].bytes;
    }
    return 0;
}

static void write_text(FILE *out, const char *value, size_t length)
{
    const unsigned char *text = (const unsigned char *)value, *end = text + length;

    fputc('"', out);
    while (text < end) {
        const size_t bytes = character(text);

        if (bytes == 0 || bytes > (size_t)(end - text)) { /* drivers' names may hold anything */
            fputs("\\ufffd", out);
            text++;
            continue;
        }
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (*text < 0x20 || *text == 0x7f)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fwrite(text, 1, bytes, out);
        text += bytes;
    }
    fputc('"', out);
}

static void begin(struct json *json, const char *key)
{
    if (json->depth > 0) {
        if (json->filled[json->depth - 1])
            fputc(',', json->out);
        json->filled[json->depth - 1] = true;
    }
    if (key) {
        write_text(json->out, key, strlen(key));
        fputc(':', json->out);
    }
}

static void nest(struct json *json, const char *key, char open, char close)
{
    if (json->depth >= JSON_DEPTH)
        abort(); /* a mistake of ours, not of the input */
    begin(json, key);
    fputc(open, json->out);
    json->filled[json->depth] = false;
    json->close[json->depth++] = close;
}

void put_object(struct json *json, const char *key)
{
    nest(json, key, '{', '}');
}

void put_array(struct json *json, const char *key)
{
    nest(json, key, '[', ']');
}

void put_end(struct json *json)
{
    fputc(json->close[--json->depth], json->out);
    if (json->depth == 0) {
        fputc('\n', json->out);
        fflush(json->out); /* a reader on the other side of a pipe waits for whole lines */
    }
}

void put_text(struct json *json, const char *key, const char *value)
{
    begin(json, key);
    if (value)
        write_text(json->out, value, strlen(value));
    else
        fputs("null", json->out);
}

void put_null(struct json *json, const char *key)
{
    put_text(json, key, NULL);
}

void put_number(struct json *json, const char *key, double value)
{
    char text[40];
    bool point = false;
    int digits;
    size_t i;

    if (!isfinite(value)) {
        put_null(json, key);
        return;
    }
    begin(json, key);
    for (digits = 6; digits <= 17; digits++) { /* the shortest that reads back equal */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (i = 0; text[i]; i++) { /* whatever the locale writes between digits is one point */
        if (strchr("0123456789+-e", text[i]))
            fputc(text[i], json->out);
        else if (!point)
            fputc('.', json->out);
        point = point || !strchr("0123456789+-e", text[i]);
    }
}

void put_count(struct json *json, const char *key, uint64_t value)
{
    begin(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void put_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->out);
}

void put_lines(struct json *json, const char *key, const char *lines)
{
    put_array(json, key);
    while (*lines) {
        const size_t length = strcspn(lines, "\n");

        if (length) {
            begin(json, NULL);
            write_text(json->out, lines, length);
        }
        lines += length + (lines[length] == '\n');
    }
    put_end(json);
}
