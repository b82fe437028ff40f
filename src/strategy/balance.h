/* balance.h - shares by measured speed while a trainer runs: lanes tell how long each step took
 * them, and every so many steps the paces are fitted anew and the shares reviewed.
 *
 * Shares change only when the better ones would save a tenth of the step, in two reviews in a row,
 * a twentieth, in three, or a fiftieth, in six, so that noise moves no row; every change is told
 * with its figures. Replicas that make the whole slower than it would be without them are left out,
 * where that is allowed. Who has no rows, or few, tells no pace: such lanes are idle, are tried
 * again now and then, and have rows again when that pays. */
#ifndef MOT_STRATEGY_BALANCE_H
#define MOT_STRATEGY_BALANCE_H

#include "strategy/pace.h"
#include "strategy/shares.h"

typedef struct mot__balance mot__balance;

#define MOT__BALANCE_WINDOW 64 /* steps that a review looks at, at most; their median counts */

struct mot__balance_config {
    size_t lanes;
    bool may_leave; /* replicas may be left out */
};

/* What a review found. */
enum mot__review {
    MOT__REVIEW_KEEP,  /* nothing changes */
    MOT__REVIEW_SHARE, /* other shares */
    MOT__REVIEW_LEAVE, /* fewer replicas */
    MOT__REVIEW_RETURN /* more of them: some that were left out have rows */
};
struct mot__reviewed {
    enum mot__review what;
    double before_s,
        after_s;   /* of a step: measured (0: too little of it), and as it should become */
    size_t kept;   /* replicas that have rows now */
    size_t larger; /* LEAVE: a batch with which all would be worth their while; 0: none */
};

mot_status mot__balance_open(const struct mot__balance_config *config, mot__balance **out);
void mot__balance_close(mot__balance *balance); /* accepts NULL */

/* A lane's own thread: a step took so long until its gradients were there (own), and so long in all
 * with the wait for others, the sum and the update (whole). */
void mot__balance_told(mot__balance *balance, size_t lane, size_t rows, double own_s,
                       double whole_s);
/* What a trial told of a lane before the first step. */
void mot__balance_set(mot__balance *balance, size_t lane, const struct mot__pace *pace);
/* The most rows that a lane's device has room for at once. Where a batch is more than all of them
 * have, it is as if there were no such limit. */
void mot__balance_most(mot__balance *balance, size_t lane, size_t rows);
/* Shares of a batch of so many rows, from what is known so far: even ones unless others are
 * clearly better. share (lanes). */
void mot__balance_start(mot__balance *balance, size_t rows, size_t *share);
void mot__balance_all(mot__balance *balance); /* nobody is left out, nor ever will be */
/* Idle lanes that are to be tried again by now (idle, (lanes)); seldom, and ever less so. */
bool mot__balance_idle(mot__balance *balance, double now_s, bool *idle);
/* Such a lane's own thread: what that told. */
void mot__balance_tried(mot__balance *balance, size_t lane, const struct mot__pace *pace);
/* After each step. Fills share where something changes. */
struct mot__reviewed mot__balance_review(mot__balance *balance, size_t *share);

#endif
