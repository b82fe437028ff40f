/* device.h - one opened device. Only this room knows OpenCL.
 *
 * A device has its own context, an in-order compute queue, two transfer queues, kernels, pool.
 * Every function here is called by one thread at a time: the device's launch thread
 * (strategy/lane.h). Work is queued and returns at once; only functions that say "waits" wait for
 * the device. */
#ifndef MOT_DEVICE_DEVICE_H
#define MOT_DEVICE_DEVICE_H

#include "base/status.h"
#include "device/inventory.h"

#include <motley/bench.h>

typedef struct mot__device mot__device;
typedef struct mot__buffer mot__buffer;
typedef struct mot__stage mot__stage;

enum mot__gemm_kind {
    MOT__GEMM_AUTO,
    MOT__GEMM_CLBLAST,
    MOT__GEMM_TILE_CPU,
    MOT__GEMM_TILE_GPU,
    MOT__GEMM_KINDS,
    MOT__GEMM_TILE = MOT__GEMM_KINDS /* a wish only: the class's own tile */
};

/* How bytes cross between host and device. AUTO: as tuning found; without it by map where they
 * share memory, else by copy. */
enum mot__staging { MOT__STAGING_AUTO, MOT__STAGING_MAP, MOT__STAGING_COPY };

const char *mot__staging_name(enum mot__staging staging); /* "map", "copy" */

struct mot__device_options {
    size_t memory_bytes;   /* limit of the pool; 0: nine tenths of the device's memory */
    size_t largest_bytes;  /* of one allocation, if the device says more; 0: what it says */
    const char *cache_dir; /* "" keeps nothing on disk */
    enum mot_device_class device_class; /* AUTO: by what the device is */
    enum mot__gemm_kind gemm;
    enum mot__staging staging;
    bool profile; /* queues tell times */
    /* Told after each thing that may take long, a build or a wait, that this device is alive. */
    void (*beat)(void *user);
    void *beat_user;
};

struct mot__device_facts {
    struct mot_device_info info;
    enum mot_device_class device_class; /* CPU or GPU, decided */
    size_t max_group, local_bytes, units;
    size_t memory_limit;       /* of the pool */
    size_t largest_bytes;      /* of one allocation */
    enum mot__staging staging; /* decided */
    char key[65];              /* SHA-256 of device, driver, platform and our format: for caches */
};

mot_status mot__device_open(const mot_inventory *inventory, const struct mot__pick *pick,
                            const struct mot__device_options *options, mot__device **out);
void mot__device_close(
    mot__device *device); /* after its buffers; a lost device is leaked on purpose */
const struct mot__device_facts *mot__device_facts(const mot__device *device);
/* MAP or COPY from here on; while no stage is open. */
void mot__device_staging(mot__device *device, enum mot__staging staging);
struct mot_counts *
mot__device_counts(mot__device *device);              /* running totals; the owner may clear them */
bool mot__device_profiles(const mot__device *device); /* its queues tell times */
mot_status mot__device_profile(mot__device *device, struct mot_kernel_time *row, size_t capacity,
                               size_t *count);

/* ---- memory ---- */

/* From the pool: sizes are rounded up, freed blocks are kept and reused. What would pass the limit
 * is MOT_NO_MEMORY with a story that says how much is used and free. Contents are undefined. */
mot_status mot__buffer_open(mot__device *device, size_t bytes, mot__buffer **out);
void mot__buffer_close(mot__buffer *buffer);
size_t mot__device_used(const mot__device *device); /* bytes in live buffers and stages */
size_t mot__device_peak(const mot__device *device); /* the most that was since _peak_set */
void mot__device_peak_set(mot__device *device, size_t bytes); /* but not less than is in use */
/* Give freed blocks back to the driver, so that what is taken next is as large as it was asked. */
void mot__device_trim(mot__device *device);
/* Between the two, the limit may be passed by so many bytes, and what is taken does not count for
 * the peak: tests of kernels, which are small, give all of it back before the end and are the same
 * whatever the limit. They nest. */
#define MOT__ASIDE_BYTES ((size_t)1 << 20)
void mot__device_aside_begin(mot__device *device);
void mot__device_aside_end(mot__device *device);
/* What a buffer or a stage of so many bytes takes from the pool. */
size_t mot__buffer_bytes(size_t bytes);
size_t mot__stage_bytes(const mot__device *device, size_t bytes);

/* A place in device memory, as kernels take it: a buffer and an offset in elements of the kernel's
 * type. */
struct mot__mem {
    mot__buffer *buffer;
    size_t offset; /* elements, usually floats */
};
static inline struct mot__mem mot__mem_at(struct mot__mem mem, size_t elements)
{
    return (struct mot__mem){mem.buffer, mem.offset + elements};
}

/* Plain copies in order with the compute queue, for set-up and tests; each waits. */
mot_status mot__buffer_write(mot__buffer *buffer, size_t offset_bytes, const void *host,
                             size_t bytes);
mot_status mot__buffer_read(mot__buffer *buffer, size_t offset_bytes, void *host, size_t bytes);
mot_status mot__buffer_zero(mot__buffer *buffer, size_t offset_bytes,
                            size_t bytes); /* queued; does not wait */
mot_status mot__buffer_copy(struct mot__mem from, struct mot__mem to, size_t floats); /* queued */

/* A device buffer with a host side, for what crosses every step: batches up, gradients down and up.
 * On unified memory the two sides are one memory, mapped and unmapped; elsewhere the host side is
 * pinned and copied on a transfer queue. The host side belongs to the host after _open and after
 * a finished _down or _take, to the device after _up. */
mot_status mot__stage_open(mot__device *device, size_t bytes, mot__stage **out);
void mot__stage_close(mot__stage *stage);
mot__buffer *mot__stage_buffer(mot__stage *stage); /* the device side, for kernels */
void *mot__stage_host(mot__stage *stage); /* the host side; the same address all its life */
/* Host to device: queued; later launches see the bytes [begin, begin + bytes). */
mot_status mot__stage_up(mot__stage *stage, size_t begin, size_t bytes);
/* The same in two parts, for bytes that are needed at different times: launches wait for those of a
 * slot from _arrive on. What never arrives is waited for by nobody. */
mot_status mot__stage_send(mot__stage *stage, size_t slot, size_t begin, size_t bytes);
mot_status mot__stage_arrive(mot__stage *stage, size_t slot);
/* The host has read what _down brought, and changed nothing: the device may have it back. */
mot_status mot__stage_give(mot__stage *stage, size_t begin, size_t bytes);
/* Device to host: queued behind the launches so far; _wait before reading. Ranges of one stage may
 * be on their way together: each has a slot of its own, below MOT__STAGE_SLOTS. */
mot_status mot__stage_down(mot__stage *stage, size_t slot, size_t begin, size_t bytes);
/* Give the host side back to the host without bringing anything down, to fill it anew: queued
 * behind the launches that read it. */
mot_status mot__stage_take(mot__stage *stage, size_t slot);
mot_status mot__stage_wait(mot__stage *stage,
                           size_t slot); /* waits for the _down or _take of that slot */
#define MOT__STAGE_SLOTS 64

/* ---- launching ---- */

enum mot__arg_kind { MOT__ARG_U32, MOT__ARG_F32, MOT__ARG_MEM, MOT__ARG_LOCAL };
struct mot__arg {
    enum mot__arg_kind kind;
    union {
        uint32_t u32;
        float f32;
        struct mot__mem mem; /* becomes two kernel arguments: the pointer and a uint offset */
        size_t local_bytes;
    } as;
};
#define MOT__U32(v)                                                                                \
    {                                                                                              \
        MOT__ARG_U32,                                                                              \
        {                                                                                          \
            .u32 = (uint32_t)(v)                                                                   \
        }                                                                                          \
    }
#define MOT__F32(v)                                                                                \
    {                                                                                              \
        MOT__ARG_F32,                                                                              \
        {                                                                                          \
            .f32 = (float)(v)                                                                      \
        }                                                                                          \
    }
#define MOT__MEM(m)                                                                                \
    {                                                                                              \
        MOT__ARG_MEM,                                                                              \
        {                                                                                          \
            .mem = (m)                                                                             \
        }                                                                                          \
    }
#define MOT__LOCAL(b)                                                                              \
    {                                                                                              \
        MOT__ARG_LOCAL,                                                                            \
        {                                                                                          \
            .local_bytes = (b)                                                                     \
        }                                                                                          \
    }

/* A launch names its kernel by program (the file cl/<program>.cl) and defines (static strings;
 * NULL: none). The program is built when it is first named, through the disk cache. */
struct mot__launch {
    const char *program, *kernel, *defines;
    unsigned dims;
    size_t global[3]; /* work-items wanted; rounded up to local, so kernels let spare items leave */
    size_t local[3];  /* 0: the room's default for the class */
    const struct mot__arg *args;
    size_t count;
};
mot_status mot__launch(mot__device *device, const struct mot__launch *launch);
#define MOT__COUNT(array) (sizeof(array) / sizeof *(array))

/* Of the text of cl/<program>.cl and what goes in front of it: a verdict about its kernels holds as
 * long as this does. */
uint64_t mot__program_sum(const char *program);

/* While on, launches build their kernels and check their arguments but queue nothing: a plan runs
 * its lists once in this mode, so that no step compiles. */
void mot__device_rehearse(mot__device *device, bool on);
bool mot__device_rehearsing(const mot__device *device);

/* ---- where the time goes ---- */

/* What the commands that follow belong to; told apart in mot__device_phases. */
enum mot__phase {
    MOT__PHASE_OTHER,
    MOT__PHASE_UPLOAD,
    MOT__PHASE_FORWARD,
    MOT__PHASE_BACKWARD,
    MOT__PHASE_STAGING,
    MOT__PHASE_UPDATE,
    MOT__PHASES
};
void mot__device_phase(mot__device *device, enum mot__phase phase);

/* Seconds by the device's own clock, of commands that were seen to end since the last call: each
 * moment counts once, for the command that began first. All zero without profiling. */
struct mot__phases {
    double s[MOT__PHASES];
    double before_s[MOT__PHASES]; /* the device stood still until such a command began */
    uint64_t commands[MOT__PHASES];
};
void mot__device_phases(mot__device *device, struct mot__phases *out); /* reads and clears */

/* ---- waiting and errors ---- */

/* Everything queued so far is on its way to the device. */
mot_status mot__device_flush(mot__device *device);
/* Remember this moment; _reached waits until everything queued before it is done and tells of any
 * command that failed. */
mot_status mot__device_mark(mot__device *device, uint64_t *mark);
mot_status mot__device_reached(mot__device *device, uint64_t mark); /* waits */
mot_status mot__device_finish(mot__device *device); /* waits for everything; tells failures */
bool mot__device_lost(const mot__device *device);   /* for tests: others see MOT_DEVICE_LOST */

/* ---- what was measured and chosen before, per device, driver and version of ours ---- */

/* key: "gemm.tile_cpu"; value: one line. Missing is *found = false. Kept in cache_dir. */
mot_status mot__store_get(mot__device *device, const char *key, char *value, size_t bytes,
                          bool *found);
mot_status mot__store_set(mot__device *device, const char *key, const char *value);
/* Each choice whose key begins so, in no order; fn may set none. */
typedef mot_status (*mot__store_fn)(void *user, const char *key, const char *value);
mot_status mot__store_each(mot__device *device, const char *prefix, mot__store_fn fn, void *user);
mot_status mot__store_forget(mot__device *device, const char *prefix, size_t *count);

/* The room's own speed probe: 512^3 GEMM, memory and transfers. Waits. */
mot_status mot__device_measure(mot__device *device, struct mot_device_speed *out);

#endif
