/* test_collective_odd.c - sums that are no finite number are found while adding: which, whose, and
 * the same answer on every lane, round after round. */
#include "support/check.h"

#include "base/odd.h"
#include "base/thread.h"
#include "collective/collective.h"

#include <float.h>
#include <stdlib.h>

enum { LANES = 4, ROUNDS = 8, MOST = 70001, OVERFLOW = 9 };

struct round {
    size_t count, lane, index; /* lane: of as many as there are; OVERFLOW: finite values */
    float value;               /* put there; 0: nothing odd */
};
static const struct round rounds[ROUNDS] = {{MOST, 1, 50000, NAN},       {MOST, 0, 0, 0},
                                            {65, 2, 64, INFINITY},       {65, 0, 0, -INFINITY},
                                            {MOST, 2, 10, -NAN},         {65, OVERFLOW, 33, 0},
                                            {MOST, 3, 40000, -INFINITY}, {MOST, 0, MOST - 1, NAN}};

struct worker {
    mot__group *group;
    size_t rank, lanes;
    float *data;
    mot_status status;
    struct mot__odd_sum seen[ROUNDS];
};

static void work(void *user)
{
    struct worker *worker = user;

    for (size_t r = 0; r < ROUNDS && worker->status == MOT_OK; r++) {
        for (size_t i = 0; i < rounds[r].count; i++)
            worker->data[i] = (float)(i % 7) - 3;
        if (worker->rank == rounds[r].lane % worker->lanes && rounds[r].value != 0)
            worker->data[rounds[r].index] = rounds[r].value;
        if (worker->rank < 2 && rounds[r].lane == OVERFLOW)
            worker->data[rounds[r].index] = FLT_MAX;
        worker->status =
            mot__group_all_reduce(worker->group, worker->rank, worker->data, rounds[r].count);
        worker->seen[r] = mot__group_odd(worker->group, worker->rank);
    }
}

static void run(size_t lanes, enum mot__algorithm algorithm)
{
    struct worker worker[LANES] = {{NULL, 0, 0, NULL, MOT_OK, {{false, false, 0, 0}}}};
    mot__thread *thread[LANES] = {NULL};
    mot__group *group = NULL;

    assert_ok(mot__group_open(lanes, MOST, algorithm, 60, &group));
    for (size_t i = 0; i < lanes; i++) {
        worker[i].group = group;
        worker[i].rank = i;
        worker[i].lanes = lanes;
        worker[i].data = test_floats(MOST);
        assert_ok(mot__thread_open("lane", work, &worker[i], &thread[i]));
    }
    for (size_t i = 0; i < lanes; i++)
        mot__thread_join(thread[i]);
    for (size_t i = 0; i < lanes; i++) {
        assert_int_equal(worker[i].status, MOT_OK);
        for (size_t r = 0; r < ROUNDS; r++) {
            const struct mot__odd_sum seen = worker[i].seen[r];
            const bool overflow = rounds[r].lane == OVERFLOW && lanes > 1;

            assert_int_equal(seen.found, overflow || rounds[r].value != 0);
            if (!seen.found)
                continue;
            assert_int_equal(seen.index, rounds[r].index);
            assert_int_equal(seen.nan, !!isnan(rounds[r].value));
            if (overflow)
                assert_true(seen.lane < lanes); /* any of them */
            else
                assert_int_equal(seen.lane, rounds[r].lane % lanes);
        }
        free(worker[i].data);
    }
    mot__group_close(group);
}

static void odd_sums_are_found_and_named_on_every_lane(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= LANES; lanes++) {
        run(lanes, MOT__ALGORITHM_DIRECT);
        run(lanes, MOT__ALGORITHM_RING);
    }
}

static void the_test_is_of_bits(void **state)
{
    static const float fine[] = {0, -0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f};
    float x[67] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        assert_false(mot__odd(fine[i]));
    assert_true(mot__odd(NAN) && mot__odd(-NAN) && mot__odd(INFINITY) && mot__odd(-INFINITY));
    assert_false(mot__odd_any(x, 67));
    assert_int_equal(mot__odd_last(x, 67), 67);
    x[3] = x[66] = -INFINITY;
    assert_true(mot__odd_any(x, 67) && mot__odd_any(x, 4) && !mot__odd_any(x, 3));
    assert_int_equal(mot__odd_last(x, 66), 3);
    assert_int_equal(mot__odd_last(x, 67), 66);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_sums_are_found_and_named_on_every_lane),
        cmocka_unit_test(the_test_is_of_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
