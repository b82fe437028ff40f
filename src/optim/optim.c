/* optim.c - what an optimizer is: its usual values, the values it accepts, the state it needs. */
#include "optim/numbers.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct mot_optimizer mot_optimizer_default(enum mot_rule rule)
{
    struct mot_optimizer optimizer = {
        .rule = rule, .lr = 0.001, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

    if (rule == MOT_RULE_SGD)
        optimizer.lr = 0.01;
    if (rule == MOT_RULE_ADAMW)
        optimizer.weight_decay = 0.01;
    return optimizer;
}

size_t mot__optim_slots(const struct mot_optimizer *optimizer)
{
    if (optimizer->rule != MOT_RULE_SGD)
        return 2;
    return optimizer->momentum > 0 ? 1 : 0;
}

/* What the update computes with are floats: 0 or between these two. */
static bool fits(double value)
{
    return value == 0 || (fabs(value) >= 2 * (double)FLT_MIN && fabs(value) <= (double)FLT_MAX);
}

static mot_status check_lr(double lr) /* 0 is legal */
{
    if (!(lr >= 0) || !fits(lr)) /* so that NaN fails */
        return mot__fail(MOT_BAD_ARG, "learning rate %g: it must be 0 or a positive finite number",
                         lr);
    return MOT_OK;
}

mot_status mot__optim_check(const struct mot_optimizer *optimizer)
{
    const bool sgd = optimizer->rule == MOT_RULE_SGD;
    const struct {
        const char *name, *wanted;
        double value, low, below; /* low <= value < below */
        bool used;
    } row[] = {
        {"momentum", "at least 0 and below 1", optimizer->momentum, 0, 1, sgd},
        {"beta1", "at least 0 and below 1", optimizer->beta1, 0, 1, !sgd},
        {"beta2", "at least 0 and below 1", optimizer->beta2, 0, 1, !sgd},
        {"epsilon", "above 0", optimizer->epsilon, 2 * (double)FLT_MIN, INFINITY, !sgd},
        {"weight decay", "0 or a positive finite number", optimizer->weight_decay, 0, INFINITY,
         true},
        {"clip norm", "0 (none) or a positive finite number", optimizer->clip_norm, 0, INFINITY,
         true},
    };
    size_t i;

    if ((unsigned)optimizer->rule > MOT_RULE_ADAMW)
        return mot__fail(MOT_BAD_ARG, "optimizer rule %d: there are SGD, Adam and AdamW",
                         (int)optimizer->rule);
    if (check_lr(optimizer->lr) != MOT_OK)
        return MOT_BAD_ARG;
    for (i = 0; i < MOT__COUNT(row); ++i) {
        const double value = row[i].value;

        if (row[i].used &&
            !(value >= row[i].low && (double)(float)value < row[i].below && fits(value)))
            return mot__fail(MOT_BAD_ARG, "%s %g: it must be %s", row[i].name, value,
                             row[i].wanted);
    }
    if (sgd && optimizer->nesterov && !(optimizer->momentum > 0))
        return mot__fail(MOT_BAD_ARG, "Nesterov needs a momentum above 0");
    return MOT_OK;
}

struct mot__numbers mot__numbers_of(const struct mot_optimizer *optimizer, double lr)
{
    const bool sgd = optimizer->rule == MOT_RULE_SGD;
    const bool decoupled = optimizer->rule == MOT_RULE_ADAMW;
    const double decay = optimizer->weight_decay * (decoupled ? lr : 1);

    return (struct mot__numbers){
        .lr = (float)lr,
        .clip = (float)optimizer->clip_norm,
        .momentum = (float)optimizer->momentum,
        .beta1 = sgd ? 0 : (float)optimizer->beta1,
        .gain1 = sgd ? 1 : (float)(1 - optimizer->beta1),
        .beta2 = sgd ? 0 : (float)optimizer->beta2,
        .gain2 = sgd ? 1 : (float)(1 - optimizer->beta2),
        .epsilon = (float)optimizer->epsilon,
        .decay = (float)decay,
        .how = decay == 0  ? MOT__DECAY_NONE
               : decoupled ? MOT__DECAY_PARAMETER
                           : MOT__DECAY_GRADIENT,
    };
}

void mot__verdict_start(float verdict[MOT__VERDICT_FLOATS])
{
    memset(verdict, 0, MOT__VERDICT_FLOATS * sizeof *verdict);
}

void mot__verdict_clear_metrics(float verdict[MOT__VERDICT_FLOATS])
{
    memset(verdict + MOT__VERDICT_LOSS, 0,
           (MOT__VERDICT_STOP - MOT__VERDICT_LOSS) * sizeof *verdict);
}
