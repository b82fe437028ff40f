/* train.c - a training configuration, measured: rate, first step, where the time and the bytes go.
 */
#include "base/clock.h"
#include "base/config.h"
#include "base/median.h"
#include "bench/explain.h"
#include "strategy/prepare.h"
#include "train/trainer.h"

#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 5.0
#define WINDOWS 5
#define WARM_STEPS 20
#define SETTLE_TIMES 3 /* as long as shares shall stand: for more nobody waits */
#define SETTLE_PARTS 10

struct mot_bench_config mot_bench_config_default(void)
{
    return (struct mot_bench_config){
        .size = sizeof(struct mot_bench_config), .seconds = SECONDS, .windows = WINDOWS};
}

/* ---- where the time goes ---- */

mot_status mot_bench_breakdown(mot_trainer *trainer, struct mot_breakdown *part)
{
    const size_t replicas = mot_trainer_replicas(trainer);
    struct mot__spent *spent = calloc(replicas, sizeof *spent);
    mot_status status = MOT_OK;
    double now;
    size_t i;

    if (!spent)
        return mot__fail(MOT_NO_MEMORY, "%zu replicas' times", replicas);
    MOT_TRY(mot__engine_spent(trainer->engine, spent));
    now = mot__clock_s();
    for (i = 0; i < replicas; i++)
        part[i] = mot__explain(&spent[i], now - trainer->spent_s);
    trainer->spent_s = now;
done:
    free(spent);
    return status;
}

mot_status mot_bench_steady(mot_trainer *trainer, struct mot_breakdown *part)
{
    const size_t replicas = mot_trainer_replicas(trainer);
    struct mot__steady *steady = calloc(replicas, sizeof *steady);
    struct mot__spent *spent = calloc(replicas, sizeof *spent);
    mot_status status = MOT_OK;
    size_t i;

    if (!steady || !spent) {
        status = mot__fail(MOT_NO_MEMORY, "%zu replicas' times", replicas);
        goto done;
    }
    MOT_TRY(mot__engine_steady(trainer->engine, steady));
    for (i = 0; i < replicas; i++) {
        part[i].steady = steady[i].near;
        part[i].steady_far = steady[i].far;
        part[i].cold = steady[i].cold;
        part[i].steady_upload = steady[i].upload;
    }
    MOT_TRY(mot__engine_spent(trainer->engine, spent)); /* forget the trials */
    trainer->spent_s = mot__clock_s();
done:
    free(steady);
    free(spent);
    return status;
}

mot_status mot_bench_bytes(mot_trainer *trainer, size_t index, struct mot_bytes *out)
{
    const struct mot__common *common = mot__engine_common(trainer->engine);

    if (index >= common->replicas)
        return mot__fail(MOT_BAD_ARG, "replica %zu of %zu", index, common->replicas);
    mot__replica_bytes(mot__engine_replica(trainer->engine, index), out);
    return MOT_OK;
}

/* ---- rates ---- */

struct run {
    mot_trainer trainer;
    mot_data *data;
    const struct mot_bench_config *config;
    struct mot_bench_train *out;
};

static mot_status step(struct run *run, size_t *rows)
{
    mot_batch *batch = NULL;
    mot_status status = MOT_OK;

    while (!batch) { /* NULL is the end of an epoch */
        status = mot_data_next(run->data, &batch);
        if (status != MOT_OK)
            return status;
    }
    *rows = batch->rows;
    return mot__engine_step(run->trainer.engine, batch);
}

/* Steps for so long, at least so many; waits for them. */
static mot_status steps_for(struct run *run, double seconds, size_t least, size_t *samples)
{
    const double end = mot__clock_s() + seconds;
    struct mot_metrics metrics;
    mot_status status = MOT_OK;
    size_t done = 0, rows;

    *samples = 0;
    while (done < least || mot__clock_s() < end) {
        MOT_TRY(step(run, &rows));
        *samples += rows;
        done++;
    }
    MOT_TRY(mot__engine_metrics(run->trainer.engine, &metrics));
    run->out->steps += done;
done:
    return status;
}

/* Go on until automatic shares have stood for so long. */
static mot_status settle(struct run *run, double seconds)
{
    const double end = mot__clock_s() + SETTLE_TIMES * seconds;
    const mot__engine *engine = run->trainer.engine;
    mot_status status = MOT_OK;
    size_t samples;

    while (status == MOT_OK && mot__clock_s() < end &&
           mot__clock_s() < mot__engine_shared_s(engine) + seconds)
        status = steps_for(run, seconds / SETTLE_PARTS, 1, &samples);
    return status;
}

static mot_status measure(struct run *run, mot_fleet *fleet, struct mot_breakdown *part)
{
    const size_t windows = run->config->windows ? run->config->windows : WINDOWS;
    const double seconds = run->config->seconds > 0 ? run->config->seconds : SECONDS;
    double *rate = calloc(windows, sizeof *rate), began;
    mot_status status = MOT_OK;
    size_t i, samples;

    if (!rate)
        return mot__fail(MOT_NO_MEMORY, "%zu windows", windows);
    MOT_TRY(steps_for(run, seconds / 10, WARM_STEPS, &samples));
    MOT_TRY(settle(run, run->config->settle));
    MOT_TRY(mot_bench_counts(fleet, 0, &run->out->count));
    if (part)
        MOT_TRY(mot_bench_breakdown(&run->trainer, part));
    run->out->steps = 0;
    for (i = 0; i < windows; i++) {
        began = mot__clock_s();
        MOT_TRY(steps_for(run, seconds / (double)windows, 1, &samples));
        rate[i] = (double)samples / (mot__clock_s() - began);
    }
    if (part)
        MOT_TRY(mot_bench_breakdown(&run->trainer, part));
    MOT_TRY(mot_bench_counts(fleet, 0, &run->out->count));
    run->out->samples_per_s = mot__median(rate, windows); /* and sorted */
    run->out->slowest = rate[0];
    run->out->fastest = rate[windows - 1];
done:
    free(rate);
    return status;
}

/* Which strategy it came to, and who takes part: automatic ones may change on the way. */
static void tell_strategy(const struct run *run)
{
    const mot__engine *engine = run->trainer.engine;
    size_t i;

    run->out->strategy = mot__engine_common(engine)->strategy->name;
    for (i = 0; i < run->out->replicas; i++) {
        const mot_replica *replica = mot__engine_replica(engine, i);

        if (replica->windows)
            run->out->strategy = mot__strategy_of(replica)->name;
        if (run->config->used)
            run->config->used[i] = replica->seat != MOT__NO_SEAT;
    }
}

mot_status mot_bench_train(mot_fleet *fleet, const mot_model *net,
                           const struct mot_trainer_config *config, mot_data *data,
                           const struct mot_bench_config *bench, struct mot_bench_train *out,
                           struct mot_breakdown *part)
{
    const double began = mot__clock_s();
    struct run run = {.data = data, .config = bench, .out = out};
    mot_status status = MOT_OK;
    struct mot_metrics metrics;
    size_t rows;

    memset(out, 0, sizeof *out);
    MOT_TRY(mot__config_check(config, sizeof *config, "mot_trainer_config"));
    MOT_TRY(mot__config_check(bench, sizeof *bench, "mot_bench_config"));
    MOT_TRY(mot__engine_open_by(fleet, net, config, bench->alone ? &mot__strategy_single : NULL,
                                &run.trainer.engine));
    MOT_TRY(mot__engine_prepare(run.trainer.engine, mot__data_samples(data), mot__data_rows(data),
                                true, bench->resident));
    MOT_TRY(mot_bench_counts(fleet, 0, &out->first)); /* starts anew */
    MOT_TRY(step(&run, &rows));
    MOT_TRY(mot__engine_metrics(run.trainer.engine, &metrics));
    out->first_step_s = mot__clock_s() - began;
    MOT_TRY(mot_bench_counts(fleet, 0, &out->first));
    out->batch = mot__data_rows(data);
    out->replicas = mot_trainer_replicas(&run.trainer);
    MOT_TRY(measure(&run, fleet, part));
    tell_strategy(&run);
    MOT_TRY(mot_bench_bytes(&run.trainer, 0, &out->bytes));
    for (rows = 0; bench->bytes && rows < out->replicas; rows++)
        MOT_TRY(mot_bench_bytes(&run.trainer, rows, &bench->bytes[rows]));
done:
    mot__engine_close(run.trainer.engine);
    return status;
}
