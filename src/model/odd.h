/* odd.h - where in a network does a number first stop being finite? Slow; for when one did. */
#ifndef MOT_MODEL_ODD_H
#define MOT_MODEL_ODD_H

#include "model/plan.h"

/* Run the forward list entry by entry and look at each output. layer: the name of the first layer
 * whose output is not finite, or "". Waits for each. */
mot_status mot__plan_odd(mot__plan *plan, const struct mot__step *step, mot__exchange_fn exchange,
                         void *user, char *layer, size_t bytes);

#endif
