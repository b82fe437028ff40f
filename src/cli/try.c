/* try.c - the options with one changed as the cure says, and a bench of them. */
#include "cli/try.h"

#include <math.h>
#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 0.3

static const char *after(const char *text, const char *start)
{
    const size_t length = strlen(start);

    return strncmp(text, start, length) == 0 ? text + length : NULL;
}

/* False: no option does that. */
static bool apply(const char *cure, struct options *options)
{
    const char *value;

    if ((value = after(cure, "--batch ")) != NULL)
        options->batch = (size_t)strtoul(value, NULL, 10);
    else if ((value = after(cure, "--accumulate ")) != NULL)
        options->accumulate = (size_t)strtoul(value, NULL, 10);
    else if ((value = after(cure, "--shares ")) != NULL)
        options->shares = value;
    else if ((value = after(cure, "--devices ")) != NULL)
        options->devices = value;
    else if ((value = after(cure, "--strategy central")) != NULL)
        options->strategy = MOT_STRATEGY_CENTRAL; /* choices in the enum's order */
    return value != NULL;
}

double try_cure(const struct options *options, const struct session *session, const char *cure)
{
    struct options changed = *options;
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_trainer_config trainer;
    struct mot_fleet_config devices;
    const struct dataset_wish wish = {options->data, true, true, true};
    struct mot_bench_train result = {.samples_per_s = NAN};
    struct dataset data = {0};
    mot_fleet *own = NULL;
    mot_status status = MOT_OK;

    changed.batch = session->batch;
    if ((cure && !apply(cure, &changed)) || dataset_open(&wish, &data) != 0)
        return NAN;
    trainer = session_trainer_config(&changed);
    devices = session_fleet_config(&changed);
    devices.profile = true; /* as in the run */
    config.seconds = SECONDS;
    config.resident = true;
    if (changed.devices != options->devices)
        status = mot_fleet_open(&devices, &own);
    if (status == MOT_OK)
        status = mot_data_shuffle(data.train, changed.seed);
    if (status == MOT_OK)
        status = mot_data_batch(data.train, changed.batch);
    if (status == MOT_OK)
        status = mot_bench_train(own ? own : session->fleet, session->net, &trainer, data.train,
                                 &config, &result, NULL);
    dataset_close(&data);
    mot_fleet_close(own);
    return status == MOT_OK ? result.samples_per_s : NAN;
}
