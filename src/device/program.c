/* program.c - kernels from their texts, through a disk cache of what the driver's compiler made of
 * them. A cache file is the sum of its contents, then the contents; one that is damaged, or that
 * the driver refuses, is made anew. Files are written beside and renamed, so two processes may
 * start together; a folder that cannot be written is no error. */
#include "base/file.h"
#include "base/sum.h"
#include "device/internal.h"
#include "device/kernels.h"
#include "device/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINARY_LIMIT ((size_t)256 << 20)
#define SUM_BYTES 64
#define PARTS 8 /* texts of one program, at most */

static const char *find_text(const char *name)
{
    const struct mot__kernel_text *row;

    for (row = mot__kernel_texts; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->text;
    return NULL;
}

uint64_t mot__program_sum(const char *program)
{
    const char *common = find_text("common"), *text = find_text(program);
    const uint64_t sum = mot__hash64(common, strlen(common), 0);

    return text ? mot__hash64(text, strlen(text), sum) : sum;
}

/* What is given to a compiler as one program: common's text and those of some files. */
struct source {
    const char *name;
    const char *text[PARTS];
    cl_uint parts;
    char options[512];
};

static struct source source_of(const mot__device *device, const char *name, const char *defines)
{
    struct source source = {.name = name, .text = {find_text("common")}, .parts = 1};
    size_t i;

    snprintf(source.options, sizeof source.options, "-cl-std=CL1.2 -DCLASS_CPU=%d %s",
             device->facts.device_class == MOT_CLASS_CPU, defines);
    if (strcmp(name, MOT__STEP) != 0)
        source.text[source.parts++] = find_text(name);
    else
        for (i = 0; mot__step_files[i]; i++)
            source.text[source.parts++] = find_text(mot__step_files[i]);
    return source;
}

/* <cache>/programs/<sha-256 of text, options, device, driver, platform, format>.bin; "" where
 * nothing is kept. */
static void cache_path(const mot__device *device, const struct source *source, char *out,
                       size_t bytes)
{
    struct mot__sha256 sum;
    char hex[65];
    cl_uint i;

    out[0] = '\0';
    if (!device->cache_dir[0] || device->keeps_binaries)
        return;
    mot__sha256_init(&sum);
    mot__sha256_add(&sum, device->facts.key, strlen(device->facts.key));
    mot__sha256_add(&sum, source->options, strlen(source->options) + 1);
    for (i = 0; i < source->parts; i++)
        mot__sha256_add(&sum, source->text[i], strlen(source->text[i]) + 1);
    mot__sha256_end(&sum, hex);
    snprintf(out, bytes, "%s/programs/%s.bin", device->cache_dir, hex);
}

static bool load_binary(mot__device *device, const char *path, const char *options, cl_program *out)
{
    struct mot__sha256 sum;
    const unsigned char *code;
    unsigned char *file = NULL;
    size_t bytes = 0;
    char hex[65];
    cl_int error, refused = 0;
    cl_program program = NULL;

    if (!path[0] || mot__file_read(path, BINARY_LIMIT, (void **)&file, &bytes) != MOT_OK)
        return false;
    if (bytes > SUM_BYTES) {
        code = file + SUM_BYTES;
        bytes -= SUM_BYTES;
        mot__sha256_init(&sum);
        mot__sha256_add(&sum, code, bytes);
        mot__sha256_end(&sum, hex);
        if (memcmp(hex, file, SUM_BYTES) == 0)
            program = clCreateProgramWithBinary(device->context, 1, &device->id, &bytes, &code,
                                                &refused, &error);
    }
    free(file);
    if (program && clBuildProgram(program, 1, &device->id, options, NULL, NULL) == CL_SUCCESS) {
        *out = program;
        return true;
    }
    if (program)
        clReleaseProgram(program);
    return false;
}

static void save_binary(mot__device *device, const char *path, cl_program program)
{
    struct mot__sha256 sum;
    char folder[600], hex[65];
    size_t bytes = 0;
    unsigned char *file, *code;

    if (!path[0] ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) ||
        bytes == 0)
        return;
    snprintf(folder, sizeof folder, "%s/programs", device->cache_dir);
    file = malloc(SUM_BYTES + bytes);
    if (!file)
        return;
    code = file + SUM_BYTES;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof code, &code, NULL) == CL_SUCCESS &&
        mot__dir_make(folder) == MOT_OK) {
        mot__sha256_init(&sum);
        mot__sha256_add(&sum, code, bytes);
        mot__sha256_end(&sum, hex);
        memcpy(file, hex, SUM_BYTES);
        mot__file_write(path, file,
                        SUM_BYTES + bytes); /* a cache: failing to keep it is no failure */
    }
    free(file);
}

static mot_status build_failed(mot__device *device, const char *name, cl_program program,
                               cl_int error)
{
    char log[600] = "";
    char *whole;
    size_t bytes = 0;

    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    whole = bytes ? calloc(1, bytes + 1) : NULL;
    if (whole) {
        clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL);
        snprintf(log, sizeof log, "%s", whole);
        free(whole);
    }
    mot__cl_fail(device, error, "building cl/%s.cl", name);
    return mot__fail(mot_error_status(), "%s: %s", mot_error(), log);
}

static mot_status build_text(mot__device *device, struct source *source, cl_program *out)
{
    mot_status status = MOT_OK;
    cl_program program;
    cl_int error;

    program = clCreateProgramWithSource(device->context, source->parts, source->text, NULL, &error);
    if (error)
        return mot__cl_fail(device, error, "the text of cl/%s.cl", source->name);
    error = clBuildProgram(program, 1, &device->id, source->options, NULL, NULL);
    device->counts.compiles++;
    mot__beat(device);
    if (error) {
        status = build_failed(device, source->name, program, error);
        clReleaseProgram(program);
        return status;
    }
    *out = program;
    return MOT_OK;
}

static struct mot__program *find_program(const mot__device *device, const char *name,
                                         const char *defines)
{
    struct mot__program *row = device->programs;

    while (row && (strcmp(row->name, name) != 0 || strcmp(row->defines, defines) != 0))
        row = row->next;
    return row;
}

static mot_status program_open(mot__device *device, const char *name, const char *defines,
                               cl_program *out)
{
    struct source source = source_of(device, name, defines);
    struct mot__program *row = calloc(1, sizeof *row);
    mot_status status = MOT_OK;
    char path[700];

    if (!row || !(row->name = strdup(name)) || !(row->defines = strdup(defines))) {
        status = mot__fail(MOT_NO_MEMORY, "a row for cl/%s.cl", name);
        goto done;
    }
    cache_path(device, &source, path, sizeof path);
    if (!load_binary(device, path, source.options, &row->object)) {
        MOT_TRY(build_text(device, &source, &row->object));
        save_binary(device, path, row->object);
    }
    row->next = device->programs;
    device->programs = row;
    *out = row->object;
    return MOT_OK;
done:
    if (row) {
        free(row->name);
        free(row->defines);
    }
    free(row);
    return status;
}

static mot_status program_get(mot__device *device, const char *name, const char *defines,
                              cl_program *out)
{
    const bool in_step = mot__step_has(name, defines) && !device->step_refused;
    const struct mot__program *row = in_step ? find_program(device, MOT__STEP, mot__step_defines)
                                             : find_program(device, name, defines);

    if (row) {
        *out = row->object;
        return MOT_OK;
    }
    if (!find_text(name))
        return mot__fail(MOT_BAD_ARG, "there is no kernel file cl/%s.cl", name);
    if (!mot__variant_known(name, defines))
        return mot__fail(MOT_BAD_ARG, "cl/%s.cl: defines '%s' are not in device/variants.c", name,
                         defines);
    if (in_step) {
        const mot_status status = program_open(device, MOT__STEP, mot__step_defines, out);

        if (status == MOT_OK || status == MOT_DEVICE_LOST)
            return status;
        device->step_refused = true; /* one file may be the reason: each for itself, then */
    }
    return program_open(device, name, defines, out);
}

static size_t hash_of(const char *program, const char *kernel, const char *defines)
{
    uint64_t h = mot__hash64(kernel, strlen(kernel), 0);

    h = mot__hash64(program, strlen(program), h);
    return (size_t)mot__hash64(defines, strlen(defines), h);
}

static mot_status kernel_open(mot__device *device, const char *program, const char *name,
                              const char *defines, struct mot__kernel **out)
{
    struct mot__kernel *kernel = calloc(1, sizeof *kernel);
    mot_status status = MOT_OK;
    cl_program object;
    cl_int error;

    if (!kernel)
        return mot__fail(MOT_NO_MEMORY, "a kernel's %zu bytes", sizeof *kernel);
    MOT_TRY(program_get(device, program, defines, &object));
    kernel->object = clCreateKernel(object, name, &error);
    if (error) {
        status = mot__cl_fail(device, error, "kernel %s of cl/%s.cl", name, program);
        goto done;
    }
    error = clGetKernelWorkGroupInfo(kernel->object, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof kernel->max_group, &kernel->max_group, NULL);
    if (error || kernel->max_group == 0) {
        status = mot__cl_fail(device, error, "the largest group of kernel %s", name);
        goto done;
    }
    kernel->program = strdup(program);
    kernel->kernel = strdup(name);
    kernel->defines = strdup(defines);
    if (!kernel->program || !kernel->kernel || !kernel->defines) {
        status = mot__fail(MOT_NO_MEMORY, "the name of kernel %s", name);
        goto done;
    }
    *out = kernel;
    return MOT_OK;
done:
    if (kernel->object)
        clReleaseKernel(kernel->object);
    free((char *)kernel->program);
    free((char *)kernel->kernel);
    free((char *)kernel->defines);
    free(kernel);
    return status;
}

mot_status mot__kernel_get(mot__device *device, const char *program, const char *kernel,
                           const char *defines, struct mot__kernel **out)
{
    struct mot__kernel **chain, *row;
    mot_status status;

    if (!defines)
        defines = "";
    chain = &device->kernels[hash_of(program, kernel, defines) % MOT__COUNT(device->kernels)];
    for (row = *chain; row; row = row->next)
        if (strcmp(row->kernel, kernel) == 0 && strcmp(row->program, program) == 0 &&
            strcmp(row->defines, defines) == 0) {
            *out = row;
            return MOT_OK;
        }
    status = kernel_open(device, program, kernel, defines, &row);
    if (status != MOT_OK)
        return status;
    row->next = *chain;
    *chain = row;
    *out = row;
    return MOT_OK;
}

void mot__programs_clear(mot__device *device)
{
    struct mot__program *program;
    struct mot__kernel *kernel;
    size_t i;

    for (i = 0; i < MOT__COUNT(device->kernels); i++)
        while ((kernel = device->kernels[i]) != NULL) {
            device->kernels[i] = kernel->next;
            clReleaseKernel(kernel->object);
            free((char *)kernel->program);
            free((char *)kernel->kernel);
            free((char *)kernel->defines);
            free(kernel);
        }
    while ((program = device->programs) != NULL) {
        device->programs = program->next;
        clReleaseProgram(program->object);
        free(program->name);
        free(program->defines);
        free(program);
    }
}
