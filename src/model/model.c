/* model.c - the builder: every call adds a node that follows the last one. */
#include "model/build.h"

#include "base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of nodes: this and a count from 1. */
static const char *const kind_name[] = {
    [MOT__NODE_INPUT] = "input",           [MOT__NODE_DENSE] = "dense",
    [MOT__NODE_ACTIVATION] = "activation", [MOT__NODE_DROPOUT] = "dropout",
    [MOT__NODE_FLATTEN] = "flatten",       [MOT__NODE_ADD] = "add",
};

mot_status mot_model_open(mot_model **out)
{
    mot_model *net = calloc(1, sizeof *net);

    if (!net)
        return mot__fail(MOT_NO_MEMORY, "out of memory for a network");
    *out = net;
    return MOT_OK;
}

void mot_model_close(mot_model *net)
{
    if (!net)
        return;
    mot__parameters_clear(&net->table);
    free(net->node);
    free(net->mark);
    free(net);
}

/* One more row for an array of count rows; NULL where memory ends. */
static void *one_more(void *rows, size_t count, size_t bytes)
{
    size_t wanted;

    if (!mot__size_mul(count + 1, bytes, &wanted))
        return NULL;
    return realloc(rows, wanted);
}

static void name_node(const mot_model *net, enum mot__node_kind kind, char out[32])
{
    size_t number = 1;

    for (size_t i = 0; i < net->count; i++)
        number += net->node[i].kind == kind;
    snprintf(out, 32, "%s%zu", kind_name[kind], number);
}

/* A node that follows the last one and has its shape, until the caller says otherwise. It becomes
 * part of the network by add_node. */
static mot_status begin_node(const mot_model *net, enum mot__node_kind kind, struct mot__node *node)
{
    memset(node, 0, sizeof *node);
    node->kind = kind;
    name_node(net, kind, node->name);
    if (kind == MOT__NODE_INPUT)
        return MOT_OK;
    if (net->count == 0)
        return mot__fail(MOT_BAD_STATE,
                         "%s: the network has no input yet (mot_model_input, or \"input 784\" in "
                         "front of the text)",
                         node->name);
    node->input[0] = net->here;
    node->inputs = 1;
    node->shape = net->node[net->here].shape;
    node->width = net->node[net->here].width;
    return MOT_OK;
}

static mot_status add_node(mot_model *net, const struct mot__node *node)
{
    if (net->count == net->capacity) {
        const size_t capacity = net->capacity ? 2 * net->capacity : 8;
        struct mot__node *larger = realloc(net->node, capacity * sizeof *larger);

        if (!larger)
            return mot__fail(MOT_NO_MEMORY, "%s: out of memory", node->name);
        net->node = larger;
        net->capacity = capacity;
    }
    net->node[net->count] = *node;
    net->here = net->count++;
    return MOT_OK;
}

static mot_status check_shape(const char *where, struct mot_shape shape, size_t *width)
{
    char text[160];
    size_t bytes;

    if (shape.rank == 0 || shape.rank > MOT_RANK_MAX)
        return mot__fail(MOT_BAD_SHAPE, "%s: a shape of %zu dimensions; 1 to %d are possible",
                         where, shape.rank, MOT_RANK_MAX);
    mot__shape_text(shape, text, sizeof text);
    *width = mot_shape_count(shape);
    if (*width == 0)
        return mot__fail(MOT_BAD_SHAPE, "%s: the shape %s has a dimension of 0", where, text);
    if (*width == SIZE_MAX || !mot__size_mul(*width, sizeof(float), &bytes))
        return mot__fail(MOT_BAD_SHAPE, "%s: the shape %s is too large", where, text);
    return MOT_OK;
}

mot_status mot_model_input(mot_model *net, struct mot_shape shape)
{
    struct mot__node node;

    if (net->count > 0)
        return mot__fail(MOT_BAD_STATE, "input: the network has one already");
    begin_node(net, MOT__NODE_INPUT, &node);
    if (check_shape("input", shape, &node.width) != MOT_OK)
        return MOT_BAD_SHAPE;
    node.shape = shape;
    return add_node(net, &node);
}

/* A row of the parameter table, starting where the flat buffer ends now. */
static mot_status add_parameter(mot_model *net, const struct mot__node *node, const char *what,
                                struct mot__parameter row)
{
    struct mot__parameters *table = &net->table;
    struct mot__parameter *rows;
    size_t end;

    if (!mot__size_add(table->floats, row.count, &end) || end > SIZE_MAX / sizeof(float) / 2)
        return mot__fail(MOT_BAD_SHAPE, "%s: more parameters than memory can hold", node->name);
    rows = one_more(table->row, table->count, sizeof *rows);
    if (!rows)
        return mot__fail(MOT_NO_MEMORY, "%s: out of memory", node->name);
    table->row = rows;
    snprintf(row.name, sizeof row.name, "%s.%s", node->name, what);
    row.offset = table->floats;
    rows[table->count++] = row;
    table->floats = mot__size_round_up(end, MOT__PARAMETER_ALIGN);
    return MOT_OK;
}

static mot_status add_weights(mot_model *net, struct mot__node *node, size_t in, size_t out)
{
    mot_status status;
    struct mot__parameter weight = {
        .shape = {2, {out, in}}, .init = net->init, .fan_in = in, .fan_out = out};
    const struct mot__parameter bias = {
        .shape = {1, {out}}, .count = out, .init = MOT_INIT_ZERO, .fan_in = in, .fan_out = out};

    MOT_TRY(check_shape(node->name, weight.shape, &weight.count));
    node->weight = net->table.count;
    node->bias = net->table.count + 1;
    MOT_TRY(add_parameter(net, node, "weight", weight));
    MOT_TRY(add_parameter(net, node, "bias", bias));
done:
    return status;
}

static mot_status check_act(const struct mot__node *node, enum mot_act act)
{
    if ((int)act < MOT_ACT_NONE || act > MOT_ACT_SOFTMAX)
        return mot__fail(MOT_BAD_ARG, "%s: there is no activation %d", node->name, (int)act);
    return MOT_OK;
}

mot_status mot_model_dense(mot_model *net, size_t units, enum mot_act act)
{
    mot_status status;
    struct mot__node node;
    const struct mot__parameters table = net->table;
    const size_t count = net->count, here = net->here;

    MOT_TRY(begin_node(net, MOT__NODE_DENSE, &node));
    MOT_TRY(check_act(&node, act));
    if (units == 0) {
        status = mot__fail(MOT_BAD_ARG, "%s: 0 units; there must be at least 1", node.name);
        goto done;
    }
    if (node.shape.rank > 1) {
        MOT_TRY(mot_model_flatten(net));
        node.input[0] = net->here;
    }
    node.act = act;
    MOT_TRY(add_weights(net, &node, node.width, units));
    node.shape = MOT_SHAPE(units);
    node.width = units;
    MOT_TRY(add_node(net, &node));
done:
    if (status != MOT_OK) { /* all or nothing: no flatten and no weights without their layer */
        net->count = count;
        net->here = here;
        net->table.count = table.count;
        net->table.floats = table.floats;
    }
    return status;
}

mot_status mot_model_activation(mot_model *net, enum mot_act act)
{
    mot_status status;
    struct mot__node node;

    MOT_TRY(begin_node(net, MOT__NODE_ACTIVATION, &node));
    MOT_TRY(check_act(&node, act));
    if (act == MOT_ACT_NONE)
        return mot__fail(MOT_BAD_ARG, "%s: \"none\" is no activation of its own", node.name);
    if (act == MOT_ACT_SOFTMAX && node.shape.rank > 1) {
        char text[160];

        mot__shape_text(node.shape, text, sizeof text);
        return mot__fail(MOT_BAD_SHAPE,
                         "%s: softmax of %s; it goes over one dimension (flatten "
                         "first)",
                         node.name, text);
    }
    node.act = act;
    MOT_TRY(add_node(net, &node));
done:
    return status;
}

mot_status mot_model_dropout(mot_model *net, double rate)
{
    mot_status status;
    struct mot__node node;

    MOT_TRY(begin_node(net, MOT__NODE_DROPOUT, &node));
    if (!(rate >= 0 && rate < 1)) {
        status = mot__fail(MOT_BAD_ARG, "%s: a rate of %g; it must be at least 0 and below 1",
                           node.name, rate);
        goto done;
    }
    node.rate = rate;
    MOT_TRY(add_node(net, &node));
done:
    return status;
}

mot_status mot_model_flatten(mot_model *net)
{
    mot_status status;
    struct mot__node node;

    MOT_TRY(begin_node(net, MOT__NODE_FLATTEN, &node));
    node.shape = MOT_SHAPE(node.width);
    MOT_TRY(add_node(net, &node));
done:
    return status;
}

static const struct mot__mark *find_mark(const mot_model *net, const char *name)
{
    for (size_t i = 0; i < net->marks; i++)
        if (strcmp(net->mark[i].name, name) == 0)
            return &net->mark[i];
    return NULL;
}

/* "a, b", or "none". */
static void list_marks(const mot_model *net, char *out, size_t bytes)
{
    size_t used = 0;

    snprintf(out, bytes, "none");
    for (size_t i = 0; i < net->marks && used < bytes; i++)
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "", net->mark[i].name);
}

static mot_status need_mark(const mot_model *net, const char *call, const char *name,
                            const struct mot__mark **out)
{
    char there[256];

    *out = name ? find_mark(net, name) : NULL;
    if (*out)
        return MOT_OK;
    list_marks(net, there, sizeof there);
    return mot__fail(MOT_BAD_ARG, "%s: there is no mark \"%s\"; there are: %s", call,
                     name ? name : "", there);
}

/* A name that the text language can write too. */
static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t length = name ? strlen(name) : 0;

    return length > 0 && length < sizeof((struct mot__mark *)0)->name &&
           strspn(name, letters) == length;
}

mot_status mot_model_mark(mot_model *net, const char *name)
{
    struct mot__mark *marks;

    if (net->count == 0)
        return mot__fail(MOT_BAD_STATE, "mark: the network has no input yet");
    if (!is_name(name))
        return mot__fail(MOT_BAD_ARG,
                         "mark: \"%s\" is no name (1 to 31 letters, digits, '_', '-', '.')",
                         name ? name : "");
    if (find_mark(net, name))
        return mot__fail(MOT_BAD_ARG, "mark: \"%s\" is there already, at %s", name,
                         net->node[find_mark(net, name)->node].name);
    marks = one_more(net->mark, net->marks, sizeof *marks);
    if (!marks)
        return mot__fail(MOT_NO_MEMORY, "mark: out of memory");
    net->mark = marks;
    memset(&marks[net->marks], 0, sizeof *marks);
    snprintf(marks[net->marks].name, sizeof marks->name, "%s", name);
    marks[net->marks++].node = net->here;
    return MOT_OK;
}

mot_status mot_model_goto(mot_model *net, const char *name)
{
    const struct mot__mark *mark;

    if (need_mark(net, "goto", name, &mark) != MOT_OK)
        return MOT_BAD_ARG;
    net->here = mark->node;
    return MOT_OK;
}

mot_status mot_model_add(mot_model *net, const char *name)
{
    mot_status status;
    struct mot__node node;
    const struct mot__mark *mark;

    MOT_TRY(begin_node(net, MOT__NODE_ADD, &node));
    MOT_TRY(need_mark(net, node.name, name, &mark));
    if (!mot__shape_same(node.shape, net->node[mark->node].shape)) {
        char here[160], there[160];

        mot__shape_text(node.shape, here, sizeof here);
        mot__shape_text(net->node[mark->node].shape, there, sizeof there);
        return mot__fail(MOT_BAD_SHAPE, "%s: %s from %s does not fit %s at the mark \"%s\" (%s)",
                         node.name, here, net->node[net->here].name, there, name,
                         net->node[mark->node].name);
    }
    node.input[1] = mark->node;
    node.inputs = 2;
    MOT_TRY(add_node(net, &node));
done:
    return status;
}

mot_status mot_model_init(mot_model *net, enum mot_init init)
{
    if ((int)init < MOT_INIT_GLOROT || init > MOT_INIT_ZERO)
        return mot__fail(MOT_BAD_ARG, "init: there is no initialiser %d", (int)init);
    net->init = init;
    return MOT_OK;
}

size_t mot_model_layers(const mot_model *net)
{
    return net->count > 0 ? net->count - 1 : 0; /* the input is none */
}

struct mot_shape mot_model_output(const mot_model *net)
{
    return net->count > 0 ? net->node[net->here].shape : (struct mot_shape){0, {0}};
}

size_t mot_model_parameters(const mot_model *net)
{
    size_t count = 0;

    for (size_t i = 0; i < net->table.count; i++)
        count += net->table.row[i].count;
    return count;
}
