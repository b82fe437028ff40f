/* fit_memory.h - how a share that is too large for its device is made to fit: pure reckoning. */
#ifndef MOT_STRATEGY_FIT_MEMORY_H
#define MOT_STRATEGY_FIT_MEMORY_H

#include "feed/feed.h"
#include "model/plan.h"

struct mot__fit_wish {
    mot__device *device;
    struct mot__plan_config plan; /* its rows: the whole share; segments are chosen here */
    const struct mot__samples *samples;
    size_t room;  /* bytes of the pool that may be taken */
    size_t packs; /* bytes that the device holds for packed operands already */
};

struct mot__fit {
    size_t rows;           /* of a micro-batch */
    size_t micros;         /* of the whole share */
    size_t segments;       /* 1: no activation is computed again */
    size_t arena, staging; /* bytes it takes from the pool */
    size_t packs;          /* so too, of the products' packed operands, where there is room */
};

/* What so many rows take; SIZE_MAX bytes: more than the device gives in one piece. */
struct mot__fit mot__fit_of(const struct mot__fit_wish *wish, size_t rows, size_t segments);
size_t mot__fit_bytes(const struct mot__fit *fit); /* without packs, which can be done without */
/* The choice; false: not even one row fits, and *out is what one row takes at least. */
bool mot__fit_find(const struct mot__fit_wish *wish, struct mot__fit *out);

/* The most rows that run at once with nothing computed again, up to the share; 0: none. */
size_t mot__fit_most(const struct mot__fit_wish *wish);

#endif
