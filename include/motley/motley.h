/* motley.h - the whole public interface: one network trained on every OpenCL device in the box.
 *
 * Every call that can fail returns a mot_status; results come back through the last argument.
 * Success is 0, so calls chain with ||. What *_open() gives, *_close() takes back; close(NULL) does
 * nothing. After a failure mot_error() tells the story of the last one on this thread.
 * A struct whose first member is its size comes from its _default() or starts as {.size = sizeof};
 * one of another size is from another version's header, and is refused with MOT_BAD_ARG.
 * The library never prints, never exits and catches no signal; its threads block all signals. */
#ifndef MOTLEY_MOTLEY_H
#define MOTLEY_MOTLEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_VERSION "0.1.0"

/* ---- status ---------------------------------------------------------------------------------- */

/* One table makes the enum and its texts. */
#define MOT_STATUS_TABLE(X)                                                                        \
    X(MOT_OK, "success")                                                                           \
    X(MOT_BAD_ARG, "an argument makes no sense")                                                   \
    X(MOT_BAD_STATE, "the object is not ready for this call")                                      \
    X(MOT_NO_MEMORY, "out of memory")                                                              \
    X(MOT_NO_DEVICE, "no device")                                                                  \
    X(MOT_DEVICE_FAILED, "a device failed")                                                        \
    X(MOT_DEVICE_LOST, "a device was lost")                                                        \
    X(MOT_BAD_SHAPE, "shapes do not fit")                                                          \
    X(MOT_IO, "a file could not be read or written")                                               \
    X(MOT_FORMAT, "a file is not what it should be")                                               \
    X(MOT_BAD_NUMBER, "a value is not a finite number")                                            \
    X(MOT_STOPPED, "stopped on request")                                                           \
    X(MOT_TIMEOUT, "a deadline passed")                                                            \
    X(MOT_UNSUPPORTED, "not supported by this build or device")

#define MOT_STATUS_ENUM(name, text) name,
typedef enum mot_status { MOT_STATUS_TABLE(MOT_STATUS_ENUM) MOT_STATUS_COUNT } mot_status;
#undef MOT_STATUS_ENUM

const char *mot_version(void);
const char *mot_status_text(mot_status status); /* static storage */
const char *mot_error(void);       /* the story; this thread's, until its next failure */
mot_status mot_error_status(void); /* the code that goes with mot_error() */

/* ---- shapes ---------------------------------------------------------------------------------- */

#define MOT_RANK_MAX 6

struct mot_shape { /* of one sample: the batch dimension is never part of it */
    size_t rank;
    size_t dim[MOT_RANK_MAX];
};

#ifdef __cplusplus
}
extern "C++" {
template <class... T> inline mot_shape mot_shape_of(T... dim)
{
    return mot_shape{sizeof...(dim), {static_cast<size_t>(dim)...}};
}
}
extern "C" {
#define MOT_SHAPE(...) mot_shape_of(__VA_ARGS__)
#else
#define MOT_SHAPE(...)                                                                             \
    ((struct mot_shape){sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}})
#endif

size_t
mot_shape_count(struct mot_shape shape); /* the product of the dimensions; SIZE_MAX if too large */

/* ---- devices --------------------------------------------------------------------------------- */

typedef struct mot_inventory mot_inventory; /* what was found; immutable, any thread */
typedef struct mot_fleet mot_fleet;         /* the opened devices; one thread at a time */

enum mot_device_type { MOT_DEVICE_GPU, MOT_DEVICE_IGPU, MOT_DEVICE_CPU, MOT_DEVICE_OTHER };
const char *mot_device_type_text(enum mot_device_type type);            /* "integrated GPU" */
enum mot_device_class { MOT_CLASS_AUTO, MOT_CLASS_CPU, MOT_CLASS_GPU }; /* which kernels suit it */

struct mot_device_info {
    size_t index; /* in discovery order; what the device language counts */
    char name[128], platform[128], vendor[128], driver[128], version[128];
    char pci[16];  /* "03:00.0"; "" where the driver does not tell */
    char uuid[40]; /* hexadecimal; "" where the driver does not tell */
    enum mot_device_type type;
    enum mot_device_class device_class;
    uint32_t units; /* compute units */
    uint64_t memory_bytes, largest_bytes, local_bytes;
    uint32_t max_group; /* work-items in one group */
    uint32_t max_sub;   /* sub-devices it can be cut into; 0: none */
    bool simulator;     /* Oclgrind: taken only by name or index */
    bool unified;       /* shares the host's memory */
    ptrdiff_t same_as;  /* index of the entry that is the same physical device; -1: none */
    bool chosen;        /* by the device text the inventory was opened with */
    char reason[192];   /* why it was not chosen; "" if it was */
};

struct mot_fleet_config {
    size_t size;           /* of this struct */
    const char *devices;   /* the device language; NULL: $MOTLEY_DEVICES, else the default policy */
    const char *memory;    /* limits, "0=512M,1=2G" (0/2.1, pci:, name: too) or "1G" for each;
                              NULL: nine tenths of each device's memory */
    const char *cache_dir; /* NULL: $XDG_CACHE_HOME/motley; "": write nothing */
    enum mot_device_class device_class; /* AUTO: by device, or $MOTLEY_CLASS */
    const char *gemm;  /* "auto", "clblast" or "tile"; NULL: $MOTLEY_GEMM, else auto */
    double deadline_s; /* a device silent for so long inside one wait is given up; 0: 60 */
    bool profile;      /* devices tell how long each command took; also $MOTLEY_PROFILE=1 */
    void *world;       /* reserved for MPI; not NULL is MOT_UNSUPPORTED */
};

struct mot_fleet_config mot_fleet_config_default(void);
/* A variable of the environment that is read where the configuration says nothing, and in text
 * (may be NULL) what it does; NULL past the last. */
const char *mot_environment(size_t index, const char **text);

/* Look at every platform and device; opens none. Failing drivers are skipped, with a note. */
mot_status mot_inventory_open(const struct mot_fleet_config *config, mot_inventory **out);
void mot_inventory_close(mot_inventory *inventory);
size_t mot_inventory_count(const mot_inventory *inventory);
const struct mot_device_info *mot_inventory_get(const mot_inventory *inventory, size_t index);
const char *
mot_inventory_notes(const mot_inventory *inventory); /* a line for each oddity; "" if none */

/* Open the chosen devices: one launch thread, context and set of kernels for each, tested against
 * plain C. A device that computes wrongly is left out; none left is MOT_NO_DEVICE. */
mot_status mot_fleet_open(const struct mot_fleet_config *config, mot_fleet **out);
void mot_fleet_close(mot_fleet *fleet); /* after everything that was opened on it */
size_t mot_fleet_count(const mot_fleet *fleet);
const struct mot_device_info *mot_fleet_get(const mot_fleet *fleet, size_t lane);
const char *mot_fleet_label(const mot_fleet *fleet,
                            size_t lane);            /* "0", "0/2.1": as the language says it */
const char *mot_fleet_notes(const mot_fleet *fleet); /* what was left out and why, and which memory
                                                        limits mean no device in use; a line each */

/* Why a GPU that is in the machine is not seen, and the command that cures it. */
struct mot_finding {
    char gpu[160];     /* "Intel 8086:9a49 at 0000:00:02.0, renderD128" */
    bool seen;         /* OpenCL offers it */
    char problem[256]; /* "" if none */
    char cure[256];    /* the command to run; "" if none */
};
typedef struct mot_diagnosis mot_diagnosis;
mot_status mot_diagnosis_open(const char *root,
                              mot_diagnosis **out); /* root: "/"; another in tests */
void mot_diagnosis_close(mot_diagnosis *diagnosis);
size_t mot_diagnosis_count(const mot_diagnosis *diagnosis);
const struct mot_finding *mot_diagnosis_get(const mot_diagnosis *diagnosis, size_t index);
const char *
mot_diagnosis_report(const mot_diagnosis *diagnosis); /* text a stranger can paste into an issue */

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct mot_data mot_data; /* a stream of samples; one thread at a time */
typedef struct mot_batch
    mot_batch; /* rows of one step; freed by mot_batch_close or by the step it went into */

enum mot_dtype { MOT_DTYPE_F32, MOT_DTYPE_U8 }; /* U8 is read as value / 255 */

struct mot_arrays {         /* the caller's memory; must outlive the data unless copied */
    size_t size;            /* of this struct */
    size_t count;           /* samples */
    struct mot_shape shape; /* of one sample */
    enum mot_dtype dtype;
    const void *x;          /* (count, shape) */
    const uint32_t *labels; /* (count), or NULL */
    size_t classes;         /* with labels: every label is below it */
    const float *targets;   /* (count, target_width): one-hot rows or regression, or NULL */
    size_t target_width;
    bool copy; /* keep a copy of our own */
};

struct mot_source { /* samples from a reader of the user's own */
    size_t size;
    size_t count;
    struct mot_shape shape;
    enum mot_dtype dtype;
    size_t classes;      /* labels */
    size_t target_width; /* or rows; one of the two is 0 */
    /* Fill x (rows, shape) and labels (rows) or targets (rows, target_width) for the samples whose
     * numbers are in index. Called on one prefetch thread. Non-zero stops the run. */
    int (*read)(void *user, const uint64_t *index, size_t rows, void *x, uint32_t *labels,
                float *targets);
    void *user;
};

struct mot_arrays mot_arrays_default(void);
mot_status mot_data_arrays(const struct mot_arrays *arrays, mot_data **out);
mot_status mot_data_source(const struct mot_source *source, mot_data **out);
/* IDX files, plain or .gz, under the names of MNIST; either of train and test may be NULL. */
mot_status mot_data_idx(const char *dir, mot_data **train, mot_data **test);
/* Digits drawn by the program: strokes, shifts, rotations, noise; (1, 28, 28), 10 classes. */
mot_status mot_data_digits(uint64_t seed, size_t count, mot_data **out);
/* Waits up to 10 s for a read that is under way; a source that hangs longer is left to itself.
 * Batches still held stay good. */
void mot_data_close(mot_data *data);
/* The SHA-256 of a file, 64 hexadecimal digits: to check what was fetched. */
mot_status mot_file_sha256(const char *path, char hex[65]);

/* How the stream runs; each returns MOT_BAD_STATE once a batch was taken in this epoch. */
/* Keep what a source read: memory from the end of its first whole epoch on. */
mot_status mot_data_cache(mot_data *data);
mot_status mot_data_shuffle(mot_data *data, uint64_t seed);   /* a new order each epoch */
mot_status mot_data_batch(mot_data *data, size_t rows);       /* default 32 */
mot_status mot_data_prefetch(mot_data *data, size_t batches); /* read ahead; default 4 */

size_t mot_data_count(const mot_data *data);
struct mot_shape mot_data_shape(const mot_data *data);
size_t mot_data_classes(const mot_data *data);
/* The next batch of this epoch; *out = NULL at its end, and the next call begins the next epoch. */
mot_status mot_data_next(mot_data *data, mot_batch **out);
mot_status mot_data_rewind(mot_data *data, uint64_t epoch); /* to the first batch of that epoch */
void mot_batch_close(mot_batch *batch);
size_t mot_batch_rows(const mot_batch *batch);

/* ---- networks -------------------------------------------------------------------------------- */

typedef struct mot_model
    mot_model; /* layers and how they start; knows no device; one thread at a time */

enum mot_act {
    MOT_ACT_NONE,
    MOT_ACT_RELU,
    MOT_ACT_LEAKY_RELU,
    MOT_ACT_GELU,
    MOT_ACT_SIGMOID,
    MOT_ACT_TANH,
    MOT_ACT_SOFTMAX
};
enum mot_init { /* of weights; biases start at zero. Glorot's uniform one is the default, as in
                   Keras */
                MOT_INIT_GLOROT,
                MOT_INIT_HE,
                MOT_INIT_NORMAL /* deviation 0.05 */,
                MOT_INIT_ZERO
};

mot_status mot_model_open(mot_model **out);
void mot_model_close(mot_model *net);
mot_status mot_model_input(mot_model *net, struct mot_shape shape);
mot_status mot_model_dense(mot_model *net, size_t units, enum mot_act act);
mot_status mot_model_activation(mot_model *net, enum mot_act act);
mot_status mot_model_dropout(mot_model *net, double rate);
mot_status mot_model_flatten(mot_model *net);
mot_status mot_model_mark(mot_model *net, const char *name);   /* remember this place */
mot_status mot_model_goto(mot_model *net, const char *name);   /* go on from there */
mot_status mot_model_add(mot_model *net, const char *name);    /* join it back: this + that */
mot_status mot_model_init(mot_model *net, enum mot_init init); /* for the layers that follow */
/* The same from text, "input 784, dense 64 relu, dense 10", or a preset: mlp10 mlp64 mlp512. */
mot_status mot_model_text(mot_model *net, const char *text);
const char *mot_preset(size_t index, const char **text); /* the preset's name; NULL past the last */
size_t mot_model_layers(const mot_model *net);
struct mot_shape mot_model_output(const mot_model *net);
size_t mot_model_parameters(const mot_model *net); /* how many numbers are learned */

/* ---- training -------------------------------------------------------------------------------- */

typedef struct mot_trainer
    mot_trainer; /* owns the live variables and optimizer state; one thread at a time */
typedef struct mot_replica mot_replica; /* one lane inside mot_trainer_run; only in the callback */

enum mot_strategy {
    MOT_STRATEGY_AUTO,     /* mirrored over the fleet, single with one device; central where not all
                              devices have room for that */
    MOT_STRATEGY_SINGLE,   /* the first device alone */
    MOT_STRATEGY_MIRRORED, /* a copy of the variables on every device */
    MOT_STRATEGY_CENTRAL   /* one copy, and the optimizer's state, on the host; devices hold weights
                              and gradients alone, or where these do not fit some layers' at a time.
                              The same bits as mirrored. With one device the copy is on that device
                              if it fits */
};
enum mot_loss {
    MOT_LOSS_CROSS_ENTROPY,               /* of logits; a softmax at the end is joined with it */
    MOT_LOSS_CROSS_ENTROPY_PROBABILITIES, /* of outputs that are probabilities already */
    MOT_LOSS_MSE                          /* mean over a row's elements */
};
enum mot_rule { MOT_RULE_SGD, MOT_RULE_ADAM, MOT_RULE_ADAMW };

struct mot_optimizer {
    enum mot_rule rule;
    double lr;
    double momentum;              /* SGD */
    bool nesterov;                /* SGD */
    double beta1, beta2, epsilon; /* Adam, AdamW */
    double weight_decay;          /* SGD, Adam: added to the gradient; AdamW: decoupled */
    double clip_norm;             /* of the whole gradient; 0: none */
};
struct mot_optimizer mot_optimizer_default(enum mot_rule rule);

enum mot_on_nan {
    MOT_ON_NAN_STOP, /* nothing after that step is applied; step or metrics fail, once, with
                        MOT_BAD_NUMBER and the note's sentence */
    MOT_ON_NAN_SKIP  /* go on with the next step; metrics count the refused ones */
};

enum mot_on_differ {
    MOT_ON_DIFFER_RESEND, /* the replica gets the variables of the first, or of the majority, anew
                           */
    MOT_ON_DIFFER_STOP    /* the trainer fails with MOT_DEVICE_FAILED */
};

struct mot_trainer_config {
    size_t size;
    enum mot_strategy strategy;
    const char *shares; /* "auto" (by measured speed), "even", "3,1"; NULL: auto */
    enum mot_loss loss;
    struct mot_optimizer optimizer;
    uint64_t seed;     /* of initial values, dropout and shuffling */
    size_t accumulate; /* steps whose gradients add up to one update; 1: each updates */
    size_t verify;     /* every so many steps the replicas' variables are compared; 0: never */
    enum mot_on_differ on_differ; /* what is done where they differ; a note tells which and where */
    enum mot_on_nan on_nan; /* a loss or gradient is not finite; such a step changes nothing */
};
struct mot_trainer_config mot_trainer_config_default(void); /* AUTO, Adam 0.001, cross-entropy */

mot_status mot_trainer_open(mot_fleet *fleet, const mot_model *net,
                            const struct mot_trainer_config *config, mot_trainer **out);
void mot_trainer_close(mot_trainer *trainer);
size_t mot_trainer_replicas(const mot_trainer *trainer);

struct mot_metrics {  /* since the last call of mot_trainer_metrics */
    double loss;      /* mean over the samples */
    double accuracy;  /* 0 to 1; NaN where there are no labels */
    uint64_t count;   /* samples */
    uint64_t steps;   /* applied */
    uint64_t skipped; /* steps the verdict refused: a number that is not finite */
};

/* One step: compute on all replicas, reduce, verdict, update. Takes the batch, whatever comes back.
 * Returns when the step is queued; a failure may be told by a later call. With accumulate = N only
 * every N-th step reduces and updates, as one with a batch N times as large would;
 * mot_trainer_apply ends such a group early, and its gradient is the mean of what was in it. */
mot_status mot_trainer_step(mot_trainer *trainer, mot_batch *batch);
/* Waits; starts anew. MOT_BAD_NUMBER fills *out too, and the trainer goes on when called again. */
mot_status mot_trainer_metrics(mot_trainer *trainer, struct mot_metrics *out);
/* The rows each replica takes of a batch of so many: share (replicas), e.g. 71, 38, 19. */
mot_status mot_trainer_split(const mot_trainer *trainer, size_t rows, size_t *share);

/* Compare the variables of all replicas now, and act as on_differ says. differing (may be NULL):
 * how many differed. Waits. */
mot_status mot_trainer_verify(mot_trainer *trainer, size_t *differing);

/* What happened of its own accord: nothing to act on, but worth a line in a log. One table makes
 * the enum and the names that `motley train --json` gives the kinds. */
#define MOT_NOTE_TABLE(X)                                                                          \
    X(MOT_NOTE_SHARES, "shares") /* the split of a batch changed, or a device was left out */      \
    X(MOT_NOTE_DIFFER, "differ") /* a replica's copy differed from the others' */                  \
    X(MOT_NOTE_NUMBER, "number") /* a loss or gradient was not finite; the step was refused */     \
    X(MOT_NOTE_DEVICE, "device") /* a device behaved as it should not */                           \
    X(MOT_NOTE_MEMORY, "memory") /* variables live elsewhere, for want of room on a device */

#define MOT_NOTE_ENUM(name, text) name,
enum mot_note_kind { MOT_NOTE_TABLE(MOT_NOTE_ENUM) MOT_NOTE_KINDS };
#undef MOT_NOTE_ENUM

struct mot_note {
    enum mot_note_kind kind;
    uint64_t step;      /* counted from 0 since the trainer opened */
    ptrdiff_t replica;  /* -1: none in particular */
    char device[32];    /* its label, "0/2.1"; "" with -1 */
    char parameter[64]; /* "dense1.weight"; "" where none is meant */
    char text[320];     /* the sentence */
};
/* The oldest note not yet taken; false: there is none. The last 32 are kept. mot_fit takes them and
 * tells each as an event. */
bool mot_trainer_note(mot_trainer *trainer, struct mot_note *out);

/* Bytes on one replica's device, as the pool counts them. */
struct mot_bytes {
    uint64_t parameters, gradients, state;
    uint64_t live;       /* the most activations alive at one moment */
    uint64_t arena;      /* allocated for activations */
    uint64_t packs;      /* operands of large products, packed for a library's kernels */
    uint64_t staging;    /* batches on their way */
    uint64_t data;       /* resident samples */
    uint64_t evaluation; /* activations and batches of the test, beside those of training */
    uint64_t other;      /* the verdict, and what other trainers have on this device */
    uint64_t total;      /* all the pool has given out */
    uint64_t peak;       /* the most since the trainer opened, tests of kernels apart */
};

/* What mot_fit would take of one device, and how its share of a batch is made to fit: whole, or as
 * micro-batches whose gradients add up, or with activations computed again in the backward pass.
 * The gradient is the same. */
struct mot_plan {
    size_t rows;          /* its share of a batch */
    size_t micro, micros; /* rows at a time, and how many times */
    bool recompute;       /* activations are computed again */
    size_t windows;       /* weights and gradients stream through so many each; 0: all stay there */
    uint64_t limit;       /* of its memory */
    struct mot_bytes bytes;
    uint64_t host; /* of the host's memory, for all devices together: central storage; else 0 */
    char why[256]; /* "4 micro-batches of 512, since 2048 rows need 96 MiB and ..." */
};

/* A loop of the user's own: fn(replica, shard, user) on each replica's thread, in parallel; once
 * for each micro-batch of a share that does not fit its device at once.
 * Gradients add up over runs until mot_trainer_apply reduces them and updates. Non-zero from fn
 * stops: the run fails and what had added up is dropped; the trainer stays as it was. After
 * MOT_DEVICE_LOST a function that hangs in a driver may still come back: keep what it uses. */
struct mot_shard {
    size_t replica, rows; /* rows may be 0 */
    size_t first;         /* row of the batch this shard starts at */
};
typedef int (*mot_replica_fn)(mot_replica *replica, const struct mot_shard *shard, void *user);
mot_status mot_trainer_run(mot_trainer *trainer, mot_batch *batch, mot_replica_fn fn, void *user);
mot_status mot_trainer_apply(mot_trainer *trainer);
/* On the shard, in training mode; serves one backward pass. */
mot_status mot_replica_forward(mot_replica *replica);
mot_status mot_replica_output(mot_replica *replica, float *out);     /* (rows, outputs); waits */
mot_status mot_replica_backward(mot_replica *replica, double scale); /* of the configured loss */
mot_status mot_replica_backward_from(mot_replica *replica,
                                     const float *dy); /* d loss / d output, a sum */
enum mot_reduce { MOT_REDUCE_SUM, MOT_REDUCE_MEAN };
/* value (replicas, count), one row from each replica, to out (count). */
mot_status mot_trainer_reduce(mot_trainer *trainer, enum mot_reduce how, const float *value,
                              size_t count, float *out);
mot_status mot_trainer_lr(mot_trainer *trainer, double lr); /* from the next step on */

/* Parameters by name, "dense1.weight"; canonical row-major. */
size_t mot_trainer_parameters(const mot_trainer *trainer);
mot_status mot_trainer_parameter(const mot_trainer *trainer, size_t index, const char **name,
                                 struct mot_shape *shape);
mot_status mot_trainer_get(mot_trainer *trainer, const char *name, float *out, size_t count);
mot_status mot_trainer_set(mot_trainer *trainer, const char *name, const float *value,
                           size_t count);
/* The same from one replica only: to see that the copies agree. */
mot_status mot_trainer_get_from(mot_trainer *trainer, size_t replica, const char *name, float *out,
                                size_t count);

mot_status mot_weights_save(mot_trainer *trainer, const char *path); /* safetensors, atomically */
mot_status mot_weights_load(mot_trainer *trainer, const char *path); /* all or nothing */

/* ---- the loop -------------------------------------------------------------------------------- */

enum mot_event_kind {
    MOT_EVENT_START,
    MOT_EVENT_PROGRESS,
    MOT_EVENT_EPOCH,
    MOT_EVENT_END,
    MOT_EVENT_NOTE, /* at any time after START: something worth a line happened */
    MOT_EVENT_STEP  /* a step was queued; the figures are those of the last PROGRESS */
};

struct mot_event { /* valid during the callback */
    enum mot_event_kind kind;
    size_t epoch, epochs; /* epoch counts from 1 */
    size_t step, steps;   /* in this epoch */
    size_t batch, replicas, parameters, samples, test_samples;
    size_t accumulate;               /* steps to one update */
    const size_t *share;             /* (replicas): rows of a whole batch on each, by now */
    double loss, accuracy;           /* this epoch so far */
    double test_loss, test_accuracy; /* NaN without test data */
    double samples_per_s, seconds, seconds_left;
    const mot_fleet *fleet;
    const struct mot_note *note; /* of NOTE; else NULL */
};
typedef int (*mot_event_fn)(const struct mot_event *event,
                            void *user); /* non-zero: stop, keeping what was learned */

struct mot_fit_config {
    size_t size;
    size_t epochs;
    size_t batch;  /* rows of one step over all replicas; 0: what mot_data_batch said */
    bool shuffle;  /* train data, seeded by the trainer's seed */
    bool resident; /* keep data that fits on the devices and gather there */
    /* A PROGRESS event about this often, at most every fourth step, and after the last; 0: none.
     * Each waits for the devices. INFINITY: after the last step alone. */
    double progress_s;
    bool steps; /* a STEP event after each, which waits for nothing: for who may want to stop */
    mot_event_fn on_event;
    void *user;
};
struct mot_fit_config mot_fit_config_default(void); /* 1 epoch, batch 128, shuffle, resident */

struct mot_history { /* the caller frees row with mot_history_clear */
    size_t count;
    struct mot_history_row {
        double loss, accuracy, test_loss, test_accuracy, samples_per_s, seconds;
    } * row; /* one for each finished epoch */
};
void mot_history_clear(struct mot_history *history);

/* Train; test and history may be NULL. MOT_STOPPED if a callback asked. */
mot_status mot_fit(mot_trainer *trainer, mot_data *train, mot_data *test,
                   const struct mot_fit_config *config, struct mot_history *history);
/* What that would take, without training: plan (replicas). MOT_NO_MEMORY tells what would do. */
mot_status mot_fit_plan(mot_trainer *trainer, mot_data *train, mot_data *test,
                        const struct mot_fit_config *config, struct mot_plan *plan);
mot_status mot_evaluate(mot_trainer *trainer, mot_data *data, struct mot_metrics *out);
/* Outputs (count, outputs) of all samples in their order; softmax applied where the net ends in it.
 */
mot_status mot_predict(mot_trainer *trainer, mot_data *data, float *out, size_t count);
int mot_print_event(const struct mot_event *event, void *stream); /* Keras-like lines on a FILE * */

#ifdef __cplusplus
}
#endif
#endif
