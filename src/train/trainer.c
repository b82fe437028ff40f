/* trainer.c - the trainer's public face: steps, a loop of one's own, parameters by name. */
#include "train/trainer.h"

#include "base/clock.h"
#include "base/config.h"

#include <math.h>
#include <stdlib.h>

#define VERIFY 200 /* steps: one comparison costs about a quarter of a step */

struct mot_trainer_config mot_trainer_config_default(void)
{
    return (struct mot_trainer_config){.size = sizeof(struct mot_trainer_config),
                                       .verify = VERIFY,
                                       .strategy = MOT_STRATEGY_AUTO,
                                       .loss = MOT_LOSS_CROSS_ENTROPY,
                                       .optimizer = mot_optimizer_default(MOT_RULE_ADAM),
                                       .accumulate = 1};
}

mot_status mot_trainer_open(mot_fleet *fleet, const mot_model *net,
                            const struct mot_trainer_config *given, mot_trainer **out)
{
    struct mot_trainer_config config = mot_trainer_config_default();
    mot_trainer *trainer = NULL;
    mot_status status = MOT_OK;

    if (!fleet || !net || !out)
        return mot__fail(MOT_BAD_ARG, "mot_trainer_open: fleet, network or result is NULL");
    MOT_TRY(mot__config_take(given, sizeof config, "mot_trainer_config", &config));
    trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return mot__fail(MOT_NO_MEMORY, "mot_trainer_open: %zu bytes", sizeof *trainer);
    MOT_TRY(mot__engine_open(fleet, net, &config, &trainer->engine));
    trainer->spent_s = mot__clock_s();
    *out = trainer;
    trainer = NULL;
done:
    free(trainer);
    return status;
}

void mot_trainer_close(mot_trainer *trainer)
{
    if (!trainer)
        return;
    mot__engine_close(trainer->engine);
    free(trainer);
}

size_t mot_trainer_replicas(const mot_trainer *trainer)
{
    return mot__engine_common(trainer->engine)->replicas;
}

mot_status mot_trainer_step(mot_trainer *trainer, mot_batch *batch)
{
    if (!batch)
        return mot__fail(MOT_BAD_ARG, "mot_trainer_step: batch is NULL");
    return mot__engine_step(trainer->engine, batch);
}

mot_status mot_trainer_metrics(mot_trainer *trainer, struct mot_metrics *out)
{
    return mot__engine_metrics(trainer->engine, out);
}

mot_status mot_trainer_split(const mot_trainer *trainer, size_t rows, size_t *share)
{
    mot__engine_split(trainer->engine, rows, share);
    return MOT_OK;
}

mot_status mot_trainer_verify(mot_trainer *trainer, size_t *differing)
{
    return mot__engine_verify(trainer->engine, differing);
}

bool mot_trainer_note(mot_trainer *trainer, struct mot_note *out)
{
    return mot__engine_note(trainer->engine, out);
}

mot_status mot_trainer_lr(mot_trainer *trainer, double lr)
{
    struct mot_optimizer optimizer = mot__engine_common(trainer->engine)->config.optimizer;
    mot_status status;

    optimizer.lr = lr;
    status = mot__optim_check(&optimizer);
    if (status == MOT_OK)
        mot__engine_lr(trainer->engine, lr);
    return status;
}

/* ---- a loop of the user's own ---- */

mot_status mot_trainer_run(mot_trainer *trainer, mot_batch *batch, mot_replica_fn fn, void *user)
{
    if (!batch || !fn) {
        mot_batch_close(batch); /* taken, whatever comes back */
        return mot__fail(MOT_BAD_ARG, "mot_trainer_run: batch or function is NULL");
    }
    return mot__engine_run(trainer->engine, batch, fn, user);
}

mot_status mot_trainer_apply(mot_trainer *trainer)
{
    return mot__engine_apply(trainer->engine);
}

/* The user's function may fold our status into a plain "it failed": the first one is kept. */
static mot_status told(mot_replica *replica, mot_status status)
{
    if (replica->told == MOT_OK)
        replica->told = status;
    return status;
}

/* Gradients take the place of values, so a forward pass serves one backward pass. */
static mot_status check_forwarded(const mot_replica *replica, const char *call)
{
    if (replica->forwarded)
        return MOT_OK;
    return mot__fail(MOT_BAD_STATE, "%s: call mot_replica_forward before it, each time", call);
}

mot_status mot_replica_forward(mot_replica *replica)
{
    return told(replica, mot__replica_forward(replica));
}

static mot_status finish(mot_replica *replica)
{
    return mot__plan_run(&mot__plan_lists(replica->train)->finish, &replica->step, NULL, NULL);
}

mot_status mot_replica_output(mot_replica *replica, float *out)
{
    const struct mot__mem output = mot__plan_output(replica->train);
    const size_t count = replica->step.rows * mot__plan_output_width(replica->train);
    mot_status status = MOT_OK;

    MOT_TRY(check_forwarded(replica, "mot_replica_output"));
    if (count == 0)
        return MOT_OK;
    MOT_TRY(finish(replica));
    MOT_TRY(
        mot__buffer_read(output.buffer, output.offset * sizeof(float), out, count * sizeof(float)));
done:
    return told(replica, status);
}

mot_status mot_replica_backward(mot_replica *replica, double scale)
{
    mot_status status = MOT_OK;

    MOT_TRY(check_forwarded(replica, "mot_replica_backward"));
    if (!isfinite(scale)) {
        status = mot__fail(MOT_BAD_ARG, "mot_replica_backward: scale is not a finite number");
        goto done;
    }
    MOT_TRY(mot__replica_backward(replica, (float)scale, false, false));
done:
    return told(replica, status);
}

/* A given gradient has no loss to tell; its rows count all the same. */
static mot_status count_rows(mot_replica *replica, bool add)
{
    const size_t at = replica->common->net->table.floats; /* the record follows the gradients */
    float record[MOT__RECORD_FLOATS] = {0};
    mot_status status = MOT_OK;

    if (add)
        MOT_TRY(mot__flat_read(replica->gradients, at, record, MOT__RECORD_FLOATS));
    record[MOT__RECORD_COUNT] += (float)replica->step.rows;
    MOT_TRY(mot__flat_write(replica->gradients, at, record, MOT__RECORD_FLOATS));
done:
    return status;
}

mot_status mot_replica_backward_from(mot_replica *replica, const float *dy)
{
    const struct mot__mem place = mot__plan_dy(replica->train);
    const size_t count = replica->step.rows * mot__plan_output_width(replica->train);
    const bool add = replica->dirty;
    mot_status status = MOT_OK;

    MOT_TRY(check_forwarded(replica, "mot_replica_backward_from"));
    if (count > 0) {
        MOT_TRY(finish(replica));
        MOT_TRY(mot__buffer_write(place.buffer, place.offset * sizeof(float), dy,
                                  count * sizeof(float)));
    }
    MOT_TRY(mot__replica_backward(replica, 1, true, false));
    if (count > 0)
        MOT_TRY(count_rows(replica, add));
done:
    return told(replica, status);
}

mot_status mot_trainer_reduce(mot_trainer *trainer, enum mot_reduce how, const float *value,
                              size_t count, float *out)
{
    const size_t replicas = mot_trainer_replicas(trainer);
    size_t i, r;

    if (how != MOT_REDUCE_SUM && how != MOT_REDUCE_MEAN)
        return mot__fail(MOT_BAD_ARG, "mot_trainer_reduce: neither sum nor mean");
    for (i = 0; i < count; i++) {
        float sum = 0;

        for (r = 0; r < replicas; r++)
            sum += value[r * count + i];
        out[i] = how == MOT_REDUCE_MEAN ? sum / (float)replicas : sum;
    }
    return MOT_OK;
}

/* ---- parameters ---- */

static const struct mot__parameters *table_of(const mot_trainer *trainer)
{
    return &mot__engine_common(trainer->engine)->net->table;
}

size_t mot_trainer_parameters(const mot_trainer *trainer)
{
    return table_of(trainer)->count;
}

mot_status mot_trainer_parameter(const mot_trainer *trainer, size_t index, const char **name,
                                 struct mot_shape *shape)
{
    const struct mot__parameters *table = table_of(trainer);

    if (index >= table->count)
        return mot__fail(MOT_BAD_ARG, "parameter %zu of %zu", index, table->count);
    if (name)
        *name = table->row[index].name;
    if (shape)
        *shape = table->row[index].shape;
    return MOT_OK;
}

static mot_status find(const mot_trainer *trainer, const char *name, size_t count, size_t *offset)
{
    const struct mot__parameters *table = table_of(trainer);
    mot_status status;
    size_t p;

    status = mot__parameter_find(table, name, &p);
    if (status != MOT_OK)
        return status;
    if (count != table->row[p].count)
        return mot__fail(MOT_BAD_SHAPE, "%s has %zu elements, not %zu", name, table->row[p].count,
                         count);
    *offset = table->row[p].offset;
    return MOT_OK;
}

mot_status mot_trainer_get_from(mot_trainer *trainer, size_t replica, const char *name, float *out,
                                size_t count)
{
    mot_status status;
    size_t offset = 0;

    if (replica >= mot_trainer_replicas(trainer))
        return mot__fail(MOT_BAD_ARG, "replica %zu of %zu", replica, mot_trainer_replicas(trainer));
    status = find(trainer, name, count, &offset);
    return status != MOT_OK ? status
                            : mot__engine_read(trainer->engine, replica, offset, out, count);
}

mot_status mot_trainer_get(mot_trainer *trainer, const char *name, float *out, size_t count)
{
    return mot_trainer_get_from(trainer, mot__engine_first(trainer->engine), name, out, count);
}

mot_status mot_trainer_set(mot_trainer *trainer, const char *name, const float *value, size_t count)
{
    mot_status status;
    size_t offset = 0;

    status = find(trainer, name, count, &offset);
    return status != MOT_OK ? status : mot__engine_write(trainer->engine, offset, value, count);
}
