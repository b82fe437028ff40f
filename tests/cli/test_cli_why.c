/* test_cli_why.c - when a run is asked what limits it, and of which steps: the events of mot_fit,
 * and what the command makes of them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_the_split_of_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
