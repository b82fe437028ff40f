/* internal.h - what the files of this room share: the device itself, with its OpenCL objects. */
#ifndef MOT_DEVICE_INTERNAL_H
#define MOT_DEVICE_INTERNAL_H

#include "device/device.h"

#include <CL/cl.h>

#define MOT__PENDING 2048 /* commands whose fate is not known yet */
#define MOT__GATES 8      /* transfers the next launch waits for */

struct mot__buffer {
    mot__device *device;
    cl_mem mem;
    size_t bytes;             /* what the driver gave, a multiple of the pool's grain */
    struct mot__buffer *next; /* in the list of free blocks */
};

struct mot__kernel {                        /* one kernel of one program; a chain of a hash table */
    const char *program, *kernel, *defines; /* copies of our own */
    cl_kernel object;
    size_t max_group;
    struct mot__kernel *next;
};

struct mot__program {
    char *name, *defines;
    cl_program object;
    struct mot__program *next;
};

struct mot__command { /* queued, and not yet seen to have ended */
    cl_event event;
    const char *what; /* kernel name, "upload", "download": static or owned by the kernel */
    enum mot__phase phase;
    bool several; /* the last of some that a library queued together */
    bool compute; /* in that queue, which is in order */
};

struct mot__choice {
    char *key, *value;
    struct mot__choice *next;
};

struct mot__gemm_state; /* gemm.c */

struct mot__device {
    struct mot__device_facts facts;
    void (*beat)(void *user); /* NULL: nobody listens */
    void *beat_user;
    cl_device_id id;
    bool sub; /* id is a sub-device of ours */
    cl_context context;
    cl_command_queue compute, up, down;
    struct mot_counts counts;
    bool rehearsing, lost, profile;
    bool keeps_binaries; /* the driver does: we ask it for none */
    char cache_dir[512];
    enum mot__gemm_kind gemm_wish;
    struct mot__gemm_state *gemm;

    struct mot__buffer *free_blocks; /* kept for reuse */
    size_t live_bytes, kept_bytes, peak_bytes;
    size_t aside;      /* tests of kernels that are under way */
    size_t packs_most; /* bytes that GEMM may take for packed operands */
    size_t packs_users;

    struct mot__program *programs;
    bool step_refused; /* its files are built one by one (variants.h) */
    struct mot__kernel *kernels[64];
    struct mot__choice *choices;

    struct mot__command pending[MOT__PENDING]; /* a ring, oldest at `settled` */
    uint64_t queued, settled;
    cl_event last; /* the newest command of the compute queue; owned by the ring */
    cl_event gate[MOT__GATES];
    size_t gates;

    struct mot_kernel_time *times;
    size_t time_count, time_capacity;
    enum mot__phase phase;
    struct mot__phases phases;
    cl_ulong clock_end; /* up to here the device's time is accounted for; 0: nothing yet */
};

static inline void mot__beat(const mot__device *device)
{
    if (device->beat)
        device->beat(device->beat_user);
}

/* Turn an OpenCL error into a story, and remember a lost device. what: printf-like. */
mot_status mot__cl_fail(mot__device *device, cl_int error, const char *format, ...)
    MOT__PRINTF(3, 4);
/* Whether an error of this device means that it is lost. */
bool mot__cl_loss(const mot__device *device, cl_int error);
/* Every function that would call the driver asks first: a lost device is not called again. */
mot_status mot__device_alive(const mot__device *device);

/* Take over the event of a command that was queued. */
mot_status mot__command_note(mot__device *device, cl_event event, const char *what, bool compute);
/* The newest command stands for others before it that have no event here: its time is theirs. */
void mot__command_several(mot__device *device);
/* The wait list for the next command of the compute queue (transfers it depends on); cleared by
 * _passed. Where it is full, and for a command that takes no wait list, _pass has the queue itself
 * wait; the host never does. */
mot_status mot__gate_add(mot__device *device, cl_event event);
void mot__gates_passed(mot__device *device);
mot_status mot__gates_pass(mot__device *device);

mot_status mot__pool_take(mot__device *device, size_t bytes, cl_mem_flags flags, void *host,
                          struct mot__buffer **out);
void mot__pool_clear(mot__device *device);
void mot__programs_clear(mot__device *device);
void mot__store_clear(mot__device *device);
void mot__gemm_clear(mot__device *device);

/* The kernel of that name, built if need be. */
mot_status mot__kernel_get(mot__device *device, const char *program, const char *kernel,
                           const char *defines, struct mot__kernel **out);

#endif
