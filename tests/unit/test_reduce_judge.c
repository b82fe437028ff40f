/* test_reduce_judge.c - what binds an all-reduce, and T*, from times of its parts; the figures are
 * reckoned by hand. */
#include "support/check.h"

#include "bench/allreduce.h"

#define US 1e-6

static struct mot_bench_reduce judged(const struct mot__reduce_times *times)
{
    struct mot_bench_reduce out = {.rounds = 9};

    mot__reduce_judge(times, &out);
    assert_int_equal(out.rounds, 9); /* not its to say */
    return out;
}

static void near(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%s: %.12g, wanted %.12g", what, got, want);
}

/* 4 MB on two lanes, in place: 1000 us on the host, 10 us for each transfer. In the best round all
 * of it was half as long but the whole. */
static const struct mot__reduce_times in_place = {.bytes = 4000000,
                                                  .lanes = 2,
                                                  .median = {.run = 1275 * US,
                                                             .down = 15 * US,
                                                             .up = 17 * US,
                                                             .host = 1000 * US,
                                                             .small_down = 8 * US,
                                                             .small_up = 12 * US,
                                                             .meet = 300 * US},
                                                  .best = {.run = 1100 * US,
                                                           .down = 7.5 * US,
                                                           .up = 8.5 * US,
                                                           .host = 500 * US,
                                                           .small_down = 4 * US,
                                                           .small_up = 6 * US,
                                                           .meet = 150 * US}};

static void host_memory_binds_what_is_staged_in_place(void **state)
{
    const struct mot_bench_reduce r = judged(&in_place);

    (void)state;
    assert_int_equal(r.bound, MOT_BOUND_HOST);
    near("T*", r.bound_s, 1020 * US); /* meeting is no part of it */
    near("seconds", r.seconds, 1275 * US);
    near("best", r.best_s, 1100 * US);
    near("T* at best", r.best_bound_s, 510 * US);
    near("fixed", r.fixed_s, 10 * US);
    near("meet", r.meet_s, 300 * US);
    near("host", r.host_gbps, 32); /* 4 MB read and written on two lanes in 0.5 ms, at best */
    near("bandwidth", r.gbps, 4000 / 1275.0);
    near("bus bandwidth", r.bus_gbps, 4000 / 1275.0); /* 2 (n - 1) / n is 1 */
}

static void bus_bandwidth_counts_the_lanes(void **state)
{
    struct mot__reduce_times t = in_place;

    (void)state;
    t.lanes = 4;
    near("bus bandwidth", judged(&t).bus_gbps, 4000 / 1275.0 * 1.5);
}

static void transfers_bind_what_is_staged_by_copies(void **state)
{
    struct mot__reduce_times t = in_place;
    struct mot_bench_reduce r;

    (void)state;
    t.copied = true;
    t.median.small_down = t.median.small_up = 8 * US;
    t.median.up =
        1608 * US; /* of which 8 are fixed; the host's 1000 with the copies' traffic are 1500 */
    t.median.down = 1208 * US;
    r = judged(&t);
    assert_int_equal(r.bound, MOT_BOUND_UP);
    near("T*", r.bound_s, (1600 + 2 * 160 + 2 * 8) * US); /* sqrt(2 * 1600 * 8) = 160 */
    near("up", r.up_gbps, 4000 / 8.5);
    near("down", r.down_gbps, 4000 / 7.5);
    t.median.down = 1808 * US;
    r = judged(&t);
    assert_int_equal(r.bound, MOT_BOUND_DOWN);
    near("T*", r.bound_s, (1800 + 2 * sqrt(2 * 1800 * 8) + 2 * 8) * US);
    t.median.down = t.median.up = 1408 * US;
    r = judged(&t);
    assert_int_equal(r.bound, MOT_BOUND_HOST);
    near("T*", r.bound_s, (1500 + 2 * sqrt(2 * 1500 * 8) + 2 * 8) * US);
}

static void fixed_costs_bind_what_is_small(void **state)
{
    struct mot__reduce_times t = in_place;
    struct mot_bench_reduce r;

    (void)state;
    t.median.host = 19 * US;
    r = judged(&t);
    assert_int_equal(r.bound, MOT_BOUND_LATENCY);
    near("T*", r.bound_s, 39 * US);
    t.median.host = 21 * US;
    assert_int_equal(judged(&t).bound, MOT_BOUND_HOST);
}

/* A small transfer may by chance have taken longer than a large one. */
static void no_part_is_less_than_nothing(void **state)
{
    struct mot__reduce_times t = in_place;

    (void)state;
    t.median.down = 5 * US;
    t.median.up = 5 * US;
    t.median.host = 0.5 * US;
    near("T*", judged(&t).bound_s, 20.5 * US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_memory_binds_what_is_staged_in_place),
        cmocka_unit_test(bus_bandwidth_counts_the_lanes),
        cmocka_unit_test(transfers_bind_what_is_staged_by_copies),
        cmocka_unit_test(fixed_costs_bind_what_is_small),
        cmocka_unit_test(no_part_is_less_than_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
