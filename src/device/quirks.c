/* quirks.c - the table of what drivers get wrong, and of whose driver to prefer. */
#include "device/quirks.h"

#include "base/text.h"

static const struct mot__quirk_row rows[] = {
    {"Oclgrind*", NULL, MOT__QUIRK_SIMULATOR,
     "it interprets each instruction to find errors, thousands of times slower than a device",
     "https://github.com/jrprice/Oclgrind"},
    {NULL, "llvmpipe*", MOT__QUIRK_SOFTWARE, "Mesa's software renderer runs on the host CPU",
     "https://docs.mesa3d.org/drivers/llvmpipe.html"},
    {NULL, "softpipe*", MOT__QUIRK_SOFTWARE, "Mesa's software renderer runs on the host CPU",
     "https://docs.mesa3d.org/drivers/llvmpipe.html"},
    {"rusticl*", "llvmpipe*", MOT__QUIRK_SCALAR,
     "vectors in private arrays come out wrong, and groups that share memory hold 32 items "
     "whatever the device says (seen with Mesa 22.3.6)",
     "https://docs.mesa3d.org/rusticl.html"},
    {"rusticl*", NULL, MOT__QUIRK_NO_SUB_DEVICES,
     "clCreateSubDevices ends the process (seen with Mesa 22.3.6)",
     "https://docs.mesa3d.org/rusticl.html"},
    {"Oclgrind*", NULL, MOT__QUIRK_NO_SUB_DEVICES, "clCreateSubDevices is refused",
     "https://github.com/jrprice/Oclgrind/issues/1"},
    {"Portable Computing Language*", NULL, MOT__QUIRK_KEEP_SUB_DEVICES,
     "its worker thread still uses a sub-device that was released, and crashes (seen with 3.1)",
     "https://github.com/pocl/pocl"},
    {"rusticl*", NULL, MOT__QUIRK_UNMAP_WAITS,
     "a mapping that was queued and not made yet is not known (seen with Mesa 22.3.6)",
     "https://docs.mesa3d.org/rusticl.html"},
    /* Every other driver is taken to be lost, as Intel's is (compute-runtime#962). */
    {"Portable Computing Language*", "pthread*", MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES,
     "the host's own cores: what is refused leaves the rest as it was",
     "https://github.com/pocl/pocl"},
    {"Portable Computing Language*", "cpu*", MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES,
     "the host's own cores: what is refused leaves the rest as it was",
     "https://github.com/pocl/pocl"},
    {"Oclgrind*", NULL, MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES,
     "a simulator: what is refused leaves the rest as it was",
     "https://github.com/jrprice/Oclgrind"},
    {"Portable Computing Language*", NULL, MOT__QUIRK_KEEPS_BINARIES,
     "it compiles every kernel of a program once more when asked for its binary, and keeps what it "
     "compiled in a cache of its own (seen with 3.1)",
     "https://github.com/pocl/pocl"},
    {NULL, "*Arc*A770*", MOT__QUIRK_CLBLAST_SUSPECT,
     "CLBlast's SGEMM was wrong in its indirect kernel",
     "https://github.com/CNugteren/CLBlast/issues/533"},
    {NULL, "*HD Graphics Skylake ULT GT2*", MOT__QUIRK_CLBLAST_SUSPECT,
     "CLBlast before 1.6.3 is wrong with GEMMK=1 where MWG and NWG differ",
     "https://github.com/CNugteren/CLBlast/issues/543"},
};

/* A platform that is not here is taken for the vendor's own driver, which serves its cards best. */
static const struct {
    const char *platform;
    int rank;
} ranks[] = {{"Clover*", 0}, {"rusticl*", 1}, {"Portable Computing Language*", 2}};
#define VENDORS_OWN 3

/* Platforms that offer no device until a variable of the environment names their drivers. */
static const struct {
    const char *platform, *variable;
} wants[] = {{"rusticl*", "RUSTICL_ENABLE"}};

static bool fits(const char *pattern, const char *text)
{
    return !pattern || mot__text_match(pattern, text);
}

bool mot__quirk_has(const struct mot_device_info *info, enum mot__quirk flag, const char **reason)
{
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].flag == flag && fits(rows[i].platform, info->platform) &&
            fits(rows[i].name, info->name)) {
            if (reason)
                *reason = rows[i].reason;
            return true;
        }
    }
    return false;
}

int mot__quirk_platform_rank(const char *platform)
{
    size_t i;

    for (i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        if (mot__text_match(ranks[i].platform, platform))
            return ranks[i].rank;
    }
    return VENDORS_OWN;
}

const char *mot__quirk_wants(const char *platform)
{
    size_t i;

    for (i = 0; i < sizeof wants / sizeof *wants; i++) {
        if (mot__text_match(wants[i].platform, platform))
            return wants[i].variable;
    }
    return NULL;
}

const struct mot__quirk_row *mot__quirk_row(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}
