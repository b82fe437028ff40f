/* test_sent.c - a device whose update has other bits than the host's is sent weights instead of
 * gradients, and agrees. Its kept verdict is spoiled, as a start on such a device would have
 * written it; a core of the device counts as another device. */
#include "support/folder.h"
#include "support/train.h"

#include <glob.h>

#define NET "input 12, dense 9 relu, dropout 0.1, dense 4"
#define OTHER "0/2.0"
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 16 };

static const struct {
    const char *name;
    struct mot_optimizer optimizer;
} rules[] = {
    {"SGD", {.rule = MOT_RULE_SGD, .lr = 0.1, .clip_norm = 0.5}},
    {"Nesterov", {.rule = MOT_RULE_SGD, .lr = 0.1, .momentum = 0.9, .nesterov = true}},
    {"Adam", {.rule = MOT_RULE_ADAM, .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
};

static struct train_run open_run(const char *cache, const char *devices, size_t rule,
                                 const struct train_set *set)
{
    struct mot_fleet_config fleet = mot_fleet_config_default();
    struct mot_trainer_config config = train_config();
    struct train_run run = {NULL, train_net(NET), NULL, train_data(set, false, BATCH)};

    fleet.devices = devices;
    fleet.cache_dir = cache;
    fleet.deadline_s = 120;
    config.optimizer = rules[rule].optimizer;
    config.verify = 3;
    assert_ok(mot_fleet_open(&fleet, &run.fleet));
    assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
    return run;
}

/* Every rule's verdict of the devices used so far. */
static void spoil(const char *cache)
{
    char pattern[512];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/choices/*/optim.*", cache);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "w");

        assert_non_null(file);
        fprintf(file, "a story\n");
        fclose(file);
    }
    globfree(&found);
}

static void a_few_steps(const char *cache, const char *devices, size_t rule,
                        const struct train_set *set, float **out, size_t sent)
{
    struct train_run run = open_run(cache, devices, rule, set);
    struct mot_note note;
    size_t differing;

    train_steps(&run, 9);
    assert_int_equal(train_metrics(&run).steps, 9);
    assert_ok(mot_trainer_verify(run.trainer, &differing));
    assert_int_equal(differing, 0);
    train_copies_agree(&run);
    for (; sent > 0; sent--) {
        assert_true(mot_trainer_note(run.trainer, &note));
        assert_int_equal(note.kind, MOT_NOTE_DEVICE);
        assert_non_null(strstr(note.text, "updates to other bits than the host (a story): the host "
                                          "does it and sends the weights"));
    }
    assert_false(mot_trainer_note(run.trainer, &note));
    *out = train_get(&run, 0);
    train_close(&run);
}

/* fleet: one of its lanes, or all, are sent weights. */
static void learn_the_same(const char *used, const char *fleet, size_t rule, size_t sent)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct folder folder;
    float *own, *a, *b;

    snprintf(check_where(), CHECK_WHERE_BYTES, "%s on %s", rules[rule].name, fleet);
    assert_true(folder_open(&folder));
    a_few_steps("", fleet, rule, &set, &a, 0);
    a_few_steps(folder.path, used, rule, &set, &own, 0);
    spoil(folder.path);
    a_few_steps(folder.path, fleet, rule, &set, &b, sent);
    check_bits("the same with weights sent", b, a, 12 * 9 + 9 + 9 * 4 + 4);
    free(own);
    free(a);
    free(b);
    folder_close(&folder);
    train_set_clear(&set);
}

static void weights_sent_are_the_same_weights(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        learn_the_same("0", "0", r, 1);
        learn_the_same("0", "0,0", r, 2);
        if (train_can(OTHER))
            learn_the_same(OTHER, "0," OTHER, r, 1);
    }
}

static void a_number_that_is_none_is_still_found(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct train_set bad = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct folder folder;
    float *unused;

    (void)state;
    bad.x[3] = NAN;
    assert_true(folder_open(&folder));
    a_few_steps(folder.path, "0", 2, &set, &unused, 0);
    spoil(folder.path);
    for (size_t f = 0; f < 2; f++) {
        struct train_run run = open_run(folder.path, f ? "0,0" : "0", 2, &bad);
        struct mot_metrics metrics;
        float *before = train_get(&run, 0), *after;

        train_steps(&run, 1);
        after = train_get(&run, 0);
        check_bits("a refused step", after, before, train_numbers(&run));
        assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_BAD_NUMBER,
                     "step 0: the loss of 1 row on device 0 is not finite");
        free(before);
        free(after);
        train_close(&run);
    }
    free(unused);
    folder_close(&folder);
    train_set_clear(&set);
    train_set_clear(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_sent_are_the_same_weights),
        cmocka_unit_test(a_number_that_is_none_is_still_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
