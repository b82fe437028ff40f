/* odd.c - the forward pass, looked at after every layer. */
#include "model/odd.h"

#include "base/odd.h"
#include "model/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "dense2" from its weight; other layers have no name of their own: by their place. */
static void name_layer(const mot_model *net, const struct mot__lowered *op, char *out, size_t bytes)
{
    static const char *const kind[] = {
        [MOT__LOWERED_INPUT] = "input",           [MOT__LOWERED_DENSE] = "dense",
        [MOT__LOWERED_ACTIVATION] = "activation", [MOT__LOWERED_SOFTMAX] = "softmax",
        [MOT__LOWERED_DROPOUT] = "dropout",       [MOT__LOWERED_ADD] = "add"};
    const char *name;

    if (op->kind != MOT__LOWERED_DENSE) {
        snprintf(out, bytes, "%s (layer %zu)", kind[op->kind], op->node);
        return;
    }
    name = net->table.row[op->weight].name;
    snprintf(out, bytes, "%.*s", (int)strcspn(name, "."), name);
}

mot_status mot__plan_odd(mot__plan *plan, const struct mot__step *step, mot__exchange_fn exchange,
                         void *user, char *layer, size_t bytes)
{
    const struct mot__list *list = &mot__plan_lists(plan)->forward;
    mot_status status = MOT_OK;
    size_t i;

    layer[0] = '\0';
    for (i = 0; i < list->count; i++) {
        const struct mot__list one = {&list->entry[i], 1, 1};
        const struct mot__lowered *op = list->entry[i].user;
        struct mot__mem value;
        size_t count;
        float *host;

        MOT_TRY(mot__plan_run(&one, step, exchange, user));
        if (layer[0] || list->entry[i].kind != MOT__ENTRY_LAUNCH)
            continue;
        value = mot__plan_value(op);
        count = step->rows * op->width;
        host = malloc(count * sizeof *host);
        if (!host)
            return mot__fail(MOT_NO_MEMORY, "%zu outputs", count);
        status = mot__buffer_read(value.buffer, value.offset * sizeof(float), host,
                                  count * sizeof *host);
        if (status == MOT_OK && mot__odd_any(host, count))
            name_layer(mot__plan_net(plan), op, layer, bytes);
        free(host);
        MOT_TRY(status);
    }
done:
    return status;
}
