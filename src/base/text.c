/* text.c - numbers, patterns and growing strings; a decimal comma never enters or leaves. */
#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calling thread alone speaks C between these two; the host's locale is not touched. */
static locale_t plain_begin(locale_t *plain)
{
    *plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(*plain);
}

static void plain_end(locale_t plain, locale_t old)
{
    uselocale(old);
    if (plain != (locale_t)0)
        freelocale(plain);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int mot__text_format(char *out, size_t bytes, const char *format, va_list list)
{
    locale_t plain, old = plain_begin(&plain);
    const int length = vsnprintf(out, bytes, format, list);

    plain_end(plain, old);
    return length;
}

int mot__text_into(char *out, size_t bytes, const char *format, ...)
{
    va_list list;
    int length;

    va_start(list, format);
    length = mot__text_format(out, bytes, format, list);
    va_end(list);
    return length;
}

bool mot__text_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        const uint64_t digit = (uint64_t)(unsigned char)*text - '0';

        if (!is_digit(*text) || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* strtod also takes blanks, hexadecimal and "nan(...)"; a number of ours has none of these. */
static bool looks_decimal(const char *text)
{
    const char *body = text + (*text == '+' || *text == '-');

    if (mot__text_same(body, "nan") || mot__text_same(body, "inf"))
        return true;
    return (is_digit(*body) || *body == '.') && body[strspn(body, "0123456789.eE+-")] == '\0';
}

bool mot__text_f64(const char *text, double *out)
{
    locale_t plain, old;
    char *end;
    double value;

    if (!looks_decimal(text))
        return false;
    old = plain_begin(&plain);
    value = strtod(text, &end);
    plain_end(plain, old);
    if (end == text || *end != '\0')
        return false;
    *out = value;
    return true;
}

static bool scaled(const char *number, uint64_t unit, uint64_t *out)
{
    uint64_t whole;
    double value;

    if (mot__text_u64(number, &whole)) {
        if (whole > UINT64_MAX / unit)
            return false;
        *out = whole * unit;
        return true;
    }
    if (unit == 1 || !mot__text_f64(number, &value) || !(value >= 0))
        return false;
    value *= (double)unit;
    if (!(value < 0x1p64))
        return false;
    *out = (uint64_t)value;
    return true;
}

bool mot__text_bytes(const char *text, uint64_t *out)
{
    static const char units[] = "kmgt";
    const size_t length = strlen(text);
    char number[64];
    const char *unit;

    if (length == 0 || length >= sizeof number)
        return false;
    unit = strchr(units, lower(text[length - 1]));
    memcpy(number, text, length + 1);
    if (!unit)
        return scaled(number, 1, out);
    number[length - 1] = '\0';
    return scaled(number, (uint64_t)1 << 10 * (unit - units + 1), out);
}

void mot__text_of_bytes(uint64_t bytes, char out[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    unsigned long long tenths;
    size_t i = 0;

    while (amount >= 1024 && i + 1 < sizeof unit / sizeof *unit) {
        amount /= 1024;
        i++;
    }
    tenths = (unsigned long long)(amount * 10 + 0.5);
    if (i > 0 && amount < 100)
        snprintf(out, 32, "%llu.%llu %s", tenths / 10, tenths % 10, unit[i]);
    else
        snprintf(out, 32, "%.0f %s", amount, unit[i]);
}

void mot__text_of_f64(double value, char out[32])
{
    locale_t plain, old;

    if (isnan(value)) { /* some libcs print "-nan" */
        memcpy(out, "nan", 4);
        return;
    }
    old = plain_begin(&plain);
    for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    plain_end(plain, old);
}

bool mot__text_match(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL; /* the last * and where its text ends for now */

    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern != '\0' && (*pattern == '?' || lower(*pattern) == lower(*text))) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool mot__text_same(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool string_reserve(struct mot__string *string, size_t more)
{
    const size_t needed = string->used + more + 1;
    size_t capacity = string->capacity ? string->capacity : 64;
    char *text;

    if (needed <= string->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    text = realloc(string->text, capacity);
    if (!text)
        return false;
    string->text = text;
    string->capacity = capacity;
    return true;
}

void mot__string_add(struct mot__string *string, const char *format, ...)
{
    va_list list, again;
    int length;

    if (string->failed)
        return;
    va_start(list, format);
    va_copy(again, list);
    length = mot__text_format(NULL, 0, format, list);
    if (length < 0 || !string_reserve(string, (size_t)length)) {
        string->failed = true;
    } else {
        mot__text_format(string->text + string->used, (size_t)length + 1, format, again);
        string->used += (size_t)length;
    }
    va_end(again);
    va_end(list);
}

void mot__string_clear(struct mot__string *string)
{
    free(string->text);
    memset(string, 0, sizeof *string);
}

mot_status mot__string_take(struct mot__string *string, char **out)
{
    mot__string_add(string, "%s", ""); /* an empty string is a string too */
    if (string->failed) {
        const size_t used = string->used;

        mot__string_clear(string);
        return mot__fail(MOT_NO_MEMORY, "out of memory for a text of more than %zu bytes", used);
    }
    *out = string->text;
    memset(string, 0, sizeof *string);
    return MOT_OK;
}
