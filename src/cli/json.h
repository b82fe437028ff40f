/* json.h - JSON written piece by piece to a stream; numbers do not depend on the locale.
 * No name here is one of jansson's: the program's would take the place of the library's. */
#ifndef MOT_CLI_JSON_H
#define MOT_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 8 };

struct json { /* {.out = stream} begins one; the key is NULL inside an array and at the top */
    FILE *out;
    size_t depth;
    bool filled[JSON_DEPTH]; /* something stands at this depth already */
    char close[JSON_DEPTH];
};

void put_object(struct json *json, const char *key);
void put_array(struct json *json, const char *key);
void put_end(struct json *json); /* of the last object or array; the outermost ends the line */
void put_text(struct json *json, const char *key, const char *value); /* NULL: null */
void put_number(struct json *json, const char *key, double value);    /* not finite: null */
void put_count(struct json *json, const char *key, uint64_t value);
void put_bool(struct json *json, const char *key, bool value);
void put_null(struct json *json, const char *key);
void put_lines(struct json *json, const char *key, const char *lines); /* an array of lines */

#endif
