/* allreduce.h - what was measured of an all-reduce, and what follows from it. */
#ifndef MOT_BENCH_ALLREDUCE_H
#define MOT_BENCH_ALLREDUCE_H

#include <motley/bench.h>

struct mot__reduce_parts {       /* seconds, each until the last lane had ended */
    double run;                  /* a whole all-reduce; the rest are parts of it: */
    double down, up;             /* all bytes */
    double host;                 /* each lane's bytes read and written once, all lanes at work */
    double small_down, small_up; /* a transfer of next to nothing */
    double meet;
};

struct mot__reduce_times {
    size_t bytes, lanes;
    bool copied; /* some lane's bytes are staged by copies, not in place */
    struct mot__reduce_parts median, best;
};

/* Pure arithmetic; fills all of out but the rounds. */
void mot__reduce_judge(const struct mot__reduce_times *times, struct mot_bench_reduce *out);

#endif
