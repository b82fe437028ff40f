/* test_disguise.c - every card of tests/fault/cards.c, told by its vendor's driver and read twice:
 * by OpenCL's own questions and by the inventory. The figures stand here once more, from data
 * sheets and from what clinfo shows, so that a slip in either list is seen. And what the layer does
 * not know ends the process, for a disguise that is not put on proves nothing.
 * tests/illwill.cmake runs it with all five cards. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "support/check.h"

#define KIB ((cl_ulong)1024)
#define MIB (1024 * KIB)
#define CARDS (sizeof cards / sizeof *cards)

static const struct card {
    const char *name, *shown; /* by the driver; in the inventory */
    const char *platform, *vendor, *has, *has_not, *pci;
    cl_uint vendor_id, units, align_bytes;
    size_t group, items[3];
    cl_ulong memory, largest, local;
    cl_bool unified;
} cards[] = {
    {"gfx1100",
     "AMD Radeon RX 7900 XTX (gfx1100)",
     "AMD Accelerated Parallel Processing",
     "Advanced Micro Devices, Inc.",
     "cl_amd_device_attribute_query",
     "cl_khr_pci_bus_info",
     "03:00.0",
     0x1002,
     48,
     128,
     256,
     {1024, 1024, 1024},
     24560 * MIB,
     21890072576,
     64 * KIB,
     CL_FALSE},
    {"Intel(R) Arc(TM) A770 Graphics",
     NULL,
     "Intel(R) OpenCL Graphics",
     "Intel(R) Corporation",
     "cl_khr_pci_bus_info",
     "cl_khr_fp64",
     "0d:00.0",
     0x8086,
     512,
     128,
     1024,
     {1024, 1024, 1024},
     16225243136,
     4096 * MIB - 8 * KIB,
     64 * KIB,
     CL_FALSE},
    {"NVIDIA GeForce RTX 3060",
     NULL,
     "NVIDIA CUDA",
     "NVIDIA Corporation",
     "cl_nv_device_attribute_query",
     "cl_khr_fp16",
     "0a:00.0",
     0x10de,
     28,
     512,
     1024,
     {1024, 1024, 64},
     12622168064,
     12622168064 / 4,
     48 * KIB,
     CL_FALSE},
    {"Intel(R) UHD Graphics 620",
     NULL,
     "Intel(R) OpenCL HD Graphics",
     "Intel(R) Corporation",
     "cl_khr_pci_bus_info",
     "cl_amd",
     "00:02.0",
     0x8086,
     24,
     128,
     256,
     {256, 256, 256},
     6583668736,
     6583668736 / 2,
     64 * KIB,
     CL_TRUE},
    {"Intel(R) Iris(R) Xe Graphics",
     NULL,
     "Intel(R) OpenCL HD Graphics",
     "Intel(R) Corporation",
     "cl_khr_pci_bus_info",
     "cl_khr_fp64",
     "00:02.0",
     0x8086,
     96,
     128,
     512,
     {512, 512, 512},
     13283590144,
     4096 * MIB - 8 * KIB,
     64 * KIB,
     CL_TRUE},
};

/* ---- OpenCL's own questions ---- */

static void is_text(cl_device_id id, cl_device_info what, const char *wanted)
{
    char text[1024] = "";

    assert_int_equal(clGetDeviceInfo(id, what, sizeof text, text, NULL), 0);
    assert_string_equal(text, wanted);
}

#define IS(type, what, wanted)                                                                     \
    do {                                                                                           \
        type value_;                                                                               \
        assert_int_equal(clGetDeviceInfo(id, what, sizeof value_, &value_, NULL), 0);              \
        if (value_ != (type)(wanted))                                                              \
            fail_msg("[%s] " #what ": %llu, wanted %llu", check_where(),                           \
                     (unsigned long long)value_, (unsigned long long)(wanted));                    \
    } while (0)

static void is_the_card(cl_device_id id, const struct card *card)
{
    char extensions[1024] = "";
    size_t items[3];

    is_text(id, CL_DEVICE_NAME, card->name);
    is_text(id, CL_DEVICE_VENDOR, card->vendor);
    IS(cl_device_type, CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU);
    IS(cl_uint, CL_DEVICE_VENDOR_ID, card->vendor_id);
    IS(cl_uint, CL_DEVICE_MAX_COMPUTE_UNITS, card->units);
    IS(cl_uint, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8 * card->align_bytes);
    IS(size_t, CL_DEVICE_MAX_WORK_GROUP_SIZE, card->group);
    IS(cl_ulong, CL_DEVICE_GLOBAL_MEM_SIZE, card->memory);
    IS(cl_ulong, CL_DEVICE_MAX_MEM_ALLOC_SIZE, card->largest);
    IS(cl_ulong, CL_DEVICE_LOCAL_MEM_SIZE, card->local);
    IS(cl_device_local_mem_type, CL_DEVICE_LOCAL_MEM_TYPE, CL_LOCAL);
    IS(cl_bool, CL_DEVICE_HOST_UNIFIED_MEMORY, card->unified);
    IS(cl_uint, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, 0);
    assert_int_equal(clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL),
                     0);
    assert_memory_equal(items, card->items, sizeof items);
    assert_int_equal(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL),
                     0);
    assert_non_null(strstr(extensions, card->has));
    assert_null(strstr(extensions, card->has_not));
}

static size_t find(const char *name)
{
    size_t c;

    for (c = 0; c < CARDS && strcmp(cards[c].name, name) != 0; c++)
        ;
    return c;
}

static void each_card_tells_of_itself_what_its_driver_does(void **state)
{
    cl_platform_id platform[8];
    cl_device_id id[8];
    char name[256];
    cl_uint platforms = 0, devices, seen = 0;

    (void)state;
    assert_int_equal(clGetPlatformIDs(8, platform, &platforms), 0);
    for (cl_uint p = 0; p < platforms; p++) {
        assert_int_equal(clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, 8, id, &devices), 0);
        for (cl_uint d = 0; d < devices; d++, seen++) {
            size_t c;

            is_text(id[d], CL_DEVICE_PROFILE, "FULL_PROFILE");
            assert_int_equal(clGetDeviceInfo(id[d], CL_DEVICE_NAME, sizeof name, name, NULL), 0);
            c = find(name);
            snprintf(check_where(), CHECK_WHERE_BYTES, "%s", name);
            assert_true(c < CARDS);
            is_the_card(id[d], &cards[c]);
            assert_int_equal(
                clGetPlatformInfo(platform[p], CL_PLATFORM_NAME, sizeof name, name, NULL), 0);
            assert_string_equal(name, cards[c].platform);
        }
    }
    assert_int_equal(seen, CARDS);
}

/* ---- the inventory ---- */

static void the_inventory_reads_the_same(void **state)
{
    mot_inventory *inventory = NULL;

    (void)state;
    assert_ok(mot_inventory_open(NULL, &inventory));
    assert_int_equal(mot_inventory_count(inventory), CARDS);
    for (size_t c = 0; c < CARDS; c++) {
        const struct card *card = &cards[c];
        const struct mot_device_info *info = NULL;

        for (size_t i = 0; i < CARDS && !info; i++)
            if (strcmp(mot_inventory_get(inventory, i)->name,
                       card->shown ? card->shown : card->name) == 0)
                info = mot_inventory_get(inventory, i);
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s", card->name);
        assert_non_null(info);
        assert_string_equal(info->platform, card->platform);
        assert_string_equal(info->vendor, card->vendor);
        assert_string_equal(info->pci, card->pci);
        assert_int_equal(info->type, card->unified ? MOT_DEVICE_IGPU : MOT_DEVICE_GPU);
        assert_int_equal(info->device_class, MOT_CLASS_GPU);
        assert_int_equal(info->units, card->units);
        assert_true(info->memory_bytes == card->memory && info->largest_bytes == card->largest);
        assert_int_equal(info->local_bytes, card->local);
        assert_int_equal(info->max_group, card->group);
        assert_int_equal(info->max_sub, 0);
        assert_int_equal(info->unified, card->unified);
        assert_false(info->simulator);
    }
    mot_inventory_close(inventory);
}

/* ---- names that are not known ---- */

static void what_is_not_known_ends_the_process(void **state)
{
    static const struct {
        const char *cards, *manners, *words;
    } rows[] = {
        {"rx790", "", "MOTLEY_GUISE: 'rx790' is not a card"},
        {"rx7900x@rusticl", "", "'rx7900x@rusticl' is not a card"},
        {"-,-,-,-,-,a770", "", "'a770' has no device to play it"},
        {"a770", "nann", "MOTLEY_ILL_WILL: 'nann' is not a manner"},
        {"a770", "nan,la=1", "'la=1' is not a manner"},
        {"a770", "late=1:x", "'late=1:x' has no number"},
        {"a770", "slow=", "'slow=' has no number"},
        {"-,a770", "nan,slow=1:3,ordinary", NULL},
        {"", "", NULL},
    };
    const char *self = getenv("MOTLEY_TEST_SELF");

    (void)state;
    assert_non_null(self);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char command[1024], said[512] = "";
        FILE *pipe;
        size_t bytes;

        snprintf(command, sizeof command,
                 "ulimit -c 0; MOTLEY_GUISE='%s' MOTLEY_ILL_WILL='%s' MOTLEY_TEST_LOOK=1 '%s' 2>&1",
                 rows[r].cards, rows[r].manners, self);
        pipe = popen(command, "r");
        assert_non_null(pipe);
        bytes = fread(said, 1, sizeof said - 1, pipe);
        said[bytes] = '\0';
        snprintf(check_where(), CHECK_WHERE_BYTES, "%s, %s: %.80s", rows[r].cards, rows[r].manners,
                 said);
        if ((pclose(pipe) == 0) != !rows[r].words ||
            (rows[r].words && !strstr(said, rows[r].words)))
            fail_msg("[%s] wanted \"%s\"", check_where(),
                     rows[r].words ? rows[r].words : "no word");
    }
}

/* What every program does first: look, and make a buffer on the last device. */
static int look(void)
{
    cl_platform_id platform[8];
    cl_device_id id = NULL;
    cl_uint count = 0, devices;
    cl_context context;
    cl_int error;

    if (clGetPlatformIDs(8, platform, &count) || count == 0 ||
        clGetDeviceIDs(platform[0], CL_DEVICE_TYPE_ALL, 1, &id, &devices))
        return 1;
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    if (error)
        return 1;
    clReleaseMemObject(clCreateBuffer(context, 0, 64, NULL, &error));
    clReleaseContext(context);
    return error != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_card_tells_of_itself_what_its_driver_does),
        cmocka_unit_test(the_inventory_reads_the_same),
        cmocka_unit_test(what_is_not_known_ends_the_process),
    };

    if (getenv("MOTLEY_TEST_LOOK"))
        return look();
    if (argc > 0)
        setenv("MOTLEY_TEST_SELF", argv[0], 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
