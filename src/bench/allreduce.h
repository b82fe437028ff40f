/* allreduce.h - what was measured of an all-reduce, and what follows from it. */
#ifndef MOT_BENCH_ALLREDUCE_H
#define MOT_BENCH_ALLREDUCE_H

#include <motley/bench.h>

struct mot__reduce_times { /* seconds, each until the last lane had ended */
    size_t bytes, lanes;
    bool copied; /* some lane's bytes are staged by copies, not in place */
    double run;  /* a whole all-reduce, median */
    /* Parts of it, the best that was seen. */
    double best;                 /* the whole */
    double down, up;             /* all bytes */
    double host;                 /* each lane's bytes read and written once, all lanes at work */
    double small_down, small_up; /* a transfer of next to nothing */
    double meet;
};

/* Pure arithmetic; fills all of out but the rounds. */
void mot__reduce_judge(const struct mot__reduce_times *times, struct mot_bench_reduce *out);

#endif
