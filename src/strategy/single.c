/* single.c - one replica: its gradients are the whole gradient. */
#include "strategy/replica.h"

static mot_status ready(mot_replica *replica, size_t bucket)
{
    (void)replica, (void)bucket;
    return MOT_OK;
}

static mot_status reduce(mot_replica *replica)
{
    (void)replica;
    return MOT_OK;
}

const struct mot__strategy mot__strategy_single = {
    .name = "single",
    .staged = false,
    .open = mot__own_open,
    .plan = mot__own_plan,
    .ready = ready,
    .reduce = reduce,
    .metrics = mot__own_metrics,
    .read = mot__own_read,
    .write = mot__own_write,
};
