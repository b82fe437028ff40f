/* test_cli_memory.c - little memory as a user meets it: --plan, --memory, --batch auto, tune. */
#include "command.h"

#include <jansson.h>

static json_t *read_json(const struct place *place)
{
    json_t *object = json_loads(place->out, 0, NULL);

    if (!object)
        fail_msg("no JSON: %s", place->out);
    return object;
}

static long long count_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value))
        fail_msg("no count \"%s\"", key);
    return json_integer_value(value);
}

static void a_plan_is_told_without_training(void **state)
{
    const size_t files = 1; /* data/ */
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "",
              "train --data data --devices 0,0 --shares even --memory 12M --batch 400 "
              "--plan");
    place_expect(&place, 0, "batch 400 = 200 + 200\n");
    place_expect(&place, 0, "device    parameters   gradients       state activations");
    place_expect(&place, 0, " micro-batches of ");
    place_expect(&place, 0, "since 200 rows need ");
    place_expect(&place, 0, " are free of 12.0 MiB\n");
    assert_null(strstr(place.out, "epoch"));
    place_run(&place, "", "train --data data --devices 0 --plan");
    place_expect(&place, 0, "device 0: 128 rows at once\n");
    assert_null(strstr(place.out, "shares: "));
    assert_null(strstr(place.out, "\nhost: "));
    place_run(&place, "", "train --data data --devices 0,0 --plan");
    place_expect(&place, 0, "");
    assert_non_null(strstr(place.out, "\nshares: even here; --shares auto measures them"));
    place_run(&place, "", "train --data data --devices 0,0,0 --shares even --batch 2 --plan");
    place_expect(&place, 0, "batch 2 = 1 + 1 + 0\n");
    place_expect(&place, 0, "no rows of so small a batch\n");
    place_run(&place, "", "train --data data --devices 0 --memory 4500K --plan");
    place_expect(&place, 0, "device 0: weights and gradients of some layers at a time, ");
    place_expect(&place, 0, "it is kept on the host (central storage)\n");
    place_expect(&place, 0, "under its limit of 4.4 MiB: they stream layer by layer through ");
    assert_non_null(strstr(place.out, "\nhost: "));
    assert_int_equal(folder_count(place.here.path), files);
    place_close(&place);
}

static void a_plan_as_json_adds_up(void **state)
{
    static const char *const parts[] = {"parameters", "gradients", "state", "activations", "packs",
                                        "staging",    "data",      "test",  "other"};
    struct place place;
    json_t *object, *device, *bytes;
    long long sum = 0;
    size_t i;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train --data data --devices 0 --memory 0=11M --batch 400 --plan --json");
    place_expect(&place, 0, "\"event\":\"plan\"");
    object = read_json(&place);
    device = json_array_get(json_object_get(object, "devices"), 0);
    bytes = json_object_get(device, "bytes");
    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += count_of(bytes, parts[i]);
    assert_int_equal(sum, count_of(bytes, "total"));
    assert_true(sum <= count_of(device, "limit"));
    assert_int_equal(count_of(device, "limit"), 11 << 20);
    assert_int_equal(count_of(device, "rows"), 400);
    assert_true(count_of(device, "micro_batch") * count_of(device, "micro_batches") >= 400);
    assert_true(count_of(device, "micro_batches") > 1);
    json_decref(object);
    place_close(&place);
}

static void a_run_with_little_memory_learns_the_same(void **state)
{
    struct place place;
    char plenty[64];

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "train --data data --devices 0 --batch 400 --epochs 12 --out ''");
    place_expect(&place, 0, "test accuracy ");
    snprintf(plenty, sizeof plenty, "%.30s", strstr(place.out, "epoch 12/12  loss "));
    place_run(&place, "",
              "train --data data --devices 0 --batch 400 --epochs 12 --out '' --memory 11M");
    place_expect(&place, 0, plenty);
    place_expect(&place, 0, "since 400 rows need ");
    place_run(&place, "",
              "train --data data --devices 0 --batch 400 --epochs 12 --out '' --memory 4500K");
    place_expect(&place, 0, plenty);
    place_expect(&place, 0, "they stream layer by layer through ");
    place_expect(&place, 0,
                 "what limits the speed: the link of device 0: weights and gradients that ");
    place_expect(&place, 0, " of the time; more memory would give up to ");
    assert_null(strstr(place.out, "--batch "));
    assert_null(strstr(place.out, "--accumulate "));
    place_run(&place, "",
              "train --data data --devices 0 --batch 100 --accumulate 4 --epochs 12 --out ''");
    place_expect(&place, 0, "batch 100, an update every 4 steps\n");
    place_expect(&place, 0, plenty);
    place_close(&place);
}

static void a_batch_is_found_by_measuring(void **state)
{
    struct place place;
    json_t *object, *row;
    char own[1024];
    size_t i, rows;
    long long pick, found = 0;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "", "tune --batch --data data --net mlp10 --devices 0 --seconds 0.02 --json");
    place_expect(&place, 0, "\"batches\":[{");
    object = read_json(&place);
    pick = count_of(object, "batch");
    rows = json_array_size(json_object_get(object, "batches"));
    assert_true(rows >= 1);
    for (i = 0; i < rows; i++) {
        row = json_array_get(json_object_get(object, "batches"), i);
        assert_int_equal(count_of(row, "batch"), 32LL << i);
        assert_true(json_number_value(json_object_get(row, "samples_per_s")) > 0);
        assert_true(json_integer_value(json_array_get(json_object_get(row, "bytes"), 0)) > 0);
        found += count_of(row, "batch") == pick;
    }
    assert_int_equal(found, 1);
    json_decref(object);
    /* All parts: what the others remember must not change what other tests run with. */
    snprintf(own, sizeof own,
             "XDG_CACHE_HOME='%s/cache' POCL_CACHE_DIR=\"$XDG_CACHE_HOME/pocl/kcache\" "
             "MOTLEY_GEMM=tile",
             place.beside.path);
    place_run(&place, own, "tune --data data --net mlp10 --devices 0,0 --seconds 0.02");
    place_expect(&place, 0, ": the smallest within 5 % of the best rate\n");
    place_run(&place, "",
              "train --data data --net mlp10 --devices 0 --batch auto --out '' "
              "--epochs 1");
    place_expect(&place, 0, "\nbatch ");
    if (!strstr(place.err, "note: --batch auto: "))
        fail_msg("no note in %s", place.err);
    place_close(&place);
}

static void a_batch_smaller_than_the_devices_is_noted(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "",
              "train --data data --net mlp10 --devices 0,0,0 --shares even --batch 2 "
              "--epochs 1 --out ''");
    place_expect(&place, 0, "batch 2 = 1 + 1 + 0\n");
    if (!strstr(place.err, "note: batch 2 is smaller than the 3 devices: some get no rows\n"))
        fail_msg("no note in %s", place.err);
    place_close(&place);
}

/* One device has little, the other plenty; who has too little is told what would do. */
/* What names a part goes before what names its device, and that before what names none. */
static void each_part_of_a_device_has_a_limit_of_its_own(void **state)
{
    static const char *const memory[] = {"1G,0/2.1=24M", "0/2.1=24M,0=1G", "0/2.1=24M,0/2.0=1G"};
    json_t *object, *devices;
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        char line[160];

        snprintf(line, sizeof line,
                 "train --data data --devices 0/2 --shares even --memory %s --plan --json",
                 memory[i]);
        place_run(&place, "", line);
        if (strstr(place.err, "cannot be had")) { /* one core */
            place_close(&place);
            skip();
        }
        place_expect(&place, 0, "\"event\":\"plan\"");
        object = read_json(&place);
        devices = json_object_get(object, "devices");
        assert_int_equal(count_of(json_array_get(devices, 0), "limit"), 1 << 30);
        assert_int_equal(count_of(json_array_get(devices, 1), "limit"), 24 << 20);
        json_decref(object);
    }
    place_run(&place, "", "train --data data --devices 0/2 --memory 0/2=1G,0/2.1=2G --plan");
    place_expect(&place, 2, "two for device 0/2.1");
    place_close(&place);
}

static void each_device_has_a_limit_of_its_own(void **state)
{
    static const char two[] = "POCL_DEVICES='pthread pthread'";
    static const long long limit[] = {2 << 20, 64 << 20};
    struct place place;
    json_t *object, *device[2];

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, two,
              "train --data data --net mlp64 --devices 0,1 --shares even --batch 400 "
              "--memory 0=2M,1=64M --plan --json");
    if (place.code == 3) { /* not on PoCL */
        place_close(&place);
        skip();
    }
    place_expect(&place, 0, "\"event\":\"plan\"");
    object = read_json(&place);
    for (size_t i = 0; i < 2; i++) {
        device[i] = json_array_get(json_object_get(object, "devices"), i);
        assert_int_equal(count_of(device[i], "limit"), limit[i]);
        assert_true(count_of(json_object_get(device[i], "bytes"), "total") <= limit[i]);
        assert_int_equal(count_of(device[i], "rows"), 200);
    }
    assert_true(count_of(device[0], "micro_batches") > 1);
    assert_int_equal(count_of(device[1], "micro_batches"), 1);
    json_decref(object);
    place_run(&place, two,
              "train --data data --net mlp64 --devices 0,1 --shares even --batch 400 --epochs 1 "
              "--out '' --memory 0=2M,1=64M");
    place_expect(&place, 0, "test accuracy ");
    place_run(&place, two,
              "train --data data --net mlp64 --devices 0,1 --strategy mirrored --memory 1=700K");
    place_expect(&place, 1, "the limit is 700 KiB; a memory limit of ");
    place_expect(&place, 1, " would do for a row at a time");
    place_run(&place, two, "train --data data --net mlp64 --devices 0 --memory 0=64M,1=2G --plan");
    place_expect(&place, 0, "batch 128\n");
    assert_non_null(
        strstr(place.err, "memory limit \"0=64M,1=2G\": 1 is not among the devices in use\n"));
    place_close(&place);
}

/* It trains and is planned as what it comes to. */
static void more_than_an_epoch_holds_is_noted(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    place_run(&place, "",
              "train --data data --net mlp10 --devices 0 --batch 99999999 --epochs 1 --out ''");
    place_expect(&place, 0, "batch 400\n");
    assert_null(strstr(place.out, "micro-batch"));
    if (!strstr(place.err, "note: --batch 99999999: there are 400 samples, so a batch is all"))
        fail_msg("no note in %s", place.err);
    place_run(&place, "", "train --data data --net mlp10 --devices 0 --batch 99999999 --plan");
    place_expect(&place, 0, "device 0: 400 rows at once\n");
    place_run(&place, "",
              "train --data data --net mlp10 --devices 0 --batch 100 --accumulate 5 --epochs 1 "
              "--out ''");
    place_expect(&place, 0, "test accuracy ");
    if (!strstr(place.err, "note: --accumulate 5: an epoch has 4 steps, so an update comes at"))
        fail_msg("no note in %s", place.err);
    place_run(&place, "",
              "train --data data --net mlp10 --devices 0 --batch 100 --accumulate 4 "
              "--epochs 1 --out ''");
    place_expect(&place, 0, "test accuracy ");
    assert_null(strstr(place.err, "note: --"));
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_told_without_training),
        cmocka_unit_test(a_plan_as_json_adds_up),
        cmocka_unit_test(a_run_with_little_memory_learns_the_same),
        cmocka_unit_test(a_batch_is_found_by_measuring),
        cmocka_unit_test(a_batch_smaller_than_the_devices_is_noted),
        cmocka_unit_test(each_part_of_a_device_has_a_limit_of_its_own),
        cmocka_unit_test(each_device_has_a_limit_of_its_own),
        cmocka_unit_test(more_than_an_epoch_holds_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
