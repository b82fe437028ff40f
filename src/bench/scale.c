/* scale.c - ways of training, measured by turns and compared turn by turn: between one minute and
 * the next a machine that others use changes by more than they differ. */
#include "base/median.h"

#include <motley/bench.h>

static mot_status take_turn(const mot_model *net, mot_data *data, double seconds,
                            struct mot_bench_way *way, size_t turn)
{
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    mot_status status;

    config.seconds = seconds / MOT_BENCH_TURNS;
    config.settle = seconds / 2;
    config.windows = 1;
    config.alone = way->alone;
    status = mot_bench_train(way->fleet, net, &way->trainer, data, &config, &t, NULL);
    if (status != MOT_OK)
        return status;
    way->rate[turn] = t.samples_per_s;
    way->strategy = t.strategy;
    return MOT_OK;
}

mot_status mot_bench_ways(const mot_model *net, mot_data *data, double seconds,
                          struct mot_bench_way *way, size_t ways)
{
    mot_status status = MOT_OK;
    size_t turn, w;

    for (turn = 0; turn < MOT_BENCH_TURNS; turn++)
        for (w = 0; w < ways && status == MOT_OK; w++)
            status = take_turn(net, data, seconds, &way[w], turn);
    return status;
}

double mot_bench_way_rate(const struct mot_bench_way *way)
{
    double rate[MOT_BENCH_TURNS];
    size_t turn;

    for (turn = 0; turn < MOT_BENCH_TURNS; turn++)
        rate[turn] = way->rate[turn];
    return mot__median(rate, MOT_BENCH_TURNS);
}

double mot_bench_way_ratio(const struct mot_bench_way *way, const struct mot_bench_way *to)
{
    double ratio[MOT_BENCH_TURNS];
    size_t turn;

    for (turn = 0; turn < MOT_BENCH_TURNS; turn++)
        ratio[turn] = way->rate[turn] / to->rate[turn];
    return mot__median(ratio, MOT_BENCH_TURNS);
}
