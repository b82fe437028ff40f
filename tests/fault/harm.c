/* harm.c - a device that computes wrongly once: what a kernel wrote is changed behind it. */
#include "fault/harm.h"
#include "fault/guise.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 20 };

struct kernel { /* what its arguments were last set to */
    cl_kernel id;
    cl_mem mem[ARGS];
    cl_uint word[ARGS];
    struct kernel *next;
};

static cl_icd_dispatch under;
static struct kernel *kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool armed, fired;
static size_t armed_device;
static enum harm_kind armed_kind;

/* Kernels and the argument that is harmed; its offset in elements follows it. */
static const struct {
    enum harm_kind kind;
    const char *kernel;
    cl_uint arg;
    int wants; /* an argument that must not be 0; -1: none */
    uint32_t flip, set;
} rows[] = {
    {HARM_FLIP, "update_sgd", 7, -1, 1u << 9, 0},
    {HARM_FLIP, "update_momentum", 9, -1, 1u << 9, 0},
    {HARM_FLIP, "update_adam", 12, -1, 1u << 9, 0},
    {HARM_NAN, "loss_rows", 12, 4, 0, 0x7fc00000u},
    {HARM_NAN, "loss_rows_team", 12, 4, 0, 0x7fc00000u},
};

static struct kernel *find(cl_kernel id)
{
    struct kernel *kernel;

    for (kernel = kernels; kernel && kernel->id != id; kernel = kernel->next)
        ;
    if (kernel)
        return kernel;
    kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        abort();
    kernel->id = id;
    kernel->next = kernels;
    kernels = kernel;
    return kernel;
}

static cl_int CL_API_CALL set_arg(cl_kernel id, cl_uint index, size_t bytes, const void *value)
{
    if (index < ARGS && value && (bytes == sizeof(cl_mem) || bytes == sizeof(cl_uint))) {
        struct kernel *kernel;

        pthread_mutex_lock(&lock);
        kernel = find(id);
        memcpy(bytes == sizeof(cl_mem) ? (void *)&kernel->mem[index] : (void *)&kernel->word[index],
               value, bytes);
        pthread_mutex_unlock(&lock);
    }
    return under.clSetKernelArg(id, index, bytes, value);
}

static void harm(cl_command_queue queue, const struct kernel *kernel, size_t row)
{
    const size_t at = kernel->word[rows[row].arg + 1] * sizeof(uint32_t);
    cl_mem mem = kernel->mem[rows[row].arg];
    uint32_t bits = 0;

    under.clEnqueueReadBuffer(queue, mem, CL_TRUE, at, sizeof bits, &bits, 0, NULL, NULL);
    bits = (bits ^ rows[row].flip) | rows[row].set;
    under.clEnqueueWriteBuffer(queue, mem, CL_TRUE, at, sizeof bits, &bits, 0, NULL, NULL);
    atomic_store(&fired, true);
}

static void look(cl_command_queue queue, cl_kernel id)
{
    struct kernel kernel;
    char name[64] = "";
    size_t row;

    if (guise_of_queue(queue)->nth != armed_device)
        return;
    under.clGetKernelInfo(id, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    pthread_mutex_lock(&lock);
    kernel = *find(id);
    pthread_mutex_unlock(&lock);
    for (row = 0; row < sizeof rows / sizeof *rows; row++)
        if (rows[row].kind == armed_kind && strcmp(rows[row].kernel, name) == 0 &&
            (rows[row].wants < 0 || kernel.word[rows[row].wants] != 0) &&
            atomic_exchange(&armed, false))
            harm(queue, &kernel, row);
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel id, cl_uint dims,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint count, const cl_event *list, cl_event *event)
{
    const cl_int error =
        under.clEnqueueNDRangeKernel(queue, id, dims, offset, global, local, count, list, event);

    if (!error && atomic_load(&armed))
        look(queue, id);
    return error;
}

static void arm(size_t device, enum harm_kind kind)
{
    armed_device = device;
    armed_kind = kind;
    atomic_store(&fired, false);
    atomic_store(&armed, true);
}

static _Bool done(void)
{
    return atomic_load(&fired);
}

extern const struct harm_layer motley_harm;
const struct harm_layer motley_harm = {arm, done};

void harm_hook(cl_icd_dispatch *table)
{
    under = *table;
    table->clSetKernelArg = set_arg;
    table->clEnqueueNDRangeKernel = enqueue;
}
