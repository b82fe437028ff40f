/* tune.c - motley tune: each part measures one choice and says which suits. */
#include "cli/tune.h"

#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>

#define AUTO_S 0.3 /* train --batch auto waits for no long measurement */

struct tune {
    const struct options *options;
    struct session session; /* no trainer: each measurement opens its own */
    struct json json;
};

/* ---- batch ----------------------------------------------------------------------------------- */

static int batch_row(const struct mot_tune_batch *row, void *user)
{
    struct tune *tune = user;
    char text[32];
    size_t i;

    if (tune->options->json) {
        put_object(&tune->json, NULL);
        put_count(&tune->json, "batch", row->batch);
        put_number(&tune->json, "samples_per_s", row->samples_per_s);
        put_array(&tune->json, "bytes");
        for (i = 0; i < row->replicas; i++)
            put_count(&tune->json, NULL, row->bytes[i].peak);
        put_end(&tune->json);
        put_end(&tune->json);
    } else {
        printf("%8zu %12.0f", row->batch, row->samples_per_s);
        for (i = 0; i < row->replicas; i++) {
            say_bytes(row->bytes[i].peak, text);
            printf(" %11s", text);
        }
        putchar('\n');
        fflush(stdout);
    }
    return interrupt_seen();
}

static int run_batch(struct tune *tune)
{
    const struct mot_trainer_config config = session_trainer_config(tune->options);
    struct session *session = &tune->session;
    struct mot_tune_batch pick = {0};
    mot_status status;
    size_t i;

    if (tune->options->json) {
        put_array(&tune->json, "batches");
    } else {
        printf("%8s %12s", "batch", "samples/s");
        for (i = 0; i < mot_fleet_count(session->fleet); i++)
            printf(" %11s", mot_fleet_label(session->fleet, i));
        putchar('\n');
    }
    status = mot_tune_batch(session->fleet, session->net, &config, session->data.train,
                            tune->options->seconds, batch_row, tune, &pick);
    if (tune->options->json)
        put_end(&tune->json);
    if (status != MOT_OK)
        return fail_library(status);
    if (tune->options->json)
        put_count(&tune->json, "batch", pick.batch);
    else
        printf("--batch %zu: the smallest within 5 %% of the best rate\n", pick.batch);
    return EXIT_FINE;
}

int tune_batch(const struct options *options, struct session *session)
{
    const struct mot_trainer_config config = session_trainer_config(options);
    struct mot_tune_batch pick = {0};
    mot_status status = mot_tune_batch(session->fleet, session->net, &config, session->data.train,
                                       AUTO_S, NULL, NULL, &pick);

    if (status != MOT_OK)
        return fail_library(status);
    session->batch = pick.batch;
    if (!options->quiet && !options->json)
        say_note("--batch auto: %zu, the smallest within 5 %% of the best rate (%.0f samples/s)",
                 pick.batch, pick.samples_per_s);
    return 0;
}

/* ---- choices --------------------------------------------------------------------------------- */

static int run_choices(struct tune *tune)
{
    return choices_measure(tune->options, &tune->session, &tune->json);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* A part is asked for by a flag of its own; none asked for is all. */
static const struct part {
    size_t offset; /* of the flag in struct options */
    int (*run)(struct tune *tune);
} parts[] = {
    {offsetof(struct options, tune_choices), run_choices},
    {offsetof(struct options, tune_batch), run_batch},
};

static bool asked(const struct options *options, const struct part *part)
{
    bool flag;

    memcpy(&flag, (const char *)options + part->offset, sizeof flag);
    return flag;
}

static int run_parts(struct tune *tune)
{
    bool all = true;
    int code = 0;
    size_t i;

    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        all = all && !asked(tune->options, &parts[i]);
    for (i = 0; i < sizeof parts / sizeof *parts && code == 0; i++)
        if (all || asked(tune->options, &parts[i]))
            code = parts[i].run(tune);
    return code;
}

/* The data and the network; nothing is measured without them. */
static int open_work(struct tune *tune)
{
    const struct options *options = tune->options;
    const struct dataset_wish wish = {options->data, options->offline, true, options->json};
    struct session *session = &tune->session;
    const int code = dataset_open(&wish, &session->data);
    mot_status status;

    if (code)
        return code;
    status = session_open_net(options->net, mot_data_shape(session->data.train), &session->net);
    return status == MOT_OK ? 0 : fail_library(status);
}

int command_tune(const struct options *options)
{
    const struct mot_fleet_config config = session_fleet_config(options);
    struct tune tune = {.options = options, .json = {.out = stdout}};
    mot_fleet **fleet = &tune.session.fleet;
    mot_status status;
    int code;

    status = mot_fleet_open(&config, fleet);
    interrupt_watch();
    code = status == MOT_OK ? 0 : fail_library(status);
    if (code == 0 && !options->show && !options->forget)
        code = open_work(&tune);
    if (code == 0) {
        if (options->json)
            put_object(&tune.json, NULL);
        code = options->show     ? choices_show(options, *fleet, &tune.json)
               : options->forget ? choices_forget(options, *fleet, &tune.json)
                                 : run_parts(&tune);
        if (options->json)
            put_end(&tune.json);
    }
    session_close(&tune.session);
    return code;
}
