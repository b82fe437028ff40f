/* notes.c - a ring of notes. */
#include "strategy/notes.h"

mot_status mot__notes_init(struct mot__notes *notes)
{
    notes->added = notes->taken = 0;
    return mot__lock_init(&notes->lock);
}

void mot__notes_clear(struct mot__notes *notes)
{
    mot__lock_clear(&notes->lock);
}

void mot__notes_add(struct mot__notes *notes, const struct mot_note *note)
{
    mot__lock_take(&notes->lock);
    notes->note[notes->added++ % MOT__NOTES] = *note;
    if (notes->added - notes->taken > MOT__NOTES)
        notes->taken = notes->added - MOT__NOTES;
    mot__lock_give(&notes->lock);
}

bool mot__notes_take(struct mot__notes *notes, struct mot_note *out)
{
    bool there;

    mot__lock_take(&notes->lock);
    there = notes->taken < notes->added;
    if (there)
        *out = notes->note[notes->taken++ % MOT__NOTES];
    mot__lock_give(&notes->lock);
    return there;
}
