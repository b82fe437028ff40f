/* lives.c - when each value and gradient of a lowered network must be in memory.
 *
 * Moments: forward of operation i at i, the loss at n, then the backward pass. The operations are
 * cut into segments; of every segment but the last, only values that a later segment reads are kept
 * after the forward pass. The others are computed again, by the same launches, right before the
 * backward pass of their segment: they live twice, at one place. With one segment nothing is
 * computed again and the backward pass of operation i is at 2n - i. */
#include "base/size.h"
#include "model/lower.h"
#include "ops/activation.h"

#include <stdlib.h>

static size_t add_life(struct mot__lowering *low, size_t floats, size_t first, size_t last)
{
    low->life[low->lives] = (struct mot__life){.floats = floats, .first = first, .last = last};
    return low->lives++;
}

static void live_until(struct mot__lowering *low, size_t life, size_t moment)
{
    low->life[life].last = mot__size_max(low->life[life].last, moment);
}

/* Does the backward pass of this operation read its own output? */
static bool needs_output(const struct mot__lowered *op)
{
    return op->kind == MOT__LOWERED_SOFTMAX ||
           ((op->kind == MOT__LOWERED_DENSE || op->kind == MOT__LOWERED_ACTIVATION) &&
            op->act != MOT_ACT_NONE && mot__activation_from_output(op->act));
}

static bool needs_input(const struct mot__lowered *op)
{
    return op->kind == MOT__LOWERED_DENSE ||
           (op->kind == MOT__LOWERED_ACTIVATION && !mot__activation_from_output(op->act));
}

/* May op overwrite its input's value with its own? Not across a cut: it would be read again. */
static bool in_place(const struct mot__lowering *low, const struct mot__lowered *op, bool training)
{
    const struct mot__lowered *from = &low->op[op->input[0]];

    if (op->kind != MOT__LOWERED_ACTIVATION && op->kind != MOT__LOWERED_SOFTMAX)
        return false;
    if (from->kind == MOT__LOWERED_INPUT || from->consumers != 1 || from->segment != op->segment)
        return false;
    return !training || (!needs_input(op) && !needs_output(from));
}

/* ---- segments ---- */

/* Cut so that the values of each segment are about as large; the input is no part of it. */
static void cut(struct mot__lowering *low, size_t segments)
{
    size_t i, sum = 0, before = 0;

    for (i = 1; i < low->count; i++)
        sum += low->op[i].width;
    for (i = 1; i < low->count; i++) {
        low->op[i].segment = segments * before / sum;
        before += low->op[i].width;
    }
    low->segments = low->op[low->count - 1].segment + 1;
}

/* Values that stay: of the last segment, of the input, and those that a later segment reads. */
static void find_kept(struct mot__lowering *low)
{
    const struct mot__lowered *op;
    size_t i, k;

    for (i = 0; i < low->count; i++) {
        op = &low->op[i];
        if (i == 0 || op->segment + 1 == low->segments)
            low->life[op->value].kept = true;
        for (k = 0; k < op->inputs; k++)
            if (low->op[op->input[k]].segment < op->segment)
                low->life[low->op[op->input[k]].value].kept = true;
    }
}

/* Is the value of operation i, which is not kept, read by the backward pass or by an operation of
 * its segment that runs again? Later operations are decided already. */
static bool wanted_again(const struct mot__lowering *low, size_t i)
{
    size_t j, k;

    if (low->op[i].slope && needs_output(&low->op[i]))
        return true;
    for (j = i + 1; j < low->count; j++)
        for (k = 0; k < low->op[j].inputs; k++)
            if (low->op[j].input[k] == i &&
                (low->op[j].again != MOT__NONE || (low->op[j].slope && needs_input(&low->op[j]))))
                return true;
    return false;
}

/* The moments after the loss: each segment runs again, then backward, the last segment first. */
static void set_moments(struct mot__lowering *low)
{
    size_t moment = low->count + 1, begin, end, i;

    for (i = low->count; i-- > 0;)
        low->op[i].again =
            !low->life[low->op[i].value].kept && wanted_again(low, i) ? 0 : MOT__NONE;
    for (end = low->count; end > 0; end = begin) {
        for (begin = end; begin > 0 && low->op[begin - 1].segment == low->op[end - 1].segment;)
            begin--;
        for (i = begin; i < end; i++)
            if (low->op[i].again != MOT__NONE)
                low->op[i].again = moment++;
        for (i = end; i-- > begin;)
            low->op[i].back = moment++;
    }
}

/* ---- values ---- */

/* After the loss this value is read or, if it was not kept, made. */
static void live_late(struct mot__lowering *low, size_t value, size_t moment)
{
    struct mot__life *life = &low->life[value];

    if (life->kept) {
        live_until(low, value, moment);
        return;
    }
    if (life->again_last == 0 || moment < life->again_first)
        life->again_first = moment;
    life->again_last = mot__size_max(life->again_last, moment);
}

static void live_in_backward(struct mot__lowering *low, const struct mot__lowered *op)
{
    size_t k;

    if (op->again != MOT__NONE) {
        live_late(low, op->value, op->again);
        for (k = 0; k < op->inputs; k++)
            live_late(low, low->op[op->input[k]].value, op->again);
    }
    if (op->slope && needs_output(op))
        live_late(low, op->value, op->back);
    if (op->slope && needs_input(op))
        live_late(low, low->op[op->input[0]].value, op->back);
}

static void live_values(const struct mot__plan_config *config, struct mot__lowering *low)
{
    const size_t n = low->count;
    struct mot__lowered *op;
    size_t i, k;

    for (i = 0; i < n; i++) {
        op = &low->op[i];
        op->value = op->inputs == 1 && in_place(low, op, config->training)
                        ? low->op[op->input[0]].value
                        : add_life(low, config->rows * op->width, i, i);
        live_until(low, op->value, i);
        for (k = 0; k < op->inputs; k++)
            live_until(low, low->op[op->input[k]].value, i);
    }
    live_until(low, low->op[n - 1].value, n);
    if (!config->training)
        return;
    find_kept(low);
    set_moments(low);
    for (i = 0; i < n; i++)
        live_in_backward(low, &low->op[i]);
}

/* ---- gradients ---- */

/* Gradients flow through these unchanged in shape, so one buffer serves both sides. */
static bool gradient_in_place(const struct mot__lowering *low, const struct mot__lowered *op)
{
    return (op->kind == MOT__LOWERED_ACTIVATION || op->kind == MOT__LOWERED_SOFTMAX ||
            op->kind == MOT__LOWERED_DROPOUT) &&
           low->op[op->input[0]].consumers == 1;
}

static void live_gradients(const struct mot__plan_config *config, struct mot__lowering *low)
{
    const size_t n = low->count;
    struct mot__lowered *op, *from, *last = &low->op[n - 1];
    size_t i, k;

    last->gradient =
        needs_output(last) ? add_life(low, config->rows * last->width, n, n + 1) : last->value;
    live_until(low, last->gradient, n + 1);
    for (i = n; i-- > 0;) {
        op = &low->op[i];
        for (k = 0; op->slope && k < op->inputs; k++) {
            from = &low->op[op->input[k]];
            if (!from->slope)
                continue;
            if (gradient_in_place(low, op))
                from->gradient = op->gradient;
            else if (from->gradient == MOT__NONE)
                from->gradient = add_life(low, config->rows * from->width, op->back, op->back);
            else if (op->kind != MOT__LOWERED_ADD && op->scratch == MOT__NONE)
                op->scratch = add_life(low, config->rows * from->width, op->back, op->back);
            live_until(low, from->gradient, from->back);
        }
    }
}

mot_status mot__lives_make(const struct mot__plan_config *config, struct mot__lowering *low)
{
    const size_t n = low->count, rows = config->rows, width = low->op[n - 1].width;

    /* At most a value, a gradient and scratch of each; y, row, out and given. */
    low->life = calloc(3 * n + 4, sizeof *low->life);
    if (!low->life)
        return mot__fail(MOT_NO_MEMORY, "a plan of %zu operations", n);
    low->segments = 1;
    if (config->training && config->segments > 1)
        cut(low, config->segments);
    live_values(config, low);
    low->y = add_life(low, rows * (config->target_width ? config->target_width : 1), 0, n);
    low->row = add_life(low, rows * 2, n, n);
    low->out = low->given = MOT__NONE;
    if (config->training)
        live_gradients(config, low);
    if (low->joined && config->training) {
        low->out = add_life(low, rows * width, n, n + 1);
        low->given = add_life(low, rows * width, n, n + 1);
    }
    return MOT_OK;
}
