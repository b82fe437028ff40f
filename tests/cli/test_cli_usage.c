/* test_cli_usage.c - what makes no sense gets one sentence, its exit code, and leaves nothing. */
#include "command.h"

struct bad {
    const char *arguments;
    int code;
    const char *words;
};

/* Run each; the working folder must hold as much afterwards as before. */
static void expect_all(struct place *place, const char *environment, const struct bad *bad,
                       size_t count)
{
    const size_t before = folder_count(place->here.path);
    size_t i;

    for (i = 0; i < count; i++) {
        place_run(place, environment, bad[i].arguments);
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", bad[i].arguments);
        place_expect(place, bad[i].code, bad[i].words);
        if (strncmp(place->err, "motley: ", 8) != 0 && !strstr(place->err, "\nmotley: "))
            fail_msg("%s: stderr is %s", bad[i].arguments, place->err);
        if (strstr(place->out, "epoch"))
            fail_msg("%s: it trained before it failed", bad[i].arguments);
        if (folder_count(place->here.path) != before)
            fail_msg("%s: it left a file behind", bad[i].arguments);
    }
}

#define EXPECT_ALL(place, environment, bad)                                                        \
    expect_all(place, environment, bad, sizeof bad / sizeof *bad)

static void misspelt_names_are_advised(void **state)
{
    static const struct bad bad[] = {
        {"trian", 2, "motley: unknown command \"trian\"; did you mean train?\n"},
        {"xyzzy", 2, "unknown command \"xyzzy\"; motley help lists them"},
        {"help device", 2, "did you mean devices?"},
        {"train --epoch 3", 2, "motley: unknown option --epoch; did you mean --epochs?\n"},
        {"train --ephocs=3", 2, "unknown option --ephocs; did you mean --epochs?"},
        {"train --frobnicate", 2, "unknown option --frobnicate; motley help train lists them"},
        {"devices --epochs 3", 2, "devices has no option --epochs"},
        {"train mnist", 2, "train takes no argument \"mnist\"; options begin with --"},
        {"train -e 3", 2, "train takes no argument \"-e\""},
        {"train --epochs", 2, "--epochs needs a value: N"},
        {"train --json=yes", 2, "--json takes no value"},
    };
    struct place place;

    (void)state;
    place_open(&place);
    EXPECT_ALL(&place, "", bad);
    place_close(&place);
}

static void values_that_make_no_sense_are_refused(void **state)
{
    static const struct bad bad[] = {
        {"train --epochs 0", 2, "motley: --epochs \"0\": a whole number from 1 up is wanted\n"},
        {"train --epochs abc", 2, "--epochs \"abc\": a whole number from 1 up"},
        {"train --epochs 3x", 2, "--epochs \"3x\""},
        {"train --epochs -1", 2, "--epochs \"-1\""},
        {"train --epochs ''", 2, "--epochs \"\""},
        {"train --epochs 99999999999999999999999", 2, "--epochs \"9999"},
        {"train --batch 0", 2, "--batch \"0\": a whole number from 1 up, or auto, is wanted"},
        {"train --batch all", 2, "--batch \"all\": a whole number from 1 up, or auto,"},
        {"eval --batch auto", 2, "--batch \"auto\": a whole number from 1 up"},
        {"tune --batch=8", 2, "--batch takes no value"},
        {"tune --epochs 3", 2, "tune has no option --epochs"},
        {"train --accumulate 0", 2, "--accumulate \"0\": a whole number from 1 up"},
        {"eval --accumulate 2", 2, "eval has no option --accumulate"},
        {"train --verify -1", 2, "--verify \"-1\": a whole number from 0 up"},
        {"train --verify often", 2, "--verify \"often\": a whole number from 0 up"},
        {"train --on-nan", 2, "--on-nan needs a value: stop|skip"},
        {"train --on-nan ignore", 2, "--on-nan \"ignore\": one of stop|skip is wanted"},
        {"train --on-differ mend", 2, "--on-differ \"mend\": one of resend|stop is wanted"},
        {"eval --on-nan stop", 2, "eval has no option --on-nan"},
        {"train --lr nan", 2, "--lr \"nan\": a finite number above 0 is wanted"},
        {"train --lr inf", 2, "--lr \"inf\": a finite number above 0"},
        {"train --lr 0", 2, "--lr \"0\""},
        {"train --lr -0.1", 2, "--lr \"-0.1\""},
        {"train --lr 1e999", 2, "--lr \"1e999\""},
        {"train --lr 0,1", 2, "--lr \"0,1\""},
        {"train --optimizer rmsprop", 2, "--optimizer \"rmsprop\": one of sgd|momentum|"},
        {"train --strategy tree", 2, "--strategy \"tree\": one of auto|single|mirrored|central"},
        {"train --loss hinge", 2, "--loss \"hinge\": one of"},
        {"train --seed -1", 2, "--seed \"-1\": a whole number from 0 up"},
        {"predict --count 0", 2, "--count \"0\": a whole number from 1 up, or all,"},
    };
    struct place place;

    (void)state;
    place_open(&place);
    EXPECT_ALL(&place, "", bad);
    place_close(&place);
}

static void options_that_exclude_each_other_are_told(void **state)
{
    static const struct bad bad[] = {
        {"train --plan --why", 2,
         "motley: --plan and --why exclude each other: a plan trains nothing that could be"},
        {"train --why --quiet", 2, "--quiet and --why exclude each other: only the result"},
        {"train --verify 0 --on-differ stop", 2, "--verify and --on-differ exclude each other"},
        {"train --strategy single --shares even", 2, "--strategy and --shares exclude each other"},
        {"eval --strategy single --shares 3,1", 2, "--strategy and --shares exclude each other"},
        {"train --strategy single --verify 5", 2, "--strategy and --verify exclude each other"},
        {"train --on-differ stop --strategy single", 2, "--strategy and --on-differ exclude"},
        {"tune --show --forget", 2, "--show and --forget exclude each other"},
        {"tune --show --batch", 2, "--show and --batch exclude each other: nothing is measured"},
        {"tune --choices --show", 2, "--show and --choices exclude each other"},
        {"tune --show --seconds 2", 2, "--show and --seconds exclude each other"},
        {"tune --forget --rows 64", 2, "--forget and --rows exclude each other"},
        {"tune --forget --all", 2, "--forget and --all exclude each other"},
        {"tune --batch --rows 64", 2, "--batch and --rows exclude each other: rows are those of"},
        {"tune --batch --all", 2, "--batch and --all exclude each other"},
    };
    struct place place;

    (void)state;
    place_open(&place);
    EXPECT_ALL(&place, "", bad);
    place_run(&place, "", "tune --show --forget --help"); /* help comes first */
    place_expect(&place, 0, "--forget");
    place_close(&place);
}

/* The same line may make sense on another machine: it runs, and says what it could not do. */
static void what_does_nothing_on_these_devices_is_noted(void **state)
{
    static const struct {
        const char *arguments, *note; /* NULL: none */
    } rows[] = {
        {"--devices 0,0 --strategy single",
         "note: --strategy single uses device 0 alone, not the other 1\n"},
        {"--devices 0 --shares even",
         "note: --shares even: there is one device, so nothing is split\n"},
        {"--devices 0 --verify 5", "note: --verify 5: there is one device, so nothing is compared"},
        {"--devices 0 --on-differ stop", "note: --on-differ: there is one device"},
        {"--devices 0 --verify 0", NULL},
        {"--devices 0 --strategy single --shares auto", NULL},
        {"--devices 0,0 --shares even --verify 5 --on-differ stop", NULL},
        {"--devices 0 --shares even --quiet", NULL},
    };
    struct place place;
    char line[160];

    (void)state;
    place_open(&place);
    idx_make(&place);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, "train --data data --net mlp10 --epochs 1 --out '' %s",
                 rows[i].arguments);
        place_run(&place, "", line);
        place_expect(&place, 0, "test accuracy ");
        if (rows[i].note ? !strstr(place.err, rows[i].note) : strstr(place.err, "note: --") != NULL)
            fail_msg("%s: stderr is %s", line, place.err);
    }
    place_close(&place);
}

static void an_output_that_cannot_be_written_is_told_first(void **state)
{
    static const struct bad bad[] = {
        {"train --data data --out nowhere/w.safetensors", 1,
         "motley: cannot write \"nowhere/w.safetensors\": No such file"},
        {"train --data data --out data", 1, "cannot write \"data\": it is not a plain file"},
        {"train --data data --out new/", 1, "cannot write \"new/\": it is not a plain file"},
        {"train --data data --out /dev/null", 1, "cannot write \"/dev/null\": it is not a plain"},
        {"train --data data --out /proc/w", 1, "cannot write \"/proc/w\": "},
        {"predict --data data --out nowhere/p.csv", 1, "cannot write \"nowhere/p.csv\": "},
        {"doctor --report nowhere/r.txt", 1, "cannot write \"nowhere/r.txt\": "},
    };
    struct place place;
    struct stat info;

    (void)state;
    place_open(&place);
    idx_make(&place);
    EXPECT_ALL(&place, "", bad);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* and not replaced */
    place_close(&place);
}

static void devices_that_are_not_there_are_told(void **state)
{
    static const struct bad bad[] = {
        {"devices --devices 99", 3, "\"99\" at character 1 is the index of no device"},
        {"devices --devices 0,,1", 2, "at character 3"},
        {"devices --devices pci:zz", 2, "\"pci:zz\" at character 1 is not a PCI address"},
        {"train --data data --devices 99", 3, "\"99\" at character 1 is the index of no device"},
        {"train --data data --devices 0,,1", 2, "at character 3"},
        {"train --data data --devices 0/", 2, "at character"},
        {"train --data data --devices name:NoSuchCard*", 3, "NoSuchCard"},
        {"eval --data data --devices 99", 3, "\"99\" at character 1"},
    };
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    EXPECT_ALL(&place, "", bad);
    place_close(&place);
}

static void a_machine_without_opencl_says_where_it_looked(void **state)
{
    static const struct bad bad[] = {
        {"devices", 3, "motley: no OpenCL device found; motley doctor tells more\n"},
        {"devices", 3, MOTLEY_ICD_NONE},
        {"devices --json", 3, MOTLEY_ICD_NONE},
        {"train --data data", 3, MOTLEY_ICD_NONE},
        {"predict --data data", 3, MOTLEY_ICD_NONE},
    };
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    EXPECT_ALL(&place, "OCL_ICD_VENDORS='" MOTLEY_ICD_NONE "'", bad);
    place_close(&place);
}

static void a_network_text_that_is_wrong_is_told_with_its_place(void **state)
{
    static const struct bad bad[] = {
        {"train --data data --net 'dense 10, dens 5'", 2, "character 11, \"dens\""},
        {"train --data data --net 'dense ten'", 2, "character 7, \"ten\""},
        {"train --data data --net 'dense 0'", 2, "character 1, \"dense\": dense1: 0 units"},
        {"train --data data --net 'dense 8 rleu, dense 10'", 2, "character 9, \"rleu\""},
        {"train --data data --net 'dense 8, dropout 2, dense 10'", 2, "character 10, \"dropout\""},
        {"train --data data --net 'dense 8,, dense 10'", 2, "character 9: a layer is missing"},
        {"train --data data --net ''", 2, "the network text is empty"},
        {"eval --data data --net mlp51", 2, "mlp10, mlp64, mlp512"},
        {"train --data data --net 'input 100, dense 10'", 2,
         "(100), but the input has the shape (1, 28, 28)"},
        {"train --data data --net 'dense 8'", 2, "10 classes but the network has 8 outputs"},
    };
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    EXPECT_ALL(&place, "", bad);
    place_close(&place);
}

static void data_that_is_missing_or_broken_is_named(void **state)
{
    static const struct bad missing[] = {
        {"train --data nowhere", 1, "nowhere"},
        {"eval --data nowhere", 1, "nowhere"},
        {"train --data fashion", 1, "install the package dataset-fashion-mnist"},
        {"train --data mnist --offline", 1,
         "MNIST is not in the cache and --offline forbids the download"},
    };
    static const struct bad cut[] = {{"train --data data", 1, "train-images-idx3-ubyte"}};
    static const struct bad apart[] = {{"train --data data", 1, "400 images"}};
    struct place place;

    (void)state;
    place_open(&place);
    idx_make(&place);
    EXPECT_ALL(&place, "XDG_CACHE_HOME=/nonexistent MOTLEY_DATASETS=/nonexistent", missing);
    idx_cut(&place, "train-images-idx3-ubyte", 16 + 784 * 399);
    EXPECT_ALL(&place, "", cut);
    idx_part(&place, "train", IDX_TRAIN);
    idx_part(&place, "other", IDX_TEST);
    assert_int_equal(rename(folder_path(&place.here, "data/other-labels-idx1-ubyte"),
                            folder_path(&place.here, "data/train-labels-idx1-ubyte")),
                     0);
    EXPECT_ALL(&place, "", apart);
    place_close(&place);
}

static void limits_and_shares_that_do_not_fit_are_told(void **state)
{
    static const struct bad bad[] = {
        {"train --data data --memory lots", 2, "memory limit \"lots\", character 1: expected"},
        {"train --data data --memory 7=1G", 2, "memory limit \"7=1G\": devices \"7\": "},
        {"train --data data --memory pci:zz=1G", 2, "\"pci:zz\" at character 1 is not a PCI"},
        {"train --data data --memory 4K", 1, "the limit is 4.0 KiB"},
        {"train --data data --memory 3M", 1,
         "one layer at a time, need 3.1 MiB; the limit is 3.0 MiB; a"},
        {"train --data data --memory 3M --plan", 1, "K would do for a row at a time"},
        {"train --data data --memory 3M --batch auto", 1, "K would do for a row at a time"},
        {"train --data data --memory 3M --strategy single", 1,
         "need 10.2 MiB; the limit is 3.0 MiB; a"},
        {"train --data data --memory 3M --strategy single", 1,
         "K would do for a row at a time with --strategy central"},
        {"train --data data --devices 0 --shares 1,2,3", 2, "shares \"1,2,3\": more than"},
        {"train --data data --devices 0,0 --shares 3", 2, "shares \"3\": 1 for 2 replicas"},
        {"train --data data --shares some", 2, "shares \"some\", character 1: expected"},
        {"train --data data --shares 0", 2, "shares \"0\": they sum to 0"},
        {"train --data data --devices 0,0 --shares 0,0", 2, "shares \"0,0\": they sum to 0"},
        {"train --data data --devices 0,0 --shares=-1,2", 2, "shares \"-1,2\", character 1:"},
        {"train --data data --devices 0,0 --shares 1e308,1e308", 2, "they are too large"},
        {"train --data data --weights missing.safetensors", 1, "missing.safetensors"},
        {"eval --data data", 1, "motley.safetensors"},
        {"predict --data data --weights broken", 1, "broken"},
    };
    struct place place;
    FILE *file;

    (void)state;
    place_open(&place);
    idx_make(&place);
    file = fopen(folder_path(&place.here, "broken"), "w");
    assert_non_null(file);
    fputs("not a safetensors file", file);
    fclose(file);
    EXPECT_ALL(&place, "", bad);
    place_close(&place);
}

static void help_names_every_command_and_exit_code(void **state)
{
    static const char *const words[] = {"devices", "doctor", "train",    "eval",         "predict",
                                        "version", "130",    "NO_COLOR", "MOTLEY_MIRROR"};
    struct place place;
    const char *name;
    size_t i;

    (void)state;
    place_open(&place);
    place_run(&place, "", "help");
    for (i = 0; i < sizeof words / sizeof *words; i++)
        place_expect(&place, 0, words[i]);
    for (i = 0; (name = mot_environment(i, NULL)); i++)
        place_expect(&place, 0, name);
    assert_true(i > 0);
    place_run(&place, "", "train --help");
    place_expect(&place, 0, "--optimizer sgd|momentum|nesterov|adam|adamw");
    place_expect(&place, 0, "(default mlp512)");
    place_run(&place, "", "help predict");
    place_expect(&place, 0, "--count N|all");
    place_run(&place, "", "--version");
    place_expect(&place, 0, "motley " MOT_VERSION "\n");
    place_run(&place, "", "");
    place_expect(&place, 2, "usage: motley COMMAND");
    place_close(&place);
}

static void an_output_that_breaks_is_a_failure(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    place_run(&place, "", "help >/dev/full");
    place_expect(&place, 1, "the output could not be written");
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misspelt_names_are_advised),
        cmocka_unit_test(values_that_make_no_sense_are_refused),
        cmocka_unit_test(options_that_exclude_each_other_are_told),
        cmocka_unit_test(what_does_nothing_on_these_devices_is_noted),
        cmocka_unit_test(an_output_that_cannot_be_written_is_told_first),
        cmocka_unit_test(devices_that_are_not_there_are_told),
        cmocka_unit_test(a_machine_without_opencl_says_where_it_looked),
        cmocka_unit_test(a_network_text_that_is_wrong_is_told_with_its_place),
        cmocka_unit_test(data_that_is_missing_or_broken_is_named),
        cmocka_unit_test(limits_and_shares_that_do_not_fit_are_told),
        cmocka_unit_test(help_names_every_command_and_exit_code),
        cmocka_unit_test(an_output_that_breaks_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
