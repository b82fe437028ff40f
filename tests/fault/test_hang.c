/* test_hang.c - a lane whose driver does not come back, or comes back when nobody waits for it any
 * more: who is given up, and what such a lane may still touch. And one that fails while somebody
 * else waits for it. */
#include "support/folder.h"
#include "support/train.h"

#include "base/thread.h"
#include "device/internal.h"
#include "strategy/engine_inside.h"
#include "train/trainer.h"

#include <motley/bench.h>
#include <pthread.h>

#define HANG_S 1.0
#define NET "input 12, dense 9 relu, dense 4"

/* ---- a job that hangs, in memory that outlives its lane ---- */

static struct {
    struct mot__lock lock;
    pthread_key_t key; /* its destructor tells that the lane's thread ended */
    bool begun, let_go, ended, marked;
} hang;

static void raise_flag(bool *flag)
{
    mot__lock_take(&hang.lock);
    *flag = true;
    mot__lock_signal(&hang.lock);
    mot__lock_give(&hang.lock);
}

static void await_flags(const bool *one, const bool *other)
{
    mot__lock_take(&hang.lock);
    while (!*one && !*other)
        mot__lock_wait(&hang.lock, INFINITY);
    mot__lock_give(&hang.lock);
}

static void on_end(void *value)
{
    (void)value;
    raise_flag(&hang.ended);
}

static mot_status job_hang(mot__lane *lane, void *user, void *payload)
{
    (void)lane, (void)user, (void)payload;
    pthread_setspecific(hang.key, &hang);
    raise_flag(&hang.begun);
    await_flags(&hang.let_go, &hang.let_go);
    return MOT_OK;
}

static mot_status job_mark(mot__lane *lane, void *user, void *payload)
{
    (void)lane, (void)user, (void)payload;
    raise_flag(&hang.marked);
    return MOT_OK;
}

static void hang_open(void)
{
    memset(&hang, 0, sizeof hang);
    assert_ok(mot__lock_init(&hang.lock));
    assert_int_equal(pthread_key_create(&hang.key, on_end), 0);
}

/* ---- tests ---- */

/* What was queued behind points to memory of callers that were told it is lost. */
static void a_lane_that_was_given_up_begins_nothing_more(void **state)
{
    static mot_fleet *fleet; /* never freed: so that who looks for leaks still sees it */
    mot__lane *lane;

    (void)state;
    hang_open();
    fleet = train_fleet("0");
    lane = mot__fleet_lane(fleet, 0);
    mot__fleet_patience(fleet, HANG_S);
    assert_ok(mot__lane_post(lane, job_hang, NULL, NULL, 0));
    await_flags(&hang.begun, &hang.begun);
    assert_story(mot__lane_call(lane, job_mark, NULL, NULL, 0), MOT_DEVICE_LOST,
                 "device 0 did not answer for 1 s and was given up");
    raise_flag(&hang.let_go);
    await_flags(&hang.ended, &hang.marked);
    assert_false(hang.marked);
    assert_story(mot__lane_call(lane, job_mark, NULL, NULL, 0), MOT_DEVICE_LOST, "was given up");
    mot_fleet_close(fleet);
}

/* A step fails behind its queue, and who waits next is no business of the trainer's. */
static void a_failure_that_another_was_told_is_not_lost(void **state)
{
    struct train_set set = train_set_make(64, 12, 4, 3);
    const struct mot_trainer_config config = train_config();
    struct train_run run = train_open("0,0", NET, &config, train_data(&set, false, 16));
    struct mot_metrics metrics;
    struct mot_counts counts;

    (void)state;
    train_steps(&run, 2);
    train_metrics(&run);
    mot__group_abort(mot__engine_common(run.trainer->engine)->group, 1,
                     mot__fail(MOT_DEVICE_FAILED, "the second device is sick"));
    train_steps(&run, 1);
    for (size_t lane = 0; lane < 2; lane++)
        assert_story(mot_bench_counts(run.fleet, lane, &counts), MOT_DEVICE_FAILED, "is sick");
    train_steps(&run, 1); /* queued, as if nothing had been */
    for (size_t lane = 0; lane < 2; lane++)
        assert_story(mot_bench_counts(run.fleet, lane, &counts), MOT_DEVICE_FAILED, "is sick");
    assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_DEVICE_FAILED, "is sick");
    assert_story(mot_trainer_step(run.trainer, train_batch(run.data)), MOT_DEVICE_FAILED,
                 "is sick");
    train_close(&run);
    train_set_clear(&set);
}

/* Its next command waits for an event of ours. */
static mot_status job_stop_driver(mot__lane *lane, void *user, void *payload)
{
    mot__device *device = mot__lane_device(lane);
    cl_event *event = user;
    cl_int error;

    (void)payload;
    pthread_setspecific(hang.key, &hang);
    *event = clCreateUserEvent(device->context, &error);
    return mot__gate_add(device, *event);
}

/* The first lane is healthy and waits for the other, as long as the trainer waits for the first. */
static void the_lane_that_hangs_is_named_and_no_other(void **state)
{
    static struct train_set set; /* kept, as above; so is what follows */
    const struct mot_trainer_config config = train_config();
    static struct train_run run;
    static mot__engine *engine;
    static cl_event never;
    struct mot_metrics metrics;

    (void)state;
    if (!train_can("0/2"))
        skip();
    hang_open();
    set = train_set_make(64, 12, 4, 3);
    run = train_open("0/2", NET, &config, train_data(&set, false, 16));
    engine = run.trainer->engine;
    train_steps(&run, 2);
    train_metrics(&run);
    mot__fleet_patience(run.fleet, 2);
    assert_ok(mot__engine_join(engine, 2));
    assert_ok(mot__lane_call(engine->replica[1].lane, job_stop_driver, &never, NULL, 0));
    train_steps(&run, 1);
    assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_DEVICE_LOST,
                 "device 0/2.1 did not answer for 2 s and was given up");
    assert_false(mot__lane_tainted(engine->replica[0].lane));
    assert_story(mot_trainer_step(run.trainer, train_batch(run.data)), MOT_DEVICE_LOST,
                 "device 0/2.1");
    mot_trainer_close(run.trainer);
    mot_data_close(run.data);
    mot_model_close(run.net);
    mot_fleet_close(run.fleet);
}

/* The first lane's failure is the one that is told; the second still reads what both were given,
 * as those see who watch every access. */
static void what_a_lane_given_up_may_read_is_kept(void **state)
{
    struct train_set set = train_set_make(64, 12, 4, 3);
    const struct mot_trainer_config config = train_config();
    static struct train_run run; /* kept, as above */
    static mot__engine *engine;
    cl_event event = NULL;
    struct folder folder;

    (void)state;
    hang_open();
    assert_true(folder_open(&folder));
    run = train_open("0,0", NET, &config, train_data(&set, false, 16));
    engine = run.trainer->engine;
    assert_ok(mot_weights_save(run.trainer, folder_path(&folder, "weights")));
    mot__fleet_patience(run.fleet, HANG_S);
    assert_ok(mot__lane_call(engine->replica[1].lane, job_stop_driver, &event, NULL, 0));
    mot__story_take(mot__fail(MOT_NO_MEMORY, "no room"), &engine->replica[0].failed);
    assert_false(mot__engine_tainted(engine));
    assert_story(mot_weights_load(run.trainer, folder_path(&folder, "weights")), MOT_NO_MEMORY,
                 "no room");
    assert_true(mot__engine_tainted(engine));
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    await_flags(&hang.ended, &hang.ended);
    mot_trainer_close(run.trainer);
    mot_data_close(run.data);
    mot_model_close(run.net);
    mot_fleet_close(run.fleet);
    folder_close(&folder);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_was_given_up_begins_nothing_more),
        cmocka_unit_test(a_failure_that_another_was_told_is_not_lost),
        cmocka_unit_test(the_lane_that_hangs_is_named_and_no_other),
        cmocka_unit_test(what_a_lane_given_up_may_read_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
