/* pace.h - how long each replica takes for so many rows, t(b) = fixed + b * per_row, fitted to what
 * was measured, and the shares that let all of them end together.
 *
 * Plain arithmetic: who measures, and when shares may change, is balance.h. */
#ifndef MOT_STRATEGY_PACE_H
#define MOT_STRATEGY_PACE_H

#include <stdbool.h>
#include <stddef.h>

#define MOT__PACE_POINTS 8

/* Measured points, newest first; each counts half of the one before it. */
struct mot__pace {
    double fixed_s, per_row_s; /* the fit */
    size_t quantum;            /* rows that cost no more than one: shares are multiples; 1: none */
    size_t most;               /* rows it may take at once; SIZE_MAX: any */
    struct mot__pace_point {
        double rows, seconds;
    } point[MOT__PACE_POINTS];
    size_t points;
    bool followed;   /* points of training are among them */
    double unseen_s; /* what they showed that no trial sees */
};

void mot__pace_start(struct mot__pace *pace);                            /* nothing measured yet */
void mot__pace_add(struct mot__pace *pace, size_t rows, double seconds); /* fit anew */
/* The same while training. The first such point tells what no trial sees (upload, staging, update)
 * and moves the fixed cost. Another time for the same rows means that the device became slower or
 * faster as a whole: older points are moved in proportion, so that they go on telling fixed from
 * per_row. */
void mot__pace_follow(struct mot__pace *pace, size_t rows, double seconds);
/* What a later trial told, in the place of all earlier points; what no trial sees stays. */
void mot__pace_retry(struct mot__pace *pace, const struct mot__pace *trial);
double mot__pace_of(const struct mot__pace *pace, size_t rows); /* seconds; 0 for no rows */

/* Shares that end together; a replica whose fixed cost exceeds that end takes none. Returns when
 * the last one ends. Rows beyond what all may take go to nobody: the sum is then less than rows. */
double mot__pace_split(const struct mot__pace *pace, size_t lanes, size_t rows, size_t *share);
double mot__pace_end(const struct mot__pace *pace, size_t lanes, const size_t *share);

/* How many rows cost as much as one more: from the extra seconds that 1, 16 and 64 rows cost on
 * top of a multiple of 64, and how uncertain those are. */
size_t mot__pace_quantum(double one_s, double sixteen_s, double all_s, double noise_s);

#endif
