/* notes.h - what a trainer noticed by itself, kept until somebody asks. Any thread may add. */
#ifndef MOT_STRATEGY_NOTES_H
#define MOT_STRATEGY_NOTES_H

#include "base/thread.h"

#define MOT__NOTES 32 /* kept; when more come the oldest go */

struct mot__notes {
    struct mot__lock lock; /* guards what follows */
    struct mot_note note[MOT__NOTES];
    uint64_t added, taken;
};

mot_status mot__notes_init(struct mot__notes *notes);
void mot__notes_clear(struct mot__notes *notes);
void mot__notes_add(struct mot__notes *notes, const struct mot_note *note);
bool mot__notes_take(struct mot__notes *notes, struct mot_note *out); /* false: there is none */

#endif
