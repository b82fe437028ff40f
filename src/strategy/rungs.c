/* rungs.c - what fits on a device whatever the batch. */
#include "strategy/rungs.h"

#include "base/size.h"
#include "base/text.h"
#include "strategy/fit_memory.h"
#include "strategy/verify.h"

#include <stdio.h>

/* With fewer rows at a time the whole on the devices is slower than the state on the host: mlp512
 * on two halves of a CPU, 16 rows: as fast or half as fast; 6 rows: a fifth. */
#define ROWS_LEAST 16

/* One, or where bytes travel by queues of their own, two: one travels while the other is used. */
#define WINDOWS_MOST 2

/* ---- bytes ---- */

static size_t largest_of(const mot_replica *replica)
{
    return mot__device_facts(replica->device)->largest_bytes;
}

/* What is there whatever the batch, with what replicas compare. */
static size_t whole_bytes(const mot_replica *replica, bool staged, bool central)
{
    const struct mot__common *common = replica->common;
    const size_t bytes = common->net->table.floats * sizeof(float);
    const size_t record = MOT__RECORD_FLOATS * sizeof(float);
    const size_t slots = central ? 0 : mot__optim_slots(&common->config.optimizer);
    size_t sum = slots * mot__buffer_bytes(bytes) + mot__buffer_bytes(record);

    sum += central ? mot__stage_bytes(replica->device, bytes) : mot__buffer_bytes(bytes);
    sum += staged ? mot__stage_bytes(replica->device, bytes + record)
                  : mot__buffer_bytes(bytes + record);
    if (!central)
        sum += mot__buffer_bytes(MOT__VERDICT_FLOATS * sizeof(float)) +
               mot__buffer_bytes(MOT__NORM_PARTS * sizeof(float));
    if (common->replicas > 1)
        sum += mot__verify_bytes(replica);
    return sum;
}

static size_t windows_bytes(const mot_replica *replica, size_t windows)
{
    return mot__streamed_bytes(replica, windows) +
           mot__buffer_bytes(MOT__RECORD_FLOATS * sizeof(float)); /* of an evaluation */
}

/* The least that so many rows take; SIZE_MAX: more than the device gives in one piece. */
static size_t rows_bytes(const mot_replica *replica, size_t rows)
{
    const struct mot__common *common = replica->common;
    const struct mot__samples one = {
        .dtype = MOT_DTYPE_F32, .width = common->net->node[0].width, .classes = 1};
    const struct mot__fit_wish wish = {
        .device = replica->device,
        .plan = {.net = common->net, .rows = rows, .training = true, .loss = common->config.loss},
        .samples = &one};
    struct mot__fit fit = mot__fit_of(&wish, rows, 1);

    if (rows == 1)
        mot__fit_find(&wish, &fit); /* no room is given */
    return mot__fit_bytes(&fit);
}

/* ---- the rung ---- */

static bool fits(const mot_replica *replica, size_t bytes, size_t piece, size_t rows)
{
    const struct mot__device_facts *facts = mot__device_facts(replica->device);
    const size_t room =
        facts->memory_limit -
        mot__size_min(facts->memory_limit, mot__device_used(replica->device)); /* others' */
    const size_t row = rows_bytes(replica, rows);

    return piece <= facts->largest_bytes && row <= room && bytes <= room - row;
}

static size_t largest_parameter(const mot_replica *replica)
{
    const struct mot__parameters *table = &replica->common->net->table;
    size_t p, most = 0;

    for (p = 0; p < table->count; p++)
        most = mot__size_max(most, table->row[p].count);
    return (most + MOT__PIECE_RESERVE) * sizeof(float);
}

static size_t largest_part(const mot_replica *replica)
{
    size_t i, most = 0;

    for (i = 0; i < replica->common->parts; i++)
        most = mot__size_max(most, replica->common->part[i].count * sizeof(float));
    return mot__stage_bytes(replica->device, most);
}

struct mot__rung mot__rung_find(const mot_replica *replica)
{
    const bool staged = replica->common->replicas > 1;
    const size_t most = largest_parameter(replica);
    struct mot__rung rung = {
        .whole = fits(replica, whole_bytes(replica, staged, false), most, 1),
        .central = fits(replica, whole_bytes(replica, true, true), most, 1),
        .windows =
            mot__device_facts(replica->device)->staging == MOT__STAGING_COPY ? WINDOWS_MOST : 1};

    while (rung.windows > 0 &&
           !fits(replica, windows_bytes(replica, rung.windows), largest_part(replica), 1))
        rung.windows--;
    if (staged && fits(replica, whole_bytes(replica, true, true), most, ROWS_LEAST))
        rung.whole = fits(replica, whole_bytes(replica, true, false), most, ROWS_LEAST);
    return rung;
}

/* ---- the story ---- */

static void advise(const mot_replica *replica, size_t bytes, size_t piece, const char *how,
                   char *out, size_t size)
{
    const size_t row = rows_bytes(replica, 1);

    if (row < SIZE_MAX && piece <= largest_of(replica))
        snprintf(out, size, "; a memory limit of %zuK would do for a row at a time%s",
                 (bytes + row + 1023) / 1024, how);
}

/* What was wanted and what there is; the largest allocation only where that is what binds. */
static void write_need(const mot_replica *replica, size_t bytes, size_t piece, char *out,
                       size_t size)
{
    char need[32], limit[32], most[32], one[32];

    mot__text_of_bytes(bytes, need);
    mot__text_of_bytes(mot__device_facts(replica->device)->memory_limit, limit);
    mot__text_of_bytes(piece, one);
    mot__text_of_bytes(largest_of(replica), most);
    if (piece > largest_of(replica))
        snprintf(out, size, "%s, %s of it in one piece; the largest allocation is %s", need, one,
                 most);
    else
        snprintf(out, size, "%s; the limit is %s", need, limit);
}

mot_status mot__rung_story(const mot_replica *replica)
{
    const struct mot__common *common = replica->common;
    const char *name = mot__device_facts(replica->device)->info.name;
    const size_t slots = mot__optim_slots(&common->config.optimizer);
    const size_t last = windows_bytes(replica, 1), part = largest_part(replica);
    const size_t whole = (2 + slots) * common->net->table.floats * sizeof(float);
    char need[128], advice[2][128] = {"", ""};

    if (common->strategy->central) {
        write_need(replica, last, part, need, sizeof need);
        advise(replica, last, part, "", advice[0], sizeof advice[0]);
        return mot__fail(MOT_NO_MEMORY,
                         "device %s (%s): the largest of this network's layers and its gradients, "
                         "one layer at a time, need %s%s",
                         mot__lane_label(replica->lane), name, need, advice[0]);
    }
    write_need(replica, whole, largest_parameter(replica), need, sizeof need);
    advise(replica, whole_bytes(replica, common->strategy->staged, false),
           largest_parameter(replica), "", advice[0], sizeof advice[0]);
    advise(replica, last, part, " with --strategy central", advice[1], sizeof advice[1]);
    return mot__fail(MOT_NO_MEMORY,
                     "device %s (%s): this network's parameters, gradients and optimizer state "
                     "need %s%s%s",
                     mot__lane_label(replica->lane), name, need, advice[0], advice[1]);
}
