/* plan.c - motley train --plan: what would go where, without training. */
#include "cli/plan.h"

#include "cli/json.h"

#include <stdlib.h>
#include <string.h>

/* One table makes the columns and the JSON. */
static const struct {
    const char *name, *key;
    size_t offset;
} columns[] = {
    {"parameters", "parameters", offsetof(struct mot_bytes, parameters)},
    {"gradients", "gradients", offsetof(struct mot_bytes, gradients)},
    {"state", "state", offsetof(struct mot_bytes, state)},
    {"activations", "activations", offsetof(struct mot_bytes, arena)},
    {"packs", "packs", offsetof(struct mot_bytes, packs)},
    {"staging", "staging", offsetof(struct mot_bytes, staging)},
    {"data", "data", offsetof(struct mot_bytes, data)},
    {"test", "test", offsetof(struct mot_bytes, evaluation)},
    {"other", "other", offsetof(struct mot_bytes, other)},
    {"total", "total", offsetof(struct mot_bytes, total)},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static uint64_t column_of(const struct mot_bytes *bytes, size_t column)
{
    uint64_t value;

    memcpy(&value, (const char *)bytes + columns[column].offset, sizeof value);
    return value;
}

static bool measured_later(const struct options *options, size_t replicas)
{
    return replicas > 1 && strcmp(options->shares, "auto") == 0;
}

static void print_plan(const struct options *options, const struct session *session,
                       const struct mot_plan *plan, size_t replicas)
{
    struct mot_note note;
    char text[32];
    size_t i, k;

    printf("batch %zu", session->batch);
    for (i = 0; replicas > 1 && i < replicas; i++)
        printf("%s%zu", i ? " + " : " = ", plan[i].rows);
    printf("\n%-8s", "device");
    for (k = 0; k < COLUMNS; k++)
        printf(" %11s", columns[k].name);
    printf(" %11s\n", "limit");
    for (i = 0; i < replicas; i++) {
        printf("%-8s", mot_fleet_label(session->fleet, i));
        for (k = 0; k < COLUMNS; k++) {
            say_bytes(column_of(&plan[i].bytes, k), text);
            printf(" %11s", text);
        }
        say_bytes(plan[i].limit, text);
        printf(" %11s\n", text);
    }
    for (i = 0; i < replicas; i++)
        printf("device %s: %s\n", mot_fleet_label(session->fleet, i), plan[i].why);
    if (plan[0].host > 0) {
        say_bytes(plan[0].host, text);
        printf("host: %s of weights and optimizer state, those that hold and those a step writes\n",
               text);
    }
    if (measured_later(options, replicas))
        printf("shares: even here; --shares auto measures them when training begins, and gives no "
               "device more rows than it has room for\n");
    while (mot_trainer_note(session->trainer, &note)) /* where the variables live, and why */
        printf("%s\n", note.text);
}

static void put_plan(const struct options *options, const struct session *session,
                     const struct mot_plan *plan, size_t replicas)
{
    struct json json = {.out = stdout};
    size_t i, k;

    put_object(&json, NULL);
    put_text(&json, "event", "plan");
    put_text(&json, "net", options->net);
    put_count(&json, "batch", session->batch);
    put_bool(&json, "shares_measured_later", measured_later(options, replicas));
    put_count(&json, "host_bytes", plan[0].host);
    put_array(&json, "devices");
    for (i = 0; i < replicas; i++) {
        put_object(&json, NULL);
        put_text(&json, "device", mot_fleet_label(session->fleet, i));
        put_text(&json, "name", mot_fleet_get(session->fleet, i)->name);
        put_count(&json, "rows", plan[i].rows);
        put_count(&json, "micro_batch", plan[i].micro);
        put_count(&json, "micro_batches", plan[i].micros);
        put_bool(&json, "recompute", plan[i].recompute);
        put_count(&json, "windows", plan[i].windows);
        put_text(&json, "why", plan[i].why);
        put_object(&json, "bytes");
        for (k = 0; k < COLUMNS; k++)
            put_count(&json, columns[k].key, column_of(&plan[i].bytes, k));
        put_end(&json);
        put_count(&json, "limit", plan[i].limit);
        put_end(&json);
    }
    put_end(&json);
    put_end(&json);
}

static mot_status make_plan(const struct session *session, struct mot_plan **out, size_t *replicas)
{
    struct mot_fit_config config = mot_fit_config_default();

    *replicas = mot_trainer_replicas(session->trainer);
    *out = calloc(*replicas, sizeof **out);
    if (!*out)
        return MOT_NO_MEMORY;
    config.batch = session->batch;
    return mot_fit_plan(session->trainer, session->data.train, session->data.test, &config, *out);
}

int plan_tell(const struct options *options, const struct session *session)
{
    struct mot_plan *plan;
    size_t replicas;
    const mot_status status = make_plan(session, &plan, &replicas);

    if (status == MOT_OK && options->json)
        put_plan(options, session, plan, replicas);
    else if (status == MOT_OK)
        print_plan(options, session, plan, replicas);
    free(plan);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}

void plan_tell_cuts(const struct session *session)
{
    struct mot_plan *plan;
    size_t replicas, i;

    if (make_plan(session, &plan, &replicas) == MOT_OK)
        for (i = 0; i < replicas; i++)
            if (plan[i].micros > 1 || plan[i].recompute)
                printf("device %s: %s\n", mot_fleet_label(session->fleet, i), plan[i].why);
    free(plan);
}
