/* session.c - opened in the order that tells a mistake soonest: network text, devices, data. */
#include "cli/session.h"

#include "cli/interrupt.h"
#include "cli/together.h"
#include "cli/tune.h"

#include <string.h>
#include <strings.h>

struct mot_fleet_config session_fleet_config(const struct options *options)
{
    struct mot_fleet_config config = mot_fleet_config_default();

    config.devices = options->devices;
    config.memory = options->memory;
    return config;
}

static const char *written_out(const char *net)
{
    const char *name, *text;
    size_t i;

    for (i = 0; (name = mot_preset(i, &text)) != NULL; i++)
        if (strcmp(name, net) == 0)
            return text;
    return net;
}

bool session_ends_in_softmax(const struct options *options)
{
    static const char word[] = "softmax";
    const char *text = written_out(options->net);
    size_t length = strlen(text);

    while (length && strchr(" \t\n,", text[length - 1]))
        length--;
    return length >= sizeof word - 1 &&
           strncasecmp(text + length - (sizeof word - 1), word, sizeof word - 1) == 0;
}

mot_status session_open_net(const char *text, struct mot_shape shape, mot_model **out)
{
    mot_status status = mot_model_open(out);

    if (status == MOT_OK)
        status = mot_model_input(*out, shape);
    if (status == MOT_OK)
        status = mot_model_text(*out, text);
    return status;
}

/* A typing mistake is told before anything slow; whether shapes fit, only the data will tell. */
static mot_status try_net(const char *text)
{
    mot_model *net = NULL;
    const mot_status status = session_open_net(text, MOT_SHAPE(1, 28, 28), &net);

    mot_model_close(net);
    return status == MOT_BAD_SHAPE ? MOT_OK : status;
}

struct mot_trainer_config session_trainer_config(const struct options *options)
{
    static const struct { /* in the order of --optimizer's choices */
        enum mot_rule rule;
        double momentum;
        bool nesterov;
    } optimizer[] = {{MOT_RULE_SGD, 0, false},
                     {MOT_RULE_SGD, 0.9, false},
                     {MOT_RULE_SGD, 0.9, true},
                     {MOT_RULE_ADAM, 0, false},
                     {MOT_RULE_ADAMW, 0, false}};
    struct mot_trainer_config config = mot_trainer_config_default();

    config.strategy = (enum mot_strategy)options->strategy; /* choices in the enum's order */
    config.loss = (enum mot_loss)options->loss;
    config.shares = options->shares;
    config.seed = options->seed;
    config.verify = options->verify;
    config.on_differ = (enum mot_on_differ)options->on_differ; /* choices in the enum's order */
    config.on_nan = (enum mot_on_nan)options->on_nan;
    if (options->accumulate > 0) /* eval and predict have none */
        config.accumulate = options->accumulate;
    config.optimizer = mot_optimizer_default(optimizer[options->optimizer].rule);
    config.optimizer.momentum = optimizer[options->optimizer].momentum;
    config.optimizer.nesterov = optimizer[options->optimizer].nesterov;
    if (options->lr > 0) /* eval and predict have none */
        config.optimizer.lr = options->lr;
    return config;
}

/* A batch holds no more than there is. */
static size_t batch_of(const struct options *options, const mot_data *data)
{
    const size_t samples = mot_data_count(data);

    if (options->batch <= samples)
        return options->batch;
    if (!options->quiet)
        say_note("--batch %zu: there are %zu samples, so a batch is all of them", options->batch,
                 samples);
    return samples;
}

int session_open(const struct options *options, bool train, struct session *out)
{
    const struct session empty = {0};
    struct mot_fleet_config fleet = session_fleet_config(options);
    const struct mot_trainer_config config = session_trainer_config(options);
    const struct dataset_wish wish = {options->data, options->offline, train,
                                      options->quiet || options->json};
    mot_status status;
    int code;

    *out = empty;
    fleet.profile = train; /* what limits the speed is told from the devices' own clocks */
    status = try_net(options->net);
    if (status == MOT_OK)
        status = mot_fleet_open(&fleet, &out->fleet);
    if (status != MOT_OK)
        return fail_library(status);
    if (!options->quiet && !options->json)
        say_notes(stderr, mot_fleet_notes(out->fleet));
    if (!options->quiet)
        together_note(options, out->fleet);
    code = dataset_open(&wish, &out->data);
    if (code)
        return code;
    status = session_open_net(options->net, mot_data_shape(out->data.test), &out->net);
    if (status != MOT_OK)
        return fail_library(status);
    out->batch = train ? batch_of(options, out->data.train) : options->batch;
    code = out->batch > 0 ? 0 : tune_batch(options, out);
    if (code)
        return code;
    status = mot_trainer_open(out->fleet, out->net, &config, &out->trainer);
    if (status == MOT_OK && options->weights && *options->weights)
        status = mot_weights_load(out->trainer, options->weights);
    if (status == MOT_OK)
        status = mot_data_batch(out->data.test, out->batch);
    if (status != MOT_OK)
        return fail_library(status);
    return interrupt_seen() ? fail(EXIT_INTERRUPTED, "stopped before it began") : 0;
}

void session_close(struct session *session)
{
    mot_trainer_close(session->trainer);
    dataset_close(&session->data);
    mot_model_close(session->net);
    mot_fleet_close(session->fleet);
}
