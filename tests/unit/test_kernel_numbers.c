/* test_kernel_numbers.c - numbers that a kernel's text and the host both have: the text is looked
 * at, so that neither can change alone. (Those of cl/update.cl that the host's half compiles are
 * asserted where it does.) */
#include "support/check.h"

#include "device/kernels.h"
#include "ops/grid.h"
#include "ops/loss.h"
#include "ops/scan.h"
#include "optim/numbers.h"

static const char *text_of(const char *file)
{
    const struct mot__kernel_text *row = mot__kernel_texts;

    while (row->name && strcmp(row->name, file) != 0)
        row++;
    if (!row->name)
        fail_msg("there is no cl/%s.cl", file);
    return row->text;
}

/* What the n-th #define of this name says; where texts differ by class, the CPU's stands first. */
static bool defined(const char *file, const char *name, size_t n, unsigned long *out)
{
    static const char word[] = "#define ";
    const char *at = text_of(file);

    while ((at = strstr(at, word))) {
        at += strlen(word);
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ' ' && n-- == 0) {
            *out = strtoul(at + strlen(name), NULL, 10);
            return true;
        }
    }
    return false;
}

static const struct {
    const char *file, *name;
    size_t count; /* how often it is defined */
    unsigned long value[3];
} numbers[] = {
    {"common", "TEAM", 1, {MOT__GRID_TEAM}},
    {"common", "VEC", 2, {MOT__GRID_VEC, 1}},
    {"common", "ACT_NONE", 1, {MOT_ACT_NONE}},
    {"common", "ACT_RELU", 1, {MOT_ACT_RELU}},
    {"common", "ACT_LEAKY_RELU", 1, {MOT_ACT_LEAKY_RELU}},
    {"common", "ACT_GELU", 1, {MOT_ACT_GELU}},
    {"common", "ACT_SIGMOID", 1, {MOT_ACT_SIGMOID}},
    {"common", "ACT_TANH", 1, {MOT_ACT_TANH}},
    {"loss", "KIND_LOGITS", 1, {MOT__LOSS_LOGITS}},
    {"loss", "KIND_PROBABILITIES", 1, {MOT__LOSS_PROBABILITIES}},
    {"loss", "KIND_SQUARES", 1, {MOT__LOSS_SQUARES}},
    {"scan", "SCAN_SPAN", 2, {MOT__SCAN_SPAN_CPU, MOT__SCAN_SPAN_GPU}},
    {"update", "WIDTH", 2, {MOT__WIDTH_CPU, MOT__WIDTH_GPU}},
    {"update", "SPAN", 2, {MOT__SPAN_CPU, 1}},
    {"update", "NORM_RUN", 2, {MOT__NORM_RUN_CPU, 1}},
    /* The host's half is in one file alone: change it there, then here. */
    {"peak", "CHAINS", 1, {12}},        /* PEAK_CHAINS of bench/gemm.c */
    {"gemm_cpu", "ROWS", 3, {8, 6, 6}}, /* widths of device/gemm_tile.c */
};

static void host_and_kernels_have_the_same_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned long seen = 0;
        size_t n;

        for (n = 0; defined(numbers[i].file, numbers[i].name, n, &seen); n++)
            if (n < numbers[i].count && seen != numbers[i].value[n])
                fail_msg("cl/%s.cl: %s is %lu, but %lu on the host", numbers[i].file,
                         numbers[i].name, seen, numbers[i].value[n]);
        if (n != numbers[i].count)
            fail_msg("cl/%s.cl defines %s %zu times, not %zu", numbers[i].file, numbers[i].name, n,
                     numbers[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_kernels_have_the_same_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
