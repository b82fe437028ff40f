/* test_numbers.c - a loss or gradient that is not finite: its own step is refused, changes nothing,
 * and is told of with step, device and parameter; then the trainer stops or skips, as asked. */
#include "support/train.h"

#define NET "input 12, dense 9 relu, dense 7 tanh, dense 4"
#define LINEAR "input 12, dense 9, dense 7, dense 4" /* nothing holds large numbers back */
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 16 };

static const struct {
    const char *devices;
    enum mot_strategy strategy;
} fleets[] = {{"0", MOT_STRATEGY_AUTO},
              {"0,0", MOT_STRATEGY_AUTO},
              {"0,0,0", MOT_STRATEGY_AUTO},
              {"0", MOT_STRATEGY_MIRRORED},
              {"0,0", MOT_STRATEGY_CENTRAL}};
#define FLEETS (sizeof fleets / sizeof *fleets)

static struct train_run open_fleet(size_t f, const char *net, struct mot_trainer_config *config,
                                   mot_data *data)
{
    snprintf(check_where(), CHECK_WHERE_BYTES, "fleet %zu", f);
    config->strategy = fleets[f].strategy;
    return train_open(fleets[f].devices, net, config, data);
}

/* The one note there is; it has the words. */
static struct mot_note take_note(mot_trainer *trainer, const char *words)
{
    struct mot_note note, more;

    if (!mot_trainer_note(trainer, &note))
        fail_msg("no note, but \"%s\" was due", words);
    assert_int_equal(note.kind, MOT_NOTE_NUMBER);
    if (!strstr(note.text, words))
        fail_msg("\"%s\" says nothing of \"%s\"", note.text, words);
    assert_false(mot_trainer_note(trainer, &more));
    return note;
}

static void unchanged(const struct train_run *run, const float *before)
{
    float *after = train_get(run, 0);

    check_bits("parameters before the refused step", after, before, train_numbers(run));
    train_copies_agree(run);
    free(after);
}

/* ---- data ---- */

static void a_nan_in_the_data_stops_with_its_row(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3),
                     bad = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    bad.x[13 * WIDTH + 3] = NAN; /* row 13 of the first batch: the last replica's */
    for (size_t f = 0; f < FLEETS; f++) {
        struct train_run run = open_fleet(f, NET, &config, train_data(&set, false, BATCH));
        mot_data *poison = train_data(&bad, false, BATCH);
        struct mot_metrics metrics;
        struct mot_note note;
        float *before;
        mot_status status = MOT_OK;

        train_steps(&run, 2);
        before = train_get(&run, 0);
        assert_ok(mot_trainer_step(run.trainer, train_batch(poison)));
        unchanged(&run, before);
        /* Steps after it are not applied, whether or not the host knows of it yet. */
        for (size_t i = 0; i < 3 && status == MOT_OK; i++)
            status = mot_trainer_step(run.trainer, train_batch(poison));
        if (status == MOT_OK)
            status = mot_trainer_metrics(run.trainer, &metrics);
        assert_story(status, MOT_BAD_NUMBER, "step 2: the loss of 1 row");
        unchanged(&run, before);
        note = take_note(run.trainer, "step 2: the loss of 1 row on device 0 is not finite");
        assert_int_equal(note.step, 2);
        assert_int_equal(note.replica, mot_trainer_replicas(run.trainer) - 1);
        assert_non_null(strstr(
            note.text, f == 0 ? "sample 13 has an input that is not finite"
                              : "row 13 of the batch (sample 13) has an input that is not finite"));
        if (mot_trainer_replicas(run.trainer) > 1)
            assert_non_null(
                strstr(note.text, "the data or the learning rate: device 0 reproduces it"));
        train_steps(&run, 1); /* told: it goes on */
        assert_int_equal(train_metrics(&run).steps, 1);
        train_copies_agree(&run);
        free(before);
        mot_data_close(poison);
        train_close(&run);
    }
    train_set_clear(&set);
    train_set_clear(&bad);
}

/* ---- gradients ---- */

/* Two samples of one number each: outputs start at 0, so the loss is target squared and the slope
 * of the weight -2 * target * x, whatever that makes. */
static struct train_run open_line(const char *devices, const struct mot_trainer_config *config,
                                  const float x[2], const float target[2])
{
    struct train_run run = {train_fleet(devices), NULL, NULL, NULL};
    struct mot_arrays arrays = mot_arrays_default();

    assert_ok(mot_model_open(&run.net));
    assert_ok(mot_model_input(run.net, MOT_SHAPE(1)));
    assert_ok(mot_model_init(run.net, MOT_INIT_ZERO));
    assert_ok(mot_model_dense(run.net, 1, MOT_ACT_NONE));
    arrays.count = 2;
    arrays.shape = MOT_SHAPE(1);
    arrays.x = x;
    arrays.targets = target;
    arrays.target_width = 1;
    arrays.copy = true;
    assert_ok(mot_data_arrays(&arrays, &run.data));
    assert_ok(mot_data_batch(run.data, 2));
    assert_ok(mot_trainer_open(run.fleet, run.net, config, &run.trainer));
    return run;
}

static const struct line {
    const char *devices;
    float x[2], target[2];
    double clip;
    const char *words, *more, *parameter;
    enum mot_strategy strategy;
} lines[] = {
    {"0",
     {1, 1e30f},
     {1, 1e15f},
     0,
     "gradient of dense1.weight on device 0 is not finite (infinity)",
     "",
     "dense1.weight",
     MOT_STRATEGY_AUTO},
    {"0,0",
     {1, 1e30f},
     {1, 1e15f},
     0,
     "gradient of dense1.weight on device 0 is not finite (infinity)",
     "the data or the learning rate: device 0 reproduces it",
     "dense1.weight",
     MOT_STRATEGY_AUTO},
    {"0,0,0",
     {1e30f, 1},
     {1e15f, 1},
     0,
     "gradient of dense1.weight on device 0 is not finite (infinity)",
     "the data or the learning rate: device 0 reproduces it",
     "dense1.weight",
     MOT_STRATEGY_AUTO},
    {"0,0",
     {1e20f, 1e20f},
     {1e18f, 1e18f},
     0,
     "gradient of dense1.weight",
     "the devices' gradients are too large to add up: the learning rate",
     "dense1.weight",
     MOT_STRATEGY_AUTO},
    {"0,0",
     {1, 1e30f},
     {1, 1e15f},
     0,
     "gradient of dense1.weight on device 0 is not finite (infinity)",
     "the data or the learning rate: device 0 reproduces it",
     "dense1.weight",
     MOT_STRATEGY_CENTRAL},
    {"0",
     {1, 1e15f},
     {1, 1e10f},
     1,
     "the norm of the gradient is not finite",
     "",
     "",
     MOT_STRATEGY_AUTO},
    {"0,0",
     {1, 1e15f},
     {1, 1e10f},
     1,
     "the norm of the gradient is not finite",
     "",
     "",
     MOT_STRATEGY_AUTO},
};

static void a_gradient_that_is_not_finite_is_refused_at_its_own_step(void **state)
{
    struct mot_trainer_config config = train_config();

    (void)state;
    config.loss = MOT_LOSS_MSE;
    config.optimizer = mot_optimizer_default(MOT_RULE_SGD);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct line *line = &lines[i];
        struct train_run run;
        struct mot_metrics metrics;
        struct mot_note note;
        float *before;

        config.optimizer.clip_norm = line->clip;
        config.strategy = line->strategy;
        snprintf(check_where(), CHECK_WHERE_BYTES, "line %zu", i);
        run = open_line(line->devices, &config, line->x, line->target);
        before = train_get(&run, 0);
        train_steps(&run, 1);
        unchanged(&run, before);
        assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_BAD_NUMBER, line->words);
        assert_true(isfinite(metrics.loss) && metrics.count == 2); /* the losses were numbers */
        assert_int_equal(metrics.steps, 0);
        note = take_note(run.trainer, line->words);
        assert_string_equal(note.parameter, line->parameter);
        if (!strstr(note.text, line->more))
            fail_msg("\"%s\" says nothing of \"%s\"", note.text, line->more);
        assert_int_equal(note.step, 0);
        free(before);
        train_close(&run);
    }
}

/* ---- the learning rate ---- */

static void a_rate_far_too_high_stops_with_the_layer(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.optimizer = mot_optimizer_default(MOT_RULE_SGD);
    config.optimizer.lr = 1e25;
    for (size_t f = 0; f < FLEETS; f++) {
        struct train_run run = open_fleet(f, LINEAR, &config, train_data(&set, false, BATCH));
        struct mot_fit_config fit = mot_fit_config_default();
        struct mot_note note;
        float *after;

        fit.batch = BATCH;
        fit.epochs = 10;
        fit.shuffle = false;
        assert_story(mot_fit(run.trainer, run.data, NULL, &fit, NULL), MOT_BAD_NUMBER,
                     "step 1: the loss of ");
        assert_non_null(strstr(mot_error(), "; dense2 is the first layer with such an output"));
        if (mot_trainer_replicas(run.trainer) > 1)
            assert_non_null(
                strstr(mot_error(), "; the data or the learning rate: device 0 reproduces it"));
        assert_false(mot_trainer_note(run.trainer, &note)); /* told as an event */
        after = train_get(&run, 0);
        for (size_t i = 0; i < train_numbers(&run); i++)
            assert_true(isfinite(after[i]));
        train_copies_agree(&run);
        free(after);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* ---- several steps to one update ---- */

static int forward_backward(mot_replica *replica, const struct mot_shard *shard, void *user)
{
    (void)shard, (void)user;
    return mot_replica_forward(replica) || mot_replica_backward(replica, 1);
}

/* So many steps to one update, by its own loop or not; then what the metrics say. */
static void run_group(struct train_run *run, size_t steps, bool loop)
{
    if (!loop) {
        train_steps(run, steps);
        return;
    }
    while (steps-- > 0)
        assert_ok(mot_trainer_run(run->trainer, train_batch(run->data), forward_backward, NULL));
    assert_ok(mot_trainer_apply(run->trainer));
}

/* The sample of large numbers is in the first of two steps, or in the last of more than are kept:
 * the second layer makes no finite number of it. */
static void the_layer_is_named_whichever_step_of_an_update_it_was(void **state)
{
    static const size_t accumulate[] = {2, 2, 20};

    (void)state;
    for (size_t i = 0; i < sizeof accumulate / sizeof *accumulate * FLEETS; i++) {
        const size_t steps = accumulate[i / FLEETS], f = i % FLEETS;
        const bool loop = i / FLEETS == 1, named = steps == 2 || f == 0;
        struct train_set set = train_set_make(20 * BATCH, WIDTH, CLASSES, 3);
        const size_t row = (steps == 2 ? 0 : steps - 1) * BATCH + 15;
        struct mot_trainer_config config = train_config();
        struct mot_metrics metrics;
        struct train_run run;
        float *weights;

        for (size_t k = 0; k < WIDTH; k++)
            set.x[row * WIDTH + k] = 1e30f;
        config.accumulate = loop ? 1 : steps;
        run = open_fleet(f, LINEAR, &config, train_data(&set, false, BATCH));
        weights = train_get(&run, 0);
        for (size_t k = 0; k < train_numbers(&run); k++)
            weights[k] = 1e5f;
        train_set_all(&run, weights);
        run_group(&run, steps, loop);
        assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_BAD_NUMBER,
                     "the loss of 1 row on device 0 is not finite");
        if ((strstr(mot_error(), "; dense2 is the first layer with such an output") != NULL) !=
            named)
            fail_msg("fleet %zu, %zu steps%s: %s", f, steps, loop ? " of a loop" : "", mot_error());
        assert_null(strstr(mot_error(), "suspect the device"));
        free(weights);
        train_close(&run);
        train_set_clear(&set);
    }
}

/* ---- skipping ---- */

struct heard {
    size_t notes;
    uint64_t step;
    char text[320];
};

static int hear(const struct mot_event *event, void *user)
{
    struct heard *heard = user;

    if (event->kind != MOT_EVENT_NOTE)
        return 0;
    assert_int_equal(event->note->kind, MOT_NOTE_NUMBER);
    heard->notes++;
    heard->step = event->note->step;
    snprintf(heard->text, sizeof heard->text, "%s", event->note->text);
    return 0;
}

static void skipping_goes_on_and_counts(void **state)
{
    struct train_set bad = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    bad.x[20 * WIDTH] = INFINITY; /* in the second batch of four */
    config.on_nan = MOT_ON_NAN_SKIP;
    for (size_t f = 0; f < FLEETS; f++) {
        struct train_run run = open_fleet(f, NET, &config, train_data(&bad, false, BATCH));
        struct mot_fit_config fit = mot_fit_config_default();
        struct mot_history history = {0, NULL};
        struct heard heard = {0, 0, ""};
        struct mot_metrics metrics;

        fit.batch = BATCH;
        fit.shuffle = false;
        fit.on_event = hear;
        fit.user = &heard;
        assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, &history));
        assert_int_equal(heard.notes, 1);
        assert_int_equal(heard.step, 1);
        assert_non_null(strstr(heard.text, "step 1: "));
        assert_true(isfinite(history.row[0].loss));
        train_steps(&run, 8);
        metrics = train_metrics(&run);
        assert_int_equal(metrics.steps, 6);
        assert_int_equal(metrics.skipped, 2);
        train_copies_agree(&run);
        mot_history_clear(&history);
        train_close(&run);
    }
    train_set_clear(&bad);
}

static void what_else_to_do_is_refused(void **state)
{
    struct mot_trainer_config config = train_config();
    mot_fleet *fleet = train_fleet("0");
    mot_model *net = train_net(NET);
    mot_trainer *trainer = NULL;

    (void)state;
    config.on_nan = (enum mot_on_nan)7;
    assert_story(mot_trainer_open(fleet, net, &config, &trainer), MOT_BAD_ARG,
                 "on_nan 7: there are stop and skip");
    assert_null(trainer);
    mot_model_close(net);
    mot_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_in_the_data_stops_with_its_row),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_refused_at_its_own_step),
        cmocka_unit_test(a_rate_far_too_high_stops_with_the_layer),
        cmocka_unit_test(the_layer_is_named_whichever_step_of_an_update_it_was),
        cmocka_unit_test(skipping_goes_on_and_counts),
        cmocka_unit_test(what_else_to_do_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
