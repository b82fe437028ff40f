/* plan.c - the lists of a plan, its arena, and running it. */
#include "model/plan.h"

#include "base/size.h"
#include "device/gemm.h"
#include "model/lower.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/dense.h"
#include "ops/dropout.h"
#include "ops/loss.h"
#include "ops/selftest.h"
#include "ops/softmax.h"

#include <stdlib.h>

struct mot__plan {
    mot__device *device;
    struct mot__plan_config config;
    struct mot__lowering low;
    mot__buffer *arena;
    struct mot__plan_lists lists;
};

static struct mot__mem place(const mot__plan *plan, size_t life)
{
    return (struct mot__mem){plan->arena, plan->low.life[life].offset};
}

static const struct mot__lowered *input_of(const struct mot__lowered *op, size_t k)
{
    return &op->plan->low.op[op->input[k]];
}

static struct mot__mem value_of(const struct mot__lowered *op)
{
    return place(op->plan, op->value);
}

static struct mot__mem parameter_of(const mot__plan *plan, const mot__flat *flat, size_t row)
{
    return mot__flat_at(flat, plan->config.net->table.row[row].offset);
}

/* ---- forward ---- */

static struct mot__dense dense_of(const struct mot__lowered *op, size_t rows)
{
    const mot__plan *plan = op->plan;

    return (struct mot__dense){rows,
                               op->width_in,
                               op->width,
                               op->act,
                               value_of(input_of(op, 0)),
                               parameter_of(plan, plan->config.parameters, op->weight),
                               parameter_of(plan, plan->config.parameters, op->bias),
                               value_of(op)};
}

static mot_status forward_dense(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    const struct mot__dense dense = dense_of(op, step->rows);

    return mot__dense_forward(op->plan->device, &dense);
}

static mot_status forward_activation(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;

    return mot__activation_forward(op->plan->device, op->act, step->rows * op->width,
                                   value_of(input_of(op, 0)), value_of(op));
}

static mot_status forward_softmax(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;

    return mot__softmax_forward(op->plan->device, step->rows, op->width, value_of(input_of(op, 0)),
                                value_of(op));
}

static struct mot__dropout dropout_of(const struct mot__lowered *op, const struct mot__step *step)
{
    return (struct mot__dropout){
        step->rows,         op->width,    op->rate,       op->plan->config.seed,
        (uint32_t)op->node, step->number, step->first_row};
}

static mot_status forward_dropout(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    const struct mot__dropout dropout = dropout_of(op, step);

    return mot__dropout_launch(op->plan->device, &dropout, value_of(input_of(op, 0)), value_of(op));
}

static mot_status forward_add(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;

    return mot__add_launch(op->plan->device, step->rows * op->width, value_of(input_of(op, 0)),
                           value_of(input_of(op, 1)), value_of(op));
}

/* ---- the loss and the output ---- */

static enum mot__loss_kind loss_kind(const mot__plan *plan)
{
    if (plan->config.loss == MOT_LOSS_MSE)
        return MOT__LOSS_SQUARES;
    if (plan->config.loss == MOT_LOSS_CROSS_ENTROPY_PROBABILITIES && !plan->low.joined)
        return MOT__LOSS_PROBABILITIES;
    return MOT__LOSS_LOGITS;
}

static const struct mot__lowered *last_op(const mot__plan *plan)
{
    return &plan->low.op[plan->low.count - 1];
}

static mot_status run_loss(void *user, const struct mot__step *step)
{
    const mot__plan *plan = user;
    const struct mot__lowered *last = last_op(plan);
    struct mot__loss loss = {.kind = loss_kind(plan),
                             .rows = step->rows,
                             .width = last->width,
                             .x = value_of(last),
                             .scale = step->scale,
                             .row = place(plan, plan->low.row),
                             .record = plan->config.record,
                             .accumulate = step->accumulate};

    if (step->given)
        return MOT_OK;
    if (plan->config.target_width)
        loss.targets = mot__plan_y(plan);
    else
        loss.labels = mot__plan_y(plan);
    if (plan->config.training)
        loss.dx = place(plan, last->gradient);
    return mot__loss_launch(plan->device, &loss);
}

/* The softmax that was joined with the loss, for those who want probabilities. */
static mot_status run_finish(void *user, const struct mot__step *step)
{
    const mot__plan *plan = user;

    return mot__softmax_forward(plan->device, step->rows, last_op(plan)->width,
                                value_of(last_op(plan)), mot__plan_output(plan));
}

/* A given gradient of those probabilities, back through that softmax. */
static mot_status run_given(void *user, const struct mot__step *step)
{
    const mot__plan *plan = user;

    if (!step->given)
        return MOT_OK;
    return mot__softmax_backward(plan->device, step->rows, last_op(plan)->width,
                                 mot__plan_output(plan), mot__plan_dy(plan),
                                 place(plan, last_op(plan)->gradient));
}

/* ---- backward ---- */

/* Where op writes the gradient of its input: the input's own, or scratch to be added by
 * add_scratch. */
static struct mot__mem gradient_place(const struct mot__lowered *op)
{
    const struct mot__lowered *from = input_of(op, 0);

    if (!from->slope)
        return (struct mot__mem){NULL, 0};
    return place(op->plan, op->scratch != MOT__NONE ? op->scratch : from->gradient);
}

static mot_status add_scratch(const struct mot__lowered *op, const struct mot__step *step)
{
    const struct mot__lowered *from = input_of(op, 0);

    if (op->scratch == MOT__NONE || !from->slope)
        return MOT_OK;
    return mot__add_launch(op->plan->device, step->rows * from->width,
                           place(op->plan, from->gradient), place(op->plan, op->scratch),
                           place(op->plan, from->gradient));
}

static mot_status backward_dense(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    const mot__plan *plan = op->plan;
    const struct mot__dense dense = dense_of(op, step->rows);
    const struct mot__dense_back back = {.dy = place(plan, op->gradient),
                                         .dw =
                                             parameter_of(plan, plan->config.gradients, op->weight),
                                         .db = parameter_of(plan, plan->config.gradients, op->bias),
                                         .dx = gradient_place(op),
                                         .accumulate = step->accumulate};
    mot_status status = mot__dense_backward(plan->device, &dense, &back);

    return status != MOT_OK ? status : add_scratch(op, step);
}

static mot_status backward_activation(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    mot_status status = mot__activation_backward(op->plan->device, op->act, step->rows * op->width,
                                                 value_of(input_of(op, 0)), value_of(op),
                                                 place(op->plan, op->gradient), gradient_place(op));

    return status != MOT_OK ? status : add_scratch(op, step);
}

static mot_status backward_softmax(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    mot_status status = mot__softmax_backward(op->plan->device, step->rows, op->width, value_of(op),
                                              place(op->plan, op->gradient), gradient_place(op));

    return status != MOT_OK ? status : add_scratch(op, step);
}

static mot_status backward_dropout(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    const struct mot__dropout dropout = dropout_of(op, step);
    mot_status status = mot__dropout_launch(op->plan->device, &dropout,
                                            place(op->plan, op->gradient), gradient_place(op));

    return status != MOT_OK ? status : add_scratch(op, step);
}

static mot_status backward_add(void *user, const struct mot__step *step)
{
    const struct mot__lowered *op = user;
    const mot__plan *plan = op->plan;
    const struct mot__mem dy = place(plan, op->gradient);
    mot_status status = MOT_OK;
    size_t k;

    for (k = 0; k < 2 && status == MOT_OK; k++) {
        const struct mot__lowered *from = input_of(op, k);
        const struct mot__mem dx = from->slope ? place(plan, from->gradient) : dy;

        if (!from->slope)
            continue;
        if (mot__lowered_first(&plan->low, (size_t)(op - plan->low.op), k))
            status = mot__buffer_copy(dy, dx, step->rows * op->width);
        else
            status = mot__add_launch(plan->device, step->rows * op->width, dx, dy, dx);
    }
    return status;
}

/* ---- lists ---- */

typedef mot_status (*run_fn)(void *user, const struct mot__step *step);
static const struct {
    run_fn forward, backward;
} runs[] = {
    [MOT__LOWERED_INPUT] = {NULL, NULL},
    [MOT__LOWERED_DENSE] = {forward_dense, backward_dense},
    [MOT__LOWERED_ACTIVATION] = {forward_activation, backward_activation},
    [MOT__LOWERED_SOFTMAX] = {forward_softmax, backward_softmax},
    [MOT__LOWERED_DROPOUT] = {forward_dropout, backward_dropout},
    [MOT__LOWERED_ADD] = {forward_add, backward_add},
};

mot_status mot__list_add(struct mot__list *list, struct mot__entry entry)
{
    struct mot__entry *grown;

    if (list->count == list->capacity) {
        grown = realloc(list->entry, (2 * list->capacity + 16) * sizeof *grown);
        if (!grown)
            return mot__fail(MOT_NO_MEMORY, "a list of %zu entries", list->count + 1);
        list->entry = grown;
        list->capacity = 2 * list->capacity + 16;
    }
    list->entry[list->count++] = entry;
    return MOT_OK;
}

static mot_status add_run(struct mot__list *list, run_fn run, void *user)
{
    return mot__list_add(list, (struct mot__entry){MOT__ENTRY_LAUNCH, run, user, 0});
}

/* Buckets whose every parameter has its gradient by now, and were not told ready yet. */
static mot_status add_ready(mot__plan *plan, const bool *missing, bool *told)
{
    const struct mot__parameters *table = &plan->config.net->table;
    mot_status status = MOT_OK;
    size_t b, p;

    for (b = 0; b < plan->config.buckets && status == MOT_OK; b++) {
        const struct mot__range range = plan->config.bucket[b];
        bool ready = !told[b];

        for (p = 0; p < table->count; p++)
            if (missing[p] && table->row[p].offset >= range.begin &&
                table->row[p].offset < range.begin + range.count)
                ready = false;
        if (ready) {
            told[b] = true;
            status = mot__list_add(&plan->lists.backward,
                                   (struct mot__entry){MOT__ENTRY_READY, NULL, NULL, b});
        }
    }
    return status;
}

/* Buckets that hold the parameter. told: which were told already and need not be again; NULL: none.
 */
static mot_status add_use(mot__plan *plan, struct mot__list *list, enum mot__entry_kind kind,
                          size_t row, bool *told)
{
    const size_t offset = plan->config.net->table.row[row].offset;
    mot_status status = MOT_OK;
    size_t b;

    for (b = 0; b < plan->config.buckets && status == MOT_OK; b++) {
        const struct mot__range range = plan->config.bucket[b];

        if ((told && told[b]) || offset < range.begin || offset >= range.begin + range.count)
            continue;
        if (told)
            told[b] = true;
        status = mot__list_add(list, (struct mot__entry){kind, NULL, NULL, b});
    }
    return status;
}

/* What the launches of an operation read, forward or backward. */
static mot_status add_need(mot__plan *plan, struct mot__list *list, const struct mot__lowered *op,
                           bool *told)
{
    mot_status status;

    if (op->kind != MOT__LOWERED_DENSE)
        return MOT_OK;
    if (plan->config.turns) /* weight and bias are in one */
        return add_use(plan, list, MOT__ENTRY_NEED, op->weight, NULL);
    if (!plan->config.needs || !told)
        return MOT_OK;
    status = add_use(plan, list, MOT__ENTRY_NEED, op->weight, told);
    return status != MOT_OK ? status : add_use(plan, list, MOT__ENTRY_NEED, op->bias, told);
}

/* The launches of a segment whose values were not kept, once more. */
static mot_status add_again(mot__plan *plan, size_t segment)
{
    struct mot__list *list = &plan->lists.backward;
    struct mot__lowered *op = plan->low.op;
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < plan->low.count; i++) {
        if (op[i].segment != segment || op[i].again == MOT__NONE)
            continue;
        MOT_TRY(add_need(plan, list, &op[i], NULL));
        MOT_TRY(add_run(list, runs[op[i].kind].forward, &op[i]));
    }
done:
    return status;
}

static mot_status add_backward(mot__plan *plan, struct mot__lowered *op)
{
    struct mot__list *list = &plan->lists.backward;
    mot_status status = MOT_OK;

    if (input_of(op, 0)->slope) /* weights are read for the gradient of the input alone */
        MOT_TRY(add_need(plan, list, op, NULL));
    if (plan->config.turns && op->kind == MOT__LOWERED_DENSE)
        MOT_TRY(add_use(plan, list, MOT__ENTRY_FILL, op->weight, NULL));
    MOT_TRY(add_run(list, runs[op->kind].backward, op));
done:
    return status;
}

static mot_status make_backward(mot__plan *plan)
{
    struct mot__lowering *low = &plan->low;
    struct mot__list *list = &plan->lists.backward;
    bool *missing = calloc(plan->config.net->table.count + 1, sizeof *missing);
    bool *told = calloc(plan->config.buckets + 1, sizeof *told);
    mot_status status = MOT_OK;
    size_t i;

    if (!missing || !told) {
        status = mot__fail(MOT_NO_MEMORY, "the backward list");
        goto done;
    }
    for (i = 0; i < low->count; i++)
        if (low->op[i].kind == MOT__LOWERED_DENSE)
            missing[low->op[i].weight] = missing[low->op[i].bias] = true;
    MOT_TRY(add_run(list, run_loss, plan));
    if (low->joined)
        MOT_TRY(add_run(list, run_given, plan));
    for (i = low->count; i-- > 0;) {
        if (i + 1 == low->count || low->op[i].segment < low->op[i + 1].segment)
            MOT_TRY(add_again(plan, low->op[i].segment));
        if (!low->op[i].slope)
            continue;
        MOT_TRY(add_backward(plan, &low->op[i]));
        if (low->op[i].kind == MOT__LOWERED_DENSE) {
            missing[low->op[i].weight] = missing[low->op[i].bias] = false;
            MOT_TRY(add_ready(plan, missing, told));
        }
    }
done:
    free(missing);
    free(told);
    return status;
}

static mot_status make_forward(mot__plan *plan)
{
    bool *told = calloc(plan->config.buckets + 1, sizeof *told);
    struct mot__lowering *low = &plan->low;
    mot_status status = MOT_OK;
    size_t i;

    if (!told)
        return mot__fail(MOT_NO_MEMORY, "the forward list");
    for (i = 0; i < low->count; i++) {
        low->op[i].plan = plan;
        MOT_TRY(add_need(plan, &plan->lists.forward, &low->op[i], told));
        if (runs[low->op[i].kind].forward)
            MOT_TRY(add_run(&plan->lists.forward, runs[low->op[i].kind].forward, &low->op[i]));
    }
done:
    free(told);
    return status;
}

static mot_status make_lists(mot__plan *plan)
{
    const struct mot__lowering *low = &plan->low;
    mot_status status = MOT_OK;

    MOT_TRY(make_forward(plan));
    if (low->joined)
        MOT_TRY(add_run(&plan->lists.finish, run_finish, plan));
    if (plan->config.training)
        MOT_TRY(make_backward(plan));
    else
        MOT_TRY(add_run(&plan->lists.backward, run_loss, plan));
done:
    return status;
}

/* ---- opening ---- */

mot_status mot__plan_estimate(const struct mot__plan_config *config, size_t *arena_bytes)
{
    struct mot__lowering low;
    mot_status status = mot__lower(config, &low);

    if (status != MOT_OK)
        return status;
    *arena_bytes = low.floats * sizeof(float);
    mot__lowering_clear(&low);
    return MOT_OK;
}

mot_status mot__plan_packs(mot__device *device, const struct mot__plan_config *config,
                           size_t *bytes)
{
    struct mot__lowering low;
    mot_status status = mot__lower(config, &low);
    size_t i, one;

    *bytes = 0;
    if (status != MOT_OK)
        return status;
    for (i = 0; i < low.count && status == MOT_OK; i++) {
        const struct mot__dense dense = {
            .rows = config->rows, .in = low.op[i].width_in, .out = low.op[i].width};

        if (low.op[i].kind != MOT__LOWERED_DENSE)
            continue;
        status = mot__dense_packs(device, &dense, config->training, &one);
        *bytes = mot__size_max(*bytes, one);
    }
    mot__lowering_clear(&low);
    return status;
}

/* What this plan takes computes rightly here. Before the arena is there: the tests want memory. */
static mot_status test_ops(const mot__plan *plan)
{
    static const struct {
        bool tested;
        enum mot__op op;
    } of[] = {
        [MOT__LOWERED_INPUT] = {false, MOT__OP_DENSE},
        [MOT__LOWERED_DENSE] = {true, MOT__OP_DENSE},
        [MOT__LOWERED_ACTIVATION] = {true, MOT__OP_ACTIVATION},
        [MOT__LOWERED_SOFTMAX] = {true, MOT__OP_SOFTMAX},
        [MOT__LOWERED_DROPOUT] = {true, MOT__OP_DROPOUT},
        [MOT__LOWERED_ADD] = {true, MOT__OP_ADD},
    };
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < plan->low.count; i++) {
        const enum mot__lowered_kind kind = plan->low.op[i].kind;

        if (of[kind].tested)
            MOT_TRY(mot__selftest_need(plan->device, of[kind].op));
        if (plan->config.training && kind == MOT__LOWERED_DENSE)
            MOT_TRY(mot__selftest_need(plan->device, MOT__OP_DENSE_BACK));
    }
    if (plan->low.joined)
        MOT_TRY(mot__selftest_need(plan->device, MOT__OP_SOFTMAX));
    MOT_TRY(mot__selftest_need(plan->device, (enum mot__op)(MOT__OP_LOSS + (int)loss_kind(plan))));
done:
    return status;
}

mot_status mot__plan_open(mot__device *device, const struct mot__plan_config *config,
                          mot__plan **out)
{
    mot_status status = MOT_OK;
    mot__plan *plan = NULL;

    if (config->rows == 0)
        return mot__fail(MOT_BAD_ARG, "a plan for 0 rows");
    plan = calloc(1, sizeof *plan);
    if (!plan)
        return mot__fail(MOT_NO_MEMORY, "a plan's %zu bytes", sizeof *plan);
    plan->device = device;
    plan->config = *config;
    mot__gemm_packs_enter(device);
    MOT_TRY(mot__lower(config, &plan->low));
    MOT_TRY(test_ops(plan));
    MOT_TRY(mot__buffer_open(device, plan->low.floats * sizeof(float), &plan->arena));
    MOT_TRY(make_lists(plan));
    MOT_TRY(mot__plan_rehearse(plan, &plan->lists.forward));
    MOT_TRY(mot__plan_rehearse(plan, &plan->lists.finish));
    MOT_TRY(mot__plan_rehearse(plan, &plan->lists.backward));
    *out = plan;
    plan = NULL;
done:
    mot__plan_close(plan);
    return status;
}

void mot__plan_close(mot__plan *plan)
{
    if (!plan)
        return;
    mot__gemm_packs_leave(plan->device);
    mot__buffer_close(plan->arena);
    mot__lowering_clear(&plan->low);
    free(plan->lists.forward.entry);
    free(plan->lists.backward.entry);
    free(plan->lists.update.entry);
    free(plan->lists.finish.entry);
    free(plan);
}

struct mot__plan_lists *mot__plan_lists(mot__plan *plan)
{
    return &plan->lists;
}

const mot_model *mot__plan_net(const mot__plan *plan)
{
    return plan->config.net;
}

struct mot__mem mot__plan_value(const struct mot__lowered *op)
{
    return value_of(op);
}

size_t mot__plan_rows(const mot__plan *plan)
{
    return plan->config.rows;
}

mot_status mot__plan_run(const struct mot__list *list, const struct mot__step *step,
                         mot__exchange_fn exchange, void *user)
{
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < list->count && status == MOT_OK; i++) {
        const struct mot__entry *entry = &list->entry[i];

        if (entry->kind == MOT__ENTRY_LAUNCH)
            status = entry->run(entry->user, step);
        else if (exchange)
            status = exchange(user, entry->kind, entry->bucket);
    }
    return status;
}

mot_status mot__plan_rehearse(mot__plan *plan, const struct mot__list *list)
{
    const size_t peak = mot__device_peak(plan->device);
    struct mot__step step = {.rows = plan->config.rows, .scale = 1};
    mot_status status;

    mot__device_rehearse(plan->device, true);
    status = mot__plan_run(list, &step, NULL, NULL);
    step.accumulate = true;
    if (status == MOT_OK)
        status = mot__plan_run(list, &step, NULL, NULL);
    mot__device_rehearse(plan->device, false);
    mot__device_peak_set(plan->device, peak); /* what tests of kernels took is given back */
    return status;
}

struct mot__mem mot__plan_x(const mot__plan *plan)
{
    return value_of(&plan->low.op[0]);
}

struct mot__mem mot__plan_y(const mot__plan *plan)
{
    return place(plan, plan->low.y);
}

struct mot__mem mot__plan_output(const mot__plan *plan)
{
    return plan->low.out != MOT__NONE ? place(plan, plan->low.out) : value_of(last_op(plan));
}

struct mot__mem mot__plan_dy(const mot__plan *plan)
{
    return place(plan, plan->low.given != MOT__NONE ? plan->low.given : last_op(plan)->gradient);
}

size_t mot__plan_output_width(const mot__plan *plan)
{
    return last_op(plan)->width;
}

struct mot__plan_bytes mot__plan_bytes(const mot__plan *plan)
{
    return (struct mot__plan_bytes){plan->low.floats * sizeof(float),
                                    plan->low.live_floats * sizeof(float)};
}
