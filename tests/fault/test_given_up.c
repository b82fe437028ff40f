/* test_given_up.c - a device that does not answer is given up: the call says so, no later job runs,
 * and what its last one was to write to is still there when it comes back. A device hangs by an
 * event of ours that its next command waits for. */
#include "support/train.h"

#include "device/internal.h"
#include "train/trainer.h"

#include <motley/bench.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_S 4
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 16, BLOCKS = 64 };

static struct {
    cl_event event;
    atomic_bool gone, more; /* the lane's thread has ended; a later job ran */
    pthread_key_t key;      /* tells when the thread ends */
} hang;

static void thread_ends(void *value)
{
    (void)value;
    atomic_store(&hang.gone, true);
}

static mot_status job_hang(mot__lane *lane, void *user, void *payload)
{
    mot__device *device = mot__lane_device(lane);
    cl_int error;

    (void)user, (void)payload;
    pthread_setspecific(hang.key, &hang);
    hang.event = clCreateUserEvent(device->context, &error);
    if (error)
        return MOT_DEVICE_FAILED;
    mot__gate_add(device, hang.event);
    return MOT_OK;
}

static mot_status job_later(mot__lane *lane, void *user, void *payload)
{
    (void)lane, (void)user, (void)payload;
    atomic_store(&hang.more, true);
    return MOT_OK;
}

static struct train_run open_run(const struct train_set *set)
{
    struct mot_fleet_config devices = mot_fleet_config_default();
    struct mot_trainer_config config = train_config();
    struct train_run run = {NULL, train_net("input 12, dense 9 relu, dense 4"), NULL,
                            train_data(set, false, BATCH)};

    devices.devices = "0";
    devices.deadline_s = DEADLINE_S;
    assert_ok(mot_fleet_open(&devices, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    return run;
}

/* ---- the calls that lanes write results for ---- */

static mot_status evaluate(struct train_run *run)
{
    struct mot_metrics metrics;

    return mot_evaluate(run->trainer, run->data, &metrics);
}

static mot_status predict(struct train_run *run)
{
    static float out[SAMPLES * CLASSES];

    return mot_predict(run->trainer, run->data, out, SAMPLES * CLASSES);
}

static mot_status measure(struct train_run *run)
{
    struct mot_device_speed *speed = malloc(sizeof *speed);
    const mot_status status = mot_bench_device(run->fleet, 0, speed);

    free(speed);
    return status;
}

static const struct {
    const char *name;
    mot_status (*call)(struct train_run *run);
    size_t bytes; /* of what the lane writes to */
} calls[] = {{"evaluation", evaluate, 8 * sizeof(float)},
             {"prediction", predict, SAMPLES *CLASSES * sizeof(float)},
             {"measuring", measure, sizeof(struct mot_device_speed)}};

/* Blocks of that size, one of which would be where a freed one was. */
static void take_blocks(unsigned char *block[BLOCKS], size_t bytes)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(bytes);
        assert_non_null(block[i]);
        memset(block[i], 0xa5, bytes);
    }
}

/* The device answers after all, and its thread ends; waits for that, but not for ever. */
static void let_go(void)
{
    assert_int_equal(clSetUserEventStatus(hang.event, CL_COMPLETE), CL_SUCCESS);
    for (size_t i = 0; i < 20000 && !atomic_load(&hang.gone) && !atomic_load(&hang.more); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void nothing_is_written_that_was_given_back(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct train_run run = open_run(&set);
        mot__lane *lane = mot__engine_replica(run.trainer->engine, 0)->lane;
        unsigned char *block[BLOCKS];

        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", calls[i].name);
        atomic_store(&hang.gone, false);
        assert_ok(calls[i].call(&run)); /* what is compiled is compiled */
        assert_ok(mot__lane_call(lane, job_hang, NULL, NULL, 0));
        assert_story(calls[i].call(&run), MOT_DEVICE_LOST, "did not answer for 4 s");
        take_blocks(block, calls[i].bytes);
        assert_false(atomic_load(&hang.gone));
        let_go();
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t k = 0; k < calls[i].bytes; k++)
                assert_int_equal(block[b][k], 0xa5);
        train_close(&run);
        for (size_t b = 0; b < BLOCKS; b++)
            free(block[b]);
    }
    train_set_clear(&set);
}

static mot_status job_wait(mot__lane *lane, void *user, void *payload)
{
    const mot_replica *replica = user;
    static float record[MOT__RECORD_FLOATS];
    mot_status status = job_hang(lane, user, payload);

    return status != MOT_OK ? status : mot__buffer_read(replica->tally, 0, record, sizeof record);
}

static void no_later_job_runs(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct train_run run = open_run(&set);
    const mot_replica *replica = mot__engine_replica(run.trainer->engine, 0);
    mot__lane *lane = replica->lane;

    (void)state;
    atomic_store(&hang.gone, false);
    assert_ok(mot__lane_post(lane, job_wait, (void *)(uintptr_t)replica, NULL, 0));
    assert_ok(mot__lane_post(lane, job_later, NULL, NULL, 0));
    assert_story(mot__lane_wait(lane), MOT_DEVICE_LOST, "did not answer for 4 s");
    let_go();
    assert_true(atomic_load(&hang.gone));
    assert_false(atomic_load(&hang.more));
    assert_int_equal(mot__lane_post(lane, job_later, NULL, NULL, 0), MOT_DEVICE_LOST);
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_that_was_given_back),
        cmocka_unit_test(no_later_job_runs),
    };
    int failed = pthread_key_create(&hang.key, thread_ends);

    failed = failed || cmocka_run_group_tests(tests, NULL, NULL);
    fflush(NULL);
    _exit(failed); /* what a lane given up holds is leaked on purpose */
}
