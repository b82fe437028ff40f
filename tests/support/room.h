/* room.h - for tests of the device room itself: devices opened one by one with options of the
 * test's own, and a folder for caches. $MOTLEY_TEST_DEVICES chooses, as in support/device.h. */
#ifndef MOT_TEST_ROOM_H
#define MOT_TEST_ROOM_H

#include "support/check.h"
#include "support/folder.h"

#include "device/device.h"
#include "device/inventory.h"

struct room {
    mot_inventory *inventory;
    struct mot__pick *pick;
    size_t picks;
    struct folder folder;
    enum mot_device_class device_class; /* of devices whose options leave it open */
};

static inline struct room *room(void)
{
    static struct room only;

    return &only;
}

static inline int room_open(void **state)
{
    struct room *all = room();

    (void)state;
    if (!folder_open(&all->folder) || mot_inventory_open(NULL, &all->inventory) != MOT_OK ||
        mot__pick_parse(all->inventory, getenv("MOTLEY_TEST_DEVICES"), &all->pick, &all->picks) !=
            MOT_OK ||
        all->picks == 0) {
        print_error("no device for the tests: %s\n", mot_error());
        return 1;
    }
    return 0;
}

static inline int room_close(void **state)
{
    (void)state;
    free(room()->pick);
    mot_inventory_close(room()->inventory);
    folder_close(&room()->folder);
    return 0;
}

/* All tests with each class of kernels; 0: none failed. */
#define ROOM_RUN(tests)                                                                            \
    ((room()->device_class = MOT_CLASS_CPU,                                                        \
      cmocka_run_group_tests(tests, room_open, room_close)) ||                                     \
     (room()->device_class = MOT_CLASS_GPU, cmocka_run_group_tests(tests, room_open, room_close)))

/* Failures name the device from now on. */
static inline void room_where(const mot__device *device, const char *label)
{
    const struct mot__device_facts *facts = mot__device_facts(device);

    snprintf(check_where(), CHECK_WHERE_BYTES, "%s %.50s / %.50s%s%s", label, facts->info.platform,
             facts->info.name, facts->device_class == MOT_CLASS_CPU ? ", cpu" : ", gpu",
             facts->staging == MOT__STAGING_MAP ? ", map" : ", copy");
}

static inline mot__device *room_device(const struct mot__pick *pick,
                                       const struct mot__device_options *options)
{
    struct mot__device_options own = *options;
    mot__device *device = NULL;

    if (!own.device_class)
        own.device_class = room()->device_class;
    assert_ok(mot__device_open(room()->inventory, pick, &own, &device));
    room_where(device, pick->label);
    return device;
}

/* Programs come from a cache that ctest keeps between tests (XDG_CACHE_HOME); unset, none. */
static inline struct mot__device_options room_options(void)
{
    static char cache[512];
    const char *home = getenv("XDG_CACHE_HOME");

    snprintf(cache, sizeof cache, "%s%s", home ? home : "", home ? "/motley-tests" : "");
    return (struct mot__device_options){.cache_dir = cache};
}

#define ROOM_EACH(p)                                                                               \
    for (const struct mot__pick *p = room()->pick; p < room()->pick + room()->picks; p++)

/* y[i] = a[i] + b[i] by cl/add.cl, 64 elements an item; a kernel that every test may use. */
static inline mot_status room_add(mot__device *device, size_t n, struct mot__mem a,
                                  struct mot__mem b, struct mot__mem y)
{
    const uint32_t each = mot__device_facts(device)->device_class == MOT_CLASS_CPU ? 64 : 1;
    const struct mot__arg args[] = {MOT__U32(n), MOT__U32(each), MOT__MEM(a), MOT__MEM(b),
                                    MOT__MEM(y)};
    const struct mot__launch launch = {.program = "add",
                                       .kernel = "add_forward",
                                       .dims = 1,
                                       .global = {(n + each - 1) / each},
                                       .args = args,
                                       .count = MOT__COUNT(args)};

    return mot__launch(device, &launch);
}

#endif
