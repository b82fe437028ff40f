/* list.c - what the library may ask a compiler for, one line each: rules, program, defines.
 * gpu: a kernel for GPU-class devices. spare: the CPU's GEMM where a GPU fell back on it; GPUs are
 * never that wide in OpenCL's eyes, so not all of them. cpu: CPU-class.
 *
 *   list          all of it
 *   list step     the files whose texts make up the program `step`, in their order
 *   list groups   kernels whose group no text demands but the host code gives on a GPU: its items,
 *                 and the bytes of local memory that come as an argument */
#include "device/kernels.h"
#include "device/variants.h"
#include "ops/dense.h"

#include <stdio.h>
#include <string.h>

static bool may_fall_back(const char *defines)
{
    return strstr(defines, "-DWIDTH=4 ") != NULL;
}

static void list(const char *program)
{
    const bool cpu_only = strcmp(program, "gemm_cpu") == 0;
    char defines[128];
    size_t i;

    for (i = 0; mot__variant(program, i, defines, sizeof defines); i++) {
        if (mot__step_has(program, defines))
            continue;
        if (!cpu_only)
            printf("gpu %s -DCLASS_CPU=0 %s\n", program, defines);
        else if (may_fall_back(defines))
            printf("spare %s -DCLASS_CPU=0 %s\n", program, defines);
        printf("cpu %s -DCLASS_CPU=1 %s\n", program, defines);
    }
}

int main(int argc, char **argv)
{
    const struct mot__kernel_text *row;
    size_t i;

    if (argc > 1 && strcmp(argv[1], MOT__STEP) == 0) {
        for (i = 0; mot__step_files[i]; i++)
            puts(mot__step_files[i]);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "groups") == 0) {
        const size_t items = MOT__BIAS_COLUMNS * MOT__BIAS_LANES;

        printf("bias_backward %zu %zu\n", items, items * sizeof(float));
        return 0;
    }
    for (row = mot__kernel_texts; row->name; row++)
        if (strcmp(row->name, "common") != 0)
            list(row->name);
    printf("gpu %s -DCLASS_CPU=0 %s\n", MOT__STEP, mot__step_defines);
    printf("cpu %s -DCLASS_CPU=1 %s\n", MOT__STEP, mot__step_defines);
    return 0;
}
