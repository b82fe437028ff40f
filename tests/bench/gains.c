/* gains.c - for each verdict of `train --why`: bring its cause about, read the predicted gain of
 * the cure, apply the cure, measure, three times by turns. Not a test: what it says of an unlike
 * machine or a busy one is about that machine. It is run by gains.sh, which sets the OpenCL layer
 * for the rows that want one.
 *
 *   gains ROW    one of the table below; 1 where prediction and cure are a quarter apart */
#include <motley/bench.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 256
#define LANES_MOST 4
#define SAMPLES 8192
#define TURNS 3

struct row {
    const char *name;
    enum mot_limit_kind kind;
    const char *devices, *net, *shares;
    size_t batch;
    int nap_ms; /* of the source, a batch */
    enum mot_strategy strategy;
};

static const struct row rows[] = {
    {"input", MOT_LIMIT_INPUT, "0", "dense 512 relu, dense 10", "even", 512, 3, MOT_STRATEGY_AUTO},
    {"launch", MOT_LIMIT_LAUNCH, "0", "dense 64 relu, dense 10", "even", 8, 0, MOT_STRATEGY_AUTO},
    {"start", MOT_LIMIT_BATCH, "0", "dense 64 relu, dense 10", "even", 8, 0, MOT_STRATEGY_AUTO},
    {"batch", MOT_LIMIT_BATCH, "0", "dense 64 relu, dense 10", "even", 8, 0, MOT_STRATEGY_AUTO},
    {"batch-2", MOT_LIMIT_BATCH, "0/2", "dense 64 relu, dense 10", "even", 32, 0,
     MOT_STRATEGY_AUTO},
    {"many", MOT_LIMIT_MANY, "0,1", "dense 64 relu, dense 10", "even", 8, 0, MOT_STRATEGY_AUTO},
    {"alone", MOT_LIMIT_MANY, "0,1", "dense 256 relu, dense 64 relu, dense 10", "even", 8, 0,
     MOT_STRATEGY_CENTRAL},
    {"waiting", MOT_LIMIT_WAITING, "0,1", "dense 64 relu, dense 10", "even", 16, 0,
     MOT_STRATEGY_AUTO},
    {"host", MOT_LIMIT_HOST, "0/2", "dense 1024 relu, dense 256 relu, dense 10", "even", 8, 0,
     MOT_STRATEGY_CENTRAL},
    {"device", MOT_LIMIT_DEVICE, "0,1", "dense 256 relu, dense 256 relu, dense 10", "even", 256, 0,
     MOT_STRATEGY_AUTO},
    {"shares", MOT_LIMIT_DEVICE, "0,1", "dense 512 relu, dense 512 relu, dense 10", "even", 1024, 0,
     MOT_STRATEGY_AUTO},
    {"link-1", MOT_LIMIT_LINK, "0,1", "dense 512 relu, dense 256 relu, dense 10", "even", 64, 0,
     MOT_STRATEGY_AUTO},
    {"link", MOT_LIMIT_LINK, "0,1", "dense 512 relu, dense 256 relu, dense 10", "even", 64, 0,
     MOT_STRATEGY_AUTO},
};

struct run { /* what a cure may change */
    const char *devices, *shares;
    size_t batch, accumulate;
    int nap_ms;
};

struct measured {
    double samples_per_s;
    struct mot_cure cure[MOT_CURES];
    size_t cures;
};

static void check(mot_status status)
{
    if (status == MOT_OK)
        return;
    fprintf(stderr, "gains: %s\n", mot_error());
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int read_rows(void *user, const uint64_t *index, size_t count, void *x, uint32_t *labels,
                     float *targets)
{
    const struct timespec nap = {0, *(int *)user * 1000000L};
    static float noise[2 * WIDTH];
    size_t i;

    (void)targets;
    if (nap.tv_nsec > 0)
        nanosleep(&nap, NULL);
    for (i = 0; noise[1] == 0 && i < 2 * WIDTH; i++)
        noise[i] = (float)(i * 7 % 97) / 97.0f;
    for (i = 0; i < count; i++)
        memcpy((float *)x + i * WIDTH, noise + index[i] % WIDTH, WIDTH * sizeof *noise);
    for (i = 0; i < count; i++)
        labels[i] = (uint32_t)(index[i] % 10);
    return 0;
}

static void steps_for(mot_trainer *trainer, mot_data *data, double seconds, size_t *samples)
{
    const double end = now_s() + seconds;
    struct mot_metrics metrics;
    mot_batch *batch;
    size_t steps;

    for (*samples = 0, steps = 0; steps < 24 || now_s() < end; steps++) {
        for (batch = NULL; !batch;)
            check(mot_data_next(data, &batch));
        *samples += mot_batch_rows(batch);
        check(mot_trainer_step(trainer, batch));
    }
    check(mot_trainer_metrics(trainer, &metrics));
}

static void reckon(mot_trainer *trainer, mot_fleet *fleet, const mot_model *net,
                   const struct run *run, struct mot_breakdown *part, struct measured *out)
{
    const char *label[LANES_MOST];
    size_t share[LANES_MOST], i;
    struct mot_reckoning r = {.replicas = mot_trainer_replicas(trainer),
                              .batch = run->batch,
                              .parameters = mot_model_parameters(net),
                              .samples_per_s = out->samples_per_s,
                              .share = share,
                              .part = part,
                              .label = label,
                              .shares_auto = strcmp(run->shares, "auto") == 0,
                              .unified = mot_fleet_get(fleet, 0)->unified, /* all are alike */
                              .state = 2,                                  /* Adam's */
                              .accumulate = run->accumulate};

    check(mot_trainer_split(trainer, run->batch, share));
    for (i = 0; i < r.replicas; i++)
        label[i] = mot_fleet_label(fleet, i);
    out->cures = mot_bench_limit(&r, out->cure);
}

static void measure(const struct row *row, const struct run *run, double seconds,
                    struct measured *out)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    struct mot_fleet_config fleet_config = mot_fleet_config_default();
    int nap_ms = run->nap_ms;
    const struct mot_source source = {.size = sizeof source,
                                      .count = SAMPLES,
                                      .shape = MOT_SHAPE(WIDTH),
                                      .dtype = MOT_DTYPE_F32,
                                      .classes = 10,
                                      .read = read_rows,
                                      .user = &nap_ms};
    struct mot_breakdown part[LANES_MOST];
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *data = NULL;
    mot_trainer *trainer = NULL;
    size_t samples;
    double began;

    fleet_config.devices = run->devices;
    fleet_config.profile = true;
    check(mot_fleet_open(&fleet_config, &fleet));
    check(mot_data_source(&source, &data));
    if (!nap_ms)
        check(mot_data_cache(data));
    check(mot_data_batch(data, run->batch));
    check(mot_model_open(&net));
    check(mot_model_input(net, MOT_SHAPE(WIDTH)));
    check(mot_model_text(net, row->net));
    config.strategy = row->strategy;
    config.shares = run->shares;
    config.accumulate = run->accumulate;
    check(mot_trainer_open(fleet, net, &config, &trainer));
    steps_for(trainer, data, seconds / 2, &samples);
    check(mot_bench_breakdown(trainer, part));
    began = now_s();
    steps_for(trainer, data, seconds, &samples);
    out->samples_per_s = (double)samples / (now_s() - began);
    check(mot_bench_breakdown(trainer, part));
    check(mot_bench_steady(trainer, part));
    reckon(trainer, fleet, net, run, part, out);
    mot_trainer_close(trainer);
    mot_model_close(net);
    mot_data_close(data);
    mot_fleet_close(fleet);
}

static struct run cured(struct run run, const char *cure)
{
    if (strncmp(cure, "--batch ", 8) == 0)
        run.batch = (size_t)strtoul(cure + 8, NULL, 10);
    else if (strncmp(cure, "--accumulate ", 13) == 0)
        run.accumulate = (size_t)strtoul(cure + 13, NULL, 10);
    else if (strncmp(cure, "--devices ", 10) == 0)
        run.devices = cure + 10;
    else if (strcmp(cure, "--shares auto") == 0)
        run.shares = "auto";
    else
        run.nap_ms = 0;
    return run;
}

/* One cause, one kind; but which part of a small batch is the larger one is the machine's affair,
 * and whether of too many devices one looks slow: the advice is told once. */
static bool is_of(const struct row *row, const struct mot_cure *cure)
{
    const bool small = row->kind == MOT_LIMIT_LAUNCH || row->kind == MOT_LIMIT_BATCH;

    if (small && (cure->kind == MOT_LIMIT_LAUNCH || cure->kind == MOT_LIMIT_BATCH))
        return true;
    if (row->kind == MOT_LIMIT_MANY && cure->kind == MOT_LIMIT_DEVICE)
        return strncmp(cure->cure, "--devices ", 10) == 0;
    return cure->kind == row->kind;
}

/* False: the cause was not told. */
static bool turn(const struct row *row, double seconds, struct mot_cure *cure, double *came)
{
    struct run run = {row->devices, row->shares, row->batch, 1, row->nap_ms};
    struct measured before, after;
    size_t i;

    measure(row, &run, seconds, &before);
    for (i = 0; i < before.cures && !is_of(row, &before.cure[i]); i++)
        ;
    if (i == before.cures) {
        printf("%-8s not told; first: %s\n", row->name, before.cure[0].sentence);
        return false;
    }
    *cure = before.cure[i];
    run = cured(run, cure->cure);
    measure(row, &run, seconds, &after);
    *came = after.samples_per_s / before.samples_per_s;
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const double seconds = getenv("SECONDS_EACH") ? atof(getenv("SECONDS_EACH")) : 1;
    const struct row *row = NULL;
    double predicted[TURNS], came[TURNS], ratio[TURNS];
    struct mot_cure cure;
    size_t i;

    for (i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(argv[1], rows[i].name) == 0)
            row = &rows[i];
    if (!row) {
        fprintf(stderr, "usage: gains ROW; see gains.sh\n");
        return 2;
    }
    for (i = 0; i < TURNS; i++) {
        if (!turn(row, seconds, &cure, &came[i]))
            return 1;
        predicted[i] = cure.gain;
        ratio[i] = predicted[i] / came[i];
    }
    qsort(predicted, TURNS, sizeof *predicted, by_value);
    qsort(came, TURNS, sizeof *came, by_value);
    qsort(ratio, TURNS, sizeof *ratio, by_value);
    printf("%-8s %-16s predicted %6.2f  came %6.2f  ratio %5.2f  %s\n", row->name, cure.cure,
           predicted[TURNS / 2], came[TURNS / 2], ratio[TURNS / 2], cure.sentence);
    return ratio[TURNS / 2] > 0.75 && ratio[TURNS / 2] < 1.25 ? 0 : 1;
}
