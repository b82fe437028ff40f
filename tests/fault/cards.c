/* cards.c - cards that are not here: what their vendors' drivers say of them, and limits that
 * hold. A device keeps its real handle; the platform it stands under is ours, so that one
 * implementation can play a machine with cards of several vendors, or one card behind two
 * platforms. Extensions that the device beneath could not keep (subgroups, vendors' shuffles) are
 * left out of the lists. */
#include "fault/guise.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16 /* devices, and platforms of ours */
#define ATOMICS                                                                                    \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "                       \
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "                         \
    "cl_khr_byte_addressable_store "

/* As clinfo shows them: ROCm 6.0, NVIDIA 535, Intel NEO 23.43, 23.17 and the legacy 22.28. */
static const struct card cards[] = {
    {.key = "rx7900",
     .name = "gfx1100",
     .board = "AMD Radeon RX 7900 XTX",
     .vendor = "Advanced Micro Devices, Inc.",
     .driver = "3602.0 (HSA1.1,LC)",
     .version = "OpenCL 2.0 ",
     .c_version = "OpenCL C 2.0 ",
     .extensions = ATOMICS "cl_khr_fp64 cl_khr_fp16 cl_amd_device_attribute_query",
     .platform = "AMD Accelerated Parallel Processing",
     .platform_version = "OpenCL 2.1 AMD-APP (3602.0)",
     .vendor_id = 0x1002,
     .units = 48,
     .clock_mhz = 2526,
     .align_bits = 1024,
     .width = 1,
     .group = 256,
     .items = {1024, 1024, 1024},
     .wave = 32,
     .memory = 25753026560,
     .largest = 21890072576,
     .local = 65536,
     .way = PCI_AMD,
     .bus = 0x03},
    {.key = "a770",
     .name = "Intel(R) Arc(TM) A770 Graphics",
     .vendor = "Intel(R) Corporation",
     .driver = "23.43.27642.40",
     .version = "OpenCL 3.0 NEO ",
     .c_version = "OpenCL C 1.2 ",
     .extensions = ATOMICS "cl_khr_fp16 cl_khr_pci_bus_info",
     .platform = "Intel(R) OpenCL Graphics",
     .platform_version = "OpenCL 3.0 ",
     .vendor_id = 0x8086,
     .units = 512,
     .clock_mhz = 2400,
     .align_bits = 1024,
     .width = 1,
     .group = 1024,
     .items = {1024, 1024, 1024},
     .wave = 32,
     .memory = 16225243136,
     .largest = 4294959104, /* 4 GB less two pages: compute-runtime#627 */
     .local = 65536,
     .way = PCI_KHR,
     .bus = 0x0d},
    {.key = "rtx3060",
     .name = "NVIDIA GeForce RTX 3060",
     .vendor = "NVIDIA Corporation",
     .driver = "535.183.01",
     .version = "OpenCL 3.0 CUDA",
     .c_version = "OpenCL C 1.2 ",
     .extensions = ATOMICS "cl_khr_fp64 cl_khr_icd cl_nv_device_attribute_query",
     .platform = "NVIDIA CUDA",
     .platform_version = "OpenCL 3.0 CUDA 12.2.148",
     .vendor_id = 0x10de,
     .units = 28,
     .clock_mhz = 1777,
     .align_bits = 4096,
     .width = 1,
     .group = 1024,
     .items = {1024, 1024, 64},
     .wave = 32,
     .memory = 12622168064,
     .largest = 3155542016,
     .local = 49152,
     .way = PCI_NVIDIA,
     .bus = 0x0a},
    {.key = "uhd620",
     .name = "Intel(R) UHD Graphics 620",
     .vendor = "Intel(R) Corporation",
     .driver = "22.28.23726.1",
     .version = "OpenCL 3.0 NEO ",
     .c_version = "OpenCL C 1.2 ",
     .extensions = ATOMICS "cl_khr_fp64 cl_khr_fp16 cl_khr_pci_bus_info",
     .platform = "Intel(R) OpenCL HD Graphics",
     .platform_version = "OpenCL 3.0 ",
     .vendor_id = 0x8086,
     .units = 24,
     .clock_mhz = 1150,
     .align_bits = 1024,
     .width = 1,
     .group = 256,
     .items = {256, 256, 256},
     .wave = 32,
     .memory = 6583668736,
     .largest = 3291834368,
     .local = 65536,
     .unified = CL_TRUE,
     .way = PCI_KHR,
     .slot = 2},
    {.key = "irisxe",
     .name = "Intel(R) Iris(R) Xe Graphics",
     .vendor = "Intel(R) Corporation",
     .driver = "23.17.26241.22",
     .version = "OpenCL 3.0 NEO ",
     .c_version = "OpenCL C 1.2 ",
     .extensions = ATOMICS "cl_khr_fp16 cl_khr_pci_bus_info",
     .platform = "Intel(R) OpenCL HD Graphics",
     .platform_version = "OpenCL 3.0 ",
     .vendor_id = 0x8086,
     .units = 96,
     .clock_mhz = 1300,
     .align_bits = 1024,
     .width = 1,
     .group = 512,
     .items = {512, 512, 512},
     .wave = 32,
     .memory = 13283590144,
     .largest = 4294959104,
     .local = 65536,
     .unified = CL_TRUE,
     .way = PCI_KHR,
     .slot = 2},
};

/* ---- who plays what ---- */

static struct disguised devices[MOST];
static struct stage_platform platforms[MOST];
static cl_platform_id all_real[MOST];
static size_t device_count, platform_count;
static cl_uint real_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The nth word of a list; false past its end. */
static bool nth_word(const char *list, char between, size_t nth, char *out, size_t bytes)
{
    size_t length;

    for (; list && nth > 0; nth--) {
        list = strchr(list, between);
        list = list ? list + 1 : NULL;
    }
    if (!list || !*list)
        return false;
    length = strcspn(list, (const char[]){between, '\0'});
    snprintf(out, bytes, "%.*s", (int)length, list);
    return true;
}

/* A guise that does not bite would leave every test green. */
static void refuse(const char *variable, const char *word, const char *why)
{
    fprintf(stderr, "guise: %s: '%s' %s\n", variable, word, why);
    abort();
}

static const char *const manners[] = {"nan",       "late",     "shadow",   "ordinary",  "blocks",
                                      "return_us", "ulp",      "slow",     "launch_us", "link",
                                      "chance_ms", "start_us", "memory_mb"};

/* Past a number, whatever the program's locale takes for a point; at itself where there is none. */
static const char *read_number(const char *at, double *out)
{
    double unit = 1;

    for (*out = 0; isdigit((unsigned char)*at); at++)
        *out = *out * 10 + (*at - '0');
    if (*at == '.')
        while (isdigit((unsigned char)*++at))
            *out += (*at - '0') * (unit /= 10);
    return at;
}

static void check_manner(const char *word)
{
    const size_t length = strcspn(word, "=");
    const char *at = word + length, *end;
    double value;
    size_t i;

    for (i = 0; i < sizeof manners / sizeof *manners; i++)
        if (strlen(manners[i]) == length && strncmp(word, manners[i], length) == 0)
            break;
    if (i == sizeof manners / sizeof *manners)
        refuse("MOTLEY_ILL_WILL", word, "is not a manner");
    for (; *at; at = end) { /* =1:2:3 */
        end = read_number(at + 1, &value);
        if (end == at + 1 || (*end && *end != ':'))
            refuse("MOTLEY_ILL_WILL", word, "has no number");
    }
}

#define NOBODY SIZE_MAX

double ill_will(const char *name, size_t nth)
{
    const char *all = getenv("MOTLEY_ILL_WILL");
    char word[64], text[32];
    double value;
    size_t i;

    for (i = 0; nth_word(all, ',', i, word, sizeof word); i++)
        check_manner(word);
    for (i = 0; nth != NOBODY && nth_word(all, ',', i, word, sizeof word); i++) {
        const size_t length = strcspn(word, "=");

        if (strlen(name) != length || strncmp(word, name, length) != 0)
            continue;
        if (word[length] == '\0')
            return 1;
        if (nth_word(word + length + 1, ':', nth, text, sizeof text) ||
            nth_word(word + length + 1, ':', 0, text, sizeof text)) {
            read_number(text, &value);
            return value;
        }
    }
    return 0;
}

static struct stage_platform *find_platform(const char *name, cl_platform_id real)
{
    size_t i;

    for (i = 0; i < platform_count; i++)
        if (platforms[i].real == real && strcmp(platforms[i].name, name) == 0)
            return &platforms[i];
    return NULL;
}

static void set_platform(struct disguised *device, const char *name)
{
    device->platform = find_platform(name, device->real);
    if (device->platform || platform_count == MOST)
        return;
    device->platform = &platforms[platform_count++];
    *device->platform = (struct stage_platform){&guise_ours, "", device->card, device->real};
    snprintf(device->platform->name, sizeof device->platform->name, "%s", name);
}

/* word: "rx7900" or "rx7900@rusticl"; "-" leaves it as it is. The second card of a kind sits on the
 * next bus. */
static void dress(struct disguised *device, const char *word)
{
    const size_t length = strcspn(word, "@");
    size_t i;

    if (strcmp(word, "-") == 0)
        return;
    for (i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strlen(cards[i].key) == length && strncmp(cards[i].key, word, length) == 0)
            device->card = &cards[i];
    if (!device->card)
        refuse("MOTLEY_GUISE", word, "is not a card");
    set_platform(device, word[length] ? word + length + 1 : device->card->platform);
    device->bus = device->card->bus;
    for (i = 0; i < device->nth; i++)
        if (devices[i].card == device->card && devices[i].platform == device->platform)
            device->bus++;
    snprintf(device->driver, sizeof device->driver, "%s%s", device->card->driver,
             ill_will("ulp", device->nth) > 0 ? " one ulp off" : "");
}

static void find_devices(void)
{
    const char *list = guise_play() ? NULL : getenv("MOTLEY_GUISE");
    cl_device_id found[MOST];
    cl_uint count, p, d;
    char word[64];

    if (guise_below->clGetPlatformIDs(MOST, all_real, &real_count) != CL_SUCCESS)
        return;
    for (p = 0; p < real_count && p < MOST; p++) {
        count = 0;
        guise_below->clGetDeviceIDs(all_real[p], CL_DEVICE_TYPE_ALL, MOST, found, &count);
        for (d = 0; d < count && d < MOST && device_count < MOST; d++) {
            struct disguised *device = &devices[device_count];

            device->id = found[d];
            device->real = all_real[p];
            device->nth = device_count++;
            if (nth_word(list, ',', device->nth, word, sizeof word))
                dress(device, word);
        }
    }
    if (nth_word(list, ',', device_count, word, sizeof word))
        refuse("MOTLEY_GUISE", word, "has no device to play it");
}

struct disguised *guise_of_device(cl_device_id id)
{
    static struct disguised stranger = {.nth = NOBODY}; /* a sub-device: as it is */
    size_t i;

    pthread_once(&once, find_devices);
    for (i = 0; i < device_count; i++)
        if (devices[i].id == id)
            return &devices[i];
    return &stranger;
}

struct disguised *guise_of_context(cl_context context)
{
    cl_device_id id[MOST] = {NULL};

    guise_below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof id, id, NULL);
    return guise_of_device(id[0]);
}

struct disguised *guise_of_queue(cl_command_queue queue)
{
    cl_device_id id = NULL;

    guise_below->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    return guise_of_device(id);
}

/* ---- platforms ---- */

static struct stage_platform *ours(cl_platform_id platform)
{
    size_t i;

    pthread_once(&once, find_devices);
    for (i = 0; i < platform_count; i++)
        if ((void *)platform == (void *)&platforms[i])
            return &platforms[i];
    return NULL;
}

static cl_platform_id real_of(cl_platform_id platform)
{
    const struct stage_platform *mine = ours(platform);

    return mine ? mine->real : platform;
}

/* A real platform all of whose devices play somewhere else is not shown. */
static bool shown(cl_platform_id real)
{
    size_t i, has = 0, left = 0;

    for (i = 0; i < device_count; i++)
        if (devices[i].real == real) {
            has++;
            left += devices[i].card == NULL;
        }
    return has == 0 || left > 0;
}

static cl_int CL_API_CALL platform_ids(cl_uint capacity, cl_platform_id *list, cl_uint *count)
{
    cl_platform_id all[2 * MOST];
    cl_uint n = 0, i;

    pthread_once(&once, find_devices);
    if (platform_count == 0)
        return guise_below->clGetPlatformIDs(capacity, list, count);
    for (i = 0; i < platform_count; i++)
        all[n++] = (cl_platform_id)(void *)&platforms[i];
    for (i = 0; i < real_count && i < MOST; i++)
        if (shown(all_real[i]))
            all[n++] = all_real[i];
    for (i = 0; list && i < n && i < capacity; i++)
        list[i] = all[i];
    if (count)
        *count = n;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what,
                                        size_t bytes, void *value, size_t *bytes_ret)
{
    const struct stage_platform *mine = ours(platform);
    const char *text = NULL;

    if (mine && what == CL_PLATFORM_NAME)
        text = mine->name;
    else if (mine && what == CL_PLATFORM_VENDOR)
        text = mine->card->vendor;
    else if (mine && what == CL_PLATFORM_VERSION)
        text = mine->card->platform_version;
    if (text)
        return guise_answer(text, strlen(text) + 1, bytes, value, bytes_ret);
    return guise_below->clGetPlatformInfo(real_of(platform), what, bytes, value, bytes_ret);
}

static cl_device_type type_of(const struct disguised *device)
{
    cl_device_type type = CL_DEVICE_TYPE_GPU;

    if (!device->card)
        guise_below->clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type;
}

static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                     cl_device_id *list, cl_uint *count)
{
    const struct stage_platform *mine = ours(platform);
    cl_uint n = 0;
    size_t i;

    if (platform_count == 0)
        return guise_below->clGetDeviceIDs(platform, type, capacity, list, count);
    for (i = 0; i < device_count; i++) {
        if (devices[i].platform != mine || devices[i].real != real_of(platform) ||
            !(type_of(&devices[i]) & type || (type & CL_DEVICE_TYPE_DEFAULT && n == 0)))
            continue;
        if (list && n < capacity)
            list[n] = devices[i].id;
        n++;
    }
    if (count)
        *count = n;
    return n > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_context CL_API_CALL create_context(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *list,
    void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *), void *user, cl_int *error)
{
    cl_context_properties own[32] = {0};
    size_t i;

    for (i = 0; properties && properties[i] && i + 2 < 32; i += 2) {
        own[i] = properties[i];
        own[i + 1] = properties[i + 1];
        if (own[i] == CL_CONTEXT_PLATFORM)
            own[i + 1] = (cl_context_properties)real_of((cl_platform_id)own[i + 1]);
    }
    return guise_below->clCreateContext(properties ? own : NULL, count, list, tell, user, error);
}

/* ---- what a device says ---- */

enum kind { TEXT, VALUE4, VALUE8, SIZE, SIZES };
static const size_t kind_bytes[] = {0, sizeof(cl_uint), sizeof(cl_ulong), sizeof(size_t),
                                    3 * sizeof(size_t)};
#define AT(field) offsetof(struct card, field)

static const struct {
    cl_device_info what;
    enum kind kind;
    size_t at;
} told[] = {
    {CL_DEVICE_NAME, TEXT, AT(name)},
    {0x4038, TEXT, AT(board)}, /* CL_DEVICE_BOARD_NAME_AMD */
    {CL_DEVICE_VENDOR, TEXT, AT(vendor)},
    {CL_DEVICE_VERSION, TEXT, AT(version)},
    {CL_DEVICE_OPENCL_C_VERSION, TEXT, AT(c_version)},
    {CL_DEVICE_EXTENSIONS, TEXT, AT(extensions)},
    {CL_DEVICE_VENDOR_ID, VALUE4, AT(vendor_id)},
    {CL_DEVICE_MAX_COMPUTE_UNITS, VALUE4, AT(units)},
    {CL_DEVICE_MAX_CLOCK_FREQUENCY, VALUE4, AT(clock_mhz)},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, VALUE4, AT(align_bits)},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, VALUE4, AT(width)},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, VALUE4, AT(width)},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, SIZE, AT(group)},
    {CL_DEVICE_MAX_WORK_ITEM_SIZES, SIZES, AT(items)},
    {CL_DEVICE_LOCAL_MEM_SIZE, VALUE8, AT(local)},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, VALUE4, AT(unified)},
};

struct answer {
    unsigned char value[32];
    size_t bytes;
};
#define ANSWER(answer, type, ...)                                                                  \
    (memcpy((answer)->value, (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__})),    \
     (answer)->bytes = sizeof((const type[]){__VA_ARGS__}))

static void tell_pci(const struct disguised *device, cl_device_info what, struct answer *out)
{
    const struct card *card = device->card;

    if (card->way == PCI_KHR && what == 0x410F)
        ANSWER(out, cl_uint, 0, device->bus, card->slot, 0);
    else if (card->way == PCI_NVIDIA && what == 0x4008)
        ANSWER(out, cl_uint, device->bus);
    else if (card->way == PCI_NVIDIA && what == 0x4009)
        ANSWER(out, cl_uint, card->slot << 3);
    else if (card->way == PCI_NVIDIA && what == 0x400A)
        ANSWER(out, cl_uint, 0);
    else if (card->way == PCI_AMD && what == 0x4037) /* type 1, then 17 unused bytes */
        ANSWER(out, unsigned char, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
               (unsigned char)device->bus, (unsigned char)card->slot, 0);
}

/* $MOTLEY_ILL_WILL may shrink the memory, memory_mb=64: the largest allocation is then a quarter.
 */
static cl_ulong memory_of(const struct disguised *device)
{
    const double mb = ill_will("memory_mb", device->nth);

    return mb > 0 ? (cl_ulong)(mb * 1048576) : device->card->memory;
}

static cl_ulong largest_of(const struct disguised *device)
{
    const cl_ulong quarter = memory_of(device) / 4;

    return ill_will("memory_mb", device->nth) > 0 ? quarter : device->card->largest;
}

static void tell_own(const struct disguised *device, cl_device_info what, struct answer *out)
{
    switch (what) {
    case CL_DEVICE_TYPE:
        ANSWER(out, cl_device_type, CL_DEVICE_TYPE_GPU);
        break;
    case CL_DEVICE_PLATFORM:
        ANSWER(out, cl_platform_id, (cl_platform_id)(void *)device->platform);
        break;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        ANSWER(out, cl_ulong, memory_of(device));
        break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        ANSWER(out, cl_ulong, largest_of(device));
        break;
    case CL_DEVICE_LOCAL_MEM_TYPE:
        ANSWER(out, cl_device_local_mem_type, CL_LOCAL);
        break;
    case CL_DEVICE_SINGLE_FP_CONFIG: /* as on most: nothing promised of / and sqrt, no denormals */
        ANSWER(out, cl_device_fp_config, CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA);
        break;
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        if (!strstr(device->card->extensions, "cl_khr_fp64"))
            ANSWER(out, cl_device_fp_config, 0);
        break;
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
        ANSWER(out, cl_uint, 0);
        break;
    case CL_DEVICE_PARTITION_PROPERTIES:
        ANSWER(out, cl_device_partition_property, 0);
        break;
    case 0x4000: /* NVIDIA's compute capability, major and minor; CLBlast asks */
    case 0x4001:
        if (device->card->way == PCI_NVIDIA)
            ANSWER(out, cl_uint, what == 0x4000 ? 8 : 6);
        break;
    default:
        tell_pci(device, what, out);
    }
}

static bool vendors_query(cl_device_info what)
{
    return (what >= 0x4000 && what < 0x4200) || what == 0x106A;
}

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info what, size_t bytes,
                                      void *value, size_t *bytes_ret)
{
    const struct disguised *device = guise_of_device(id);
    const struct card *card = device->card;
    struct answer answer = {{0}, 0};
    size_t i;

    for (i = 0; card && i < sizeof told / sizeof *told; i++) {
        const void *at = (const char *)card + told[i].at;
        const char *text;

        if (told[i].what != what)
            continue;
        if (told[i].kind != TEXT)
            return guise_answer(at, kind_bytes[told[i].kind], bytes, value, bytes_ret);
        memcpy(&text, at, sizeof text);
        if (text)
            return guise_answer(text, strlen(text) + 1, bytes, value, bytes_ret);
    }
    if (card && what == CL_DRIVER_VERSION)
        return guise_answer(device->driver, strlen(device->driver) + 1, bytes, value, bytes_ret);
    if (card)
        tell_own(device, what, &answer);
    if (answer.bytes > 0)
        return guise_answer(answer.value, answer.bytes, bytes, value, bytes_ret);
    if (card && vendors_query(what)) /* another vendor's */
        return CL_INVALID_VALUE;
    return guise_below->clGetDeviceInfo(id, what, bytes, value, bytes_ret);
}

static cl_int CL_API_CALL work_group_info(cl_kernel kernel, cl_device_id id,
                                          cl_kernel_work_group_info what, size_t bytes, void *value,
                                          size_t *bytes_ret)
{
    const struct card *card = guise_of_device(id)->card;
    size_t real = 0;
    cl_int error;

    if (card && what == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)
        return guise_answer(&card->wave, sizeof card->wave, bytes, value, bytes_ret);
    if (!card || what != CL_KERNEL_WORK_GROUP_SIZE)
        return guise_below->clGetKernelWorkGroupInfo(kernel, id, what, bytes, value, bytes_ret);
    error = guise_below->clGetKernelWorkGroupInfo(kernel, id, what, sizeof real, &real, NULL);
    if (error)
        return error;
    if (real > card->group)
        real = card->group;
    return guise_answer(&real, sizeof real, bytes, value, bytes_ret);
}

/* ---- what a device refuses ---- */

static cl_int CL_API_CALL create_sub_devices(cl_device_id id,
                                             const cl_device_partition_property *how,
                                             cl_uint capacity, cl_device_id *list, cl_uint *count)
{
    if (guise_of_device(id)->card)
        return CL_INVALID_VALUE;
    return guise_below->clCreateSubDevices(id, how, capacity, list, count);
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *info,
                                            cl_int *error)
{
    const cl_buffer_region *region = info;
    const struct card *card;
    cl_context context = NULL;

    guise_below->clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    card = guise_of_context(context)->card;
    if (card && region && region->origin % (card->align_bits / 8)) {
        if (error)
            *error = CL_MISALIGNED_SUB_BUFFER_OFFSET;
        return NULL;
    }
    return guise_below->clCreateSubBuffer(buffer, flags, type, info, error);
}

struct held {
    struct disguised *device;
    size_t bytes;
};

static void CL_CALLBACK give_back(cl_mem mem, void *user)
{
    struct held *held = user;

    (void)mem;
    atomic_fetch_sub(&held->device->live, held->bytes);
    free(held);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *error)
{
    struct disguised *device = guise_of_context(context);
    struct held *held;
    cl_int refused = CL_SUCCESS;
    cl_mem mem;

    if (!device->card)
        return guise_below->clCreateBuffer(context, flags, bytes, host, error);
    if (bytes > largest_of(device))
        refused = CL_INVALID_BUFFER_SIZE;
    else if (bytes > memory_of(device) - atomic_load(&device->live))
        refused = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (error)
        *error = refused;
    if (refused)
        return NULL;
    mem = guise_below->clCreateBuffer(context, flags, bytes, host, error);
    held = mem ? malloc(sizeof *held) : NULL;
    if (held) {
        *held = (struct held){device, bytes};
        atomic_fetch_add(&device->live, bytes);
        guise_below->clSetMemObjectDestructorCallback(mem, give_back, held);
    }
    return mem;
}

static cl_int check_group(const struct card *card, cl_uint dims, const size_t *global,
                          const size_t *local)
{
    size_t items = 1;
    cl_uint d;

    for (d = 0; local && d < dims; d++) {
        if (local[d] > card->items[d])
            return CL_INVALID_WORK_ITEM_SIZE;
        if (global[d] % local[d]) /* OpenCL 1.2: no uneven groups */
            return CL_INVALID_WORK_GROUP_SIZE;
        items *= local[d];
    }
    return items > card->group ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                         const size_t *offset, const size_t *global,
                                         const size_t *local, cl_uint waits, const cl_event *list,
                                         cl_event *event)
{
    const struct disguised *device = guise_of_queue(queue);
    cl_ulong bytes = 0;
    cl_int error = CL_SUCCESS;

    if (device->card) {
        error = check_group(device->card, dims, global, local);
        guise_below->clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_LOCAL_MEM_SIZE,
                                              sizeof bytes, &bytes, NULL);
        if (!error && bytes > device->card->local)
            error = CL_OUT_OF_RESOURCES;
    }
    return error ? error
                 : guise_below->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                                       waits, list, event);
}

void cards_hook(cl_icd_dispatch *table)
{
    table->clGetPlatformIDs = platform_ids;
    table->clGetPlatformInfo = platform_info;
    table->clGetDeviceIDs = device_ids;
    table->clGetDeviceInfo = device_info;
    table->clCreateContext = create_context;
    table->clGetKernelWorkGroupInfo = work_group_info;
    table->clCreateSubDevices = create_sub_devices;
    table->clCreateSubBuffer = create_sub_buffer;
    table->clCreateBuffer = create_buffer;
    table->clEnqueueNDRangeKernel = enqueue_kernel;
}
