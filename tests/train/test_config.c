/* test_config.c - a struct whose size is not the one this library knows is refused by each call
 * that takes one, and nothing behind its size is read. */
#include "support/train.h"

#include <motley/bench.h>

/* What a program of another version may hand over: its own size and, here, not a byte more. */
static void *other_version(void)
{
    size_t *size = test_alloc(1, sizeof *size);

    *size = sizeof *size;
    return size;
}

static void refused(mot_status status, const char *name)
{
    char words[96];

    snprintf(words, sizeof words, "struct %s: size is %zu, not ", name, sizeof(size_t));
    assert_story(status, MOT_BAD_ARG, words);
}

static void a_fleet_of_another_version_is_refused(void **state)
{
    struct mot_fleet_config *config = other_version(), newer = mot_fleet_config_default();
    mot_fleet *fleet = NULL;
    mot_inventory *inventory = NULL;

    (void)state;
    refused(mot_fleet_open(config, &fleet), "mot_fleet_config");
    refused(mot_inventory_open(config, &inventory), "mot_fleet_config");
    newer.size++;
    assert_story(mot_fleet_open(&newer, &fleet), MOT_BAD_ARG, "struct mot_fleet_config: size is ");
    assert_true(!fleet && !inventory);
    free(config);
}

static void a_world_is_refused_with_a_sentence(void **state)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;
    mot_inventory *inventory = NULL;

    (void)state;
    config.world = &config;
    assert_story(mot_fleet_open(&config, &fleet), MOT_UNSUPPORTED, "several machines");
    assert_story(mot_inventory_open(&config, &inventory), MOT_UNSUPPORTED, "several machines");
    assert_true(!fleet && !inventory);
}

static void training_of_another_version_is_refused(void **state)
{
    struct train_set set = train_set_make(16, 8, 3, 2);
    const struct mot_trainer_config usual = train_config();
    struct train_run run = train_open("0", "input 8, dense 3", &usual, train_data(&set, false, 8));
    void *other = other_version();
    const struct mot_trainer_config *trainer = other;
    const struct mot_bench_config bench = mot_bench_config_default();
    struct mot_bench_train seen;
    struct mot_bench_way way = {.fleet = run.fleet, .trainer = {.size = sizeof(size_t)}};
    struct mot_tune_batch pick;
    struct mot_plan plan;
    mot_trainer *opened = NULL;

    (void)state;
    refused(mot_trainer_open(run.fleet, run.net, trainer, &opened), "mot_trainer_config");
    assert_null(opened);
    refused(mot_fit(run.trainer, run.data, NULL, other, NULL), "mot_fit_config");
    refused(mot_fit_plan(run.trainer, run.data, NULL, other, &plan), "mot_fit_config");
    refused(mot_bench_train(run.fleet, run.net, trainer, run.data, &bench, &seen, NULL),
            "mot_trainer_config");
    refused(mot_bench_train(run.fleet, run.net, &usual, run.data, other, &seen, NULL),
            "mot_bench_config");
    refused(mot_bench_ways(run.net, run.data, 1, &way, 1), "mot_trainer_config");
    refused(mot_tune_batch(run.fleet, run.net, trainer, run.data, 1, NULL, NULL, &pick),
            "mot_trainer_config");
    refused(mot_tune(run.fleet, run.net, trainer, run.data, 8, NULL), "mot_trainer_config");
    refused(mot_tune(run.fleet, run.net, &usual, run.data, 8, other), "mot_tune_config");
    train_close(&run);
    train_set_clear(&set);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_of_another_version_is_refused),
        cmocka_unit_test(a_world_is_refused_with_a_sentence),
        cmocka_unit_test(training_of_another_version_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
