/* test_pace.c - the fit of a device's pace, the shares that end together, and when they change. */
#include "strategy/balance.h"
#include "support/check.h"

#include <math.h>

static struct mot__pace pace_of(double fixed_s, double per_row_s, size_t quantum)
{
    struct mot__pace pace;

    mot__pace_start(&pace);
    pace.fixed_s = fixed_s;
    pace.per_row_s = per_row_s;
    pace.quantum = quantum;
    return pace;
}

static void two_sizes_tell_fixed_from_per_row(void **state)
{
    struct mot__pace pace;

    (void)state;
    mot__pace_start(&pace);
    mot__pace_add(&pace, 64, 0.002 + 64 * 1e-5);
    mot__pace_add(&pace, 256, 0.002 + 256 * 1e-5);
    assert_true(fabs(pace.fixed_s - 0.002) < 1e-9);
    assert_true(fabs(pace.per_row_s - 1e-5) < 1e-12);
}

/* What a trial does not see is a fixed cost. Then only one size, and three times the time: both
 * parts of the pace are three times. */
static void a_device_that_slows_down_is_followed(void **state)
{
    struct mot__pace pace;

    (void)state;
    mot__pace_start(&pace);
    mot__pace_add(&pace, 64, 0.001 + 64 * 1e-5);
    mot__pace_add(&pace, 256, 0.001 + 256 * 1e-5);
    mot__pace_follow(&pace, 256, 0.002 + 256 * 1e-5);
    assert_true(fabs(pace.fixed_s - 0.002) < 1e-9);
    for (int i = 0; i < 12; i++)
        mot__pace_follow(&pace, 256, 3 * (0.002 + 256 * 1e-5));
    assert_true(fabs(pace.fixed_s - 0.006) < 2e-4);
    assert_true(fabs(pace.per_row_s - 3e-5) < 1e-6);
}

static void noise_never_makes_a_pace_absurd(void **state)
{
    uint64_t random = 5;

    (void)state;
    for (int turn = 0; turn < 300; turn++) {
        struct mot__pace pace;

        mot__pace_start(&pace);
        for (int i = 0; i < 20; i++)
            mot__pace_add(&pace, 1 + test_random(&random) % 500,
                          1e-4 + (double)(test_random(&random) % 1000) * 1e-5);
        assert_true(pace.fixed_s >= 0);
        assert_true(pace.per_row_s > 0);
    }
}

/* The best of all splits, by trying each. */
static double by_trying(const struct mot__pace *pace, size_t rows)
{
    double best = INFINITY;

    for (size_t a = 0; a <= rows; a++)
        for (size_t b = 0; a + b <= rows; b++) {
            const size_t share[3] = {a, b, rows - a - b};

            best = fmin(best, mot__pace_end(pace, 3, share));
        }
    return best;
}

static void no_other_split_ends_earlier(void **state)
{
    uint64_t random = 9;
    size_t share[3];

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        const size_t rows = 1 + test_random(&random) % 60;
        struct mot__pace pace[3];
        double end, best;

        for (int i = 0; i < 3; i++)
            pace[i] = pace_of((double)(test_random(&random) % 100) * 1e-5,
                              (double)(1 + test_random(&random) % 100) * 1e-6,
                              turn % 2 ? 1 : (size_t)1 << test_random(&random) % 5);
        end = mot__pace_split(pace, 3, rows, share);
        best = by_trying(pace, rows);
        assert_int_equal(share[0] + share[1] + share[2], rows);
        if (!(end <= best * (1 + 1e-9)))
            fail_msg("turn %d: %zu rows end at %g, the best split at %g", turn, rows, end, best);
    }
}

static void nobody_takes_more_than_the_cap(void **state)
{
    struct mot__pace pace[2] = {pace_of(0, 1e-5, 64), pace_of(0, 1e-5, 1)};
    size_t share[2];

    (void)state;
    pace[1].most = 10;
    mot__pace_split(pace, 2, 200, share);
    assert_int_equal(share[1], 10);
    assert_int_equal(share[0], 190);
    pace[0].most = 100;
    mot__pace_split(pace, 2, 200, share);
    assert_int_equal(share[0] + share[1], 110);
}

static void the_quantum_is_what_one_more_row_costs(void **state)
{
    (void)state;
    assert_int_equal(mot__pace_quantum(1.0, 1.0, 1.0, 0.01), 64);
    assert_int_equal(mot__pace_quantum(1.0, 1.0, 4.0, 0.01), 16);
    assert_int_equal(mot__pace_quantum(0.1, 1.6, 6.4, 0.01), 1);
    assert_int_equal(mot__pace_quantum(1.0, 1.0, 1.0, 0.9), 1); /* lost in noise */
}

/* ---- a machine of our own: t(b) = fixed + b * per_row, and a sum that takes sync ---- */

struct machine {
    double fixed_s[3], per_row_s[3], sync_s;
    double noise; /* +- this part of every time */
    uint64_t random;
    size_t lanes;
};

static double noisy(struct machine *m, double s)
{
    return s * (1 + m->noise * ((double)(test_random(&m->random) % 2001) / 1000 - 1));
}

static double step(struct machine *m, mot__balance *balance, const size_t *share, const bool *in)
{
    double own[3] = {0}, end = 0;
    size_t i, lanes = 0;

    for (i = 0; i < m->lanes; i++) {
        own[i] = share[i] ? noisy(m, m->fixed_s[i] + (double)share[i] * m->per_row_s[i]) : 0;
        end = in[i] ? fmax(end, own[i]) : end;
        lanes += in[i];
    }
    end += lanes > 1 ? m->sync_s : 0;
    for (i = 0; i < m->lanes; i++)
        if (in[i])
            mot__balance_told(balance, i, share[i], own[i], end);
    return end;
}

static mot__balance *open_balance(size_t lanes, bool may_leave)
{
    const struct mot__balance_config config = {lanes, may_leave};
    mot__balance *balance = NULL;

    assert_int_equal(mot__balance_open(&config, &balance), MOT_OK);
    return balance;
}

static void told_at_two_sizes(struct machine *m, mot__balance *balance, size_t rows)
{
    struct mot__pace pace;

    for (size_t i = 0; i < m->lanes; i++) {
        mot__pace_start(&pace);
        mot__pace_add(&pace, rows / 2,
                      noisy(m, m->fixed_s[i] + (double)(rows / 2) * m->per_row_s[i]));
        mot__pace_add(&pace, rows, noisy(m, m->fixed_s[i] + (double)rows * m->per_row_s[i]));
        mot__balance_set(balance, i, &pace);
    }
}

/* What one lane's trial tells alone, without noise. */
static struct mot__pace trial_of(const struct machine *m, size_t lane, size_t rows)
{
    struct mot__pace pace;

    mot__pace_start(&pace);
    mot__pace_add(&pace, rows / 2, m->fixed_s[lane] + (double)(rows / 2) * m->per_row_s[lane]);
    mot__pace_add(&pace, rows, m->fixed_s[lane] + (double)rows * m->per_row_s[lane]);
    return pace;
}

/* So many steps, with every change of shares done as it is asked for; the last change that was. */
static enum mot__review steps_with(struct machine *m, mot__balance *balance, size_t *share,
                                   bool *in, int steps)
{
    enum mot__review last = MOT__REVIEW_KEEP;
    size_t other[3], i;

    while (steps-- > 0) {
        enum mot__review what;

        step(m, balance, share, in);
        what = mot__balance_review(balance, other).what;
        if (what == MOT__REVIEW_KEEP)
            continue;
        last = what;
        for (i = 0; i < m->lanes; i++) {
            share[i] = other[i];
            if (what != MOT__REVIEW_SHARE)
                in[i] = other[i] > 0;
        }
    }
    return last;
}

static void noise_moves_no_row(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 1e-5}, 1e-4, 0.04, 11, 2};
    mot__balance *balance = open_balance(2, true);
    const bool in[3] = {true, true};
    size_t share[2], other[2];

    (void)state;
    told_at_two_sizes(&m, balance, 512);
    mot__balance_start(balance, 512, share);
    assert_int_equal(share[0], 256);
    for (int i = 0; i < 16 * 500; i++) {
        step(&m, balance, share, in);
        assert_int_equal(mot__balance_review(balance, other).what, MOT__REVIEW_KEEP);
    }
    mot__balance_close(balance);
}

/* A trial is short: what it tells of twelve percent may be its own noise, of forty not. */
static void a_trial_must_be_clear_to_start_with_uneven_shares(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 1.12e-5}, 1e-4, 0, 11, 2};
    size_t share[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        mot__balance *balance = open_balance(2, true);

        told_at_two_sizes(&m, balance, 4096);
        mot__balance_start(balance, 4096, share);
        assert_in_range(share[0], i ? 2340 : 2048, i ? 2440 : 2048);
        mot__balance_close(balance);
        m.per_row_s[1] = 1.4e-5;
    }
}

static void shares_follow_a_device_that_slows_down(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 1e-5}, 1e-4, 0.03, 12, 2};
    mot__balance *balance = open_balance(2, false);
    const bool in[3] = {true, true};
    size_t share[2], other[2], changes = 0;
    double end = 0;

    (void)state;
    told_at_two_sizes(&m, balance, 4096);
    mot__balance_start(balance, 4096, share);
    m.fixed_s[1] *= 3, m.per_row_s[1] *= 3;
    for (int i = 0; i < 16 * 40; i++) {
        end = step(&m, balance, share, in);
        if (mot__balance_review(balance, other).what == MOT__REVIEW_SHARE) {
            assert_int_equal(other[0] + other[1], 4096);
            share[0] = other[0], share[1] = other[1];
            changes++;
        }
    }
    assert_in_range(share[1], 900, 1150); /* a quarter is 1024 */
    assert_in_range(changes, 1, 4);
    assert_true(end < 1.12 * (1e-4 + 3072 * 1e-5 + 1e-4));
    m.fixed_s[1] /= 3, m.per_row_s[1] /= 3; /* and back again */
    for (int i = 0; i < 16 * 40; i++) {
        step(&m, balance, share, in);
        if (mot__balance_review(balance, other).what == MOT__REVIEW_SHARE)
            share[0] = other[0], share[1] = other[1];
    }
    assert_in_range(share[1], 1930, 2170);
    mot__balance_close(balance);
}

static void a_device_that_slows_the_whole_is_left_out(void **state)
{
    struct machine m = {{1e-4, 1e-4, 5e-3}, {1e-6, 1e-6, 1e-4}, 6e-4, 0.02, 13, 3};
    mot__balance *balance = open_balance(3, true);
    bool in[3] = {true, true, true};
    size_t share[3], other[3], left = 0;
    struct mot__reviewed found = {0};

    (void)state;
    told_at_two_sizes(&m, balance, 128);
    mot__balance_start(balance, 128, share);
    for (int i = 0; i < 16 * 100; i++) {
        step(&m, balance, share, in);
        found = mot__balance_review(balance, other);
        if (found.what == MOT__REVIEW_KEEP)
            continue;
        for (int k = 0; k < 3; k++) {
            share[k] = other[k];
            in[k] = found.what == MOT__REVIEW_LEAVE ? other[k] > 0 : in[k];
        }
        if (found.what == MOT__REVIEW_LEAVE) {
            left++;
            assert_int_equal(found.kept, 1); /* 0.23 ms alone, 0.76 ms for two with the sum */
            assert_true(found.before_s > 1.2 * found.after_s);
            assert_true(found.larger > 128);
        }
    }
    assert_int_equal(left, 1);
    assert_int_equal(share[0] + share[1] + share[2], 128);
    mot__balance_close(balance);
}

/* Its launches alone take longer than all the rest: no rows. Then they do not any more. */
static void a_lane_without_rows_is_tried_again_and_has_some(void **state)
{
    struct machine m = {{1e-4, 5e-2}, {1e-5, 1e-5}, 1e-4, 0.02, 14, 2};
    mot__balance *balance = open_balance(2, false);
    bool in[3] = {true, true};
    struct mot__pace trial;
    size_t share[2];

    (void)state;
    told_at_two_sizes(&m, balance, 1024);
    mot__balance_start(balance, 1024, share);
    assert_int_equal(share[1], 0);
    m.fixed_s[1] = 1e-4;
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_KEEP);
    trial = trial_of(&m, 1, 1024);
    mot__balance_tried(balance, 1, &trial);
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_SHARE);
    assert_in_range(share[1], 460, 560);
    mot__balance_close(balance);
}

/* Left out while another program had it; a later trial finds it free. Only then, and only once. */
static void a_lane_that_was_left_out_comes_back_when_it_pays(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 4e-4}, 3e-3, 0.02, 15, 2};
    mot__balance *balance = open_balance(2, true);
    bool in[3] = {true, true};
    struct mot__pace trial;
    size_t share[2];

    (void)state;
    told_at_two_sizes(&m, balance, 1024);
    mot__balance_start(balance, 1024, share);
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_LEAVE);
    assert_int_equal(share[1], 0);
    trial = trial_of(&m, 1, 1024); /* as slow as ever */
    mot__balance_tried(balance, 1, &trial);
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_KEEP);
    m.per_row_s[1] = 1e-5;
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_KEEP);
    trial = trial_of(&m, 1, 1024);
    mot__balance_tried(balance, 1, &trial);
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 10), MOT__REVIEW_RETURN);
    assert_true(in[1]);
    steps_with(&m, balance, share, in, 16 * 80);
    assert_true(in[1]);
    assert_in_range(share[1], 460, 560);
    mot__balance_close(balance);
}

/* The one that went on alone becomes slow: the others are worth their while after all. */
static void a_lane_left_out_comes_back_when_the_rest_slows_down(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 4e-4}, 3e-3, 0.02, 16, 2};
    mot__balance *balance = open_balance(2, true);
    bool in[3] = {true, true};
    size_t share[2];

    (void)state;
    told_at_two_sizes(&m, balance, 1024);
    mot__balance_start(balance, 1024, share);
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 40), MOT__REVIEW_LEAVE);
    m.fixed_s[0] *= 40, m.per_row_s[0] *= 40;
    steps_with(&m, balance, share, in, 16 * 80);
    assert_true(in[1]);
    assert_in_range(share[1], 460, 560);
    mot__balance_close(balance);
}

static void who_has_no_rows_is_tried_ever_less_often(void **state)
{
    struct machine m = {{1e-4, 5e-2}, {1e-5, 1e-5}, 1e-4, 0, 17, 2};
    mot__balance *balance = open_balance(2, false);
    size_t share[2], times = 0, first = 0;
    bool idle[2];

    (void)state;
    assert_false(mot__balance_idle(balance, 1000, idle)); /* nobody has rows yet */
    told_at_two_sizes(&m, balance, 1024);
    mot__balance_start(balance, 1024, share);
    for (size_t s = 0; s < 3600; s++)
        if (mot__balance_idle(balance, 5000 + (double)s, idle)) {
            assert_true(!idle[0] && idle[1]);
            first = times++ ? first : s;
        }
    assert_in_range(first, 1, 10);
    assert_in_range(times, 6, 16);
    mot__balance_close(balance);
}

/* Whoever has more rows seems slow, and a step takes as long whoever has them: no promise is kept,
 * and soon nothing moves. What is true of one lane must be followed later all the same. */
static void broken_promises_count_less_with_time(void **state)
{
    struct machine m = {{1e-4, 1e-4}, {1e-5, 1.5e-5}, 1e-4, 0, 18, 2};
    mot__balance *balance = open_balance(2, false);
    bool in[3] = {true, true};
    size_t share[2] = {2048, 2048}, other[2], changes = 0;

    (void)state;
    told_at_two_sizes(&m, balance, 4096);
    mot__balance_start(balance, 4096, share);
    for (int i = 0; i < 16 * 400; i++) {
        const size_t slow = share[1] > share[0];

        for (size_t k = 0; k < 2; k++)
            mot__balance_told(balance, k, share[k], (double)share[k] * (k == slow ? 1.5e-5 : 1e-5),
                              6e-2);
        if (mot__balance_review(balance, other).what == MOT__REVIEW_KEEP)
            continue;
        share[0] = other[0], share[1] = other[1];
        changes++;
    }
    assert_in_range(changes, 3, 30); /* of some 800 reviews */
    m.per_row_s[share[1] > share[0] ? 1 : 0] = 1e-5;
    m.per_row_s[share[1] > share[0] ? 0 : 1] = 1.35e-5;
    m.sync_s = 1e-2;
    assert_int_equal(steps_with(&m, balance, share, in, 16 * 200), MOT__REVIEW_SHARE);
    assert_in_range(share[m.per_row_s[1] > m.per_row_s[0] ? 1 : 0], 1650, 1840);
    mot__balance_close(balance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sizes_tell_fixed_from_per_row),
        cmocka_unit_test(a_device_that_slows_down_is_followed),
        cmocka_unit_test(noise_never_makes_a_pace_absurd),
        cmocka_unit_test(no_other_split_ends_earlier),
        cmocka_unit_test(nobody_takes_more_than_the_cap),
        cmocka_unit_test(the_quantum_is_what_one_more_row_costs),
        cmocka_unit_test(noise_moves_no_row),
        cmocka_unit_test(a_trial_must_be_clear_to_start_with_uneven_shares),
        cmocka_unit_test(shares_follow_a_device_that_slows_down),
        cmocka_unit_test(a_device_that_slows_the_whole_is_left_out),
        cmocka_unit_test(a_lane_without_rows_is_tried_again_and_has_some),
        cmocka_unit_test(a_lane_that_was_left_out_comes_back_when_it_pays),
        cmocka_unit_test(a_lane_left_out_comes_back_when_the_rest_slows_down),
        cmocka_unit_test(who_has_no_rows_is_tried_ever_less_often),
        cmocka_unit_test(broken_promises_count_less_with_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
