/* reader.h - the one thread that asks a source's reader for batches ahead of their use. */
#ifndef MOT_DATA_READER_H
#define MOT_DATA_READER_H

#include "data/store.h"

typedef struct mot__reader mot__reader;

struct mot__reader_plan { /* from where on to read, and how */
    uint64_t epoch, first;
    size_t rows, ahead; /* of one batch; batches */
    uint64_t seed;
    bool shuffled;
};

/* Holds store, and cache where it is not NULL: the store of its own memory that every sample read
 * goes into. */
mot_status mot__reader_open(const struct mot_source *source, struct mot__store *store,
                            struct mot__store *cache, const struct mot__reader_plan *plan,
                            mot__reader **out);
/* Forget what was read ahead, and a failure, and go on from there. Never waits for the source. */
void mot__reader_restart(mot__reader *reader, const struct mot__reader_plan *plan);
/* The next batch in order; waits for the source. A failure stays until _restart. */
mot_status mot__reader_take(mot__reader *reader, mot_batch **out);
bool mot__reader_cached(mot__reader *reader); /* every sample is in the cache */
/* Waits up to wait_s for a read that is under way; a source that hangs longer keeps its thread,
 * which ends by itself should the read ever return. Accepts NULL. */
void mot__reader_close(mot__reader *reader, double wait_s);

#endif
