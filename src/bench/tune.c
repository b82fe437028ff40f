/* tune.c - measure what can be chosen, in an order in which each figure is taken with the choices
 * before it: products, staging, sums of gradients, CLBlast's parameters. */
#include "bench/tune.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECONDS 1.0

struct mot_tune_config mot_tune_config_default(void)
{
    return (struct mot_tune_config){.size = sizeof(struct mot_tune_config), .seconds = SECONDS};
}

static const char *key_of(const mot_fleet *fleet, size_t lane)
{
    return mot__device_facts(mot__lane_device(mot__fleet_lane(fleet, lane)))->key;
}

bool mot__tune_first(const mot_fleet *fleet, size_t lane)
{
    size_t i;

    for (i = 0; i < lane; i++)
        if (strcmp(key_of(fleet, i), key_of(fleet, lane)) == 0)
            return false;
    return true;
}

mot_status mot__tune_tell(struct mot__tuner *tuner, struct mot_tune_trial trial, double cost)
{
    const double elapsed = mot__clock_s() - tuner->began_s;

    tuner->spent += cost;
    trial.done = tuner->spent / tuner->planned;
    if (!(trial.done < 1 - 1e-9)) /* sums of seconds are not exact */
        trial.done = 1;
    trial.seconds_left = elapsed / trial.done * (1 - trial.done);
    if (tuner->config.on_trial && tuner->config.on_trial(&trial, tuner->config.user) != 0)
        return mot__fail(MOT_STOPPED, "stopped while tuning %s", trial.what);
    return MOT_OK;
}

bool mot__tune_out(mot_status status)
{
    return status == MOT_UNSUPPORTED || status == MOT_DEVICE_FAILED || status == MOT_NO_MEMORY;
}

struct keeping {
    char what[MOT__GEMM_WHAT]; /* the longest of names */
    struct mot__tuned tuned;
};

static mot_status job_keep(mot__lane *lane, void *user, void *payload)
{
    const struct keeping *keeping = user;

    (void)payload;
    return mot__tuned_set(mot__lane_device(lane), keeping->what, &keeping->tuned);
}

mot_status mot__tune_keep(mot_fleet *fleet, size_t lane, const char *what, struct mot__tuned tuned)
{
    struct keeping keeping = {.tuned = tuned};

    mot__text_into(keeping.what, sizeof keeping.what, "%s", what);
    keeping.tuned.when = (uint64_t)time(NULL);
    return mot__fleet_call(fleet, lane, job_keep, &keeping, sizeof keeping);
}

static mot_status job_anew(mot__lane *lane, void *user, void *payload)
{
    (void)user, (void)payload;
    mot__gemm_anew(mot__lane_device(lane));
    return MOT_OK;
}

mot_status mot_tune(mot_fleet *fleet, const mot_model *net, const struct mot_trainer_config *config,
                    mot_data *data, size_t batch, const struct mot_tune_config *tune)
{
    const struct mot_trainer_config usual = mot_trainer_config_default();
    struct mot__tuner tuner = {.fleet = fleet,
                               .net = net,
                               .trainer = config ? config : &usual,
                               .data = data,
                               .batch = batch,
                               .config = mot_tune_config_default(),
                               .began_s = mot__clock_s()};
    mot__tune_products *products = NULL;
    mot_status status = MOT_OK;
    size_t lane;

    if (!fleet || !net || !data)
        return mot__fail(MOT_BAD_ARG, "mot_tune: fleet, network or data is NULL");
    if (batch == 0)
        return mot__fail(MOT_BAD_ARG, "mot_tune: batches of 0 rows");
    if (batch > mot_data_count(data)) /* nor could any candidate be tried on so many */
        return mot__fail(MOT_BAD_ARG, "mot_tune: batches of %zu rows, but there are %zu samples",
                         batch, mot_data_count(data));
    MOT_TRY(mot__config_check(tuner.trainer, sizeof *config, "mot_trainer_config"));
    MOT_TRY(mot__config_take(tune, sizeof *tune, "mot_tune_config", &tuner.config));
    if (!(tuner.config.seconds > 0))
        tuner.config.seconds = SECONDS;
    MOT_TRY(mot__tune_products_open(&tuner, &products));
    mot__tune_steps_plan(&tuner);
    MOT_TRY(mot__tune_products_run(products));
    for (lane = 0; lane < mot_fleet_count(fleet); lane++)
        MOT_TRY(mot__fleet_call(fleet, lane, job_anew, NULL, 0));
    MOT_TRY(mot__tune_steps_run(&tuner));
    MOT_TRY(mot__tune_products_sets(products));
    MOT_TRY(mot_data_rewind(data, 0));
done:
    if (mot__fleet_idle(fleet))
        mot__tune_products_close(products);
    return status;
}
