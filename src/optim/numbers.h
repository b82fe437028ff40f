/* numbers.h - an optimizer's values as the update's text takes them: rounded once, here, so that
 * host and device get the same floats. For optim/ alone. */
#ifndef MOT_OPTIM_NUMBERS_H
#define MOT_OPTIM_NUMBERS_H

#include "optim/optim.h"

/* What an item of cl/update.cl takes, by class: floats of a vector, vectors, vectors of the norm's
 * parts; a GPU's item takes one vector of each. */
#define MOT__WIDTH_CPU 16
#define MOT__SPAN_CPU 256
#define MOT__NORM_RUN_CPU 8
#define MOT__WIDTH_GPU 4
#define MOT__NORM_FOLDED 64 /* parts of the norm that the verdict adds up */

enum mot__decay { MOT__DECAY_NONE, MOT__DECAY_GRADIENT, MOT__DECAY_PARAMETER };

struct mot__numbers {
    float lr, clip, momentum;
    float beta1, gain1, beta2, gain2; /* gain = 1 - beta, from the double; SGD: 0 and 1 */
    float epsilon;
    float decay; /* times p: added to the gradient; AdamW: times lr too, taken from p */
    enum mot__decay how;
};
struct mot__numbers mot__numbers_of(const struct mot_optimizer *optimizer, double lr);

#endif
