/* test_trouble.c - bad data, too little memory, a source that fails: a clear sentence each, and
 * nothing lost. */
#include "support/folder.h"
#include "support/train.h"

#define NET "input 12, dense 16 relu, dense 4"

/* ---- a source that fails ---- */

struct source {
    const struct train_set *set;
    size_t reads, fail_at;
};

static int read_some(void *user, const uint64_t *index, size_t rows, void *x, uint32_t *labels,
                     float *targets)
{
    struct source *source = user;

    (void)targets;
    if (++source->reads == source->fail_at)
        return 7;
    for (size_t r = 0; r < rows; r++) {
        memcpy((float *)x + r * 12, source->set->x + index[r] * 12, 12 * sizeof(float));
        labels[r] = source->set->labels[index[r]];
    }
    return 0;
}

static mot_data *open_source(struct source *source)
{
    struct mot_source given = {.size = sizeof given,
                               .count = source->set->count,
                               .shape = MOT_SHAPE(12),
                               .classes = 4,
                               .read = read_some,
                               .user = source};
    mot_data *data = NULL;

    assert_ok(mot_data_source(&given, &data));
    return data;
}

static void a_source_trains_as_memory_does_and_its_failure_is_told(void **state)
{
    struct train_set set = train_set_make(80, 12, 4, 3);
    struct source source = {&set, 0, 0};
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run memory = train_open("0,0", NET, &config, train_data(&set, false, 16));
    struct train_run read = train_open("0,0", NET, &config, open_source(&source));
    float *a, *b;

    (void)state;
    fit.epochs = 2;
    fit.batch = 16;
    assert_ok(mot_fit(memory.trainer, memory.data, NULL, &fit, NULL));
    assert_ok(mot_fit(read.trainer, read.data, NULL, &fit, NULL));
    a = train_get(&memory, 0);
    b = train_get(&read, 0);
    check_bits("read or in memory", b, a, train_numbers(&read));
    free(a);
    free(b);
    mot_data_close(read.data);
    source.reads = 0;
    source.fail_at = 3;
    read.data = open_source(&source);
    assert_true(mot_fit(read.trainer, read.data, NULL, &fit, NULL) != MOT_OK);
    if (!strstr(mot_error(), "7"))
        fail_msg("the story does not tell what the source returned: %s", mot_error());
    b = train_get(&read, 0); /* the trainer is whole: what was learned is there */
    check_seen("parameters", b, train_numbers(&read));
    train_copies_agree(&read);
    free(b);
    source.fail_at = 0;
    mot_data_close(read.data);
    read.data = open_source(&source);
    assert_ok(mot_fit(read.trainer, read.data, NULL, &fit, NULL));
    train_close(&memory);
    train_close(&read);
    train_set_clear(&set);
}

/* ---- samples that do not fit ---- */

static void samples_that_do_not_fit_get_a_sentence(void **state)
{
    struct train_set wide = train_set_make(8, 13, 4, 3), many = train_set_make(8, 12, 5, 3);
    struct train_set good = train_set_make(8, 12, 4, 3);
    struct mot_trainer_config config = train_config();
    struct train_run run = train_open("0", NET, &config, train_data(&good, false, 8));
    mot_data *bad[] = {train_data(&wide, false, 8), train_data(&many, false, 8),
                       train_data(&many, true, 8)};
    static const char *const words[] = {"samples are (13) but the network's input is (12)",
                                        "5 classes but the network has 4 outputs",
                                        "targets have 5 elements but the network has 4 outputs"};
    struct mot_arrays plain = mot_arrays_default();
    struct mot_metrics metrics;
    mot_data *unlabelled = NULL;
    float out[32];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_story(mot_fit(run.trainer, bad[i], NULL, NULL, NULL), MOT_BAD_SHAPE, words[i]);
        assert_story(mot_fit(run.trainer, run.data, bad[i], NULL, NULL), MOT_BAD_SHAPE, words[i]);
        assert_story(mot_evaluate(run.trainer, bad[i], &metrics), MOT_BAD_SHAPE, words[i]);
        assert_story(mot_trainer_step(run.trainer, train_batch(bad[i])), MOT_BAD_SHAPE, words[i]);
        mot_data_close(bad[i]);
    }
    plain.count = 8;
    plain.shape = MOT_SHAPE(12);
    plain.x = good.x;
    assert_ok(mot_data_arrays(&plain, &unlabelled));
    assert_story(mot_fit(run.trainer, unlabelled, NULL, NULL, NULL), MOT_BAD_ARG,
                 "neither labels nor targets");
    assert_story(mot_evaluate(run.trainer, unlabelled, &metrics), MOT_BAD_ARG,
                 "neither labels nor targets");
    assert_ok(mot_predict(run.trainer, unlabelled, out, 32));
    check_seen("outputs without labels", out, 32);
    train_steps(&run, 1);
    assert_int_equal(train_metrics(&run).steps, 1);
    mot_data_close(unlabelled);
    train_close(&run);
    config.loss = MOT_LOSS_MSE;
    run = train_open("0", NET, &config, train_data(&good, false, 8));
    assert_story(mot_fit(run.trainer, run.data, NULL, NULL, NULL), MOT_BAD_ARG,
                 "squared error needs target rows");
    train_close(&run);
    train_set_clear(&wide);
    train_set_clear(&many);
    train_set_clear(&good);
}

/* Labels and one-hot rows by turns, for training and for evaluation: each finds its plan. */
static void labels_and_rows_may_take_turns(void **state)
{
    struct train_set set = train_set_make(24, 12, 4, 3);
    struct mot_trainer_config config = train_config();
    struct train_run run = train_open("0,0", NET, &config, train_data(&set, false, 8));
    struct train_run same = train_open("0,0", NET, &config, train_data(&set, false, 8));
    mot_data *rows = train_data(&set, true, 8);
    struct mot_metrics by_label, by_row;
    float *a, *b;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        train_steps(&run, 1);
        assert_ok(mot_evaluate(run.trainer, rows, &by_row));
        assert_ok(mot_evaluate(run.trainer, run.data, &by_label));
        assert_true(fabs(by_row.loss - by_label.loss) < 1e-6);
        assert_true(by_row.accuracy == by_label.accuracy && by_row.count == by_label.count);
        assert_ok(mot_trainer_step(run.trainer, train_batch(rows)));
        train_steps(&same, 1);
        mot_data_close(same.data); /* the rows' stream stands where this one would */
        same.data = train_data(&set, false, 8);
        for (size_t k = 0; k < i; k++)
            mot_batch_close(train_batch(same.data));
        train_steps(&same, 1);
        mot_data_close(same.data);
        same.data = train_data(&set, false, 8);
        for (size_t k = 0; k <= i; k++)
            mot_batch_close(train_batch(same.data));
    }
    a = train_get(&run, 0);
    b = train_get(&same, 0);
    check_close("parameters", a, b, train_numbers(&run), 0, 1e-5);
    free(a);
    free(b);
    mot_data_close(rows);
    train_close(&run);
    train_close(&same);
    train_set_clear(&set);
}

/* ---- numbers that are none ---- */

static void a_step_with_a_loss_that_is_no_number_is_skipped_everywhere(void **state)
{
    static const char *const fleets[] = {"0", "0,0"};
    struct train_set set = train_set_make(16, 12, 4, 3), bad = train_set_make(16, 12, 4, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.on_nan = MOT_ON_NAN_SKIP;
    bad.x[5 * 12 + 3] = NAN; /* one sample, in the first replica's half */
    for (size_t f = 0; f < 2; f++) {
        struct train_run run = train_open(fleets[f], NET, &config, train_data(&set, false, 16));
        mot_data *poison = train_data(&bad, false, 16);
        struct mot_fit_config fit = mot_fit_config_default();
        struct mot_metrics metrics;
        float *before, *after;

        train_steps(&run, 2);
        before = train_get(&run, 0);
        assert_ok(mot_trainer_step(run.trainer, train_batch(poison)));
        after = train_get(&run, 0);
        check_bits("a skipped step changes nothing", after, before, train_numbers(&run));
        metrics = train_metrics(&run);
        assert_int_equal(metrics.steps, 2);
        assert_int_equal(metrics.skipped, 1);
        assert_true(metrics.loss > 0); /* of the rows that had one */
        train_steps(&run, 1);
        train_copies_agree(&run);
        assert_int_equal(train_metrics(&run).steps, 1);
        assert_ok(mot_evaluate(run.trainer, poison, &metrics));
        assert_true(isnan(metrics.loss));
        free(before);
        before = train_get(&run, 0);
        assert_story(mot_fit(run.trainer, poison, NULL, &fit, NULL), MOT_BAD_NUMBER,
                     "the loss was not a finite number in any of 1 steps");
        free(after);
        after = train_get(&run, 0);
        check_bits("nor does an epoch of them", after, before, train_numbers(&run));
        free(before);
        free(after);
        mot_data_close(poison);
        train_close(&run);
    }
    train_set_clear(&set);
    train_set_clear(&bad);
}

static void rates_that_are_no_numbers_are_refused(void **state)
{
    struct train_set set = train_set_make(8, 12, 4, 3);
    struct mot_trainer_config config = train_config();
    struct mot_fit_config fit = mot_fit_config_default();
    struct train_run run = train_open("0", NET, &config, train_data(&set, false, 8));
    mot_trainer *other = NULL;

    (void)state;
    assert_story(mot_trainer_lr(run.trainer, NAN), MOT_BAD_ARG, "learning rate");
    assert_story(mot_trainer_lr(run.trainer, -1), MOT_BAD_ARG, "learning rate");
    config.optimizer.lr = NAN;
    assert_story(mot_trainer_open(run.fleet, run.net, &config, &other), MOT_BAD_ARG,
                 "learning rate");
    fit.epochs = 0;
    assert_story(mot_fit(run.trainer, run.data, NULL, &fit, NULL), MOT_BAD_ARG, "epochs = 0");
    assert_null(other);
    train_close(&run);
    train_set_clear(&set);
}

/* ---- memory ---- */

static mot_fleet *small_fleet(const char *memory)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = "0";
    config.memory = memory;
    assert_ok(mot_fleet_open(&config, &fleet));
    return fleet;
}

static void too_little_memory_is_told_with_what_would_do(void **state)
{
    struct mot_trainer_config config = train_config();
    mot_fleet *fleet = small_fleet("300K");
    mot_model *huge = train_net("input 12, dense 4000 relu, dense 4");
    mot_trainer *none = NULL;

    (void)state;
    assert_story(mot_trainer_open(fleet, huge, &config, &none), MOT_NO_MEMORY,
                 "its gradients, one layer at a time, need");
    assert_null(none);
    mot_model_close(huge);
    mot_fleet_close(fleet);
}

static void a_memory_text_that_makes_no_sense_is_refused(void **state)
{
    static const char *const texts[] = {"many", "0=", "=1G", "1G,0=x", "1G,2G", "0=1G,0=2G"};
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    (void)state;
    config.devices = "0";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        config.memory = texts[i];
        assert_story(mot_fleet_open(&config, &fleet), MOT_BAD_ARG, "memory limit");
    }
}

/* In either order. */
static void a_device_s_own_limit_goes_before_that_of_all(void **state)
{
    static const char *const texts[] = {"64M,0=300K", "0=300K,64M"};
    struct mot_trainer_config config = train_config();

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mot_model *huge = train_net("input 12, dense 4000 relu, dense 4");
        mot_fleet *fleet = small_fleet(texts[i]);
        mot_trainer *none = NULL;

        assert_story(mot_trainer_open(fleet, huge, &config, &none), MOT_NO_MEMORY,
                     "the limit is 300 KiB; ");
        mot_model_close(huge);
        mot_fleet_close(fleet);
    }
}

/* ---- nothing to run on ---- */

static void no_device_is_told_with_where_it_was_looked_for(void **state)
{
    struct folder folder;
    char command[1024];
    const char *self = getenv("MOTLEY_TEST_SELF");
    mot_fleet *fleet = NULL;

    (void)state;
    if (getenv("MOTLEY_TEST_BARE")) { /* the loader reads its folder once a process */
        assert_story(mot_fleet_open(NULL, &fleet), MOT_NO_DEVICE, getenv("OCL_ICD_VENDORS"));
        return;
    }
    assert_non_null(self);
    assert_true(folder_open(&folder));
    snprintf(command, sizeof command, "OCL_ICD_VENDORS='%s' MOTLEY_TEST_BARE=1 '%s' >'%s/log' 2>&1",
             folder.path, self, folder.path);
    if (system(command) != 0)
        fail_msg("without a driver: see it by OCL_ICD_VENDORS=/empty MOTLEY_TEST_BARE=1 %s", self);
    folder_close(&folder);
}

static void a_device_that_does_not_exist_is_named(void **state)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    (void)state;
    config.devices = "0,99";
    assert_story(mot_fleet_open(&config, &fleet), MOT_NO_DEVICE, "99");
    config.devices = "0;1";
    assert_story(mot_fleet_open(&config, &fleet), MOT_BAD_ARG, "0;1");
    assert_null(fleet);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest bare[] = {
        cmocka_unit_test(no_device_is_told_with_where_it_was_looked_for)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_trains_as_memory_does_and_its_failure_is_told),
        cmocka_unit_test(samples_that_do_not_fit_get_a_sentence),
        cmocka_unit_test(labels_and_rows_may_take_turns),
        cmocka_unit_test(a_step_with_a_loss_that_is_no_number_is_skipped_everywhere),
        cmocka_unit_test(rates_that_are_no_numbers_are_refused),
        cmocka_unit_test(too_little_memory_is_told_with_what_would_do),
        cmocka_unit_test(a_memory_text_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_device_s_own_limit_goes_before_that_of_all),
        cmocka_unit_test(a_device_that_does_not_exist_is_named),
        cmocka_unit_test(no_device_is_told_with_where_it_was_looked_for),
    };

    if (argc > 0)
        setenv("MOTLEY_TEST_SELF", argv[0], 1);
    if (getenv("MOTLEY_TEST_BARE"))
        return cmocka_run_group_tests(bare, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
