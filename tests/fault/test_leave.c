/* test_leave.c - a trainer leaves a replica out, judges that by its steps, and takes it back where
 * it was in vain. Speeds come from the test, told in the lanes' place, so that no machine's mood
 * decides; ThreadSanitizer runs it too (tsan.cmake). */
#include "support/train.h"

#include "strategy/balance.h"
#include "strategy/engine_inside.h"
#include "train/trainer.h"

#define NET "input 12, dense 9 relu, dense 4"
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 8, MOST = 5000 };

static struct train_run open_run(const struct train_set *set)
{
    struct mot_trainer_config config = train_config();

    config.shares = "auto";
    config.strategy = MOT_STRATEGY_AUTO;
    return train_open("0,0", NET, &config, train_data(set, false, BATCH));
}

/* Lane 1 takes a second for whatever it gets, lane 0 a millisecond: more words than the lanes have
 * in what a review looks at. */
static void tell_speeds(const mot__engine *engine)
{
    for (size_t i = 0; i < MOT__BALANCE_WINDOW; i++)
        for (size_t lane = 0; lane < 2; lane++)
            mot__balance_told(engine->common.balance, lane, engine->share[lane], lane ? 1 : 0.001,
                              1);
}

static void leave_the_second(struct train_run *run)
{
    mot__engine *engine = run->trainer->engine;
    size_t steps, share[2];

    for (steps = 0; steps < MOST && !engine->leaving.on; steps++) {
        train_steps(run, 1);
        if (!engine->leaving.on)
            tell_speeds(engine);
    }
    assert_true(engine->leaving.on);
    assert_ok(mot_trainer_split(run->trainer, BATCH, share));
    assert_int_equal(share[0], BATCH);
    assert_int_equal(share[1], 0);
}

/* Until a note of shares says that. */
static void goes_on_until(struct train_run *run, const char *words)
{
    struct mot_note note;
    bool told = false;

    for (size_t steps = 0; !told; steps++) {
        train_steps(run, 1);
        while (mot_trainer_note(run->trainer, &note))
            told = told || (note.kind == MOT_NOTE_SHARES && strstr(note.text, words));
        if (!told && !run->trainer->engine->leaving.on)
            fail_msg("no longer judged, but \"%s\" was not told", words);
    }
    train_steps(run, 20);
    assert_false(run->trainer->engine->leaving.on);
}

static void a_replica_left_out_in_vain_is_taken_back(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 1);
    struct train_run run = open_run(&set);

    (void)state;
    leave_the_second(&run);
    run.trainer->engine->leaving.before_s = 1e-9; /* no step is as short */
    goes_on_until(&run, "using all 2 devices again: 1 would be no faster");
    train_copies_agree(&run); /* it was brought up to date */
    train_close(&run);
    train_set_clear(&set);
}

static void a_replica_rightly_left_out_stays_away(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 1);
    struct train_run run = open_run(&set);
    float value[WIDTH * 9];

    (void)state;
    leave_the_second(&run);
    run.trainer->engine->leaving.before_s = 1e9;
    goes_on_until(&run, "using 1 of 2 devices");
    assert_story(mot_trainer_get_from(run.trainer, 1, "dense1.weight", value, WIDTH * 9),
                 MOT_BAD_STATE, "left out");
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replica_left_out_in_vain_is_taken_back),
        cmocka_unit_test(a_replica_rightly_left_out_stays_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
