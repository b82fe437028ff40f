/* shares.h - how many rows of a batch each replica takes. */
#ifndef MOT_STRATEGY_SHARES_H
#define MOT_STRATEGY_SHARES_H

#include "base/status.h"

enum mot__shares_kind { MOT__SHARES_AUTO, MOT__SHARES_EVEN, MOT__SHARES_FIXED };

/* "auto", "even" or a weight for each replica, "3,1"; weight (lanes) is filled for EVEN and FIXED.
 * NULL: auto. */
mot_status mot__shares_parse(const char *text, size_t lanes, enum mot__shares_kind *kind,
                             double *weight);
/* Rows for each, in proportion to weight; the sum is rows. Equal weights: the first ones take what
 * is left over (7 of 4: 2 2 2 1). */
void mot__shares_split(size_t rows, const double *weight, size_t lanes, size_t *share);
/* The most that each takes of any batch of up to so many rows. Not the same: with weights 6, 6, 2
 * the last takes 1 of 11 rows but 2 of 10. */
void mot__shares_most(size_t rows, const double *weight, size_t lanes, size_t *most);

#endif
