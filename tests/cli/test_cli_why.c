/* test_cli_why.c - when a run is asked what limits it, and of which steps: the events of mot_fit,
 * and what the command makes of them. */
#include "cli/why.h" /* first: cmocka has a macro called fail */

#include "support/train.h"

#include "strategy/engine_inside.h"
#include "train/trainer.h"

#define NET "input 12, dense 16 relu, dense 4"

/* Shares change behind everybody's back, as automatic ones do: what an event says is so by then. */
static int move_shares(const struct mot_event *event, void *user)
{
    mot__engine *engine = ((mot_trainer *)user)->engine;
    const size_t rows = event->epoch <= 1 && event->step < 3 ? 8 : 4;

    assert_int_equal(event->share[0], 16 - rows);
    assert_int_equal(event->share[1], rows);
    if (event->kind == MOT_EVENT_STEP && event->epoch == 1 && event->step == 2) {
        engine->weight[0] = 3;
        engine->prepared_rows[true] = 0; /* plans grow */
    }
    return 0;
}

static void an_event_has_the_split_of_its_time(void **state)
{
    struct train_set set = train_set_make(64, 12, 4, 3);
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = train_open("0,0", NET, &config, train_data(&set, false, 16));

    (void)state;
    fit.batch = 16;
    fit.epochs = 2;
    fit.steps = true;
    fit.progress_s = 1e-9;
    fit.on_event = move_shares;
    fit.user = run.trainer;
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    train_close(&run);
    train_set_clear(&set);
}

/* ---- when it is asked ---- */

enum { STEPS = 20, BATCH = 16, LAST = 4 /* rows of an epoch's last batch */ };

struct asked {
    struct why why;
    mot_trainer *trainer;
    size_t stop, move;  /* after that step of the first epoch; 0: never */
    size_t epoch, step; /* of the early verdict; 0: there was none */
};

static int ask(const struct mot_event *event, void *user)
{
    struct asked *asked = user;

    if (why_see(&asked->why, event)) {
        assert_int_equal(asked->step, 0);
        asked->epoch = event->epoch;
        asked->step = event->step;
    }
    if (event->kind != MOT_EVENT_STEP || event->epoch > 1)
        return 0;
    if (event->step == asked->move) {
        asked->trainer->engine->weight[0] = 3;
        asked->trainer->engine->prepared_rows[true] = 0;
    }
    return event->step == asked->stop;
}

static struct train_run open_run(const struct train_set *set)
{
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_trainer_config config = train_config();
    struct train_run run = {NULL, train_net(NET), NULL, train_data(set, false, BATCH)};

    fleet.devices = "0,0";
    fleet.profile = true;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    return run;
}

/* Since the last call: of a trial always as many, whereas its launches go by time. */
static uint64_t uploads_of(const struct train_run *run)
{
    struct mot_counts counts;

    assert_ok(mot_bench_counts(run->fleet, 0, &counts));
    return counts.uploads;
}

/* Told as often as may be, with steps longer than the time between two events. Uploads. */
static uint64_t fit_and_ask(struct train_run *run, size_t epochs, const struct why_wish *wish,
                            struct asked *asked)
{
    struct mot_fit_config fit = mot_fit_config_default();

    fit.batch = BATCH;
    fit.epochs = epochs;
    fit.steps = true;
    fit.progress_s = 1e-9;
    fit.on_event = ask;
    fit.user = asked;
    asked->trainer = run->trainer;
    why_open(&asked->why, run->trainer, wish);
    uploads_of(run);
    assert_int_equal(mot_fit(run->trainer, run->data, NULL, &fit, NULL),
                     asked->stop ? MOT_STOPPED : MOT_OK);
    return uploads_of(run);
}

static const struct why_wish nothing = {.sentence = false, .steps = 8};
static const struct why_wish whole = {.sentence = true, .steps = 8};
static const struct why_wish late = {.sentence = true, .steps = STEPS + 1};

/* A verdict has a trial: it is taken where it is told, and leaves what is learned as it was. */
static void it_is_asked_after_some_steps_and_at_the_end(void **state)
{
    static const struct {
        const struct why_wish *wish;
        size_t epochs, trials, epoch, step;
    } rows[] = {{&whole, 3, 2, 1, 8},    /* and over the last epoch */
                {&whole, 1, 1, 1, 8},    /* no more: 12 steps are too few to unsay it */
                {&late, 3, 2, 1, STEPS}, /* the first epoch is over before */
                {&late, 1, 1, 0, 0},     /* that is the end */
                {&nothing, 3, 0, 0, 0}};
    struct train_set set = train_set_make((STEPS - 1) * BATCH + LAST, 12, 4, 3);
    size_t r;

    (void)state;
    for (r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct train_run plain = open_run(&set), run = open_run(&set);
        struct asked unasked = {.step = 0}, asked = {.step = 0};
        const uint64_t alone = fit_and_ask(&plain, rows[r].epochs, &nothing, &unasked);
        const uint64_t with = fit_and_ask(&run, rows[r].epochs, rows[r].wish, &asked);
        struct mot_breakdown part[2];
        float *expected = train_get(&plain, 0), *learned = train_get(&run, 0);
        uint64_t trial;

        uploads_of(&plain);
        assert_ok(mot_bench_steady(plain.trainer, part));
        trial = uploads_of(&plain);
        assert_true(trial > 0);
        assert_int_equal(with - alone, rows[r].trials * trial);
        assert_int_equal(asked.epoch, rows[r].epoch);
        assert_int_equal(asked.step, rows[r].step);
        assert_true((asked.why.count > 0) == (rows[r].trials > 0));
        check_bits("asked or not", learned, expected, train_numbers(&run));
        free(expected);
        free(learned);
        why_close(&unasked.why);
        why_close(&asked.why);
        train_close(&plain);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* What is reckoned are the steps since shares moved, with the shares they had. */
static void steps_of_other_shares_are_not_reckoned(void **state)
{
    struct train_set set = train_set_make((STEPS - 1) * BATCH + LAST, 12, 4, 3);
    struct train_run run = open_run(&set);
    struct asked asked = {.move = 5};

    (void)state;
    fit_and_ask(&run, 1, &whole, &asked);
    assert_int_equal(asked.step, 6 + 8); /* the sixth has them first */
    assert_int_equal(asked.why.reckoning.share[0], 12);
    assert_int_equal(asked.why.reckoning.share[1], 4);
    why_close(&asked.why);
    train_close(&run);
    train_set_clear(&set);
}

static void a_run_that_is_stopped_has_its_verdict(void **state)
{
    struct train_set set = train_set_make((STEPS - 1) * BATCH + LAST, 12, 4, 3);
    struct train_run run = open_run(&set);
    struct asked asked = {.stop = 3};

    (void)state;
    fit_and_ask(&run, 3, &whole, &asked);
    assert_int_equal(asked.step, 0);
    assert_true(asked.why.count > 0);
    why_close(&asked.why);
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_the_split_of_its_time),
        cmocka_unit_test(it_is_asked_after_some_steps_and_at_the_end),
        cmocka_unit_test(steps_of_other_shares_are_not_reckoned),
        cmocka_unit_test(a_run_that_is_stopped_has_its_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
