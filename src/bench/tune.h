/* tune.h - what the files of tuning share. */
#ifndef MOT_BENCH_TUNE_H
#define MOT_BENCH_TUNE_H

#include "device/gemm.h"
#include "device/tuned.h"
#include "strategy/choice.h"

#include <motley/bench.h>

#define MOT__TUNE_BETTER 1.02 /* less is noise: the usual choice stays */
#define MOT__TUNE_PRODUCT 0.1 /* of the seconds, for one product by one candidate */

struct mot__tuner {
    mot_fleet *fleet;
    const mot_model *net;
    const struct mot_trainer_config *trainer;
    mot_data *data;
    size_t batch;
    struct mot_tune_config config;
    double began_s, planned, spent; /* seconds meant for all figures, and for those that are done */
};

/* Is no earlier lane the same kind of device? What is found on one holds for all of a kind. */
bool mot__tune_first(const mot_fleet *fleet, size_t lane);
/* A figure is there; MOT_STOPPED where the caller has enough. cost: seconds meant for it. */
mot_status mot__tune_tell(struct mot__tuner *tuner, struct mot_tune_trial trial, double cost);
/* An error of a candidate, not of the device: it is out, and the rest goes on. */
bool mot__tune_out(mot_status status);
/* Remember on a lane's device. */
mot_status mot__tune_keep(mot_fleet *fleet, size_t lane, const char *what, struct mot__tuned tuned);

/* Products by each candidate, one kind of device after the other; _sets tries CLBlast with
 * parameters of ours, the last of all since there is no way back. */
typedef struct mot__tune_products mot__tune_products;
mot_status mot__tune_products_open(struct mot__tuner *tuner, mot__tune_products **out);
void mot__tune_products_close(mot__tune_products *products);
mot_status mot__tune_products_run(mot__tune_products *products);
mot_status mot__tune_products_sets(mot__tune_products *products);

/* Staging, and how gradients are summed: by whole steps. */
void mot__tune_steps_plan(struct mot__tuner *tuner);
mot_status mot__tune_steps_run(struct mot__tuner *tuner);

/* Of so many gradients, the floats of the i-th bucket that is tried beside the usual ones, where
 * bytes are copied; 0: there is no other. All of them in one is the last, but for large networks.
 */
size_t mot__tune_bucket(size_t floats, size_t i);

#endif
