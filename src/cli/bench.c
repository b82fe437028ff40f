/* bench.c - motley bench: tables for people, one JSON document for machines. */
#include "cli/bench.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

/* ---- what they share ------------------------------------------------------------------------- */

size_t bench_batch(const struct bench *bench, const char *net)
{
    if (bench->options->batch > 0)
        return bench->options->batch;
    return strcmp(net, "mlp64") == 0 ? 32 : 128;
}

mot_status bench_open_fleet(const struct bench *bench, const char *devices, mot_fleet **out)
{
    struct mot_fleet_config config = session_fleet_config(bench->options);

    if (devices)
        config.devices = devices;
    config.profile = true;
    return mot_fleet_open(&config, out);
}

int bench_open_data(struct bench *bench)
{
    const struct dataset_wish wish = {bench->options->data, bench->options->offline, true, true};
    struct session *session = &bench->session;
    int code = dataset_open(&wish, &session->data);
    mot_status status;

    if (code)
        return code;
    status =
        session_open_net(bench->options->net, mot_data_shape(session->data.train), &session->net);
    if (status == MOT_OK)
        status = mot_data_shuffle(session->data.train, 1);
    if (status == MOT_OK)
        status = mot_data_batch(session->data.train, bench_batch(bench, bench->options->net));
    return status == MOT_OK ? 0 : fail_library(status);
}

struct mot_trainer_config bench_trainer(const struct bench *bench)
{
    struct mot_trainer_config config = mot_trainer_config_default();

    config.strategy = (enum mot_strategy)bench->options->strategy;
    config.shares = bench->options->shares;
    config.seed = 1;
    return config;
}

bool bench_goes_on(mot_status status)
{
    return status == MOT_OK || status == MOT_UNSUPPORTED || status == MOT_NO_MEMORY ||
           status == MOT_DEVICE_FAILED;
}

bool bench_people(const struct bench *bench)
{
    return !bench->options->json;
}

void bench_tell_what(struct bench *bench)
{
    put_text(&bench->json, "net", bench->options->net);
    put_count(&bench->json, "batch", bench_batch(bench, bench->options->net));
    put_text(&bench->json, "data", bench->session.data.name);
    if (bench_people(bench))
        printf("%s, batch %zu, %s\n", bench->options->net, bench_batch(bench, bench->options->net),
               bench->session.data.name);
}

void bench_tell_devices(struct bench *bench, const bool *used)
{
    const mot_fleet *fleet = bench->session.fleet;
    size_t i;

    put_array(&bench->json, "devices");
    for (i = 0; i < mot_fleet_count(fleet); i++)
        if (!used || used[i])
            put_text(&bench->json, NULL, mot_fleet_label(fleet, i));
    put_end(&bench->json);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct bench *bench);
} what_table[] = {{"gemm", bench_gemm},
                  {"allreduce", bench_allreduce},
                  {"train", bench_train},
                  {"scale", bench_scale}};

int command_bench(const struct options *options)
{
    struct bench bench = {.options = options};
    char *document = NULL;
    size_t i, bytes = 0;
    int code;

    for (i = 0; i < sizeof what_table / sizeof *what_table; i++)
        if (options->topic && strcmp(options->topic, what_table[i].name) == 0)
            break;
    if (i == sizeof what_table / sizeof *what_table)
        return options->topic
                   ? fail(EXIT_USAGE, "bench \"%s\" is none of gemm, allreduce, train, scale",
                          options->topic)
                   : fail(EXIT_USAGE, "bench what? gemm, allreduce, train or scale");
    bench.json.out = open_memstream(&document, &bytes); /* told whole or not at all */
    if (!bench.json.out)
        return fail(EXIT_FAILED, "out of memory");
    put_object(&bench.json, NULL);
    put_text(&bench.json, "bench", options->topic);
    code = what_table[i].run(&bench);
    if (code == EXIT_FINE)
        put_end(&bench.json);
    fclose(bench.json.out);
    if (code == EXIT_FINE && options->json)
        fwrite(document, 1, bytes, stdout);
    free(document);
    session_close(&bench.session);
    return code;
}
