/* test_collective.c - lanes as threads: sums to the bit, late lanes, and every way to fail. */
#include "support/check.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/thread.h"
#include "collective/collective.h"

#include <math.h>
#include <stdlib.h>

#define LANES_MAX 5
#define DEADLINE_S 60.0

/* One thread of a test: what it is told to do, and how that ended. */
struct worker {
    mot__group *group;
    size_t rank, root, count, rounds;
    float *data;
    void *user;
    double delay_s;
    bool absent;
    struct mot__story story;
    mot_status (*run)(struct worker *worker);
};

static void run_worker(void *user)
{
    struct worker *worker = user;

    test_sleep(worker->delay_s);
    mot__story_take(worker->run(worker), &worker->story);
}

static void run_lanes(struct worker *worker, size_t lanes)
{
    mot__thread *thread[LANES_MAX] = {NULL};

    for (size_t i = 0; i < lanes; i++)
        if (!worker[i].absent)
            assert_ok(mot__thread_open("lane", run_worker, &worker[i], &thread[i]));
    for (size_t i = 0; i < lanes; i++)
        mot__thread_join(thread[i]);
}

static mot_status reduce(struct worker *worker)
{
    return mot__group_all_reduce(worker->group, worker->rank, worker->data, worker->count);
}

static void prepare(struct worker *worker, size_t lanes, mot__group *group, size_t count,
                    mot_status (*run)(struct worker *))
{
    memset(worker, 0, lanes * sizeof *worker);
    for (size_t i = 0; i < lanes; i++) {
        worker[i].group = group;
        worker[i].rank = i;
        worker[i].count = count;
        worker[i].run = run;
        worker[i].data = malloc((count + 1) * sizeof(float));
        assert_non_null(worker[i].data);
        for (size_t k = 0; k < count; k++) /* sizes that differ: the order of addition shows */
            worker[i].data[k] = mot__rng_normal(i, MOT__STREAM_TEST, k) * (k % 3 ? 1e-3f : 1e3f);
        worker[i].data[count] = -7; /* must survive */
    }
}

static void discard(struct worker *worker, size_t lanes)
{
    for (size_t i = 0; i < lanes; i++)
        free(worker[i].data);
}

/* The sum in the written order; first: the lane a segment starts at. */
static float *plain_sum(const struct worker *worker, size_t lanes, size_t count, bool ring)
{
    const size_t segment = ((count + lanes - 1) / lanes + 15) / 16 * 16;
    float *sum = malloc((count + 1) * sizeof *sum);

    assert_non_null(sum);
    for (size_t k = 0; k < count; k++) {
        const size_t first = ring ? k / segment : 0;
        float total = worker[first].data[k];

        for (size_t i = 1; i < lanes; i++)
            total = total + worker[(first + i) % lanes].data[k];
        sum[k] = total;
    }
    return sum;
}

static void reduce_and_compare(enum mot__algorithm algorithm, size_t lanes, size_t count)
{
    struct worker worker[LANES_MAX];
    mot__group *group = NULL;
    float *wanted;

    assert_ok(mot__group_open(lanes, count, algorithm, DEADLINE_S, &group));
    assert_int_equal(mot__group_lanes(group), lanes);
    prepare(worker, lanes, group, count, reduce);
    wanted = plain_sum(worker, lanes, count, algorithm == MOT__ALGORITHM_RING);
    run_lanes(worker, lanes);
    for (size_t i = 0; i < lanes; i++) {
        assert_int_equal(worker[i].story.status, MOT_OK);
        if (memcmp(worker[i].data, wanted, count * sizeof *wanted) != 0)
            fail_msg("lane %zu of %zu, %zu numbers: not the plain sum", i, lanes, count);
        assert_true(worker[i].data[count] == -7);
    }
    free(wanted);
    discard(worker, lanes);
    mot__group_close(group);
}

static void both_algorithms_give_the_sum_in_the_written_order(void **state)
{
    static const size_t counts[] = {0, 1, 31, 33, 65, 1000, 100003};

    (void)state;
    for (size_t lanes = 1; lanes <= LANES_MAX; lanes++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            reduce_and_compare(MOT__ALGORITHM_RING, lanes, counts[c]);
            reduce_and_compare(MOT__ALGORITHM_DIRECT, lanes, counts[c]);
        }
}

/* AUTO must be direct, bit for bit. */
static void auto_is_direct(void **state)
{
    static const size_t counts[] = {1000, (1 << 20) + 1};

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        struct worker worker[3];
        mot__group *group = NULL;
        float *wanted;

        assert_ok(mot__group_open(3, counts[c], MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
        prepare(worker, 3, group, counts[c], reduce);
        wanted = plain_sum(worker, 3, counts[c], false);
        run_lanes(worker, 3);
        assert_memory_equal(worker[0].data, wanted, counts[c] * sizeof *wanted);
        assert_memory_equal(worker[2].data, wanted, counts[c] * sizeof *wanted);
        free(wanted);
        discard(worker, 3);
        mot__group_close(group);
    }
}

/* ---- fold ---- */

#define TAIL 16

struct folded {
    float *sum;   /* shared: each lane writes what it owns */
    int *written; /* how often, by element */
    float tail[LANES_MAX][TAIL];
};

static struct folded folded; /* of the fold under test */

static void fold_first(void *user, const float *sum)
{
    memcpy(folded.tail[((struct worker *)user)->rank], sum, sizeof folded.tail[0]);
}

static void fold_block(void *user, size_t at, float *sum, size_t count)
{
    (void)user;
    for (size_t k = 0; k < count; k++) {
        folded.sum[at + k] = sum[k];
        folded.written[at + k]++;
        sum[k] = 0; /* allowed */
    }
}

static mot_status fold(struct worker *worker)
{
    const struct mot__fold how = {TAIL, fold_first, fold_block, worker};

    return mot__group_fold(worker->group, worker->rank, worker->data, worker->count, &how);
}

static void fold_and_compare(enum mot__algorithm algorithm, size_t lanes, size_t count)
{
    struct worker worker[LANES_MAX];
    mot__group *group = NULL;
    float *wanted;

    folded.sum = test_floats(count);
    folded.written = test_alloc(count, sizeof *folded.written);
    assert_ok(mot__group_open(lanes, count, algorithm, DEADLINE_S, &group));
    prepare(worker, lanes, group, count, fold);
    wanted = plain_sum(worker, lanes, count, algorithm == MOT__ALGORITHM_RING);
    run_lanes(worker, lanes);
    for (size_t k = 0; k < count; k++)
        assert_int_equal(folded.written[k], k < count - TAIL);
    assert_memory_equal(folded.sum, wanted, (count - TAIL) * sizeof *wanted);
    for (size_t i = 0; i < lanes; i++) {
        assert_int_equal(worker[i].story.status, MOT_OK);
        assert_memory_equal(folded.tail[i], wanted + count - TAIL, sizeof folded.tail[i]);
        assert_true(worker[i].data[count] == -7);
        for (size_t k = 0; k < count; k++) /* what was brought is untouched */
            assert_true(worker[i].data[k] ==
                        mot__rng_normal(i, MOT__STREAM_TEST, k) * (k % 3 ? 1e-3f : 1e3f));
    }
    free(folded.sum);
    free(folded.written);
    free(wanted);
    discard(worker, lanes);
    mot__group_close(group);
}

static void a_fold_gives_each_sum_once_and_the_tail_to_all(void **state)
{
    static const size_t counts[] = {16, 17, 31, 33, 65, 1000, 30003};

    (void)state;
    for (size_t lanes = 1; lanes <= LANES_MAX; lanes++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            fold_and_compare(MOT__ALGORITHM_RING, lanes, counts[c]);
            fold_and_compare(MOT__ALGORITHM_DIRECT, lanes, counts[c]);
        }
}

static mot_status reduce_many(struct worker *worker)
{
    mot_status status = MOT_OK;

    for (size_t i = 0; i < worker->rounds && status == MOT_OK; i++) {
        worker->data[0] = (float)worker->rank; /* no lane may still look at it */
        status = mot__group_all_reduce(worker->group, worker->rank, worker->data,
                                       1 + i * 37 % worker->count);
        if (status == MOT_OK && worker->data[0] != 6)
            status = mot__fail(MOT_BAD_STATE, "round %zu: %g", i, (double)worker->data[0]);
    }
    return status;
}

static void many_rounds_do_not_mix(void **state)
{
    (void)state;
    for (int algorithm = MOT__ALGORITHM_AUTO; algorithm <= MOT__ALGORITHM_DIRECT; algorithm++) {
        struct worker worker[4];
        mot__group *group = NULL;

        assert_ok(mot__group_open(4, 500, (enum mot__algorithm)algorithm, DEADLINE_S, &group));
        prepare(worker, 4, group, 500, reduce_many);
        for (size_t i = 0; i < 4; i++) {
            memset(worker[i].data, 0, 500 * sizeof(float));
            worker[i].rounds = 300;
        }
        run_lanes(worker, 4);
        for (size_t i = 0; i < 4; i++)
            if (worker[i].story.status != MOT_OK)
                fail_msg("lane %zu: %s", i, worker[i].story.text);
        discard(worker, 4);
        mot__group_close(group);
    }
}

static void repeated_runs_and_late_lanes_give_the_same_bits(void **state)
{
    enum { lanes = 3, count = 100003 };
    float *first = NULL;

    (void)state;
    for (size_t late = 0; late < lanes; late++) {
        struct worker worker[lanes];
        mot__group *group = NULL;

        assert_ok(mot__group_open(lanes, count, MOT__ALGORITHM_RING, DEADLINE_S, &group));
        prepare(worker, lanes, group, count, reduce);
        worker[late].delay_s = 0.02;
        run_lanes(worker, lanes);
        for (size_t i = 0; i < lanes; i++)
            assert_int_equal(worker[i].story.status, MOT_OK);
        if (!first) {
            first = malloc(count * sizeof *first);
            assert_non_null(first);
            memcpy(first, worker[0].data, count * sizeof *first);
        }
        for (size_t i = 0; i < lanes; i++)
            assert_memory_equal(worker[i].data, first, count * sizeof *first);
        discard(worker, lanes);
        mot__group_close(group);
    }
    free(first);
}

static mot_status mismatch_then_match(struct worker *worker)
{
    const mot_status status = reduce(worker);

    if (status == MOT_OK)
        return mot__fail(MOT_BAD_STATE, "a mismatch went through");
    mot__story_take(status, &worker->story);
    if (mot__group_all_reduce(worker->group, worker->rank, worker->data, 31) != MOT_OK)
        return mot__fail(MOT_BAD_STATE, "the group did not survive a mismatch");
    return mot__story_tell(&worker->story);
}

static void counts_that_differ_are_told_to_all_lanes(void **state)
{
    struct worker worker[3];
    mot__group *group = NULL;
    float before;

    (void)state;
    assert_ok(mot__group_open(3, 100, MOT__ALGORITHM_RING, DEADLINE_S, &group));
    prepare(worker, 3, group, 31, mismatch_then_match);
    worker[2].count = 30;
    before = worker[0].data[5] + worker[1].data[5] + worker[2].data[5];
    run_lanes(worker, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(worker[i].story.status, MOT_BAD_ARG);
        assert_string_equal(worker[i].story.text,
                            "all-reduce: lane 0 brings 31 numbers, lane 2 brings 30");
        assert_true(worker[i].data[5] == before); /* summed once, by the call that agreed */
    }
    discard(worker, 3);
    mot__group_close(group);
}

static void more_than_the_capacity_is_told_to_all_lanes(void **state)
{
    struct worker worker[2];
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__group_open(2, 30, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    prepare(worker, 2, group, 31, reduce);
    run_lanes(worker, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(worker[i].story.status, MOT_BAD_ARG);
        assert_string_equal(worker[i].story.text, "all-reduce: 31 numbers in a group for 30");
    }
    discard(worker, 2);
    mot__group_close(group);
}

static mot_status reduce_or_meet(struct worker *worker)
{
    return worker->rank == 1 ? mot__group_barrier(worker->group, 1) : reduce(worker);
}

static void different_calls_are_told_to_all_lanes(void **state)
{
    struct worker worker[2];
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__group_open(2, 31, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    prepare(worker, 2, group, 31, reduce_or_meet);
    run_lanes(worker, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(worker[i].story.status, MOT_BAD_ARG);
        assert_string_equal(worker[i].story.text, "lane 0 is in all-reduce, lane 1 in barrier");
    }
    discard(worker, 2);
    mot__group_close(group);
}

static mot_status fail_before(struct worker *worker)
{
    if (worker->rank == 1) {
        const mot_status status = mot__fail(MOT_DEVICE_LOST, "device 1 fell off the bus");

        mot__group_abort(worker->group, worker->rank, status);
        return status;
    }
    return reduce(worker);
}

static void a_failing_lane_frees_all_others_with_its_story(void **state)
{
    static const double delay[] = {0, 0.03};
    struct worker worker[3];

    (void)state;
    for (size_t d = 0; d < 2; d++) { /* before the others wait, and while they do */
        mot__group *group = NULL;

        assert_ok(mot__group_open(3, 1000, MOT__ALGORITHM_RING, DEADLINE_S, &group));
        prepare(worker, 3, group, 1000, fail_before);
        worker[1].delay_s = delay[d];
        run_lanes(worker, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(worker[i].story.status, MOT_DEVICE_LOST);
            assert_string_equal(worker[i].story.text, "device 1 fell off the bus");
        }
        /* Later calls hear it too, and a second failure does not replace the first. */
        mot__group_abort(group, 2, mot__fail(MOT_IO, "another"));
        assert_story(mot__group_barrier(group, 0), MOT_DEVICE_LOST, "device 1 fell off the bus");
        discard(worker, 3);
        mot__group_close(group);
    }
}

static void a_lane_that_only_leaves_is_told(void **state)
{
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__group_open(2, 1, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    mot__group_abort(group, 1, MOT_OK);
    assert_story(mot__group_barrier(group, 0), MOT_STOPPED, "lane 1 left the group");
    mot__group_close(group);
}

static void a_lane_that_never_comes_is_waited_for_only_so_long(void **state)
{
    struct worker worker[3];
    mot__group *group = NULL;
    double start;
    float data = 0;

    (void)state;
    assert_ok(mot__group_open(3, 10, MOT__ALGORITHM_RING, 0.1, &group));
    prepare(worker, 3, group, 10, reduce);
    worker[1].absent = true;
    start = mot__clock_s();
    run_lanes(worker, 3);
    assert_true(mot__clock_s() - start >= 0.1);
    assert_true(mot__clock_s() - start < 30);
    for (size_t i = 0; i < 3; i += 2) {
        assert_int_equal(worker[i].story.status, MOT_TIMEOUT);
        assert_non_null(strstr(worker[i].story.text, "waited 0.1 s for lane 1"));
    }
    /* It comes at last, and hears what happened without waiting. */
    assert_story(mot__group_all_reduce(group, 1, &data, 1), MOT_TIMEOUT, "for lane 1");
    discard(worker, 3);
    mot__group_close(group);
}

/* ---- how a lane waits ---- */

struct sleeps {
    size_t begun, ended;
    double waited_s;
};

static void count_sleep(void *user, bool begins)
{
    struct sleeps *sleeps = user;

    sleeps->begun += begins;
    sleeps->ended += !begins;
}

static mot_status meet(struct worker *worker)
{
    struct sleeps *sleeps = worker->user;
    const mot_status status = mot__group_barrier(worker->group, worker->rank);

    sleeps->waited_s += mot__group_waited(worker->group, worker->rank);
    return status;
}

/* It may look out for a moment, but no core is taken for 50 ms; all of them count as waiting. Of 20
 * turns half are enough: where the machine is busy the other may come first. */
static void a_lane_sleeps_for_one_that_is_late(void **state)
{
    enum { TURNS = 20 };
    struct sleeps sleeps[2] = {{0}};
    struct worker worker[2] = {{0}};
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__group_open(2, 0, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    for (size_t i = 0; i < 2; i++) {
        worker[i] = (struct worker){.group = group, .rank = i, .user = &sleeps[i], .run = meet};
        mot__group_on_sleep(group, i, count_sleep, &sleeps[i]);
    }
    worker[1].delay_s = 0.05;
    for (size_t turn = 0; turn < TURNS; turn++) {
        run_lanes(worker, 2);
        assert_int_equal(worker[0].story.status, MOT_OK);
        assert_true(mot__group_waited(group, 0) == 0); /* told already */
    }
    assert_true(sleeps[0].begun >= TURNS / 2 && sleeps[0].begun <= 2 * TURNS); /* in and out */
    assert_int_equal(sleeps[0].ended, sleeps[0].begun);
    assert_true(sleeps[0].waited_s > TURNS / 2 * 0.02);
    assert_true(sleeps[1].waited_s < sleeps[0].waited_s);
    mot__group_close(group);
}

static mot_status broadcast(struct worker *worker)
{
    return mot__group_broadcast(worker->group, worker->rank, worker->root, worker->data,
                                worker->count);
}

static void a_broadcast_copies_the_root_to_all(void **state)
{
    static const size_t sizes[] = {0, 1, 33, 100003};

    (void)state;
    for (size_t lanes = 1; lanes <= LANES_MAX; lanes++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t root = lanes / 2, bytes = sizes[s];
            struct worker worker[LANES_MAX];
            mot__group *group = NULL;

            assert_ok(mot__group_open(lanes, 0, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
            prepare(worker, lanes, group, bytes, broadcast);
            for (size_t i = 0; i < lanes; i++) {
                worker[i].root = root;
                memset(worker[i].data, (int)i + 1, bytes + 1);
            }
            run_lanes(worker, lanes);
            for (size_t i = 0; i < lanes; i++) {
                const unsigned char *seen = (const unsigned char *)worker[i].data;

                assert_int_equal(worker[i].story.status, MOT_OK);
                for (size_t k = 0; k < bytes; k++)
                    if (seen[k] != root + 1)
                        fail_msg("lane %zu of %zu, byte %zu is %d", i, lanes, k, seen[k]);
                assert_int_equal(seen[bytes], i + 1);
            }
            discard(worker, lanes);
            mot__group_close(group);
        }
}

static void a_broadcast_from_two_roots_or_none_is_told(void **state)
{
    struct worker worker[2];
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__group_open(2, 0, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    prepare(worker, 2, group, 4, broadcast);
    worker[1].root = 1;
    run_lanes(worker, 2);
    assert_int_equal(worker[0].story.status, MOT_BAD_ARG);
    assert_string_equal(worker[1].story.text,
                        "broadcast: lane 0 wants it from lane 0, lane 1 from lane 1");
    worker[0].root = worker[1].root = 2;
    run_lanes(worker, 2);
    assert_string_equal(worker[0].story.text, "broadcast: from lane 2 of 2");
    worker[0].root = worker[1].root = 0;
    worker[1].count = 3;
    run_lanes(worker, 2);
    assert_string_equal(worker[0].story.text, "broadcast: lane 0 brings 4 bytes, lane 1 brings 3");
    discard(worker, 2);
    mot__group_close(group);
}

static struct {
    struct mot__lock lock;
    size_t before;
} gate;

static mot_status pass_gate(struct worker *worker)
{
    mot_status status = MOT_OK;

    for (size_t round = 1; round <= worker->rounds && status == MOT_OK; round++) {
        size_t seen;

        mot__lock_take(&gate.lock);
        gate.before++;
        mot__lock_give(&gate.lock);
        status = mot__group_barrier(worker->group, worker->rank);
        mot__lock_take(&gate.lock);
        seen = gate.before;
        mot__lock_give(&gate.lock);
        if (status == MOT_OK && (seen < round * 4 || seen > round * 4 + 3))
            status = mot__fail(MOT_BAD_STATE, "round %zu saw %zu", round, seen);
    }
    return status;
}

static void nobody_passes_a_barrier_alone(void **state)
{
    struct worker worker[4];
    mot__group *group = NULL;

    (void)state;
    assert_ok(mot__lock_init(&gate.lock));
    assert_ok(mot__group_open(4, 0, MOT__ALGORITHM_AUTO, DEADLINE_S, &group));
    prepare(worker, 4, group, 0, pass_gate);
    for (size_t i = 0; i < 4; i++)
        worker[i].rounds = 200;
    run_lanes(worker, 4);
    for (size_t i = 0; i < 4; i++)
        if (worker[i].story.status != MOT_OK)
            fail_msg("lane %zu: %s", i, worker[i].story.text);
    discard(worker, 4);
    mot__group_close(group);
    mot__lock_clear(&gate.lock);
}

static void bad_groups_and_ranks_are_refused(void **state)
{
    mot__group *group = NULL;
    float data = 0;

    (void)state;
    assert_story(mot__group_open(0, 1, MOT__ALGORITHM_AUTO, 1, &group), MOT_BAD_ARG, "0 lanes");
    assert_story(mot__group_open(2, 1, MOT__ALGORITHM_AUTO, 0, &group), MOT_BAD_ARG,
                 "deadline of 0 s");
    assert_story(mot__group_open(2, 1, MOT__ALGORITHM_AUTO, (double)NAN, &group), MOT_BAD_ARG,
                 "deadline of");
    assert_null(group);
    assert_ok(mot__group_open(2, 1, MOT__ALGORITHM_AUTO, 1, &group));
    assert_story(mot__group_all_reduce(group, 2, &data, 1), MOT_BAD_ARG, "lane 2 of 2");
    mot__group_close(group);
    mot__group_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_algorithms_give_the_sum_in_the_written_order),
        cmocka_unit_test(auto_is_direct),
        cmocka_unit_test(a_fold_gives_each_sum_once_and_the_tail_to_all),
        cmocka_unit_test(many_rounds_do_not_mix),
        cmocka_unit_test(repeated_runs_and_late_lanes_give_the_same_bits),
        cmocka_unit_test(counts_that_differ_are_told_to_all_lanes),
        cmocka_unit_test(more_than_the_capacity_is_told_to_all_lanes),
        cmocka_unit_test(different_calls_are_told_to_all_lanes),
        cmocka_unit_test(a_failing_lane_frees_all_others_with_its_story),
        cmocka_unit_test(a_lane_that_only_leaves_is_told),
        cmocka_unit_test(a_lane_that_never_comes_is_waited_for_only_so_long),
        cmocka_unit_test(a_lane_sleeps_for_one_that_is_late),
        cmocka_unit_test(a_broadcast_copies_the_root_to_all),
        cmocka_unit_test(a_broadcast_from_two_roots_or_none_is_told),
        cmocka_unit_test(nobody_passes_a_barrier_alone),
        cmocka_unit_test(bad_groups_and_ranks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
