/* engine_rungs.c - which strategy, by what the devices have room for. */
#include "base/text.h"
#include "strategy/engine_inside.h"
#include "strategy/rungs.h"

#include <stdio.h>
#include <stdlib.h>

static mot_status job_rung(mot__lane *lane, void *user, void *payload)
{
    struct mot__rung *rung = *(struct mot__rung **)payload;
    const mot_replica *replica = user;

    (void)lane;
    rung[replica->rank] = mot__rung_find(replica);
    return MOT_OK;
}

static void tell_windows(mot__engine *engine, const mot_replica *replica)
{
    const struct mot__device_facts *facts = mot__device_facts(replica->device);
    struct mot_note note = {.kind = MOT_NOTE_MEMORY, .replica = (ptrdiff_t)replica->rank};
    char limit[32];

    mot__text_of_bytes(facts->memory_limit, limit);
    snprintf(note.device, sizeof note.device, "%s", mot__lane_label(replica->lane));
    snprintf(note.text, sizeof note.text,
             "device %s has no room for all weights and gradients under its limit of %s: they "
             "stream layer by layer through %s",
             note.device, limit, replica->windows > 1 ? "two windows each" : "one window each");
    mot__notes_add(&engine->notes, &note);
}

static void tell_central(mot__engine *engine)
{
    struct mot_note note = {.kind = MOT_NOTE_MEMORY, .replica = -1};

    snprintf(note.text, sizeof note.text,
             "not every device has room for the optimizer's state: it is kept on the host (central "
             "storage)");
    mot__notes_add(&engine->notes, &note);
}

/* Central storage: each lane on the rung that it has room for. */
static mot_status go_central(mot__engine *engine, const struct mot__rung *rung)
{
    size_t i;

    engine->common.strategy = &mot__strategy_central;
    if (engine->common.config.strategy == MOT_STRATEGY_AUTO)
        tell_central(engine);
    for (i = 0; i < engine->common.replicas; i++) {
        mot_replica *replica = &engine->replica[i];

        replica->whole = rung[i].whole;
        replica->windows = rung[i].central ? 0 : rung[i].windows;
        if (!rung[i].central && rung[i].windows == 0)
            return mot__rung_story(replica);
        if (replica->windows)
            tell_windows(engine, replica);
    }
    return MOT_OK;
}

mot_status mot__engine_pick(mot__engine *engine, enum mot_strategy wish)
{
    const size_t replicas = engine->common.replicas;
    struct mot__rung *rung = NULL;
    mot_status status = MOT_OK;
    bool whole = true;
    size_t i;

    engine->common.strategy = replicas == 1 && wish != MOT_STRATEGY_MIRRORED
                                  ? &mot__strategy_single
                                  : &mot__strategy_mirrored;
    if (wish == MOT_STRATEGY_MIRRORED || wish == MOT_STRATEGY_SINGLE)
        return MOT_OK;
    rung = calloc(replicas, sizeof *rung);
    if (!rung)
        return mot__fail(MOT_NO_MEMORY, "%zu rungs", replicas);
    MOT_TRY(mot__engine_call_all(engine, job_rung, &rung, sizeof rung));
    for (i = 0; i < replicas; i++)
        whole = whole && rung[i].whole;
    if (!whole || (wish == MOT_STRATEGY_CENTRAL && replicas > 1))
        MOT_TRY(go_central(engine, rung));
done:
    mot__engine_free(engine, rung);
    return status;
}
