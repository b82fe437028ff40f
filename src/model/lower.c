/* lower.c - nodes to operations; lives.c says when their values live. */
#include "model/lower.h"

#include "base/size.h"
#include "ops/activation.h"

#include <stdlib.h>
#include <string.h>

static bool is_cross_entropy(enum mot_loss loss)
{
    return loss == MOT_LOSS_CROSS_ENTROPY || loss == MOT_LOSS_CROSS_ENTROPY_PROBABILITIES;
}

static void mark_used(const mot_model *net, bool *used)
{
    size_t i, k;

    used[net->here] = true;
    for (i = net->count; i-- > 0;)
        for (k = 0; used[i] && k < net->node[i].inputs; k++)
            used[net->node[i].input[k]] = true;
}

static size_t add_op(struct mot__lowering *low, struct mot__lowered op)
{
    op.value = op.gradient = op.scratch = MOT__NONE;
    low->op[low->count] = op;
    return low->count++;
}

/* One node to at most two operations; returns the one that has the node's value. place: node ->
 * operation. */
static size_t lower_node(const struct mot__plan_config *config, struct mot__lowering *low, size_t n,
                         const size_t *place)
{
    const struct mot__node *node = &config->net->node[n];
    const size_t from = node->inputs ? place[node->input[0]] : 0;
    const size_t from_width = node->inputs ? low->op[from].width : 0;
    struct mot__lowered op = {.node = n,
                              .input = {from, 0},
                              .inputs = 1,
                              .width = node->width,
                              .width_in = from_width,
                              .act = node->act,
                              .rate = node->rate};
    size_t dense;

    switch (node->kind) {
    case MOT__NODE_INPUT:
        op.kind = MOT__LOWERED_INPUT;
        op.inputs = 0;
        return add_op(low, op);
    case MOT__NODE_DENSE:
        op.kind = MOT__LOWERED_DENSE;
        op.weight = node->weight;
        op.bias = node->bias;
        if (node->act != MOT_ACT_SOFTMAX && mot__activation_from_output(node->act))
            return add_op(low, op);
        op.act = MOT_ACT_NONE;
        dense = add_op(low, op);
        op.input[0] = dense;
        op.act = node->act;
        op.kind = node->act == MOT_ACT_SOFTMAX ? MOT__LOWERED_SOFTMAX : MOT__LOWERED_ACTIVATION;
        return node->act == MOT_ACT_NONE ? dense : add_op(low, op);
    case MOT__NODE_ACTIVATION:
        op.kind = node->act == MOT_ACT_SOFTMAX ? MOT__LOWERED_SOFTMAX : MOT__LOWERED_ACTIVATION;
        return node->act == MOT_ACT_NONE ? from : add_op(low, op);
    case MOT__NODE_DROPOUT:
        op.kind = MOT__LOWERED_DROPOUT;
        return config->training && node->rate > 0 ? add_op(low, op) : from;
    case MOT__NODE_FLATTEN:
        return from;
    case MOT__NODE_ADD:
        op.kind = MOT__LOWERED_ADD;
        op.input[1] = place[node->input[1]];
        op.inputs = 2;
        return add_op(low, op);
    }
    return from;
}

static void count_consumers(struct mot__lowering *low)
{
    size_t i, k;

    for (i = 0; i < low->count; i++)
        low->op[i].consumers = 0;
    for (i = 0; i < low->count; i++)
        for (k = 0; k < low->op[i].inputs; k++)
            low->op[low->op[i].input[k]].consumers++;
}

/* "dense 64, relu" is "dense 64 relu": take the activation into the dense layer before it. */
static void join_activations(struct mot__lowering *low)
{
    size_t i, j, k, kept = 0, moved[2];
    struct mot__lowered *op, *before;

    for (i = 0; i < low->count; i++) {
        op = &low->op[i];
        before = op->inputs ? &low->op[op->input[0]] : NULL;
        if (op->kind != MOT__LOWERED_ACTIVATION || !mot__activation_from_output(op->act) ||
            before->kind != MOT__LOWERED_DENSE || before->act != MOT_ACT_NONE ||
            before->consumers != 1)
            continue;
        before->act = op->act;
        moved[0] = i, moved[1] = op->input[0];
        for (j = i + 1; j < low->count; j++)
            for (k = 0; k < low->op[j].inputs; k++)
                if (low->op[j].input[k] == moved[0])
                    low->op[j].input[k] = moved[1];
        op->inputs = 0;
        op->consumers = 0;
        op->width = 0; /* gone */
    }
    for (i = 0; i < low->count; i++) { /* close the gaps */
        if (low->op[i].width == 0)
            continue;
        for (j = i + 1; j < low->count; j++)
            for (k = 0; k < low->op[j].inputs; k++)
                if (low->op[j].input[k] == i)
                    low->op[j].input[k] = kept;
        low->op[kept++] = low->op[i];
    }
    low->count = kept;
    count_consumers(low);
}

static void find_slopes(struct mot__lowering *low)
{
    size_t i, k;

    for (i = 0; i < low->count; i++) {
        low->op[i].slope = low->op[i].kind == MOT__LOWERED_DENSE;
        for (k = 0; k < low->op[i].inputs; k++)
            low->op[i].slope = low->op[i].slope || low->op[low->op[i].input[k]].slope;
    }
}

static mot_status make_ops(const struct mot__plan_config *config, struct mot__lowering *low)
{
    const mot_model *net = config->net;
    mot_status status = MOT_OK;
    size_t *place = calloc(net->count, sizeof *place);
    bool *used = calloc(net->count, sizeof *used);
    size_t i;

    low->op = calloc(2 * net->count, sizeof *low->op);
    if (!place || !used || !low->op) {
        status = mot__fail(MOT_NO_MEMORY, "a plan of %zu layers", net->count);
        goto done;
    }
    mark_used(net, used);
    for (i = 0; i < net->count; i++)
        if (used[i])
            place[i] = lower_node(config, low, i, place);
    if (low->op[low->count - 1].kind == MOT__LOWERED_SOFTMAX && is_cross_entropy(config->loss)) {
        low->joined = true;
        low->count--;
    }
    count_consumers(low);
    join_activations(low);
    find_slopes(low);
done:
    free(place);
    free(used);
    return status;
}

/* ---- all of it ---- */

bool mot__lowered_first(const struct mot__lowering *low, size_t at, size_t input)
{
    size_t j, k;

    for (j = low->count; j-- > at + 1;) /* later operations run backward earlier */
        for (k = 0; k < low->op[j].inputs; k++)
            if (low->op[j].input[k] == low->op[at].input[input])
                return false;
    for (k = 0; k < input; k++)
        if (low->op[at].input[k] == low->op[at].input[input])
            return false;
    return true;
}

mot_status mot__lower(const struct mot__plan_config *config, struct mot__lowering *out)
{
    struct mot__lowering low = {0};
    mot_status status = MOT_OK;

    MOT_TRY(make_ops(config, &low));
    MOT_TRY(mot__lives_make(config, &low));
    MOT_TRY(mot__arena_place(low.life, low.lives, &low.floats, &low.live_floats));
    *out = low;
    memset(&low, 0, sizeof low);
done:
    mot__lowering_clear(&low);
    return status;
}

void mot__lowering_clear(struct mot__lowering *low)
{
    free(low->op);
    free(low->life);
    memset(low, 0, sizeof *low);
}
