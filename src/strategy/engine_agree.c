/* engine_agree.c - the engine's side of replicas that do not agree. */
#include "strategy/copies.h"
#include "strategy/engine_inside.h"

#include <string.h>

/* Central storage: what the host has goes down again. */
static mot_status send_host(mot__engine *engine)
{
    return mot__engine_write(engine, 0, mot__variables_now(engine->common.variables, 0),
                             engine->common.net->table.floats);
}

mot_status mot__engine_settle(mot__engine *engine)
{
    struct mot__agree *agree = &engine->agree;
    mot_status status = MOT_OK;

    if (!atomic_load(&agree->found))
        return MOT_OK;
    MOT_TRY(mot__engine_wait_all(engine));
    if (engine->common.config.on_differ == MOT_ON_DIFFER_STOP)
        status = mot__fail(MOT_DEVICE_FAILED, "%s", agree->text);
    else
        status = agree->host ? send_host(engine) : mot__copies_send(engine, agree->from, agree->to);
    memset(agree->to, 0, engine->common.replicas * sizeof *agree->to);
    atomic_store(&agree->found, false);
done:
    return mot__engine_remember(engine, status);
}

mot_status mot__engine_verify(mot__engine *engine, size_t *differing)
{
    mot_status status = MOT_OK;
    size_t i, count = 0;

    if (engine->failed.status != MOT_OK)
        return mot__story_tell(&engine->failed);
    MOT_TRY(mot__engine_settle(engine)); /* of what was found before */
    MOT_TRY(mot__engine_remember(engine, mot__engine_call_all(engine, mot__job_verify, NULL, 0)));
    for (i = 0; i < engine->common.replicas; i++)
        count += engine->agree.to[i];
    if (differing)
        *differing = count;
    MOT_TRY(mot__engine_settle(engine));
done:
    return status;
}
