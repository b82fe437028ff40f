/* list.c - what the library may ask a compiler for, one line each: rules, program, defines.
 * gpu: a kernel for GPU-class devices. spare: the CPU's GEMM where a GPU fell back on it; GPUs are
 * never that wide in OpenCL's eyes, so not all of them. cpu: CPU-class. */
#include "device/kernels.h"
#include "device/variants.h"

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
        if (!cpu_only)
            printf("gpu %s -DCLASS_CPU=0 %s\n", program, defines);
        else if (may_fall_back(defines))
            printf("spare %s -DCLASS_CPU=0 %s\n", program, defines);
        printf("cpu %s -DCLASS_CPU=1 %s\n", program, defines);
    }
}

int main(void)
{
    const struct mot__kernel_text *row;

    for (row = mot__kernel_texts; row->name; row++)
        if (strcmp(row->name, "common") != 0)
            list(row->name);
    return 0;
}
