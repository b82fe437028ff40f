/* device.h - the devices that a test runs on, and arrays on them with guards on both sides.
 *
 * A test program opens them once, each in both classes, and loops:
 *
 *     static void adds(void **state)
 *     {
 *         TEST_EACH_DEVICE(device)
 *             add_on(device);
 *     }
 *     return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
 *
 * $MOTLEY_TEST_DEVICES holds the device language ("all", "0"); unset, the default policy chooses.
 * The program cache lies in $XDG_CACHE_HOME, which ctest sets to a folder of the build; unset,
 * there is none. */
#ifndef MOT_TESTS_DEVICE_H
#define MOT_TESTS_DEVICE_H

#include "support/check.h"

#include "device/device.h"
#include "device/inventory.h"

#define TEST_DEVICES_MAX 32

struct test_devices {
    mot_inventory *inventory;
    mot__device *row[TEST_DEVICES_MAX];
    size_t count;
};

static inline struct test_devices *test_devices(void)
{
    static struct test_devices devices;

    return &devices;
}

static inline struct mot__device_options test_device_options(enum mot_device_class device_class)
{
    static char cache[512];
    const char *home = getenv("XDG_CACHE_HOME"), *gemm = getenv("MOTLEY_GEMM");
    struct mot__device_options options = {0};

    snprintf(cache, sizeof cache, "%s%s", home ? home : "", home ? "/motley-tests" : "");
    options.cache_dir = cache;
    options.device_class = device_class;
    if (gemm) /* a fleet reads it too */
        options.gemm = strcmp(gemm, "clblast") == 0 ? MOT__GEMM_CLBLAST
                       : strcmp(gemm, "tile") == 0  ? MOT__GEMM_TILE
                                                    : MOT__GEMM_AUTO;
    return options;
}

/* Group set-up: every chosen device, once as each class. No device at all is a failure. */
static inline int test_devices_open(void **state)
{
    const enum mot_device_class classes[] = {MOT_CLASS_CPU, MOT_CLASS_GPU};
    struct test_devices *all = test_devices();
    struct mot__pick *pick = NULL;
    size_t picks = 0;
    mot_status status = MOT_OK;

    (void)state;
    MOT_TRY(mot_inventory_open(NULL, &all->inventory));
    MOT_TRY(mot__pick_parse(all->inventory, getenv("MOTLEY_TEST_DEVICES"), &pick, &picks));
    for (size_t p = 0; p < picks; p++)
        for (size_t c = 0; c < 2 && all->count < TEST_DEVICES_MAX; c++) {
            struct mot__device_options options = test_device_options(classes[c]);

            MOT_TRY(mot__device_open(all->inventory, &pick[p], &options, &all->row[all->count]));
            all->count++;
        }
done:
    free(pick);
    if (status != MOT_OK || all->count == 0)
        print_error("no device for the tests: %s\n", mot_error());
    return status != MOT_OK || all->count == 0;
}

/* $MOTLEY_TEST_COUNTS names a file: a line for each device says how many kernels it ran, so that a
 * checker which saw nothing wrong can tell that it saw something. */
static inline void test_devices_tell(const struct test_devices *all)
{
    const char *path = getenv("MOTLEY_TEST_COUNTS");
    FILE *file = path ? fopen(path, "a") : NULL;

    for (size_t i = 0; file && i < all->count; i++)
        fprintf(file, "%s: %llu launches\n", mot__device_facts(all->row[i])->info.platform,
                (unsigned long long)mot__device_counts(all->row[i])->launches);
    if (file)
        fclose(file);
}

static inline int test_devices_close(void **state)
{
    struct test_devices *all = test_devices();

    (void)state;
    test_devices_tell(all);
    while (all->count > 0)
        mot__device_close(all->row[--all->count]);
    mot_inventory_close(all->inventory);
    all->inventory = NULL;
    return 0;
}

/* The index-th, and failures name it from now on. NULL past the last. */
static inline mot__device *test_device_at(size_t index)
{
    const struct test_devices *all = test_devices();
    const struct mot__device_facts *facts;

    if (index >= all->count)
        return NULL;
    facts = mot__device_facts(all->row[index]);
    snprintf(check_where(), CHECK_WHERE_BYTES, "%.60s / %.60s as %s", facts->info.platform,
             facts->info.name, facts->device_class == MOT_CLASS_CPU ? "cpu" : "gpu");
    return all->row[index];
}
#define TEST_EACH_DEVICE(device)                                                                   \
    for (size_t test_index = 0; test_index < test_devices()->count; test_index++)                  \
        for (mot__device *device = test_device_at(test_index); device; device = NULL)

/* ---- arrays with guards ---- */

/* n elements in a buffer of their own, TEST_GUARD elements in; what lies around them is a pattern
 * that is a NaN as float, so reading past the ends shows, and writing past them is found by
 * test_get. The odd offset makes every place unaligned, as planned arenas may. */
#define TEST_GUARD 5

struct test_array {
    struct mot__mem mem; /* what the op is given */
    size_t n, size;      /* elements, bytes of one */
};

/* The byte at place i of a buffer that nobody wrote. */
static inline unsigned char test_guard_byte(size_t i)
{
    static const unsigned char pattern[4] = {0xad, 0xde, 0xc5, 0x7f};

    return pattern[i % 4];
}

/* data NULL: filled with the pattern, so that what is not written shows too. */
static inline struct test_array test_put_sized(mot__device *device, const void *data, size_t n,
                                               size_t size)
{
    const size_t edge = TEST_GUARD * size, bytes = 2 * edge + n * size;
    struct test_array array = {{NULL, TEST_GUARD}, n, size};
    unsigned char *all = test_alloc(bytes, 1);

    for (size_t i = 0; i < bytes; i++)
        all[i] = test_guard_byte(i);
    if (data)
        memcpy(all + edge, data, n * size);
    assert_ok(mot__buffer_open(device, bytes, &array.mem.buffer));
    assert_ok(mot__buffer_write(array.mem.buffer, 0, all, bytes));
    free(all);
    return array;
}
static inline struct test_array test_put(mot__device *device, const void *words, size_t n)
{
    return test_put_sized(device, words, n, 4);
}

/* Read it back, waiting; the guards must be as they were. */
static inline void test_get(const struct test_array *array, void *data)
{
    const size_t edge = TEST_GUARD * array->size, bytes = 2 * edge + array->n * array->size;
    unsigned char *all = test_alloc(bytes, 1);
    bool whole = true;

    assert_ok(mot__buffer_read(array->mem.buffer, 0, all, bytes));
    for (size_t i = 0; i < bytes; i++)
        if (i < edge || i >= bytes - edge)
            whole = whole && all[i] == test_guard_byte(i);
    memcpy(data, all + edge, array->n * array->size);
    free(all);
    if (!whole)
        fail_msg("[%s] an array of %zu was written outside its ends", check_where(), array->n);
}

static inline void test_drop(struct test_array *array)
{
    mot__buffer_close(array->mem.buffer);
    array->mem.buffer = NULL;
}

#endif
