/* probe.c - what OpenCL tells of one device, made comparable across vendors. */
#include "device/entries.h"
#include "device/quirks.h"

#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Extensions' numbers and layouts; not every set of headers has them. */
#define DEVICE_UUID_KHR 0x106A
#define DEVICE_PCI_BUS_INFO_KHR 0x410F
#define DEVICE_PCI_BUS_ID_NV 0x4008
#define DEVICE_PCI_SLOT_ID_NV 0x4009
#define DEVICE_PCI_DOMAIN_ID_NV 0x400A
#define DEVICE_TOPOLOGY_AMD 0x4037
#define DEVICE_BOARD_NAME_AMD 0x4038

struct pci {
    cl_uint domain, bus, device, function; /* the order of cl_device_pci_bus_info_khr */
};

/* Printable, one blank between words, none around: drivers pad their names. */
static void tidy(const char *from, char *out, size_t bytes)
{
    size_t used = 0;

    for (; *from && used + 1 < bytes; from++) {
        const bool blank = (unsigned char)*from <= ' ' || *from == 127;

        if (!blank)
            out[used++] = *from;
        else if (used > 0 && out[used - 1] != ' ')
            out[used++] = ' ';
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

static void device_text(cl_device_id device, cl_device_info what, char *out, size_t bytes)
{
    size_t length = 0;
    char *text = NULL;

    out[0] = '\0';
    if (clGetDeviceInfo(device, what, 0, NULL, &length) == CL_SUCCESS && length > 0)
        text = calloc(1, length + 1);
    if (text && clGetDeviceInfo(device, what, length, text, NULL) == CL_SUCCESS)
        tidy(text, out, bytes);
    free(text);
}

/* A property of exactly this size; false leaves out as it is. */
static bool device_value(cl_device_id device, cl_device_info what, void *out, size_t bytes)
{
    unsigned char value[64];
    size_t length = 0;

    if (bytes > sizeof value ||
        clGetDeviceInfo(device, what, sizeof value, value, &length) != CL_SUCCESS ||
        length != bytes)
        return false;
    memcpy(out, value, bytes);
    return true;
}

static bool pci_of_amd(cl_device_id device, struct pci *pci)
{
    unsigned char topology[24]; /* u32 type (1: PCIe), 17 unused, bus, device, function */
    cl_uint type;

    if (!device_value(device, DEVICE_TOPOLOGY_AMD, topology, sizeof topology))
        return false;
    memcpy(&type, topology, sizeof type);
    *pci = (struct pci){0, topology[21], topology[22], topology[23]};
    return type == 1;
}

static bool pci_of_nvidia(cl_device_id device, struct pci *pci)
{
    cl_uint slot = 0; /* device << 3 | function */

    *pci = (struct pci){0};
    if (!device_value(device, DEVICE_PCI_BUS_ID_NV, &pci->bus, sizeof pci->bus) ||
        !device_value(device, DEVICE_PCI_SLOT_ID_NV, &slot, sizeof slot))
        return false;
    device_value(device, DEVICE_PCI_DOMAIN_ID_NV, &pci->domain, sizeof pci->domain);
    pci->device = slot >> 3;
    pci->function = slot & 7;
    return true;
}

/* "03:00.0", with the domain in front where it is not 0. An address of zeros is the host bridge:
 * the driver did not know. */
static void read_pci(cl_device_id device, char out[16])
{
    struct pci pci = {0};

    out[0] = '\0';
    if (!device_value(device, DEVICE_PCI_BUS_INFO_KHR, &pci, sizeof pci) &&
        !pci_of_amd(device, &pci) && !pci_of_nvidia(device, &pci))
        return;
    if (pci.domain > 0xffff || pci.bus > 0xff || pci.device > 0x1f || pci.function > 7)
        return;
    if (pci.domain > 0)
        snprintf(out, 16, "%04x:%02x:%02x.%x", pci.domain & 0xffff, pci.bus & 0xff,
                 pci.device & 0x1f, pci.function & 7);
    else if (pci.bus || pci.device || pci.function)
        snprintf(out, 16, "%02x:%02x.%x", pci.bus & 0xff, pci.device & 0x1f, pci.function & 7);
}

static void read_uuid(cl_device_id device, char out[40])
{
    unsigned char uuid[16];
    unsigned any = 0;
    size_t i;

    out[0] = '\0';
    if (!device_value(device, DEVICE_UUID_KHR, uuid, sizeof uuid))
        return;
    for (i = 0; i < sizeof uuid; i++) {
        any |= uuid[i];
        snprintf(out + 2 * i, 3, "%02x", uuid[i]);
    }
    if (!any)
        out[0] = '\0';
}

/* ROCm calls a card by its instruction set ("gfx1030"): the board's name in front. */
static void read_name(cl_device_id device, char *out, size_t bytes)
{
    char name[64], board[60];

    device_text(device, CL_DEVICE_NAME, out, bytes);
    device_text(device, DEVICE_BOARD_NAME_AMD, board, sizeof board);
    if (board[0] == '\0' || strcmp(board, out) == 0 || strlen(out) >= sizeof name)
        return;
    memcpy(name, out, strlen(out) + 1);
    snprintf(out, bytes, "%s (%s)", board, name);
}

static enum mot_device_type type_of(cl_device_id device, const struct mot_device_info *info)
{
    cl_device_type type = 0;

    device_value(device, CL_DEVICE_TYPE, &type, sizeof type);
    if (info->simulator)
        return MOT_DEVICE_OTHER;
    if (mot__quirk_has(info, MOT__QUIRK_SOFTWARE, NULL))
        return MOT_DEVICE_CPU;
    if (type & CL_DEVICE_TYPE_GPU)
        return info->unified ? MOT_DEVICE_IGPU : MOT_DEVICE_GPU;
    return type & CL_DEVICE_TYPE_CPU ? MOT_DEVICE_CPU : MOT_DEVICE_OTHER;
}

/* How many equal parts it can be cut into. */
static uint32_t max_sub_of(cl_device_id device, const struct mot_device_info *info)
{
    cl_device_partition_property kinds[16] = {0};
    cl_uint most = 0;
    size_t bytes = 0, i;

    if (mot__quirk_has(info, MOT__QUIRK_NO_SUB_DEVICES, NULL) ||
        !device_value(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, &most, sizeof most) ||
        clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, sizeof kinds, kinds, &bytes) !=
            CL_SUCCESS)
        return 0;
    for (i = 0; i < bytes / sizeof *kinds; i++) {
        if (kinds[i] == CL_DEVICE_PARTITION_EQUALLY)
            return most < info->units ? most : info->units;
    }
    return 0;
}

static void read_sizes(cl_device_id device, struct mot_device_info *info)
{
    cl_bool unified = CL_FALSE;
    cl_uint units = 0;
    cl_ulong bytes = 0;
    size_t group = 0;

    device_value(device, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    info->units = units;
    if (device_value(device, CL_DEVICE_GLOBAL_MEM_SIZE, &bytes, sizeof bytes))
        info->memory_bytes = bytes;
    if (device_value(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &bytes, sizeof bytes))
        info->largest_bytes = bytes;
    if (device_value(device, CL_DEVICE_LOCAL_MEM_SIZE, &bytes, sizeof bytes))
        info->local_bytes = bytes;
    device_value(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group);
    info->max_group = group < UINT32_MAX ? (uint32_t)group : UINT32_MAX;
    device_value(device, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
    info->unified = unified != CL_FALSE;
}

/* The kernels are OpenCL C 1.2 and are compiled on the machine they run on. */
static bool usable(cl_device_id device, const struct mot_device_info *info, char *why, size_t bytes)
{
    cl_bool available = CL_TRUE, compiler = CL_TRUE;
    unsigned major, minor;

    device_value(device, CL_DEVICE_AVAILABLE, &available, sizeof available);
    device_value(device, CL_DEVICE_COMPILER_AVAILABLE, &compiler, sizeof compiler);
    if (!available)
        snprintf(why, bytes, "its driver says it is not available");
    else if (!compiler)
        snprintf(why, bytes, "its driver has no compiler");
    else if (sscanf(info->version, "OpenCL %u.%u", &major, &minor) == 2 &&
             major * 100 + minor < 102)
        snprintf(why, bytes, "it offers OpenCL %u.%u and 1.2 is needed", major, minor);
    else if (info->memory_bytes == 0 || info->units == 0)
        snprintf(why, bytes, "its driver tells no size of it");
    else
        return true;
    return false;
}

bool mot__probe(void *device, const char *platform, struct mot_device_info *info, char *why,
                size_t bytes)
{
    memset(info, 0, sizeof *info);
    info->same_as = -1;
    tidy(platform, info->platform, sizeof info->platform);
    read_name(device, info->name, sizeof info->name);
    device_text(device, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    device_text(device, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    device_text(device, CL_DEVICE_VERSION, info->version, sizeof info->version);
    read_pci(device, info->pci);
    read_uuid(device, info->uuid);
    read_sizes(device, info);
    info->simulator = mot__quirk_has(info, MOT__QUIRK_SIMULATOR, NULL);
    info->type = type_of(device, info);
    info->device_class = info->type == MOT_DEVICE_CPU ? MOT_CLASS_CPU : MOT_CLASS_GPU;
    info->max_sub = max_sub_of(device, info);
    return usable(device, info, why, bytes);
}

void mot__probe_platform_name(void *platform, char *out, size_t bytes)
{
    size_t length = 0;
    char *text = NULL;

    out[0] = '\0';
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, NULL, &length) == CL_SUCCESS && length > 0)
        text = calloc(1, length + 1);
    if (text && clGetPlatformInfo(platform, CL_PLATFORM_NAME, length, text, NULL) == CL_SUCCESS)
        tidy(text, out, bytes);
    free(text);
}
