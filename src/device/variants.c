/* variants.c - the kernel files that are built in more than one way; the others want no defines. */
#include "device/variants.h"
#include "device/gemm_parts.h"

#include <stdio.h>
#include <string.h>

#define DEFINES_BYTES 128

static const char *const loss[] = {"-DKIND=0", "-DKIND=1", "-DKIND=2", NULL};

static const struct {
    const char *program;
    const char *const *list; /* NULL ends it; or where a table elsewhere knows: */
    bool (*get)(size_t i, char *out, size_t bytes);
} rows[] = {
    {"gemm_cpu", NULL, mot__gemm_cpu_variant},
    {"gemm_gpu", NULL, mot__gemm_gpu_variant},
    {"loss", loss, NULL},
};

/* update comes last: it switches contraction off for what follows. */
const char *const mot__step_files[] = {"bias", "gather", "scan", "loss", "update", NULL};
const char mot__step_defines[] = "-DKIND=0";

static bool listed(const char *const *list, size_t i, char *out, size_t bytes)
{
    size_t at;

    for (at = 0; list[at] && at < i; at++)
        ;
    snprintf(out, bytes, "%s", list[at] ? list[at] : "");
    return list[at] != NULL;
}

bool mot__variant(const char *program, size_t i, char *out, size_t bytes)
{
    size_t row;

    for (row = 0; row < MOT__COUNT(rows); row++)
        if (strcmp(rows[row].program, program) == 0)
            return rows[row].list ? listed(rows[row].list, i, out, bytes)
                                  : rows[row].get(i, out, bytes);
    out[0] = '\0';
    return i == 0;
}

bool mot__variant_known(const char *program, const char *defines)
{
    char text[DEFINES_BYTES];
    size_t i;

    for (i = 0; mot__variant(program, i, text, sizeof text); i++)
        if (strcmp(text, defines) == 0)
            return true;
    return false;
}

/* A file that is built in one way alone does not look at the defines of others. */
bool mot__step_has(const char *program, const char *defines)
{
    size_t i;

    for (i = 0; mot__step_files[i]; i++)
        if (strcmp(mot__step_files[i], program) == 0)
            return !defines[0] || strcmp(defines, mot__step_defines) == 0;
    return false;
}
