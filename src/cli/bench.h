/* bench.h - what the parts of motley bench share: one file for each thing that is measured. */
#ifndef MOT_CLI_BENCH_H
#define MOT_CLI_BENCH_H

#include "cli/json.h"
#include "cli/session.h"

struct bench {
    const struct options *options;
    struct session session; /* no trainer: each measurement opens its own */
    struct json json;
    double limit; /* samples/s; NAN: not known */
};

/* As told, or as the peers have it for that network. */
size_t bench_batch(const struct bench *bench, const char *net);
bool bench_people(const struct bench *bench); /* a table, not JSON, is wanted */
/* devices NULL: those of the options. */
mot_status bench_open_fleet(const struct bench *bench, const char *devices, mot_fleet **out);
/* The data and the network; 0, or an exit code after the sentence. */
int bench_open_data(struct bench *bench);
struct mot_trainer_config bench_trainer(const struct bench *bench);
void bench_tell_what(struct bench *bench); /* net, batch, data */
/* For the document: those in use; used NULL: all that were chosen. */
void bench_tell_devices(struct bench *bench, const bool *used);

/* One figure could not be had, for want of memory or because its kernel failed: the others can. */
bool bench_goes_on(mot_status status);

/* Each prints its table, fills the document and returns an exit code. */
int bench_gemm(struct bench *bench);
int bench_allreduce(struct bench *bench);
int bench_train(struct bench *bench);
int bench_scale(struct bench *bench);

#endif
