/* copy.c - a network as a whole: copied for a trainer, looked over before training. */
#include "model/build.h"

#include <stdlib.h>
#include <string.h>

/* NULL for nothing is no failure. */
static bool copy_rows(const void *rows, size_t count, size_t bytes, void **out)
{
    *out = NULL;
    if (count == 0)
        return true;
    *out = malloc(count * bytes);
    if (*out)
        memcpy(*out, rows, count * bytes);
    return *out != NULL;
}

mot_status mot__model_copy(const mot_model *net, mot_model **out)
{
    mot_model *copy = malloc(sizeof *copy);
    void *node = NULL, *row = NULL, *mark = NULL;

    if (!copy || !copy_rows(net->node, net->count, sizeof *net->node, &node) ||
        !copy_rows(net->table.row, net->table.count, sizeof *net->table.row, &row) ||
        !copy_rows(net->mark, net->marks, sizeof *net->mark, &mark)) {
        free(copy);
        free(node);
        free(row);
        free(mark);
        return mot__fail(MOT_NO_MEMORY, "out of memory for a copy of the network");
    }
    *copy = *net;
    copy->node = node;
    copy->capacity = net->count;
    copy->table.row = row;
    copy->mark = mark;
    *out = copy;
    return MOT_OK;
}

void mot__model_swap(mot_model *a, mot_model *b)
{
    const mot_model kept = *a;

    *a = *b;
    *b = kept;
}

mot_status mot__model_check(const mot_model *net)
{
    if (net->count == 0)
        return mot__fail(MOT_BAD_STATE, "the network has no input");
    if (net->table.count == 0)
        return mot__fail(MOT_BAD_STATE, "the network has nothing to learn: add a dense layer");
    if (net->here != net->count - 1)
        return mot__fail(MOT_BAD_STATE,
                         "the network ends at %s, but %s was built after it: join the two with add",
                         net->node[net->here].name, net->node[net->count - 1].name);
    return MOT_OK;
}
