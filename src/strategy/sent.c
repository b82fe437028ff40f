/* sent.c - read gradients and weights, update on the host, write the weights. Every part waits: a
 * device that needs this is rare. */
#include "strategy/sent.h"

#include "base/odd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t floats_of(const mot_replica *replica)
{
    return replica->common->net->table.floats;
}

static mot_status open_sent(mot_replica *replica, struct mot__sent **out)
{
    const size_t floats = floats_of(replica);
    struct mot__sent *sent = calloc(1, sizeof *sent);
    bool whole = sent != NULL;
    size_t i;

    for (i = 0; whole && i < mot__optim_slots(&replica->common->config.optimizer); i++)
        whole = (sent->slot[i] = calloc(floats, sizeof(float))) != NULL;
    if (!whole || !(sent->p = calloc(floats, sizeof(float))) ||
        !(sent->g = calloc(floats + MOT__RECORD_FLOATS, sizeof(float))) ||
        !(sent->partials = calloc(MOT__NORM_PARTS, sizeof(float)))) {
        mot__sent_close(sent);
        return mot__fail(MOT_NO_MEMORY, "optimizer state of %zu floats on the host", floats);
    }
    *out = sent;
    return MOT_OK;
}

void mot__sent_close(struct mot__sent *sent)
{
    if (!sent)
        return;
    free(sent->slot[0]);
    free(sent->slot[1]);
    free(sent->p);
    free(sent->g);
    free(sent->partials);
    free(sent);
}

static void tell(const mot_replica *replica, const char *why)
{
    struct mot_note note = {.kind = MOT_NOTE_DEVICE, .replica = (ptrdiff_t)replica->rank};

    snprintf(note.device, sizeof note.device, "%s", mot__lane_label(replica->lane));
    snprintf(note.text, sizeof note.text,
             "device %s updates to other bits than the host (%s): the host does it and sends the "
             "weights",
             note.device, why);
    mot__notes_add(replica->common->notes, &note);
}

/* ---- the update ---- */

/* What scan_odd would have told, where nobody adds gradients up. */
static void look(const float *g, size_t floats, float *verdict)
{
    const size_t last = mot__odd_last(g, floats);
    const uint32_t at = (uint32_t)last + 1, kind = last < floats && isnan(g[last]) ? 2 : 1;

    if (last == floats)
        return;
    verdict[MOT__VERDICT_ODD_NOW] = 1;
    if (verdict[MOT__VERDICT_BAD_AT] > 0)
        return;
    memcpy(&verdict[MOT__VERDICT_ODD_LAST], &at, sizeof at);
    memcpy(&verdict[MOT__VERDICT_ODD_KIND], &kind, sizeof kind);
}

static mot_status run_sent(void *user, const struct mot__step *step)
{
    mot_replica *replica = user;
    const struct mot_optimizer *optimizer = &replica->common->config.optimizer;
    struct mot__sent *sent = replica->sent;
    const size_t floats = floats_of(replica);
    float verdict[MOT__VERDICT_FLOATS];
    mot_status status = MOT_OK;

    (void)step;
    MOT_TRY(mot__flat_read(replica->gradients, 0, sent->g, floats + MOT__RECORD_FLOATS));
    MOT_TRY(mot__flat_read(replica->parameters, 0, sent->p, floats));
    MOT_TRY(mot__buffer_read(replica->verdict, 0, verdict, sizeof verdict));
    if (!replica->common->strategy->staged) {
        sent->g[floats + MOT__RECORD_ODD] = 0; /* of an older step, not of this lane's own */
        look(sent->g, floats, verdict);
    }
    if (optimizer->clip_norm > 0)
        mot__norm_host(sent->g, floats, sent->partials, 0);
    mot__verdict_host(optimizer, replica->lr, sent->g + floats, sent->partials, verdict);
    mot__update_host(optimizer, replica->lr, floats, sent->p, sent->g, sent->slot[0], sent->slot[1],
                     verdict);
    MOT_TRY(mot__flat_write(replica->parameters, 0, sent->p, floats));
    MOT_TRY(mot__buffer_write(replica->verdict, 0, verdict, sizeof verdict));
done:
    return status;
}

mot_status mot__sent_plan(mot_replica *replica, mot__plan *plan, const char *why)
{
    struct mot__list *list = &mot__plan_lists(plan)->update;
    mot_status status = MOT_OK;
    size_t i;

    if (!replica->sent) {
        MOT_TRY(open_sent(replica, &replica->sent));
        tell(replica, why);
        for (i = 0; i < 2; i++) {
            mot__flat_close(replica->slot[i]); /* no step was made yet: all zeros, as ours */
            replica->slot[i] = NULL;
        }
    }
    MOT_TRY(mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run_sent, replica, 0}));
done:
    return status;
}

/* ---- state, wherever it is ---- */

bool mot__state_there(const mot_replica *replica, size_t slot)
{
    return replica->slot[slot] || (replica->sent && replica->sent->slot[slot]);
}

mot_status mot__state_read(const mot_replica *replica, size_t slot, float *out)
{
    if (!replica->sent)
        return mot__flat_read(replica->slot[slot], 0, out, floats_of(replica));
    memcpy(out, replica->sent->slot[slot], floats_of(replica) * sizeof *out);
    return MOT_OK;
}

mot_status mot__state_write(const mot_replica *replica, size_t slot, const float *value)
{
    if (!replica->sent)
        return mot__flat_write(replica->slot[slot], 0, value, floats_of(replica));
    memcpy(replica->sent->slot[slot], value, floats_of(replica) * sizeof *value);
    return MOT_OK;
}
