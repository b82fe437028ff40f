/* text.h - numbers and strings that do not depend on the locale. */
#ifndef MOT_BASE_TEXT_H
#define MOT_BASE_TEXT_H

#include "base/status.h"

#include <stdarg.h>

/* Read a whole string (not a prefix) as a number; a decimal point is always '.'. False: not a
 * number. */
bool mot__text_u64(const char *text, uint64_t *out);
bool mot__text_f64(const char *text, double *out); /* also "nan", "inf"; the caller judges them */
bool mot__text_bytes(const char *text,
                     uint64_t *out); /* "512M", "2G", "1.5G", "4096": powers of 1024 */
/* Write with '.', shortest form that reads back equal (at most 17 digits); out has 32 bytes. */
void mot__text_of_f64(double value, char out[32]);
/* For people, in sentences: "512 bytes", "4.4 MiB", "230 KiB"; as the command's tables have it. */
void mot__text_of_bytes(uint64_t bytes, char out[32]);
/* vsnprintf that writes '.' in any locale. */
int mot__text_format(char *out, size_t bytes, const char *format, va_list list) MOT__PRINTF(3, 0);
/* snprintf that does: for every sentence with a number that may have decimals. */
int mot__text_into(char *out, size_t bytes, const char *format, ...) MOT__PRINTF(3, 4);
bool mot__text_match(const char *pattern, const char *text); /* * and ?; ASCII case folded */
bool mot__text_same(const char *a, const char *b);           /* ASCII case folded */

/* A string that grows; zero-initialised is empty. Failure to allocate is kept and told by _take. */
struct mot__string {
    char *text;
    size_t used, capacity;
    bool failed;
};
void mot__string_add(struct mot__string *string, const char *format, ...) MOT__PRINTF(2, 3);
void mot__string_clear(struct mot__string *string);
mot_status mot__string_take(struct mot__string *string,
                            char **out); /* the caller frees it; never NULL on success */

#endif
