/* bench.h - measuring. Figures come from the machine they are asked on, never from a table. */
#ifndef MOTLEY_BENCH_H
#define MOTLEY_BENCH_H

#include <motley/motley.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mot_device_speed {
    double gemm_gflops; /* 512 x 512 x 512 through the chosen kernel */
    double memory_gbps; /* device memory, read + write */
    double upload_gbps, download_gbps;
};

/* Measure one opened device, about a tenth of a second for each figure. */
mot_status mot_bench_device(mot_fleet *fleet, size_t lane, struct mot_device_speed *out);

/* What one device was asked to do since the last call, from counters the library keeps; exact. A
 * wait counts though what it is for may have ended; compiles are programs that were built, and not
 * what a driver compiles by itself at a kernel's first launch; what a library (CLBlast) queues at
 * once is one launch. */
struct mot_counts {
    uint64_t launches, waits, uploads, downloads, upload_bytes, download_bytes;
    uint64_t allocations, allocated_bytes, compiles;
};
mot_status mot_bench_counts(mot_fleet *fleet, size_t lane, struct mot_counts *out);

/* Time from the device's own clock since the last call; needs a fleet opened with profile. */
struct mot_kernel_time {
    const char *name; /* of the kernel, or "upload", "download" */
    uint64_t calls;
    double seconds;
};
mot_status mot_bench_profile(mot_fleet *fleet, size_t lane, struct mot_kernel_time *row,
                             size_t capacity, size_t *count);

/* ---- training ---- */

/* Where the time of one replica went since the last call; the parts add up to 1. Needs a fleet
 * opened with profile. */
struct mot_breakdown {
    double input;  /* nothing to do: the data or the caller is late */
    double upload; /* rows of the batch to the device, and the gather there */
    double forward, backward;
    double staging; /* gradients up to the host and down again */
    double reduce;  /* added on the host */
    double update;  /* verdict and update */
    double waiting; /* for other replicas, for the host to launch */
    /* Parts of waiting, told apart once more: */
    double others;   /* for other replicas */
    double woken;    /* until the host wakes up to reduce, and the device after it */
    double updating; /* for the update to be launched */
    /* Of a pass, forward and backward together: so many times the rows take s + (1 - s) times as
     * long, where s is steady up to twice the rows and steady_far at eight times, bent between;
     * cold is the part that passes alone, without updates between them, do not take. Of the upload:
     * steady_upload, as steady. 0 where mot_bench_steady was not asked or could not tell. */
    double steady, steady_far, cold, steady_upload;
    bool out;     /* the run goes on without this replica */
    bool hosted;  /* central storage: its part of the update is in reduce */
    bool streams; /* weights and gradients do not fit: they cross its link in every step */
    bool whole;   /* with central storage: alone, the device would hold and update all by itself */
    bool cut;     /* its rows do not fit at once: a larger batch is more of the same passes */
};
mot_status mot_bench_breakdown(mot_trainer *trainer,
                               struct mot_breakdown *part); /* (replicas); waits */
/* Fill in steady, steady_far, cold and steady_upload for each replica: trials of its shard and of
 * more rows, of some milliseconds each, within the limit of its memory. The next breakdown does not
 * count their time, mot_bench_counts and mot_bench_profile do. Call it right after
 * mot_bench_breakdown, between updates. */
mot_status mot_bench_steady(mot_trainer *trainer, struct mot_breakdown *part);

/* Bytes on one replica's device, as it is now. */
mot_status mot_bench_bytes(mot_trainer *trainer, size_t replica, struct mot_bytes *out);

struct mot_bench_config {
    size_t size;
    double seconds;          /* measured, after warm-up; 0: 5 */
    size_t windows;          /* the median of so many counts; 0: 5 */
    bool resident;           /* data that fits stays on the devices; else host batches go in */
    struct mot_bytes *bytes; /* (replicas) of each at the end; NULL: not asked */
    bool *used;              /* (replicas) at the end: it was not left out; NULL: not asked */
    bool alone; /* replicas do not talk to each other: the ceiling of scaling, not training */
    /* Automatic shares have stood for so long before anything is measured, or that was waited for
     * three times; 0: they may still be on the move. */
    double settle;
};
struct mot_bench_config mot_bench_config_default(void);

struct mot_bench_train {
    double samples_per_s;          /* median */
    double slowest, fastest;       /* of the windows */
    double first_step_s;           /* from opening the trainer to the first finished step */
    size_t batch, replicas, steps; /* steps measured */
    const char *strategy; /* at the end: "single", "mirrored", "central"; "streamed": central, and
                             some replica's weights come layer by layer */
    struct mot_counts count; /* replica 0, over all those steps */
    struct mot_counts first; /* replica 0, the first step alone: nothing compiled, allocated */
    struct mot_bytes bytes;  /* replica 0 */
};
/* Train and measure; part may be NULL, else (replicas). Warm-up is a tenth of the time, 20 steps at
 * least. */
mot_status mot_bench_train(mot_fleet *fleet, const mot_model *net,
                           const struct mot_trainer_config *config, mot_data *data,
                           const struct mot_bench_config *bench, struct mot_bench_train *out,
                           struct mot_breakdown *part);

/* Ways of training, by turns: seconds for each in all. */
#define MOT_BENCH_TURNS 5
struct mot_bench_way {
    mot_fleet *fleet;
    struct mot_trainer_config trainer;
    bool alone;                   /* without communication: the ceiling of scaling, no training */
    double rate[MOT_BENCH_TURNS]; /* samples/s in each turn, with host batches */
    const char *strategy;         /* what it came to, in the last turn */
};
mot_status mot_bench_ways(const mot_model *net, mot_data *data, double seconds,
                          struct mot_bench_way *way, size_t ways);
double mot_bench_way_rate(const struct mot_bench_way *way); /* median of its turns */
/* Rate over rate, turn by turn; the median. */
double mot_bench_way_ratio(const struct mot_bench_way *way, const struct mot_bench_way *to);

/* ---- a batch that suits ---- */

struct mot_tune_batch { /* one row of the table */
    size_t batch;
    double samples_per_s; /* median */
    size_t replicas;
    const struct mot_bytes *bytes; /* (replicas); valid during the call */
};
typedef int (*mot_tune_fn)(const struct mot_tune_batch *row, void *user); /* non-zero: stop */

/* Train with growing batches, `seconds` each, until more rows no longer help, do not fit or are not
 * there. pick: the smallest batch within 5 % of the best rate, since larger ones learn less from
 * each sample; its bytes are NULL. fn may be NULL. The data is left at its beginning. */
mot_status mot_tune_batch(mot_fleet *fleet, const mot_model *net,
                          const struct mot_trainer_config *config, mot_data *data, double seconds,
                          mot_tune_fn fn, void *user, struct mot_tune_batch *pick);

/* ---- what limits the speed ---- */

/* One table makes the enum and the names that `motley train --json` gives the kinds. */
#define MOT_LIMIT_TABLE(X)                                                                         \
    X(MOT_LIMIT_COMPUTE, "compute") /* the devices are busy: nothing to gain here */               \
    X(MOT_LIMIT_INPUT, "input")     /* the data comes too slowly */                                \
    X(MOT_LIMIT_LAUNCH, "launch")   /* a device waits for the host to launch, whatever the rows */ \
    X(MOT_LIMIT_BATCH, "batch")     /* what else a step costs whatever its rows is too much */     \
    X(MOT_LIMIT_DEVICE, "device")   /* the others wait for one device */                           \
    X(MOT_LIMIT_LINK, "link")       /* gradients on their way between device and host */           \
    X(MOT_LIMIT_HOST, "host")       /* gradients being added in host memory */                     \
    X(MOT_LIMIT_MANY, "many")       /* fewer devices would be faster than these */                 \
    X(MOT_LIMIT_WAITING, "waiting") /* the devices wait for each other, though none is slow */     \
    X(MOT_LIMIT_UPDATE, "update")   /* each device updates all parameters for itself */

#define MOT_LIMIT_ENUM(name, text) name,
enum mot_limit_kind { MOT_LIMIT_TABLE(MOT_LIMIT_ENUM) MOT_LIMIT_KINDS };
#undef MOT_LIMIT_ENUM

struct mot_cure {
    enum mot_limit_kind kind;
    size_t replica; /* DEVICE, LINK: which */
    double share;   /* of the time it takes now */
    double gain;    /* predicted: samples/s with the cure over samples/s now */
    char cure[256]; /* "--batch 512", "--shares auto", "--devices 0,2", "--accumulate 4",
                       "--strategy central"; whole. "faster data", "more memory": no option */
    char sentence[640];
};

struct mot_reckoning {
    size_t replicas, batch, parameters;
    size_t samples; /* of the data: no batch is larger; 0: not known */
    double samples_per_s;
    const size_t *share;              /* (replicas) rows of a batch */
    const struct mot_breakdown *part; /* (replicas) */
    const char *const *label;         /* (replicas) as the device language says it */
    bool shares_auto;                 /* rows are split by speed already */
    bool unified;                     /* all devices' memory is the host's */
    size_t state;                     /* numbers of the optimizer for each parameter */
    size_t accumulate;                /* steps to one update; 0: 1 */
    /* Measured on all lanes at once, as mot_bench_allreduce does; 0: not measured. */
    double up_gbps, down_gbps, host_gbps;
};

/* Cures, the best first; cure[0].sentence says what limits the speed. At most MOT_CURES. Pure
 * arithmetic. */
#define MOT_CURES 10
size_t mot_bench_limit(const struct mot_reckoning *reckoning, struct mot_cure cure[MOT_CURES]);

/* ---- GEMM ---- */

struct mot_bench_gemm {
    bool trans_a, trans_b;
    size_t m, n, k;
};
size_t mot_bench_gemm_kinds(void);
const char *mot_bench_gemm_name(size_t kind); /* "clblast", "tile-cpu", "tile-gpu" */
/* GFLOP/s of one candidate on one device; MOT_UNSUPPORTED where it is not built in. The median of
 * what about `seconds` hold, of five at least unless these take longer than two seconds. */
mot_status mot_bench_gemm(mot_fleet *fleet, size_t lane, size_t kind,
                          const struct mot_bench_gemm *shape, double seconds, double *gflops);
mot_status mot_bench_peak(mot_fleet *fleet, size_t lane,
                          double *gflops); /* multiply-adds in registers */
/* Of all devices together, each busy at the same time. */
mot_status mot_bench_peak_all(mot_fleet *fleet, double *gflops);
/* The products of a preset's training step, one behind the other; false past the last. */
bool mot_bench_gemm_of(const mot_model *net, size_t batch, size_t index, struct mot_bench_gemm *out,
                       const char **what);

/* ---- tuning: choices that are measured and remembered ---- */

/* Kept in the cache folder for each device and version of its driver and ours, and taken when a
 * fleet or a trainer is opened next: which matrix product for each of a network's shapes, how bytes
 * are staged, and for these devices together how gradients are summed and in which buckets. What a
 * caller asks for goes before what was remembered. */

struct mot_tune_trial { /* one figure */
    const char *device; /* label; NULL: of all devices together */
    const char *what;   /* "gemm nt 128 x 512 x 784", "staging", "reduce" */
    const char *choice; /* "tile-cpu", "clblast-2", "map", "ring-1048576" */
    const char *unit;   /* "GFLOP/s", "samples/s" */
    double value;       /* NAN: it does not run here */
    double done;        /* of all there is to do; 1: this was the last */
    double seconds_left;
};

struct mot_tune_config {
    size_t size;
    double seconds; /* for a figure of whole steps; a product has a tenth; 0: 1 */
    bool all;       /* CLBlast with parameters of ours even where it is far behind the best */
    int (*on_trial)(const struct mot_tune_trial *trial, void *user); /* non-zero: stop */
    void *user;
};
struct mot_tune_config mot_tune_config_default(void);

/* Measure for batches of `batch` rows of the data and remember. A candidate that computes wrongly
 * is not remembered. Nobody else should use the devices. The data is left at its beginning. */
mot_status mot_tune(mot_fleet *fleet, const mot_model *net, const struct mot_trainer_config *config,
                    mot_data *data, size_t batch, const struct mot_tune_config *tune);

struct mot_tuned {              /* one choice that is remembered */
    const char *device;         /* label of the first such device; NULL: of all together */
    const char *what;           /* sizes of products rounded up to powers of two */
    const char *choice, *usual; /* usual: what would be taken without tuning */
    double value, before;       /* measured with the choice, with the usual */
    const char *unit;
    uint64_t when; /* seconds since 1970 */
};
/* What is remembered of these devices, and of all of them together; non-zero from fn stops it. */
mot_status mot_tuned_each(mot_fleet *fleet, int (*fn)(const struct mot_tuned *tuned, void *user),
                          void *user);
/* Forget it, and all that these devices remember with others; how many choices there were. */
mot_status mot_tuned_forget(mot_fleet *fleet, size_t *count);

/* One sentence where a device was never tuned and its matrix products are well below what its
 * arithmetic units were measured to do; "" else. Measures for half a second where that was
 * not done on this device before. */
mot_status mot_tune_hint(mot_fleet *fleet, char *out, size_t bytes);

/* ---- all-reduce ---- */

enum mot_bound { MOT_BOUND_UP, MOT_BOUND_DOWN, MOT_BOUND_HOST, MOT_BOUND_LATENCY };
struct mot_bench_reduce {
    double seconds;  /* one all-reduce, median of the rounds */
    double best_s;   /* the shortest of them */
    double gbps;     /* bytes / seconds */
    double bus_gbps; /* times 2 (n - 1) / n, as NCCL counts */
    /* What it is made of, without any loss: the slowest of the ways down, up and through host
     * memory, with the fixed cost of transfers. Memory is passed as a whole there: what a cache
     * keeps between two parts can beat it. */
    double bound_s;      /* of the parts' medians, for seconds */
    double best_bound_s; /* each as quick as in its best round, for best_s */
    enum mot_bound bound;
    double up_gbps, down_gbps, host_gbps; /* at best, on all lanes at once; host: read + write */
    double fixed_s;                       /* one transfer of next to nothing */
    double meet_s;                        /* the lanes' threads meeting; in no bound */
    size_t rounds;
};
/* bytes over all devices of the fleet; ring or direct. */
mot_status mot_bench_allreduce(mot_fleet *fleet, size_t bytes, bool ring, double seconds,
                               struct mot_bench_reduce *out);

#ifdef __cplusplus
}
#endif
#endif
