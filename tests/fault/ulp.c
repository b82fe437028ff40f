/* ulp.c - a kernel's text as a compiler with less exact arithmetic would take it: the functions
 * below give the float beside the right one, up or down by its bits, and so does every divisor of
 * a division, which moves the quotient by as much. Not touched: divisors that are numbers or
 * upper-case names and what stands in brackets or in preprocessor lines (constants of the
 * compiler), integers (by type), + - * and fma, which are exact everywhere. */
#include "fault/guise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] =
    "#define GUISE_NEAR(F, U) \\\n"
    "F __attribute__((overloadable, unused)) guise_near(const F x) { \\\n"
    "    const U b = as_##U(x), m = b & 0x7fffffffu; \\\n"
    "    const U off = select(b - 1u, b + 1u, (b & 4u) != 0u); \\\n"
    "    return as_##F(select(off, b, (m <= 0x00800000u) | (m >= 0x7f7fffffu))); }\n"
    "GUISE_NEAR(float, uint) GUISE_NEAR(float2, uint2) GUISE_NEAR(float4, uint4)\n"
    "GUISE_NEAR(float8, uint8) GUISE_NEAR(float16, uint16)\n"
    "#define GUISE_SAME(T) \\\n"
    "T __attribute__((overloadable, unused)) guise_near(const T x) { return x; }\n"
    "GUISE_SAME(int) GUISE_SAME(uint) GUISE_SAME(long) GUISE_SAME(ulong)\n";

/* After these the name means the function that is off. Drivers may have macros of these names. */
static const char *const functions[] = {"exp",  "exp2", "log",  "log2", "sqrt", "rsqrt",
                                        "tanh", "erf",  "erfc", "sin",  "cos"};
static const char *const types[] = {"float", "float2", "float4", "float8", "float16"};
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LINE_BYTES 128 /* the most that one line of these takes */

/* How many characters it wrote. */
static size_t write_functions(char *out)
{
    char *const begin = out;
    size_t f, t;

    for (f = 0; f < COUNT(functions); f++)
        for (t = 0; t < COUNT(types); t++)
            out += sprintf(out,
                           "%s __attribute__((overloadable, unused)) guise_%s(%s x) "
                           "{ return guise_near(%s(x)); }\n",
                           types[t], functions[f], types[t], functions[f]);
    for (f = 0; f < COUNT(functions); f++)
        out += sprintf(out, "#undef %s\n#define %s guise_%s\n", functions[f], functions[f],
                       functions[f]);
    out += sprintf(out, "#line 1\n");
    return (size_t)(out - begin);
}

static const char *skip_blank(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *skip_word(const char *at)
{
    while (isalnum((unsigned char)*at) || *at == '_' || *at == '.')
        at++;
    return at;
}

/* Past the bracket that closes the one at `at`. */
static const char *skip_brackets(const char *at)
{
    size_t depth = 0;

    do {
        depth += strchr("([", *at) != NULL;
        depth -= strchr(")]", *at) != NULL;
        at++;
    } while (*at && depth > 0);
    return at;
}

/* Past one operand: signs, casts, a name, number or bracket, and what follows it. */
static const char *skip_operand(const char *at)
{
    const char *after;

    while (*at && strchr("+-!~ \n", *at))
        at++;
    at = *at == '(' ? skip_brackets(at) : skip_word(at);
    for (;;) {
        after = skip_blank(at);
        if (*after == '(' || *after == '[')
            at = skip_brackets(after);
        else if (*after == '.' || isalpha((unsigned char)*after))
            at = skip_word(after); /* a member; or the operand of a cast */
        else
            return at;
    }
}

static bool constant(const char *at)
{
    const char *end = skip_word(at);

    if (end == at || islower((unsigned char)*at))
        return false;
    for (; at < end; at++)
        if (islower((unsigned char)*at) && *at != 'f')
            return false;
    return true;
}

struct reader {
    const char *at;
    char *out;
    size_t brackets; /* depth of [ ] */
    bool line_start;
};

static void copy_to(struct reader *r, const char *end)
{
    const size_t bytes = (size_t)(end - r->at);

    memcpy(r->out, r->at, bytes);
    r->out += bytes;
    r->at = end;
}

/* A comment or a preprocessor line, with the lines that continue it. */
static bool copy_plain(struct reader *r)
{
    const char *end = NULL;

    if (strncmp(r->at, "/*", 2) == 0)
        end = strstr(r->at + 2, "*/");
    else if (strncmp(r->at, "//", 2) == 0)
        end = strchr(r->at, '\n');
    else if (*r->at == '#' && r->line_start)
        for (end = strchr(r->at, '\n'); end && end[-1] == '\\';)
            end = strchr(end + 1, '\n');
    else
        return false;
    copy_to(r, end ? end + (end[0] == '*' ? 2 : 0) : r->at + strlen(r->at));
    return true;
}

static void copy_divisor(struct reader *r)
{
    static const char open[] = " guise_near(";
    const char *begin;

    copy_to(r, r->at + 1);
    begin = skip_blank(r->at);
    if (*begin == '=' || constant(begin) || r->brackets > 0)
        return;
    r->at = begin;
    memcpy(r->out, open, sizeof open - 1);
    r->out += sizeof open - 1;
    copy_to(r, skip_operand(begin));
    *r->out++ = ')';
}

char *ulp_rewrite(const char *text)
{
    size_t slashes = 0, i;
    struct reader r = {text, NULL, 0, true};
    char *whole;

    for (i = 0; text[i]; i++)
        slashes += text[i] == '/';
    whole = calloc(1, sizeof prefix + LINE_BYTES * COUNT(functions) * (COUNT(types) + 1) + i +
                          16 * slashes);
    if (!whole)
        return NULL;
    memcpy(whole, prefix, sizeof prefix - 1);
    r.out = whole + sizeof prefix - 1;
    r.out += write_functions(r.out);
    while (*r.at) {
        if (copy_plain(&r))
            continue;
        r.brackets += *r.at == '[';
        r.brackets -= *r.at == ']' && r.brackets > 0;
        r.line_start = *r.at == '\n' || (r.line_start && isspace((unsigned char)*r.at));
        if (*r.at == '/')
            copy_divisor(&r);
        else
            copy_to(&r, r.at + 1);
    }
    return whole;
}
