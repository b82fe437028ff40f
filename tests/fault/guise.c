/* guise.c - an OpenCL layer that makes the drivers at hand tell of other devices, so that what we
 * read of AMD's, NVIDIA's and sick drivers is tested without them. OPENCL_LAYERS loads it. Here are
 * its doors and the plays cards, host and sick of $MOTLEY_GUISE, whose expected results stand in
 * tests/device/test_inventory.c; whole cards are in cards.c, behaviour in manners.c. */
#include "fault/guise.h"

#include <stdlib.h>
#include <string.h>

#define POCL "Portable Computing Language"

const cl_icd_dispatch *guise_below;
cl_icd_dispatch guise_ours;
static cl_icd_dispatch unhooked; /* what the plays stand on: cards and manners, or the loader */
#define below (&unhooked)

/* What a device answers instead of its driver. */
struct answer {
    const char *play, *platform;
    cl_uint nth; /* device of that platform */
    cl_device_info what;
    const void *value;
    size_t bytes;
};

#define VALUE(type, ...) (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__})
#define TEXT(text) text, sizeof text

static const struct answer answers[] = {
    /* An AMD card by AMD's topology, its twin by cl_khr_pci_bus_info, an NVIDIA card. */
    {"cards", POCL, 0, CL_DEVICE_TYPE, VALUE(cl_device_type, CL_DEVICE_TYPE_GPU)},
    {"cards", POCL, 0, CL_DEVICE_HOST_UNIFIED_MEMORY, VALUE(cl_bool, CL_FALSE)},
    {"cards", POCL, 0, CL_DEVICE_NAME, TEXT("  gfx1030\t ")},
    {"cards", POCL, 0, 0x4038, TEXT("AMD Radeon  RX 6800 ")},
    {"cards", POCL, 0, 0x4037,
     VALUE(unsigned char, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0,
           1)},
    {"cards", POCL, 1, CL_DEVICE_TYPE, VALUE(cl_device_type, CL_DEVICE_TYPE_GPU)},
    {"cards", POCL, 1, CL_DEVICE_HOST_UNIFIED_MEMORY, VALUE(cl_bool, CL_FALSE)},
    {"cards", POCL, 1, 0x4008, VALUE(cl_uint, 0x0a)},
    {"cards", POCL, 1, 0x4009, VALUE(cl_uint, 3 << 3 | 2)},
    {"cards", POCL, 1, 0x400A, VALUE(cl_uint, 1)},
    {"cards", "rusticl", 0, CL_DEVICE_TYPE, VALUE(cl_device_type, CL_DEVICE_TYPE_GPU)},
    {"cards", "rusticl", 0, CL_DEVICE_HOST_UNIFIED_MEMORY, VALUE(cl_bool, CL_FALSE)},
    {"cards", "rusticl", 0, CL_DEVICE_NAME, TEXT("AMD Radeon RX 6800 (radeonsi, navi21)")},
    {"cards", "rusticl", 0, 0x410F, VALUE(cl_uint, 0, 0xc3, 0, 1)},
    {"cards", "rusticl", 0, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, VALUE(cl_uint, 2)},
    {"cards", "rusticl", 0, CL_DEVICE_PARTITION_PROPERTIES,
     VALUE(cl_device_partition_property, CL_DEVICE_PARTITION_EQUALLY, 0)},

    /* One UUID for all, an address of zeros, a renderer that calls itself a GPU, an integrated
     * GPU that can be cut only by counts. */
    {"host", POCL, 0, 0x106A,
     VALUE(unsigned char, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xfe)},
    {"host", POCL, 0, 0x410F, VALUE(cl_uint, 0, 0, 0, 0)},
    {"host", POCL, 1, 0x106A,
     VALUE(unsigned char, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xfe)},
    {"host", POCL, 1, CL_DEVICE_TYPE, VALUE(cl_device_type, CL_DEVICE_TYPE_GPU)},
    {"host", POCL, 1, CL_DEVICE_PARTITION_PROPERTIES,
     VALUE(cl_device_partition_property, CL_DEVICE_PARTITION_BY_COUNTS)},
    {"host", "rusticl", 0, 0x106A,
     VALUE(unsigned char, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xfe)},
    {"host", "rusticl", 0, CL_DEVICE_TYPE, VALUE(cl_device_type, CL_DEVICE_TYPE_GPU)},
    {"host", "Oclgrind", 0, 0x106A,
     VALUE(unsigned char, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},

    /* PoCL fails to list its devices (below); nothing else can be used. */
    {"sick", "rusticl", 0, CL_DEVICE_AVAILABLE, VALUE(cl_bool, CL_FALSE)},
    {"sick", "Oclgrind", 0, CL_DEVICE_VERSION, TEXT("OpenCL 1.1 old")},
};

cl_int guise_answer(const void *from, size_t from_bytes, size_t bytes, void *value,
                    size_t *bytes_ret)
{
    if (value && bytes < from_bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, from_bytes);
    if (bytes_ret)
        *bytes_ret = from_bytes;
    return CL_SUCCESS;
}

static int playing(const char *play)
{
    const char *wanted = getenv("MOTLEY_GUISE");

    return wanted && strcmp(wanted, play) == 0;
}

bool guise_play(void)
{
    return playing("cards") || playing("host") || playing("sick");
}

static int is_platform(cl_platform_id platform, const char *name)
{
    char text[128] = "";

    below->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, NULL);
    return strcmp(text, name) == 0;
}

static int is_device(cl_device_id device, const char *platform_name, cl_uint nth)
{
    cl_platform_id platform = NULL;
    cl_device_id all[8];
    cl_uint count = 0;

    below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (!is_platform(platform, platform_name) ||
        below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, all, &count) != CL_SUCCESS)
        return 0;
    return nth < count && all[nth] == device;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t bytes,
                                      void *value, size_t *bytes_ret)
{
    size_t i;

    for (i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (answers[i].what != what || !playing(answers[i].play) ||
            !is_device(device, answers[i].platform, answers[i].nth))
            continue;
        return guise_answer(answers[i].value, answers[i].bytes, bytes, value, bytes_ret);
    }
    return below->clGetDeviceInfo(device, what, bytes, value, bytes_ret);
}

static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                     cl_device_id *devices, cl_uint *count)
{
    if (playing("sick") && is_platform(platform, POCL))
        return CL_OUT_OF_HOST_MEMORY;
    return below->clGetDeviceIDs(platform, type, capacity, devices, count);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t bytes, void *value,
                                               size_t *bytes_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (what != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    return guise_answer(&version, sizeof version, bytes, value, bytes_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                            cl_uint *entries_ret, const cl_icd_dispatch **layer_ret)
{
    if (!target || !entries_ret || !layer_ret || entries < sizeof guise_ours / sizeof(void *))
        return CL_INVALID_VALUE;
    guise_below = target;
    guise_ours = *target;
    cards_hook(&guise_ours);
    manners_hook(&guise_ours);
    harm_hook(&guise_ours);
    unhooked = guise_ours;
    guise_ours.clGetDeviceInfo = device_info;
    guise_ours.clGetDeviceIDs = device_ids;
    *entries_ret = sizeof guise_ours / sizeof(void *);
    *layer_ret = &guise_ours;
    return CL_SUCCESS;
}
