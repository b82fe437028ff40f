/* variables.h - central storage: the one copy of parameters and optimizer state, in host memory,
 * and the pass over it that is reduce and update in one. Lanes are ranks of a group here; no device
 * is known.
 *
 * Everything is there twice: what holds, and what the running step writes beside it; the two change
 * places at commit. Each lane sums and updates what it owns of a range, so no number is computed
 * twice; verdicts are small and every lane reaches its own, the same. Bits are those of an
 * all-reduce and mot__update_host over the whole. */
#ifndef MOT_STRATEGY_VARIABLES_H
#define MOT_STRATEGY_VARIABLES_H

#include "collective/collective.h"
#include "optim/optim.h"

typedef struct mot__variables mot__variables;

struct mot__variables_config {
    mot__group *group; /* must outlive it */
    struct mot_optimizer optimizer;
    size_t floats; /* of the flat parameters; a multiple of 16 */
    bool stop;     /* a refused step halts (MOT__VERDICT_STOP) */
};
mot_status mot__variables_open(const struct mot__variables_config *config, const float *start,
                               mot__variables **out);
void mot__variables_close(mot__variables *variables); /* accepts NULL */
size_t mot__variables_bytes(const struct mot__variables_config *config);
size_t mot__variables_held(const mot__variables *variables); /* the same; 0 for NULL */

/* ---- a step: by each lane, on its own thread, all in the same order ---- */

/* The lane's gradients g of the flat range [begin, begin + count). Ranges of a step cover all
 * parameters once; the record lies behind them, and the range that ends in it comes first. Where
 * this range's new parameters are known on return they are in the lane's weights too; another
 * lane may write there. weights NULL: the lane reads the copy here (mot__variables_now). */
mot_status mot__variables_reduce(mot__variables *variables, size_t rank, double lr, size_t begin,
                                 float *g, float *weights, size_t count);
/* After the last range. *given: the weights got all new parameters; else the lane has to fetch
 * them: the step was clipped, or refused and what was holds on. Refused also where a sum is not
 * finite: the update went on until it was found, beside what holds. */
mot_status mot__variables_commit(mot__variables *variables, size_t rank, double lr, bool *given);

/* The last sum of that step that was not finite; its index in the flat order. */
struct mot__odd_sum mot__variables_odd(const mot__variables *variables, size_t rank);
/* The summed record of that step, (MOT__RECORD_FLOATS). */
const float *mot__variables_record(const mot__variables *variables, size_t rank);

/* ---- between steps, on a lane's own thread ---- */

const float *mot__variables_now(const mot__variables *variables, size_t rank); /* flat parameters */
void mot__variables_write(mot__variables *variables, size_t offset, const float *value,
                          size_t count); /* lane 0 does */
/* The running metrics; they start anew. */
void mot__variables_metrics(mot__variables *variables, size_t rank,
                            float verdict[MOT__VERDICT_FLOATS]);

#endif
