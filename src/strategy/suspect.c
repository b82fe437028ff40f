/* suspect.c - who computed the number that is none? */
#include "strategy/suspect.h"

#include "base/odd.h"
#include "base/size.h"
#include "base/text.h"
#include "model/odd.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A gradient of that size on one device can overflow in the sum over all. */
#define HUGE_GRADIENT 1e30f
#define SEARCH_MOST ((size_t)1 << 16) /* samples */

bool mot__finding_bad(const struct mot__finding *finding)
{
    return finding->odd.found || finding->record[MOT__RECORD_BAD] != 0;
}

static const struct mot__parameters *table_of(const mot_replica *replica)
{
    return &replica->common->net->table;
}

/* ---- the rows of an update ---- */

void mot__suspect_forget(mot_replica *replica)
{
    struct mot__held *held = &replica->held;

    while (held->steps > 0)
        mot_batch_close(held->step[--held->steps].batch);
    held->more = held->loop = false;
}

void mot__suspect_begin(mot_replica *replica, const struct mot__job_shard *job)
{
    struct mot__held *held = &replica->held;

    if (!replica->dirty)
        mot__suspect_forget(replica);
    held->loop = held->loop || job->fn;
    held->more = held->steps == MOT__HELD_MOST;
    if (held->more)
        return;
    mot__batch_hold(job->batch);
    held->step[held->steps++] =
        (struct mot__held_rows){job->batch, job->begin, job->rows, job->before, job->number};
}

/* The first row of [begin, begin + rows) whose input or target is not finite; rows: none. */
static mot_status find_row(const mot_batch *batch, size_t begin, size_t rows, size_t *out)
{
    const struct mot__samples *samples = batch->samples;
    const bool x = samples->dtype == MOT_DTYPE_F32, y = samples->target_width > 0;
    float *row;

    *out = rows;
    if (!x && !y)
        return MOT_OK;
    row = calloc(samples->width + samples->target_width, sizeof *row);
    if (!row)
        return mot__fail(MOT_NO_MEMORY, "a row of %zu floats", samples->width);
    for (*out = 0; *out < rows; ++*out) {
        mot__batch_copy(batch, begin + *out, 1, x ? row : NULL, y ? row + samples->width : NULL);
        if (mot__odd_any(row, samples->width + samples->target_width))
            break;
    }
    free(row);
    return MOT_OK;
}

/* ---- computing again ---- */

struct claim { /* what each lane brings */
    float bad_rows;
    size_t rank;
    char device[32];
};

struct answer {      /* what the lane found that looked */
    bool again;      /* its numbers are not finite either */
    bool overflow;   /* finite, but too large to be added up */
    bool input;      /* so is an input: */
    size_t row;      /* of its batch */
    uint64_t sample; /* of the data */
    char layer[64];  /* the first whose output is not finite; "" */
};

/* Forward, and while no layer was found looked at after each. */
static mot_status compute_forward(mot_replica *replica, const struct mot__held_rows *step,
                                  size_t done, size_t rows, char *layer, size_t bytes)
{
    mot_status status = MOT_OK;

    MOT_TRY(mot__replica_load(replica, step->batch, step->begin + done, rows, step->number));
    replica->step.first_row += step->before;
    if (layer[0])
        MOT_TRY(mot__replica_forward(replica));
    else
        MOT_TRY(mot__plan_odd(replica->train, &replica->step, mot__replica_needs, replica, layer,
                              bytes));
done:
    return status;
}

/* A step's rows on this lane, in as many parts as its plan needs. */
static mot_status compute_step(mot_replica *replica, const struct mot__held_rows *step,
                               bool backward, struct answer *answer)
{
    mot_status status = MOT_OK;
    size_t done, rows, row;

    for (done = 0; done < step->rows; done += rows) {
        rows = mot__replica_micro(replica, true, step->rows - done);
        MOT_TRY(compute_forward(replica, step, done, rows, answer->layer, sizeof answer->layer));
        if (backward)
            MOT_TRY(mot__replica_backward(replica, 1, false, false));
    }
    if (answer->input)
        return MOT_OK;
    MOT_TRY(find_row(step->batch, step->begin, step->rows, &row));
    answer->input = row < step->rows;
    if (answer->input) {
        answer->row = step->begin + row;
        answer->sample = step->batch->index[answer->row];
    }
done:
    return status;
}

static mot_status judge_gradients(mot_replica *replica, const struct mot__finding *finding,
                                  struct answer *answer)
{
    const size_t floats = table_of(replica)->floats;
    float *all = calloc(floats + MOT__RECORD_FLOATS, sizeof *all);
    mot_status status = MOT_OK;

    if (!all)
        return mot__fail(MOT_NO_MEMORY, "%zu gradients", floats);
    MOT_TRY(mot__flat_read(replica->gradients, 0, all, floats + MOT__RECORD_FLOATS));
    answer->again = all[floats + MOT__RECORD_BAD] != 0 || mot__odd_any(all, floats);
    answer->overflow = !answer->again && finding->odd.found && !finding->odd.nan &&
                       finding->odd.index < floats &&
                       fabsf(all[finding->odd.index]) > HUGE_GRADIENT;
    MOT_TRY(mot__flat_write(replica->gradients, floats, finding->record, MOT__RECORD_FLOATS));
done:
    free(all);
    return status;
}

/* The steps that another lane holds, on this one. */
static mot_status compute_again(mot_replica *replica, const struct mot__held *held,
                                const struct mot__finding *finding, struct answer *answer)
{
    const struct mot__step before = replica->step;
    mot_status status = MOT_OK;
    size_t i;

    if (!held->loop)
        replica->dirty = false;
    for (i = 0; i < held->steps; i++)
        MOT_TRY(compute_step(replica, &held->step[i], !held->loop, answer));
    if (held->loop)
        answer->again = answer->layer[0];
    else if (held->steps > 0)
        MOT_TRY(judge_gradients(replica, finding, answer));
done:
    replica->step = before;
    return status;
}

/* ---- the sentence ---- */

static void add_text(struct mot_note *note, const char *format, ...) MOT__PRINTF(2, 3);

static void add_text(struct mot_note *note, const char *format, ...)
{
    const size_t used = strlen(note->text);
    va_list args;

    va_start(args, format);
    mot__text_format(note->text + used, sizeof note->text - used, format, args);
    va_end(args);
}

static void name_parameter(const mot_replica *replica, size_t index, struct mot_note *note)
{
    const struct mot__parameters *table = table_of(replica);
    size_t p;

    for (p = 0; p < table->count; p++)
        if (index >= table->row[p].offset && index < table->row[p].offset + table->row[p].count)
            snprintf(note->parameter, sizeof note->parameter, "%s", table->row[p].name);
}

static void say_what(struct mot_note *note, double rows, const char *kind)
{
    add_text(note, "step %llu: ", (unsigned long long)note->step);
    if (rows > 0)
        add_text(note, "the loss of %g row%s on device %s is not finite", rows, rows > 1 ? "s" : "",
                 note->device);
    else if (note->parameter[0])
        add_text(note, "gradient of %s on device %s is not finite (%s)", note->parameter,
                 note->device, kind);
    else
        add_text(note, "the norm of the gradient is not finite");
}

static void say_layer(const char *layer, struct mot_note *note)
{
    if (layer[0])
        add_text(note, "; %s is the first layer with such an output", layer);
}

/* Where the witness finds nothing it accuses only if it has seen all there was. */
static void say_why(const struct claim *suspect, const struct claim *witness,
                    const struct mot__held *held, const struct answer *answer, const char *kind,
                    struct mot_note *note)
{
    if (answer->input)
        add_text(note, "; row %zu of the batch (sample %llu) has an input that is not finite",
                 answer->row, (unsigned long long)answer->sample);
    else if (answer->again)
        say_layer(answer->layer, note);
    if (witness == suspect)
        return;
    if (answer->again)
        add_text(note, "; the data or the learning rate: device %s reproduces it", witness->device);
    else if (answer->overflow)
        add_text(note, "; the devices' gradients are too large to add up: the learning rate");
    else if (!held->loop && !held->more)
        add_text(note, "; device %s computed %s where device %s did not: suspect the device",
                 suspect->device, kind, witness->device);
}

static void tell(mot_replica *replica, const struct mot_note *note)
{
    snprintf(replica->trouble, sizeof replica->trouble, "%s", note->text);
    if (replica->seat > 0)
        return;
    mot__notes_add(replica->common->notes, note);
    if (replica->common->config.on_nan == MOT_ON_NAN_STOP)
        atomic_store(replica->common->halted, true);
}

/* ---- looking ---- */

static mot_status gather(mot_replica *replica, const struct mot__finding *finding,
                         struct claim *claim)
{
    mot__group *group = replica->common->group;
    struct claim *own = &claim[replica->seat];
    mot_status status = MOT_OK;
    size_t i;

    *own = (struct claim){finding->own_rows, replica->rank, ""};
    snprintf(own->device, sizeof own->device, "%s", mot__lane_label(replica->lane));
    for (i = 0; i < mot__group_lanes(group) && status == MOT_OK; i++)
        status = mot__group_broadcast(group, replica->seat, i, &claim[i], sizeof claim[i]);
    return status;
}

/* Whose rows: of the first lane with a bad loss, else with the odd gradient. */
static size_t find_suspect(const struct claim *claim, size_t lanes,
                           const struct mot__finding *finding)
{
    size_t i;

    for (i = 0; i < lanes; i++)
        if (claim[i].bad_rows > 0)
            return i;
    return finding->odd.found ? finding->odd.lane : 0;
}

static mot_status ask_witness(mot_replica *replica, size_t suspect, size_t witness,
                              const struct mot__finding *finding, struct mot__held *held,
                              struct answer *answer)
{
    mot__group *group = replica->common->group;
    mot_status status = MOT_OK;

    *held = replica->held;
    MOT_TRY(mot__group_broadcast(group, replica->seat, suspect, held, sizeof *held));
    if (replica->seat == witness)
        MOT_TRY(compute_again(replica, held, finding, answer));
    MOT_TRY(mot__group_broadcast(group, replica->seat, witness, answer, sizeof *answer));
done:
    return status;
}

static mot_status look(mot_replica *replica, const struct mot__finding *finding,
                       struct claim *claim)
{
    const size_t lanes = mot__group_lanes(replica->common->group);
    const char *kind = finding->odd.found && !finding->odd.nan ? "infinity" : "NaN";
    struct mot_note note = {.kind = MOT_NOTE_NUMBER, .step = replica->step.number};
    struct answer answer = {.again = false};
    struct mot__held held;
    mot_status status = MOT_OK;
    size_t suspect, witness;

    MOT_TRY(gather(replica, finding, claim));
    suspect = find_suspect(claim, lanes, finding);
    witness = (suspect + 1) % lanes;
    note.replica = (ptrdiff_t)claim[suspect].rank;
    snprintf(note.device, sizeof note.device, "%s", claim[suspect].device);
    if (finding->odd.found)
        name_parameter(replica, finding->odd.index, &note);
    say_what(&note, (double)claim[suspect].bad_rows, kind);
    MOT_TRY(ask_witness(replica, suspect, witness, finding, &held, &answer));
    say_why(&claim[suspect], &claim[witness], &held, &answer, kind, &note);
    tell(replica, &note);
done:
    return status;
}

mot_status mot__suspect_look(mot_replica *replica, const struct mot__finding *finding)
{
    mot__group *group = replica->common->group;
    bool looked = replica->looked;
    struct claim *claim;
    mot_status status;

    /* A lane that was away for a while may think otherwise than the rest. */
    status = mot__group_broadcast(group, replica->seat, 0, &looked, sizeof looked);
    if (status != MOT_OK || looked)
        return status;
    claim = calloc(mot__group_lanes(group), sizeof *claim);
    if (!claim)
        return mot__fail(MOT_NO_MEMORY, "%zu claims", replica->common->replicas);
    replica->looked = true;
    status = look(replica, finding, claim);
    free(claim);
    return status;
}

/* ---- told by the device ---- */

static uint32_t word(const float verdict[MOT__VERDICT_FLOATS], enum mot__verdict at)
{
    uint32_t bits;

    memcpy(&bits, &verdict[at], sizeof bits);
    return bits;
}

/* The first sample, of all there are in memory, that is not finite. */
static bool blame_sample(const struct mot__samples *samples, struct mot_note *note)
{
    size_t i;

    for (i = 0; samples->x && samples->dtype == MOT_DTYPE_F32 && i < samples->count; i++)
        if (mot__odd_any((const float *)samples->x + i * samples->width, samples->width)) {
            add_text(note, "; sample %zu has an input that is not finite", i);
            return true;
        }
    return false;
}

/* The samples in memory, some at a time, until a layer's output is not finite. */
static mot_status search(mot_replica *replica, const struct mot__samples *samples, uint64_t number,
                         struct answer *answer)
{
    const size_t count = samples->x ? mot__size_min(samples->count, SEARCH_MOST) : 0;
    const size_t most = mot__plan_rows(replica->train);
    uint64_t *index = calloc(most, sizeof *index);
    mot_batch batch = {.samples = samples, .index = index};
    struct mot__held_rows step = {.batch = &batch, .number = number};
    mot_status status = MOT_OK;
    size_t first, i;

    if (!index)
        return mot__fail(MOT_NO_MEMORY, "%zu numbers of samples", most);
    answer->input = true; /* known to be finite: nobody need look */
    for (first = 0; first < count && !answer->layer[0]; first += step.rows) {
        batch.rows = step.rows = mot__size_min(most, count - first);
        for (i = 0; i < step.rows; i++)
            index[i] = first + i;
        MOT_TRY(compute_step(replica, &step, false, answer));
    }
done:
    free(index);
    return status;
}

/* The loss was not finite and every input is: where does it begin? */
static mot_status find_layer(mot_replica *replica, bool halted, struct mot_note *note)
{
    const struct mot__step before = replica->step;
    const struct mot__held *held = &replica->held;
    const struct mot__samples *samples = held->step[0].batch->samples;
    struct answer answer = {.input = true};
    mot_status status = MOT_OK;
    size_t i;

    if (!replica->train ||
        !mot__feed_fits(replica->train_feed, samples, mot__plan_rows(replica->train)))
        return MOT_OK;
    for (i = 0; i < held->steps && !answer.layer[0]; i++)
        MOT_TRY(compute_step(replica, &held->step[i], false, &answer));
    if (!answer.layer[0] && halted)
        MOT_TRY(search(replica, samples, note->step, &answer));
    say_layer(answer.layer, note);
done:
    replica->step = before;
    return status;
}

static mot_status tell_refused(mot_replica *replica, const float verdict[MOT__VERDICT_FLOATS])
{
    const uint64_t begun = replica->read_at;
    const uint32_t last = word(verdict, MOT__VERDICT_ODD_LAST);
    const char *kind = word(verdict, MOT__VERDICT_ODD_KIND) & 2 ? "NaN" : "infinity";
    struct mot_note note = {.kind = MOT_NOTE_NUMBER, .replica = (ptrdiff_t)replica->rank};
    const bool told = replica->looked;
    mot_status status = MOT_OK;

    replica->read_at = replica->steps > 0 ? replica->step.number + 1 : 0;
    replica->looked = false;
    if (told || !(verdict[MOT__VERDICT_BAD_AT] > 0))
        return MOT_OK;
    note.step = begun + (uint64_t)verdict[MOT__VERDICT_BAD_AT] - 1;
    snprintf(note.device, sizeof note.device, "%s", mot__lane_label(replica->lane));
    if (last > 0)
        name_parameter(replica, last - 1, &note);
    say_what(&note, (double)verdict[MOT__VERDICT_BAD_ROWS], kind);
    if (replica->held.steps > 0 && !blame_sample(replica->held.step[0].batch->samples, &note) &&
        verdict[MOT__VERDICT_BAD_ROWS] > 0)
        status = find_layer(replica, verdict[MOT__VERDICT_HALTED] > 0, &note);
    tell(replica, &note);
    return status;
}

/* What is held is let go once its numbers are known. */
mot_status mot__suspect_read(mot_replica *replica, const float verdict[MOT__VERDICT_FLOATS])
{
    const mot_status status = tell_refused(replica, verdict);

    if (!replica->dirty)
        mot__suspect_forget(replica);
    return status;
}
