/* copies.c - one replica read, others written. */
#include "strategy/copies.h"

#include "strategy/engine_inside.h"
#include "strategy/sent.h"

#include <stdlib.h>

enum { PARAMETERS, SLOT0, SLOT1, FLATS };

/* On the heap: a lane given up may still write here. */
struct copy {
    float *flat[FLATS]; /* NULL: this strategy keeps none on the devices */
    float verdict[MOT__VERDICT_FLOATS];
};

static mot_status read_one(const mot_replica *replica, size_t which, float *out)
{
    return which == PARAMETERS
               ? mot__flat_read(replica->parameters, 0, out, replica->common->net->table.floats)
               : mot__state_read(replica, which - SLOT0, out);
}

static mot_status write_one(const mot_replica *replica, size_t which, const float *value)
{
    return which == PARAMETERS
               ? mot__flat_write(replica->parameters, 0, value, replica->common->net->table.floats)
               : mot__state_write(replica, which - SLOT0, value);
}

static mot_status job_take(mot__lane *lane, void *user, void *payload)
{
    struct copy *copy = *(struct copy **)payload;
    const mot_replica *replica = user;
    mot_status status = MOT_OK;
    size_t i;

    (void)lane;
    for (i = 0; i < FLATS; i++)
        if (copy->flat[i])
            MOT_TRY(read_one(replica, i, copy->flat[i]));
    if (replica->verdict)
        MOT_TRY(mot__buffer_read(replica->verdict, 0, copy->verdict, sizeof copy->verdict));
done:
    return status;
}

static mot_status job_put(mot__lane *lane, void *user, void *payload)
{
    const struct copy *copy = *(struct copy **)payload;
    const mot_replica *replica = user;
    mot_status status = MOT_OK;
    size_t i;

    (void)lane;
    for (i = 0; i < FLATS; i++)
        if (copy->flat[i])
            MOT_TRY(write_one(replica, i, copy->flat[i]));
    if (replica->verdict)
        MOT_TRY(mot__buffer_write(replica->verdict, 0, copy->verdict, sizeof copy->verdict));
done:
    return status;
}

static void close_copy(struct copy *copy)
{
    size_t i;

    for (i = 0; i < FLATS; i++)
        free(copy->flat[i]);
    free(copy);
}

static mot_status open_copy(const mot_replica *replica, struct copy **out)
{
    const size_t floats = replica->common->net->table.floats;
    struct copy *copy = calloc(1, sizeof *copy);
    size_t i;

    for (i = 0; copy && i < FLATS; i++) {
        if (i != PARAMETERS && !mot__state_there(replica, i - SLOT0))
            continue;
        copy->flat[i] = malloc(floats * sizeof(float));
        if (!copy->flat[i]) {
            close_copy(copy);
            copy = NULL;
        }
    }
    if (!copy)
        return mot__fail(MOT_NO_MEMORY, "a copy of %zu parameters and their state", floats);
    *out = copy;
    return MOT_OK;
}

mot_status mot__copies_send(mot__engine *engine, size_t from, const bool *to)
{
    mot_replica *replica = engine->replica;
    struct copy *copy = NULL;
    mot_status status = MOT_OK, waited;
    size_t i;

    MOT_TRY(mot__engine_wait_all(engine));
    MOT_TRY(open_copy(&replica[from], &copy));
    MOT_TRY(mot__lane_call(replica[from].lane, job_take, &replica[from], &copy, sizeof copy));
    for (i = 0; i < engine->common.replicas && status == MOT_OK; i++)
        if (to[i] && i != from)
            status = mot__lane_post(replica[i].lane, job_put, &replica[i], &copy, sizeof copy);
    waited = mot__engine_wait_all(engine);
    status = status != MOT_OK ? status : waited;
done:
    if (copy && !mot__engine_tainted(engine))
        close_copy(copy);
    return status;
}
