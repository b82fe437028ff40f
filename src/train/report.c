/* report.c - what a stranger pastes into an issue: versions, devices, drivers, findings and the
 * environment that matters. Homes and user names in paths are cut out. */
#include "train/doctor.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Of others; ours are in mot_environment. */
static const char *const variables[] = {
    "OCL_ICD_VENDORS",          "OCL_ICD_FILENAMES",   "OPENCL_LAYERS",
    "RUSTICL_ENABLE",           "RUSTICL_FEATURES",    "POCL_DEVICES",
    "POCL_MAX_PTHREAD_COUNT",   "POCL_AFFINITY",       "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",     "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION", "ZE_AFFINITY_MASK",    "NEOReadDebugKeys",
    "LD_LIBRARY_PATH",          "LD_PRELOAD",
};

static void add_system(const struct mot__machine *machine, struct mot__string *text)
{
    struct utsname name; /* its nodename stays out */

    mot__string_add(text, "motley %s\n", mot_version());
    mot__string_add(text, "system: %s\n", machine->system[0] ? machine->system : "unknown");
    if (uname(&name) >= 0)
        mot__string_add(text, "kernel: %s %s %s\n", name.sysname, name.release, name.machine);
}

static void add_device(const struct mot_device_info *info, struct mot__string *text)
{
    mot__string_add(text, "  %zu: %s (%s%s%s%s)\n", info->index, info->name,
                    mot_device_type_text(info->type), info->simulator ? ", simulator" : "",
                    info->pci[0] ? " at " : "", info->pci);
    mot__string_add(text, "     platform %s, driver %s, %s\n", info->platform, info->driver,
                    info->version);
    mot__string_add(text, "     vendor %s, %u units, %llu MiB, largest allocation %llu MiB%s\n",
                    info->vendor, (unsigned)info->units,
                    (unsigned long long)(info->memory_bytes >> 20),
                    (unsigned long long)(info->largest_bytes >> 20),
                    info->unified ? ", shares the host's memory" : "");
    if (!info->chosen)
        mot__string_add(text, "     not taken by default: %s\n", info->reason);
}

static void add_opencl(const mot_inventory *inventory, struct mot__string *text)
{
    const char *notes = mot_inventory_notes(inventory);
    const size_t count = mot_inventory_count(inventory);
    size_t i;

    mot__string_add(text, "OpenCL devices: %zu\n", count);
    for (i = 0; i < count; i++)
        add_device(mot_inventory_get(inventory, i), text);
    while (*notes) {
        const size_t length = strcspn(notes, "\n");

        mot__string_add(text, "  note: %.*s\n", (int)length, notes);
        notes += length + (notes[length] == '\n');
    }
}

static void add_drivers(const struct mot__machine *machine, struct mot__string *text)
{
    size_t i;

    mot__string_add(text, "drivers in /etc/OpenCL/vendors: %zu\n", machine->icds);
    for (i = 0; i < machine->icds; i++)
        mot__string_add(text, "  %s: %s\n", machine->icd[i].file, machine->icd[i].library);
}

static void add_findings(const struct mot_finding *finding, size_t count, struct mot__string *text)
{
    size_t i;

    mot__string_add(text, "GPUs in the machine:\n");
    for (i = 0; i < count; i++) {
        mot__string_add(text, "  %s%s\n", finding[i].gpu,
                        finding[i].seen ? ": OpenCL sees it" : "");
        if (finding[i].problem[0])
            mot__string_add(text, "     problem: %s\n", finding[i].problem);
        if (finding[i].cure[0])
            mot__string_add(text, "     cure: %s\n", finding[i].cure);
    }
}

static bool add_variable(const char *name, struct mot__string *text)
{
    const char *value = getenv(name);

    if (value)
        mot__string_add(text, "  %s=%s\n", name, value);
    return value != NULL;
}

static void add_environment(struct mot__string *text)
{
    const char *ours;
    size_t i, set = 0;

    mot__string_add(text, "environment:\n");
    for (i = 0; i < sizeof variables / sizeof *variables; i++)
        set += add_variable(variables[i], text);
    for (i = 0; (ours = mot_environment(i, NULL)); i++)
        set += add_variable(ours, text);
    if (set == 0)
        mot__string_add(text, "  nothing set that matters\n");
}

/* Does a path's part end here? */
static bool part_ends(char c)
{
    return c == '\0' || strchr("/:;,\n \"'", c) != NULL;
}

/* Copy with every home written as ~ and the user's name inside a path as "user". */
static void add_discreet(const char *from, struct mot__string *to)
{
    const char *home = getenv("HOME"), *user = getenv("USER");
    const size_t home_bytes = home && home[0] == '/' && home[1] ? strlen(home) : 0;
    const size_t user_bytes = user ? strlen(user) : 0;
    char before = '\n'; /* a home is one only where a path begins */

    while (*from) {
        const size_t other =
            strncmp(from, "/home/", 6) == 0 ? 6 + strcspn(from + 6, "/:;,\n \"'") : 0;

        if (home_bytes && strchr("=:;, \n\"'", before) && strncmp(from, home, home_bytes) == 0 &&
            part_ends(from[home_bytes])) {
            mot__string_add(to, "~");
            from += home_bytes;
        } else if (other > 6) { /* somebody else's home tells a name too */
            mot__string_add(to, "/home/user");
            from += other;
        } else if (user_bytes && *from == '/' && strncmp(from + 1, user, user_bytes) == 0 &&
                   part_ends(from[1 + user_bytes])) {
            mot__string_add(to, "/user");
            from += 1 + user_bytes;
        } else {
            mot__string_add(to, "%c", *from++);
        }
        before = from[-1];
    }
}

mot_status mot__report(const struct mot__machine *machine, const mot_inventory *inventory,
                       const struct mot_finding *finding, size_t count, char **out)
{
    struct mot__string raw = {0}, discreet = {0};
    mot_status status = MOT_OK;
    char *text = NULL;

    add_system(machine, &raw);
    add_opencl(inventory, &raw);
    add_drivers(machine, &raw);
    add_findings(finding, count, &raw);
    add_environment(&raw);
    MOT_TRY(mot__string_take(&raw, &text));
    add_discreet(text, &discreet);
    MOT_TRY(mot__string_take(&discreet, out));
done:
    mot__string_clear(&raw);
    mot__string_clear(&discreet);
    free(text);
    return status;
}
