/* scale.c - some devices together: with even shares, by speed, and without communication. The three
 * are measured by turns and compared turn by turn: between one minute and the next a machine that
 * others use changes by more than they differ. */
#include "base/config.h"
#include "base/median.h"

#include <motley/bench.h>

#define TURNS 5

enum way { EVEN, SPEED, ALONE, WAYS };

static mot_status rate_of(mot_fleet *fleet, const mot_model *net,
                          const struct mot_trainer_config *how, mot_data *data, double seconds,
                          enum way way, double *rate)
{
    struct mot_trainer_config trainer = *how;
    struct mot_bench_config config = mot_bench_config_default();
    struct mot_bench_train t;
    mot_status status;

    trainer.shares = way == EVEN ? "even" : "auto";
    config.seconds = seconds / TURNS;
    config.settle = seconds / 2;
    config.windows = 1;
    config.alone = way == ALONE;
    status = mot_bench_train(fleet, net, &trainer, data, &config, &t, NULL);
    *rate = t.samples_per_s;
    return status;
}

mot_status mot_bench_scale(mot_fleet *fleet, const mot_model *net,
                           const struct mot_trainer_config *config, mot_data *data, double seconds,
                           struct mot_bench_scale *out)
{
    double rate[WAYS][TURNS], even[TURNS], speed[TURNS];
    mot_status status = mot__config_check(config, sizeof *config, "mot_trainer_config");
    size_t turn, way;

    if (status != MOT_OK)
        return status; /* before the whole of it is copied */
    for (turn = 0; turn < TURNS; turn++) {
        for (way = 0; way < WAYS; way++) {
            status = rate_of(fleet, net, config, data, seconds, (enum way)way, &rate[way][turn]);
            if (status != MOT_OK)
                return status;
        }
        even[turn] = rate[EVEN][turn] / rate[ALONE][turn];
        speed[turn] = rate[SPEED][turn] / rate[ALONE][turn];
    }
    *out = (struct mot_bench_scale){.even = mot__median(rate[EVEN], TURNS),
                                    .by_speed = mot__median(rate[SPEED], TURNS),
                                    .ceiling = mot__median(rate[ALONE], TURNS),
                                    .even_of_ceiling = mot__median(even, TURNS),
                                    .speed_of_ceiling = mot__median(speed, TURNS)};
    return MOT_OK;
}
