/* machine.c - sysfs, device nodes, groups, .icd files and os-release, read below a root folder. */
#include "train/machine.h"

#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 1024

/* ---- small files and folders ---- */

/* The first line, without its end; "" where there is none. */
static void read_line(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "r");

    out[0] = '\0';
    if (!file)
        return;
    if (fgets(out, (int)bytes, file))
        out[strcspn(out, "\r\n")] = '\0';
    else
        out[0] = '\0';
    fclose(file);
}

/* The value of KEY=value in a file of such lines, without quotes. */
static void read_key(const char *path, const char *key, char *out, size_t bytes)
{
    const size_t length = strlen(key);
    char line[512];
    FILE *file = fopen(path, "r");

    out[0] = '\0';
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        char *value = line + length + 1;

        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        value[strcspn(value, "\r\n")] = '\0';
        if (value[0] == '"' || value[0] == '\'') {
            value++;
            value[strcspn(value, "\"'")] = '\0';
        }
        snprintf(out, bytes, "%.*s", (int)bytes - 1, value);
        break;
    }
    fclose(file);
}

static unsigned read_hex(const char *path)
{
    char line[32];

    read_line(path, line, sizeof line);
    return (unsigned)strtoul(line, NULL, 16);
}

static int by_name(const void *a, const void *b)
{
    const char *x = a, *y = b;
    const size_t long_x = strlen(x), long_y = strlen(y); /* card2 before card10 */

    return long_x != long_y ? (long_x < long_y ? -1 : 1) : strcmp(x, y);
}

/* Names in a folder that fit the pattern, sorted; at most capacity. */
static size_t list(const char *path, const char *pattern, char (*out)[64], size_t capacity)
{
    const struct dirent *file;
    size_t count = 0;
    DIR *dir = opendir(path);

    if (!dir)
        return 0;
    while (count < capacity && (file = readdir(dir))) {
        if (file->d_name[0] != '.' && strlen(file->d_name) < 64 &&
            mot__text_match(pattern, file->d_name))
            snprintf(out[count++], 64, "%.63s", file->d_name);
    }
    closedir(dir);
    qsort(out, count, sizeof *out, by_name);
    return count;
}

/* ---- nodes and groups ---- */

/* /etc/group of the root: the name of the group, and whether the user is listed in it. */
static void find_group(const char *root, gid_t id, struct mot__gpu *gpu)
{
    const char *user = getenv("USER");
    char path[PATH_BYTES], line[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/etc/group", root);
    file = fopen(path, "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        char *rest = line, *name, *number, *members, *member;

        line[strcspn(line, "\r\n")] = '\0';
        name = rest;
        rest = strchr(rest, ':');
        number = rest ? strchr(rest + 1, ':') : NULL;
        members = number ? strchr(number + 1, ':') : NULL;
        if (!members || (gid_t)strtoul(number + 1, NULL, 10) != id)
            continue;
        *rest = '\0';
        snprintf(gpu->group, sizeof gpu->group, "%.31s", name);
        for (member = strtok_r(members + 1, ",", &rest); member && user;
             member = strtok_r(NULL, ",", &rest))
            gpu->group_joined |= strcmp(member, user) == 0;
        break;
    }
    fclose(file);
}

static bool may_use(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}

/* NVIDIA's own driver is entered through its own node, every other through the render node. */
static void read_node(const char *root, struct mot__gpu *gpu)
{
    const bool own = strcmp(gpu->driver, "nvidia") == 0;
    char path[PATH_BYTES];
    struct stat about;

    if (own)
        snprintf(gpu->node, sizeof gpu->node, "nvidiactl");
    snprintf(path, sizeof path, "%s/dev/%s%s", root, own ? "" : "dri/", gpu->node);
    if (gpu->node[0] == '\0' || stat(path, &about) != 0)
        return;
    gpu->state = may_use(path) ? MOT__NODE_OPEN : MOT__NODE_CLOSED;
    find_group(root, about.st_gid, gpu);
}

/* ---- GPUs ---- */

static const struct {
    unsigned id;
    enum mot__gpu_vendor vendor;
} vendors[] = {
    {0x8086, MOT__GPU_INTEL},
    {0x1002, MOT__GPU_AMD},
    {0x10de, MOT__GPU_NVIDIA},
};

/* Kernel drivers of GPUs that are no PCI devices; other cards without PCI only draw. */
static const char *const soc_drivers[] = {"panfrost", "panthor", "asahi", "msm*"};

static enum mot__gpu_vendor vendor_of(unsigned id)
{
    size_t i;

    for (i = 0; i < sizeof vendors / sizeof *vendors; i++) {
        if (vendors[i].id == id)
            return vendors[i].vendor;
    }
    return MOT__GPU_STRANGE;
}

static bool is_soc_gpu(const char *driver)
{
    size_t i;

    for (i = 0; i < sizeof soc_drivers / sizeof *soc_drivers; i++) {
        if (mot__text_match(soc_drivers[i], driver))
            return true;
    }
    return false;
}

/* vendor, device and uevent of a device's folder in sysfs. */
static void read_device(const char *dir, struct mot__gpu *gpu)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/vendor", dir);
    gpu->vendor_id = read_hex(path);
    snprintf(path, sizeof path, "%s/device", dir);
    gpu->device_id = read_hex(path);
    snprintf(path, sizeof path, "%s/uevent", dir);
    read_key(path, "DRIVER", gpu->driver, sizeof gpu->driver);
    read_key(path, "PCI_SLOT_NAME", gpu->pci, sizeof gpu->pci);
    gpu->vendor = gpu->vendor_id ? vendor_of(gpu->vendor_id) : MOT__GPU_SOC;
}

static bool known(const struct mot__machine *machine, const char *pci)
{
    size_t i;

    for (i = 0; pci[0] && i < machine->gpus; i++) {
        if (strcmp(machine->gpu[i].pci, pci) == 0)
            return true;
    }
    return false;
}

/* Cards that a kernel driver runs. */
static void read_cards(const char *root, struct mot__machine *out)
{
    char dir[PATH_BYTES], path[PATH_BYTES + 96], card[MOT__GPUS_MAX][64], node[1][64];
    size_t count, i;

    snprintf(dir, sizeof dir, "%s/sys/class/drm", root);
    count = list(dir, "card*", card, MOT__GPUS_MAX);
    for (i = 0; i < count; i++) {
        struct mot__gpu gpu = {0};

        if (card[i][4 + strspn(card[i] + 4, "0123456789")]) /* card0-HDMI-A-1 is a plug */
            continue;
        snprintf(path, sizeof path, "%s/%s/device", dir, card[i]);
        read_device(path, &gpu);
        if (gpu.vendor == MOT__GPU_SOC ? !is_soc_gpu(gpu.driver) : known(out, gpu.pci))
            continue;
        strcat(path, "/drm");
        if (list(path, "renderD*", node, 1))
            snprintf(gpu.node, sizeof gpu.node, "%.23s", node[0]);
        out->gpu[out->gpus++] = gpu;
    }
}

/* Display controllers on the PCI bus that no kernel driver runs, or one that makes no card. */
static void read_pci(const char *root, struct mot__machine *out)
{
    char dir[PATH_BYTES], path[PATH_BYTES + 96], slot[256][64];
    size_t count, i;

    snprintf(dir, sizeof dir, "%s/sys/bus/pci/devices", root);
    count = list(dir, "*:*:*.*", slot, 256);
    for (i = 0; i < count && out->gpus < MOT__GPUS_MAX; i++) {
        struct mot__gpu gpu = {0};

        snprintf(path, sizeof path, "%s/%s/class", dir, slot[i]);
        if (read_hex(path) >> 16 != 0x03 || known(out, slot[i]))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, slot[i]);
        read_device(path, &gpu);
        snprintf(gpu.pci, sizeof gpu.pci, "%.15s", slot[i]);
        out->gpu[out->gpus++] = gpu;
    }
}

/* Where sysfs does not tell whose a render node is, they come in the order of the cards. */
static void guess_nodes(const char *root, struct mot__machine *out)
{
    char path[PATH_BYTES], node[MOT__GPUS_MAX][64];
    size_t count, i, next = 0;

    for (i = 0; i < out->gpus; i++) {
        if (out->gpu[i].node[0])
            return;
    }
    snprintf(path, sizeof path, "%s/dev/dri", root);
    count = list(path, "renderD*", node, MOT__GPUS_MAX);
    for (i = 0; i < out->gpus && next < count; i++) {
        if (out->gpu[i].vendor != MOT__GPU_STRANGE && out->gpu[i].driver[0])
            snprintf(out->gpu[i].node, sizeof out->gpu[i].node, "%.23s", node[next++]);
    }
}

/* ---- drivers and the system ---- */

static void read_icds(const char *root, struct mot__machine *out)
{
    char dir[PATH_BYTES], path[PATH_BYTES + 96], file[MOT__ICDS_MAX][64];
    size_t count, i;

    snprintf(dir, sizeof dir, "%s/etc/OpenCL/vendors", root);
    count = list(dir, "*.icd", file, MOT__ICDS_MAX);
    for (i = 0; i < count; i++) {
        struct mot__icd *icd = &out->icd[out->icds++];

        snprintf(icd->file, sizeof icd->file, "%.63s", file[i]);
        snprintf(path, sizeof path, "%s/%s", dir, file[i]);
        read_line(path, icd->library, sizeof icd->library);
    }
}

static const struct {
    const char *id;
    enum mot__packager packager;
} packagers[] = {
    {"ubuntu", MOT__PACKAGER_UBUNTU},   {"debian", MOT__PACKAGER_APT},
    {"fedora", MOT__PACKAGER_DNF},      {"rhel", MOT__PACKAGER_DNF},
    {"arch", MOT__PACKAGER_PACMAN},     {"suse", MOT__PACKAGER_ZYPPER},
    {"opensuse", MOT__PACKAGER_ZYPPER},
};

/* ID and ID_LIKE of os-release, word by word: the first that is known. */
static void read_system(const char *root, struct mot__machine *out)
{
    char path[PATH_BYTES], id[64], like[128], words[256], *word, *rest = NULL;
    size_t i;

    snprintf(path, sizeof path, "%s/etc/os-release", root);
    read_key(path, "PRETTY_NAME", out->system, sizeof out->system);
    read_key(path, "ID", id, sizeof id);
    read_key(path, "ID_LIKE", like, sizeof like);
    snprintf(words, sizeof words, "%s %s", id, like);
    out->packager = MOT__PACKAGER_UNKNOWN;
    for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        for (i = 0; i < sizeof packagers / sizeof *packagers; i++) {
            if (strcmp(packagers[i].id, word) == 0) {
                out->packager = packagers[i].packager;
                return;
            }
        }
    }
}

void mot__machine_read(const char *root, struct mot__machine *out)
{
    char path[PATH_BYTES];
    size_t i;

    memset(out, 0, sizeof *out);
    read_cards(root, out);
    read_pci(root, out);
    guess_nodes(root, out);
    for (i = 0; i < out->gpus; i++)
        read_node(root, &out->gpu[i]);
    read_icds(root, out);
    read_system(root, out);
    snprintf(path, sizeof path, "%s/dev/kfd", root);
    out->kfd_open = access(path, F_OK) != 0 || may_use(path);
}

bool mot__machine_has_icd(const struct mot__machine *machine, const char *pattern)
{
    size_t i;

    for (i = 0; i < machine->icds; i++) {
        if (mot__text_match(pattern, machine->icd[i].file) ||
            mot__text_match(pattern, machine->icd[i].library))
            return true;
    }
    return false;
}
