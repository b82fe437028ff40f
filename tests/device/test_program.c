/* test_program.c - kernels through the disk cache: cold, warm, damaged, refused, unwritable, two
 * processes at once; and what is said of a kernel that cannot be had. The program starts itself
 * anew where it needs a second process: a fork behind OpenCL's start may hang. */
#include "support/room.h"

#include "device/internal.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;

/* Our cache is tested on whatever device is here, also on one whose driver keeps its own. */
static mot__device *open_cached(const char *dir)
{
    const struct mot__device_options options = {.cache_dir = dir};
    mot__device *device = room_device(room()->pick, &options);

    device->keeps_binaries = false;
    return device;
}

/* Launch add and see that it adds; returns how often the compiler ran. */
static uint64_t use_add(mot__device *device)
{
    struct mot__mem x = {NULL, 0};
    float host[5] = {1, 2, 3, 4, 5}, got[5];

    assert_ok(mot__buffer_open(device, sizeof host, &x.buffer));
    assert_ok(mot__buffer_write(x.buffer, 0, host, sizeof host));
    assert_ok(room_add(device, 5, x, x, x));
    assert_ok(mot__buffer_read(x.buffer, 0, got, sizeof got));
    for (size_t i = 0; i < 5; i++)
        assert_true(got[i] == 2 * host[i]);
    mot__buffer_close(x.buffer);
    return mot__device_counts(device)->compiles;
}

static uint64_t compiles_with(const char *dir)
{
    mot__device *device = open_cached(dir);
    const uint64_t compiles = use_add(device);

    mot__device_close(device);
    return compiles;
}

/* The only file of dir/programs; out has 1024 bytes. */
static void find_program(const char *dir, char *out)
{
    char folder[600];
    struct dirent *entry;
    DIR *open;

    snprintf(folder, sizeof folder, "%s/programs", dir);
    assert_int_equal(folder_count(folder), 1);
    open = opendir(folder);
    while ((entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(out, 1024, "%s/%s", folder, entry->d_name);
    closedir(open);
}

static unsigned char *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    unsigned char *data;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    data = test_alloc(*bytes, 1);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static void write_all(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void a_warm_start_compiles_nothing(void **state)
{
    const char *dir = folder_path(&room()->folder, "warm/with/parents");
    mot__device *device;

    (void)state;
    device = open_cached(dir);
    assert_int_equal(use_add(device), 1);
    assert_int_equal(use_add(device), 1); /* the same device builds once */
    mot__device_close(device);
    assert_int_equal(compiles_with(dir), 0);
    assert_int_equal(compiles_with(dir), 0);
}

/* Each class has its own text of the same program: one must not be served for the other. */
static void what_differs_in_class_or_defines_is_kept_apart(void **state)
{
    const char *dir = folder_path(&room()->folder, "apart");
    struct mot__device_options options = {.cache_dir = dir};

    (void)state;
    for (int again = 0; again < 2; again++)
        for (int c = MOT_CLASS_CPU; c <= MOT_CLASS_GPU; c++) {
            mot__device *device;

            options.device_class = (enum mot_device_class)c;
            device = room_device(room()->pick, &options);
            device->keeps_binaries = false;
            assert_int_equal(use_add(device), again ? 0 : 1);
            mot__device_close(device);
        }
}

static void a_damaged_file_is_made_anew(void **state)
{
    const char *dir = folder_path(&room()->folder, "damaged");
    size_t bytes, again;
    unsigned char *good, *fresh;
    char path[1024];

    (void)state;
    assert_int_equal(compiles_with(dir), 1);
    find_program(dir, path);
    good = read_all(path, &bytes);
    assert_true(bytes > 64);
    for (size_t i = 0; i < 6; i++) {
        const size_t cut[6] = {bytes, bytes, bytes / 2, 64, 10, 0};

        if (i < 2) /* one bit, in the contents and in the sum */
            good[i ? 5 : bytes - 7] ^= 4;
        write_all(path, good, cut[i]);
        if (i < 2)
            good[i ? 5 : bytes - 7] ^= 4;
        if (compiles_with(dir) != 1)
            fail_msg("damage %zu went unseen", i);
        fresh = read_all(path, &again); /* and the file is whole again */
        assert_true(again > 64);
        free(fresh);
        assert_int_equal(compiles_with(dir), 0);
    }
    free(good);
}

/* A file whose sum is right but whose contents the driver refuses: another driver's binary. */
static void what_the_driver_refuses_is_built_from_its_text(void **state)
{
    const char *dir = folder_path(&room()->folder, "refused");
    /* the sum of "another driver's binary", by sha256sum */
    static const char file[] = "b1d7759dfee992eb69f580fdfba0a90a57c5fc57f53ceaacd45f06d4ec3ad79a"
                               "another driver's binary";
    char path[1024];

    (void)state;
    assert_int_equal(compiles_with(dir), 1);
    find_program(dir, path);
    write_all(path, file, sizeof file - 1);
    assert_int_equal(compiles_with(dir), 1);
    assert_int_equal(compiles_with(dir), 0);
}

static void a_folder_that_cannot_be_written_is_no_error(void **state)
{
    const char *file = folder_path(&room()->folder, "plain_file");

    (void)state;
    write_all(file, "x", 1);
    assert_int_equal(compiles_with(folder_path(&room()->folder, "plain_file/cache")), 1);
    assert_int_equal(compiles_with(file), 1);
    assert_int_equal(compiles_with("/proc/motley"), 1);
}

static void a_driver_that_keeps_binaries_is_asked_for_none(void **state)
{
    const char *dir = folder_path(&room()->folder, "kept");
    mot__device *device = open_cached(dir);
    char folder[600];

    (void)state;
    device->keeps_binaries = true;
    assert_int_equal(use_add(device), 1);
    mot__device_close(device);
    snprintf(folder, sizeof folder, "%s/programs", dir);
    assert_int_equal(access(folder, F_OK), -1);
}

static void an_empty_cache_dir_writes_nothing(void **state)
{
    char before[256];

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(folder_path(&room()->folder, "empty"), 0777), 0);
    assert_int_equal(chdir(folder_path(&room()->folder, "empty")), 0);
    assert_int_equal(compiles_with(""), 1);
    assert_int_equal(compiles_with(NULL), 1);
    assert_int_equal(folder_count("."), 0);
    assert_int_equal(chdir(before), 0);
}

static int wait_for(pid_t child)
{
    int code = -1;

    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void two_processes_may_start_together(void **state)
{
    char dir[512];
    pid_t child[2];

    (void)state;
    for (int round = 0; round < 3; round++) {
        snprintf(dir, sizeof dir, "%s/together%d", room()->folder.path, round);
        for (size_t i = 0; i < 2; i++) {
            char *arguments[] = {(char *)self, (char *)"--once", dir, NULL};

            assert_int_equal(posix_spawn(&child[i], self, NULL, NULL, arguments, environ), 0);
        }
        for (size_t i = 0; i < 2; i++)
            assert_true(wait_for(child[i]) <= 1); /* compiles: its own, or none */
        assert_int_equal(compiles_with(dir), 0);
        snprintf(dir, sizeof dir, "%s/together%d/programs", room()->folder.path, round);
        assert_int_equal(folder_count(dir), 1); /* no half-written file stays */
    }
}

static struct mot__kernel *get(mot__device *device, const char *program, const char *kernel,
                               const char *defines)
{
    struct mot__kernel *out = NULL;

    assert_ok(mot__kernel_get(device, program, kernel, defines, &out));
    return out;
}

static uint64_t compiles_of_a_step(mot__device *device)
{
    get(device, "gather", "gather_u8", NULL);
    get(device, "bias", "bias_backward", NULL);
    get(device, "loss", "loss_record", "-DKIND=0");
    get(device, "scan", "scan_odd", NULL);
    get(device, "update", "update_adam", NULL);
    return mot__device_counts(device)->compiles;
}

static void the_files_of_a_step_are_one_build(void **state)
{
    const char *dir = folder_path(&room()->folder, "step");
    mot__device *device = open_cached(dir);

    (void)state;
    assert_int_equal(compiles_of_a_step(device), 1);
    assert_int_equal(compiles_of_a_step(device), 1);
    get(device, "loss", "loss_record", "-DKIND=1"); /* that is not in it */
    assert_int_equal(mot__device_counts(device)->compiles, 2);
    mot__device_close(device);
    device = open_cached(dir);
    assert_int_equal(compiles_of_a_step(device), 0);
    mot__device_close(device);
    device = open_cached(""); /* a driver that refused them together */
    device->step_refused = true;
    assert_int_equal(compiles_of_a_step(device), 5);
    mot__device_close(device);
}

static void what_cannot_be_had_is_said_in_words(void **state)
{
    mot__device *device = open_cached("");
    struct mot__launch launch = {.program = "nothing", .kernel = "add_forward", .dims = 1};

    (void)state;
    assert_story(mot__launch(device, &launch), MOT_BAD_ARG,
                 "there is no kernel file cl/nothing.cl");
    launch.program = "add";
    launch.kernel = "subtract";
    assert_story(mot__launch(device, &launch), MOT_DEVICE_FAILED, "kernel subtract of cl/add.cl");
    launch.kernel = "add_forward";
    launch.defines = "-DSTORED=half";
    assert_story(mot__launch(device, &launch), MOT_BAD_ARG,
                 "cl/add.cl: defines '-DSTORED=half' are not in device/variants.c");
    launch.program = "common"; /* which goes in front: twice is once too often */
    launch.defines = NULL;
    assert_story(mot__launch(device, &launch), MOT_DEVICE_FAILED, "building cl/common.cl");
    assert_non_null(strstr(mot_error(), "redefinition of")); /* the compiler's own words */
    assert_false(mot__device_lost(device));
    use_add(device); /* none of it harmed the device */
    mot__device_close(device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_start_compiles_nothing),
        cmocka_unit_test(what_differs_in_class_or_defines_is_kept_apart),
        cmocka_unit_test(a_damaged_file_is_made_anew),
        cmocka_unit_test(what_the_driver_refuses_is_built_from_its_text),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_no_error),
        cmocka_unit_test(a_driver_that_keeps_binaries_is_asked_for_none),
        cmocka_unit_test(an_empty_cache_dir_writes_nothing),
        cmocka_unit_test(two_processes_may_start_together),
        cmocka_unit_test(the_files_of_a_step_are_one_build),
        cmocka_unit_test(what_cannot_be_had_is_said_in_words),
    };

    self = argv[0];
    if (argc == 3) { /* the second process: its exit code is how often it compiled */
        uint64_t compiles;

        if (room_open(NULL))
            return 99;
        compiles = compiles_with(argv[2]);
        room_close(NULL);
        return (int)compiles;
    }
    return cmocka_run_group_tests(tests, room_open, room_close);
}
