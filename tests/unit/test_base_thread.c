/* test_base_thread.c - threads that no signal reaches, waits with deadlines, stories that travel.
 */
#include "support/check.h"

#include "base/clock.h"
#include "base/thread.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

struct seen_mask {
    sigset_t mask;
    char name[32];
};

static void read_mask(void *user)
{
    struct seen_mask *seen = user;

    pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
}

static void a_thread_blocks_every_signal(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    struct seen_mask seen;
    sigset_t before, after;
    mot__thread *thread = NULL;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_ok(mot__thread_open("mask", read_mask, &seen, &thread));
    mot__thread_join(thread);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        assert_int_equal(sigismember(&seen.mask, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
        assert_int_equal(sigismember(&after, signals[i]), 0);
    }
}

struct counter {
    struct mot__lock lock;
    int turn, finished;
};

static void take_odd_turns(void *user)
{
    struct counter *counter = user;

    mot__lock_take(&counter->lock);
    while (counter->turn < 200) {
        while (counter->turn % 2 == 0 && counter->turn < 200)
            mot__lock_wait(&counter->lock, INFINITY);
        if (counter->turn < 200)
            counter->turn++;
        mot__lock_signal(&counter->lock);
    }
    counter->finished = 1;
    mot__lock_signal(&counter->lock);
    mot__lock_give(&counter->lock);
}

static void two_threads_take_turns(void **state)
{
    struct counter counter = {.turn = 0};
    mot__thread *thread = NULL;

    (void)state;
    assert_ok(mot__lock_init(&counter.lock));
    assert_ok(mot__thread_open("odd", take_odd_turns, &counter, &thread));
    mot__lock_take(&counter.lock);
    while (counter.turn < 200) {
        while (counter.turn % 2 == 1)
            assert_true(mot__lock_wait(&counter.lock, mot__clock_s() + 30));
        counter.turn++;
        mot__lock_signal(&counter.lock);
    }
    mot__lock_give(&counter.lock);
    mot__thread_join(thread);
    assert_int_equal(counter.finished, 1);
    assert_true(counter.turn >= 200);
    mot__lock_clear(&counter.lock);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    struct mot__lock lock;
    double start, waited;

    (void)state;
    assert_ok(mot__lock_init(&lock));
    mot__lock_take(&lock);
    start = mot__clock_s();
    while (mot__lock_wait(&lock, start + 0.05))
        ; /* a wake-up without a reason is allowed */
    waited = mot__clock_s() - start;
    assert_true(waited >= 0.05 && waited < 20);
    assert_false(mot__lock_wait(&lock, start));
    assert_false(mot__lock_wait(&lock, -1));
    assert_false(mot__lock_wait(&lock, (double)NAN));
    mot__lock_give(&lock);
    mot__lock_clear(&lock);
}

/* Shared with a thread that may outlive the test that abandoned it. */
static struct {
    struct mot__lock lock;
    int released, gone;
} left;

static void wait_for_release(void *user)
{
    (void)user;
    mot__lock_take(&left.lock);
    while (!left.released)
        mot__lock_wait(&left.lock, INFINITY);
    left.gone = 1;
    mot__lock_signal(&left.lock);
    mot__lock_give(&left.lock);
}

static void an_abandoned_thread_goes_on_alone(void **state)
{
    mot__thread *thread = NULL;

    (void)state;
    assert_ok(mot__lock_init(&left.lock));
    assert_ok(mot__thread_open("a name longer than fifteen", wait_for_release, NULL, &thread));
    mot__thread_abandon(thread); /* returns though the thread waits */
    mot__lock_take(&left.lock);
    assert_int_equal(left.gone, 0);
    left.released = 1;
    mot__lock_signal(&left.lock);
    while (!left.gone)
        assert_true(mot__lock_wait(&left.lock, mot__clock_s() + 30));
    mot__lock_give(&left.lock);
    mot__thread_join(NULL);
    mot__thread_abandon(NULL);
}

static void fail_elsewhere(void *user)
{
    mot__story_take(mot__fail(MOT_DEVICE_LOST, "lane %d fell silent", 3), user);
}

static void succeed_elsewhere(void *user)
{
    mot__story_take(MOT_OK, user);
}

static void a_story_travels_between_threads(void **state)
{
    struct mot__story story;
    mot__thread *thread = NULL;

    (void)state;
    mot__fail(MOT_BAD_ARG, "my own");
    assert_ok(mot__thread_open("fails", fail_elsewhere, &story, &thread));
    mot__thread_join(thread);
    assert_string_equal(mot_error(), "my own"); /* another thread's failure is not mine yet */
    assert_int_equal(mot_error_status(), MOT_BAD_ARG);
    assert_int_equal(mot__story_tell(&story), MOT_DEVICE_LOST);
    assert_string_equal(mot_error(), "lane 3 fell silent");
    assert_int_equal(mot_error_status(), MOT_DEVICE_LOST);

    assert_ok(mot__thread_open("succeeds", succeed_elsewhere, &story, &thread));
    mot__thread_join(thread);
    assert_int_equal(mot__story_tell(&story), MOT_OK);
    assert_string_equal(mot_error(), "lane 3 fell silent"); /* success tells nothing */
}

static void stories_are_prefixed_cut_and_may_quote_themselves(void **state)
{
    char text[3 * MOT__STORY_BYTES];

    (void)state;
    mot__fail(MOT_IO, "no space left");
    assert_int_equal(mot__fail_in(MOT_IO, "saving %s", "w"), MOT_IO);
    assert_string_equal(mot_error(), "saving w: no space left");
    mot__fail(MOT_FORMAT, "again: %s", mot_error());
    assert_string_equal(mot_error(), "again: saving w: no space left");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mot__fail(MOT_FORMAT, "%s", text);
    assert_int_equal(strlen(mot_error()), MOT__STORY_BYTES - 1);
    mot__fail_in(MOT_FORMAT, "%s", text);
    assert_int_equal(strlen(mot_error()), MOT__STORY_BYTES - 1);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int i = 0; i < MOT_STATUS_COUNT; i++)
        assert_true(strlen(mot_status_text((mot_status)i)) > 3);
    assert_string_equal(mot_status_text(MOT_OK), "success");
    assert_string_equal(mot_status_text((mot_status)MOT_STATUS_COUNT), "unknown status");
    assert_string_equal(mot_version(), MOT_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_blocks_every_signal),
        cmocka_unit_test(two_threads_take_turns),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(an_abandoned_thread_goes_on_alone),
        cmocka_unit_test(a_story_travels_between_threads),
        cmocka_unit_test(stories_are_prefixed_cut_and_may_quote_themselves),
        cmocka_unit_test(every_status_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
