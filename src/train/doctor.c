/* doctor.c - for each GPU in the machine: does OpenCL see it, why not, and the command that cures
 * it. The causes are asked in the order in which they must be cured. */
#include "train/doctor.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known of vendors ---- */

static const struct vendor {
    const char *name;
    const char *icd;     /* fits the .icd file or library of its own OpenCL driver */
    const char *gallium; /* what RUSTICL_ENABLE calls it; NULL: rusticl does not serve it */
    const char *as[2];   /* how CL_DEVICE_VENDOR spells it */
    const char *packages;
} vendors[MOT__GPU_VENDORS] = {
    [MOT__GPU_INTEL] = {"Intel", "*igdrcl*", "iris", {"*Intel*", NULL}, "intel-opencl-icd"},
    [MOT__GPU_AMD] = {"AMD",
                      "*amdocl*",
                      "radeonsi",
                      {"*AMD*", "*Advanced Micro*"},
                      "rocm-opencl-icd (AMD's archive) or mesa-opencl-icd"},
    [MOT__GPU_NVIDIA] = {"NVIDIA", "*nvidia*", NULL, {"*NVIDIA*", NULL}, "nvidia-opencl-icd"},
    [MOT__GPU_SOC] = {"GPU of the SoC", "*rusticl*", NULL, {"*", NULL}, "mesa-opencl-icd"},
    [MOT__GPU_STRANGE] = {"display", NULL, NULL, {NULL, NULL}, NULL},
};

#define RADEON " && export RUSTICL_ENABLE=radeonsi"
static const char *const install[MOT__PACKAGERS][MOT__GPU_VENDORS] = {
    [MOT__PACKAGER_APT] = {[MOT__GPU_INTEL] = "sudo apt install intel-opencl-icd",
                           [MOT__GPU_AMD] = "sudo apt install mesa-opencl-icd" RADEON,
                           [MOT__GPU_NVIDIA] = "sudo apt install nvidia-opencl-icd",
                           [MOT__GPU_SOC] = "sudo apt install mesa-opencl-icd"},
    [MOT__PACKAGER_UBUNTU] = {[MOT__GPU_INTEL] = "sudo apt install intel-opencl-icd",
                              [MOT__GPU_AMD] = "sudo apt install mesa-opencl-icd" RADEON,
                              [MOT__GPU_NVIDIA] = "sudo ubuntu-drivers install",
                              [MOT__GPU_SOC] = "sudo apt install mesa-opencl-icd"},
    [MOT__PACKAGER_DNF] = {[MOT__GPU_INTEL] = "sudo dnf install intel-compute-runtime",
                           [MOT__GPU_AMD] = "sudo dnf install rocm-opencl",
                           [MOT__GPU_NVIDIA] = "sudo dnf install xorg-x11-drv-nvidia-cuda",
                           [MOT__GPU_SOC] = "sudo dnf install mesa-libOpenCL"},
    [MOT__PACKAGER_PACMAN] = {[MOT__GPU_INTEL] = "sudo pacman -S intel-compute-runtime",
                              [MOT__GPU_AMD] = "sudo pacman -S rocm-opencl-runtime",
                              [MOT__GPU_NVIDIA] = "sudo pacman -S opencl-nvidia",
                              [MOT__GPU_SOC] = "sudo pacman -S opencl-mesa"},
    [MOT__PACKAGER_ZYPPER] = {[MOT__GPU_INTEL] = "sudo zypper install intel-opencl",
                              [MOT__GPU_AMD] = "sudo zypper install Mesa-libRusticlOpenCL" RADEON,
                              [MOT__GPU_NVIDIA] = "sudo zypper install nvidia-compute-G06",
                              [MOT__GPU_SOC] = "sudo zypper install Mesa-libRusticlOpenCL"},
    [MOT__PACKAGER_UNKNOWN] = {[MOT__GPU_INTEL] = "install Intel's compute runtime for OpenCL",
                               [MOT__GPU_AMD] = "install ROCm's OpenCL, or Mesa's rusticl" RADEON,
                               [MOT__GPU_NVIDIA] = "install NVIDIA's driver with its OpenCL part",
                               [MOT__GPU_SOC] = "install Mesa's rusticl"},
};

static const char *const install_nvidia_kernel[MOT__PACKAGERS] = {
    [MOT__PACKAGER_APT] = "sudo apt install nvidia-driver nvidia-opencl-icd",
    [MOT__PACKAGER_UBUNTU] = "sudo ubuntu-drivers install",
    [MOT__PACKAGER_DNF] = "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda",
    [MOT__PACKAGER_PACMAN] = "sudo pacman -S nvidia opencl-nvidia",
    [MOT__PACKAGER_ZYPPER] = "sudo zypper install nvidia-open-driver-G06-signed-kmp-meta "
                             "nvidia-compute-G06",
    [MOT__PACKAGER_UNKNOWN] = "install NVIDIA's driver with its OpenCL part",
};

static const char *const install_cpu[MOT__PACKAGERS] = {
    [MOT__PACKAGER_APT] = "sudo apt install pocl-opencl-icd",
    [MOT__PACKAGER_UBUNTU] = "sudo apt install pocl-opencl-icd",
    [MOT__PACKAGER_DNF] = "sudo dnf install pocl",
    [MOT__PACKAGER_PACMAN] = "sudo pacman -S pocl",
    [MOT__PACKAGER_ZYPPER] = "sudo zypper install pocl",
    [MOT__PACKAGER_UNKNOWN] = "install PoCL, which makes a device of the CPU",
};

/* Intel's device numbers by their high byte. Those before Tiger Lake (generations 8, 9, 11) left
 * the driver after 24.35: github.com/intel/compute-runtime/blob/master/LEGACY_PLATFORMS.md. Those
 * before Broadwell were never served by it. */
static const unsigned char intel_legacy[] = {0x16, 0x19, 0x1a, 0x22, 0x31, 0x3e, 0x45,
                                             0x4e, 0x59, 0x5a, 0x87, 0x8a, 0x9b};
static const unsigned char intel_too_old[] = {0x00, 0x01, 0x04, 0x0a, 0x0c, 0x0d,
                                              0x0f, 0x27, 0x29, 0x2a, 0x2e, 0xa0};

static bool high_byte_in(unsigned id, const unsigned char *bytes, size_t count)
{
    return memchr(bytes, (int)(id >> 8 & 0xff), count) != NULL;
}

/* ---- causes ---- */

struct patient {
    const struct mot__gpu *gpu;
    const struct mot__machine *machine;
    const struct vendor *vendor;
    struct mot_finding *finding;
};

#define PROBLEM(patient, ...)                                                                      \
    snprintf((patient)->finding->problem, sizeof(patient)->finding->problem, __VA_ARGS__)
#define CURE(patient, ...)                                                                         \
    snprintf((patient)->finding->cure, sizeof(patient)->finding->cure, __VA_ARGS__)

static const char *install_for(const struct patient *patient)
{
    return install[patient->machine->packager][patient->gpu->vendor];
}

static bool is_strange(const struct patient *patient)
{
    if (patient->gpu->vendor != MOT__GPU_STRANGE)
        return false;
    PROBLEM(patient, "no OpenCL driver is known for its vendor; a card that only draws");
    return true;
}

static bool is_too_old(const struct patient *patient)
{
    if (patient->gpu->vendor != MOT__GPU_INTEL ||
        !high_byte_in(patient->gpu->device_id, intel_too_old, sizeof intel_too_old))
        return false;
    PROBLEM(patient, "Intel GPUs before Broadwell have no OpenCL 1.2 driver any more; the CPU can "
                     "be used instead");
    if (!mot__machine_has_icd(patient->machine, "*pocl*"))
        CURE(patient, "%s", install_cpu[patient->machine->packager]);
    return true;
}

static bool lacks_kernel_driver(const struct patient *patient)
{
    if (patient->gpu->driver[0] != '\0' && strcmp(patient->gpu->driver, "vfio-pci") != 0)
        return false;
    if (patient->gpu->driver[0] != '\0')
        PROBLEM(patient, "it is set aside for virtual machines (kernel driver vfio-pci)");
    else
        PROBLEM(patient, "no kernel driver runs it");
    if (patient->gpu->driver[0] == '\0' && patient->gpu->vendor == MOT__GPU_NVIDIA)
        CURE(patient, "%s", install_nvidia_kernel[patient->machine->packager]);
    else if (patient->gpu->driver[0] == '\0')
        CURE(patient, "sudo dmesg | grep -i -e drm -e firmware");
    return true;
}

static bool has_other_kernel_driver(const struct patient *patient)
{
    if (patient->gpu->vendor != MOT__GPU_NVIDIA || strcmp(patient->gpu->driver, "nvidia") == 0)
        return false;
    PROBLEM(patient, "the kernel driver %s runs it; OpenCL needs NVIDIA's own (restart afterwards)",
            patient->gpu->driver);
    CURE(patient, "%s", install_nvidia_kernel[patient->machine->packager]);
    return true;
}

static bool rusticl_serves(const struct patient *patient)
{
    return patient->gpu->vendor == MOT__GPU_AMD &&
           mot__machine_has_icd(patient->machine, "*rusticl*");
}

static bool lacks_driver(const struct patient *patient)
{
    if (mot__machine_has_icd(patient->machine, patient->vendor->icd) || rusticl_serves(patient))
        return false;
    PROBLEM(patient, "no OpenCL driver is installed for it: %s", patient->vendor->packages);
    CURE(patient, "%s", install_for(patient));
    return true;
}

static bool lacks_node(const struct patient *patient)
{
    const bool nvidia = patient->gpu->vendor == MOT__GPU_NVIDIA;

    if (patient->gpu->state != MOT__NODE_MISSING)
        return false;
    PROBLEM(patient, "its device node /dev/%s%s is not there; a container must be given it",
            nvidia ? "" : "dri/", patient->gpu->node[0] ? patient->gpu->node : "renderD*");
    CURE(patient, "%s", nvidia ? "docker run --gpus all ..." : "docker run --device /dev/dri ...");
    return true;
}

static bool may_not_enter(const struct patient *patient)
{
    const struct mot__gpu *gpu = patient->gpu;
    const char *dir = gpu->vendor == MOT__GPU_NVIDIA ? "" : "dri/";
    const bool plain = gpu->group[0] && strcmp(gpu->group, "root") != 0;

    if (gpu->state != MOT__NODE_CLOSED)
        return false;
    PROBLEM(patient, "no permission on /dev/%s%s%s", dir, gpu->node,
            plain && gpu->group_joined ? ": this login began before the group was joined" : "");
    if (plain && gpu->group_joined)
        CURE(patient, "log out and in again");
    else if (plain)
        CURE(patient, "sudo usermod -aG %s $USER   (then log in again)", gpu->group);
    else
        CURE(patient,
             "sudo chgrp render /dev/%s%s && sudo chmod g+rw /dev/%s%s && sudo usermod -aG render "
             "$USER   (then log in again)",
             dir, gpu->node, dir, gpu->node);
    return true;
}

static bool may_not_compute(const struct patient *patient)
{
    if (patient->gpu->vendor != MOT__GPU_AMD || patient->machine->kfd_open ||
        !mot__machine_has_icd(patient->machine, patient->vendor->icd))
        return false;
    PROBLEM(patient, "no permission on /dev/kfd, which ROCm needs");
    CURE(patient, "sudo usermod -aG render $USER   (then log in again)");
    return true;
}

/* RUSTICL_ENABLE is a list such as "radeonsi,iris:0". */
static bool rusticl_is_on(const char *gallium)
{
    const char *list = getenv("RUSTICL_ENABLE"), *at = list;
    const size_t length = strlen(gallium);

    for (; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, gallium, length) == 0 && strchr(",:", at[length]))
            return true;
    }
    return false;
}

static bool is_disabled(const struct patient *patient)
{
    const bool soc = patient->gpu->vendor == MOT__GPU_SOC;
    const char *gallium = soc ? patient->gpu->driver : patient->vendor->gallium;

    if ((!soc && !rusticl_serves(patient)) || rusticl_is_on(gallium))
        return false;
    if (!soc && mot__machine_has_icd(patient->machine, patient->vendor->icd))
        return false;
    PROBLEM(patient, "Mesa's rusticl is installed but switched off for it: RUSTICL_ENABLE %s",
            getenv("RUSTICL_ENABLE") ? "does not name it" : "is not set");
    CURE(patient, "export RUSTICL_ENABLE=%s", gallium);
    return true;
}

static bool is_hidden(const struct patient *patient)
{
    const char *vendors_dir = getenv("OCL_ICD_VENDORS");

    if (!vendors_dir || !vendors_dir[0] || strcmp(vendors_dir, "/etc/OpenCL/vendors") == 0)
        return false;
    PROBLEM(patient, "its driver is in /etc/OpenCL/vendors, but OCL_ICD_VENDORS points elsewhere");
    CURE(patient, "unset OCL_ICD_VENDORS");
    return true;
}

static bool left_its_driver(const struct patient *patient)
{
    if (patient->gpu->vendor != MOT__GPU_INTEL ||
        !high_byte_in(patient->gpu->device_id, intel_legacy, sizeof intel_legacy) ||
        mot__machine_has_icd(patient->machine, "*igdrcl*legacy*"))
        return false;
    PROBLEM(patient, "drivers after 24.35 do not serve Intel GPUs before Tiger Lake; the legacy "
                     "package does");
    CURE(patient, "install intel-opencl-icd-legacy1: "
                  "https://github.com/intel/compute-runtime/blob/master/LEGACY_PLATFORMS.md");
    return true;
}

static bool is_unexplained(const struct patient *patient)
{
    PROBLEM(patient, "its driver is installed and its node is open, yet OpenCL offers no device");
    CURE(patient, "clinfo; then report it with what motley doctor --report writes");
    return true;
}

static bool (*const causes[])(const struct patient *patient) = {
    is_strange,   is_too_old, lacks_kernel_driver, has_other_kernel_driver,
    lacks_driver, lacks_node, may_not_enter,       may_not_compute,
    is_disabled,  is_hidden,  left_its_driver,     is_unexplained,
};

/* ---- what OpenCL sees ---- */

static bool is_gpu(const struct mot_device_info *info)
{
    return info->type == MOT_DEVICE_GPU || info->type == MOT_DEVICE_IGPU;
}

/* "0000:03:00.0" of the kernel against "03:00.0" of the inventory. */
static bool same_address(const char *kernel, const char *pci)
{
    return pci[0] && (mot__text_same(kernel, pci) ||
                      (strncmp(kernel, "0000:", 5) == 0 && mot__text_same(kernel + 5, pci)));
}

static bool same_vendor(const struct vendor *vendor, const struct mot_device_info *info)
{
    return (vendor->as[0] && mot__text_match(vendor->as[0], info->vendor)) ||
           (vendor->as[1] && mot__text_match(vendor->as[1], info->vendor));
}

/* By address; where the driver tells none, by vendor, one entry for one card. Every entry that is
 * this card is marked as met. */
static bool is_seen(const struct mot__gpu *gpu, const mot_inventory *inventory, bool *met)
{
    const size_t count = mot_inventory_count(inventory);
    bool seen = false;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct mot_device_info *info = mot_inventory_get(inventory, i);

        if (is_gpu(info) && same_address(gpu->pci, info->pci))
            seen = met[i] = true;
    }
    for (i = 0; !seen && i < count; i++) {
        const struct mot_device_info *info = mot_inventory_get(inventory, i);

        if (is_gpu(info) && !met[i] && info->pci[0] == '\0' &&
            same_vendor(&vendors[gpu->vendor], info))
            seen = met[i] = true;
    }
    return seen;
}

/* ---- findings ---- */

static void describe(const struct mot__gpu *gpu, struct mot_finding *finding)
{
    char place[64] = "";

    if (gpu->pci[0])
        snprintf(place, sizeof place, " %04x:%04x at %s", gpu->vendor_id, gpu->device_id, gpu->pci);
    else
        snprintf(place, sizeof place, " (%s)", gpu->driver);
    snprintf(finding->gpu, sizeof finding->gpu, "%s%s%s%s", vendors[gpu->vendor].name, place,
             gpu->node[0] ? ", " : "", gpu->node);
}

static void examine(const struct mot__machine *machine, const struct mot__gpu *gpu,
                    const mot_inventory *inventory, bool *met, struct mot_finding *finding)
{
    const struct patient patient = {gpu, machine, &vendors[gpu->vendor], finding};
    size_t i;

    describe(gpu, finding);
    finding->seen = is_seen(gpu, inventory, met);
    for (i = 0; !finding->seen && i < sizeof causes / sizeof *causes; i++) {
        if (causes[i](&patient))
            break;
    }
}

static void find_no_gpu(const struct mot__machine *machine, const mot_inventory *inventory,
                        struct mot_finding *finding)
{
    const bool device = mot_inventory_count(inventory) > 0;

    snprintf(finding->gpu, sizeof finding->gpu, "no GPU in this machine");
    snprintf(finding->problem, sizeof finding->problem,
             "neither /sys/class/drm nor the PCI bus shows one; %s",
             device ? "training uses the CPU" : "and no OpenCL device makes use of the CPU");
    if (!device)
        snprintf(finding->cure, sizeof finding->cure, "%s", install_cpu[machine->packager]);
}

/* finding has room for every GPU of the machine and of the inventory, and one more. */
static size_t examine_all(const struct mot__machine *machine, const mot_inventory *inventory,
                          bool *met, struct mot_finding *finding)
{
    size_t i, count = 0;

    for (i = 0; i < machine->gpus; i++)
        examine(machine, &machine->gpu[i], inventory, met, &finding[count++]);
    for (i = 0; i < mot_inventory_count(inventory); i++) { /* where sysfs tells of none: WSL */
        const struct mot_device_info *info = mot_inventory_get(inventory, i);

        if (!is_gpu(info) || met[i] || info->same_as >= 0)
            continue;
        snprintf(finding[count].gpu, sizeof finding->gpu, "%s", info->name);
        finding[count++].seen = true;
    }
    if (count == 0)
        find_no_gpu(machine, inventory, &finding[count++]);
    return count;
}

mot_status mot__diagnose(const char *root, const mot_inventory *inventory, mot_diagnosis **out)
{
    const size_t devices = mot_inventory_count(inventory);
    mot_status status = MOT_OK;
    struct mot__machine *machine = calloc(1, sizeof *machine);
    mot_diagnosis *diagnosis = calloc(1, sizeof *diagnosis);
    bool *met = calloc(devices + 1, sizeof *met);

    if (machine && diagnosis && met) {
        mot__machine_read(root, machine);
        diagnosis->finding = calloc(machine->gpus + devices + 1, sizeof *diagnosis->finding);
    }
    if (!diagnosis || !diagnosis->finding)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "mot_diagnosis_open: no room for the findings"));
    diagnosis->count = examine_all(machine, inventory, met, diagnosis->finding);
    MOT_TRY(
        mot__report(machine, inventory, diagnosis->finding, diagnosis->count, &diagnosis->report));

    *out = diagnosis;
    diagnosis = NULL;
done:
    mot_diagnosis_close(diagnosis);
    free(machine);
    free(met);
    return status;
}

mot_status mot_diagnosis_open(const char *root, mot_diagnosis **out)
{
    /* "": what is chosen does not matter here, and a wrong $MOTLEY_DEVICES must not stop us. */
    const struct mot_fleet_config config = {.size = sizeof config, .devices = ""};
    mot_inventory *inventory = NULL;
    mot_status status = MOT_OK;

    if (!root || !out)
        return mot__fail(MOT_BAD_ARG, "mot_diagnosis_open: root or out is NULL");
    MOT_TRY(mot_inventory_open(&config, &inventory));
    MOT_TRY(mot__diagnose(root, inventory, out));
done:
    mot_inventory_close(inventory);
    return status;
}

void mot_diagnosis_close(mot_diagnosis *diagnosis)
{
    if (!diagnosis)
        return;
    free(diagnosis->finding);
    free(diagnosis->report);
    free(diagnosis);
}

size_t mot_diagnosis_count(const mot_diagnosis *diagnosis)
{
    return diagnosis ? diagnosis->count : 0;
}

const struct mot_finding *mot_diagnosis_get(const mot_diagnosis *diagnosis, size_t index)
{
    return diagnosis && index < diagnosis->count ? &diagnosis->finding[index] : NULL;
}

const char *mot_diagnosis_report(const mot_diagnosis *diagnosis)
{
    return diagnosis && diagnosis->report ? diagnosis->report : "";
}
