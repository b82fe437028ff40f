/* lower.h - a network as the operations a device runs, with a place for every value and gradient.
 */
#ifndef MOT_MODEL_LOWER_H
#define MOT_MODEL_LOWER_H

#include "model/arena.h"
#include "model/plan.h"

#define MOT__NONE SIZE_MAX

enum mot__lowered_kind {
    MOT__LOWERED_INPUT,
    MOT__LOWERED_DENSE,
    MOT__LOWERED_ACTIVATION,
    MOT__LOWERED_SOFTMAX,
    MOT__LOWERED_DROPOUT,
    MOT__LOWERED_ADD
};

struct mot__lowered {
    mot__plan *plan; /* set when a plan takes it */
    enum mot__lowered_kind kind;
    size_t node; /* of the network */
    size_t input[2], inputs;
    size_t width, width_in;
    enum mot_act act;
    double rate;
    size_t weight, bias; /* rows of the parameter table */
    size_t consumers;
    bool slope;             /* a gradient must reach it: there are parameters in or before it */
    size_t value, gradient; /* lives; MOT__NONE: has none */
    size_t scratch;         /* life for a further contribution to an input's gradient; MOT__NONE */
    size_t segment;
    size_t back, again; /* moments: backward pass; forward once more, MOT__NONE: not */
};

struct mot__lowering {
    struct mot__lowered *op;
    size_t count;
    bool joined; /* a last softmax was taken off and joined with the loss */
    struct mot__life *life;
    size_t lives;
    size_t segments;
    size_t y, row, out,
        given; /* lives: targets, scratch of the loss, joined softmax, its given gradient */
    size_t floats, live_floats; /* of the arena */
};

mot_status mot__lower(const struct mot__plan_config *config, struct mot__lowering *out);
/* Segments and lives of the operations; lower's second half. */
mot_status mot__lives_make(const struct mot__plan_config *config, struct mot__lowering *lowering);
void mot__lowering_clear(struct mot__lowering *lowering);
struct mot__mem mot__plan_value(const struct mot__lowered *op); /* its output, once in a plan */
/* Is op the first, in the order of the backward pass, to add to the gradient of its input? */
bool mot__lowered_first(const struct mot__lowering *lowering, size_t op, size_t input);

#endif
