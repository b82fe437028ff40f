/* parts.c - the one list of a breakdown's parts. */
#include "cli/parts.h"

#include <math.h>

const char *const part_name[PARTS] = {"input",   "upload", "forward", "backward",
                                      "staging", "reduce", "update",  "waiting"};

double part_value(const struct mot_breakdown *b, size_t part)
{
    const double value[PARTS] = {b->input,   b->upload, b->forward, b->backward,
                                 b->staging, b->reduce, b->update,  b->waiting};

    return value[part];
}

/* Each rounded down to tenths; what is missing goes to those that lost most. */
void parts_percent(const struct mot_breakdown *b, double percent[PARTS])
{
    double lost[PARTS], missing = 1000;
    size_t i, most;

    for (i = 0; i < PARTS; i++) {
        percent[i] = floor(1000 * part_value(b, i) + 1e-6);
        lost[i] = 1000 * part_value(b, i) - percent[i];
        missing -= percent[i];
    }
    for (; missing > 0 && missing < PARTS; missing--) {
        for (i = 1, most = 0; i < PARTS; i++)
            most = lost[i] > lost[most] ? i : most;
        percent[most]++;
        lost[most] = -1;
    }
    for (i = 0; i < PARTS; i++)
        percent[i] /= 10;
}
