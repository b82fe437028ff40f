/* test_doctor.c - why a GPU is not seen, on machines built as folders and inventories made by
 * hand. */
#include "support/check.h"
#include "support/folder.h"

#include "base/file.h"
#include "device/inventory.h"
#include "train/doctor.h"

/* ---- machines ---- */

static struct folder box;

static int open_box(void **state)
{
    static const char *const variables[] = {"OCL_ICD_VENDORS", "RUSTICL_ENABLE", "USER", "HOME"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return folder_open(&box) && chmod(box.path, 0755) == 0 ? 0 : -1;
}

static int close_box(void **state)
{
    (void)state;
    folder_close(&box);
    return 0;
}

static void put(const char *name, const char *text)
{
    char dir[512];
    FILE *file;

    snprintf(dir, sizeof dir, "%s", folder_path(&box, name));
    *strrchr(dir, '/') = '\0';
    assert_ok(mot__dir_make(dir));
    file = fopen(folder_path(&box, name), "w"); /* nothing here must outlive the power */
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A card as the kernel shows it; driver "" makes it a device that nothing runs. */
static void put_card(int number, const char *vendor, const char *device, const char *driver,
                     const char *slot)
{
    char name[128], text[128];

    snprintf(name, sizeof name, "sys/class/drm/card%d/device/vendor", number);
    put(name, vendor);
    snprintf(name, sizeof name, "sys/class/drm/card%d/device/device", number);
    put(name, device);
    snprintf(name, sizeof name, "sys/class/drm/card%d/device/uevent", number);
    snprintf(text, sizeof text, "DRIVER=%s\nPCI_CLASS=30000\nPCI_SLOT_NAME=%s\n", driver, slot);
    put(name, text);
    snprintf(name, sizeof name, "sys/class/drm/card%d-HDMI-A-1/status", number);
    put(name, "connected\n"); /* a plug, not a card */
}

static void put_node(const char *node, unsigned mode)
{
    char name[64];

    snprintf(name, sizeof name, "dev/%s", node);
    put(name, "");
    assert_int_equal(chmod(folder_path(&box, name), (mode_t)mode), 0);
}

static void put_tiger_lake(void)
{
    put_card(0, "0x8086\n", "0x9a49\n", "i915", "0000:00:02.0");
    put_node("dri/renderD128", 0666);
    put("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");
}

static void put_radeon(void)
{
    put_card(0, "0x1002\n", "0x73bf\n", "amdgpu", "0000:03:00.0");
    put_node("dri/renderD128", 0666);
    put("etc/os-release", "ID=debian\n");
}

#define INTEL_ICD "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n"

/* ---- what OpenCL is made to see ---- */

static struct mot_device_info gpu(const char *vendor, const char *pci)
{
    struct mot_device_info info = {.type = MOT_DEVICE_GPU, .units = 8};

    snprintf(info.name, sizeof info.name, "a GPU of %s", vendor);
    snprintf(info.platform, sizeof info.platform, "%s", vendor);
    snprintf(info.vendor, sizeof info.vendor, "%s", vendor);
    snprintf(info.driver, sizeof info.driver, "24.1");
    snprintf(info.pci, sizeof info.pci, "%s", pci);
    return info;
}

static mot_diagnosis *diagnose(const struct mot_device_info *info, size_t count)
{
    mot_inventory *inventory = NULL;
    mot_diagnosis *diagnosis = NULL;

    assert_ok(mot__inventory_of(info, count, &inventory));
    assert_ok(mot__diagnose(box.path, inventory, &diagnosis));
    mot_inventory_close(inventory);
    return diagnosis;
}

static void check(const mot_diagnosis *diagnosis, size_t index, const char *name, bool seen,
                  const char *problem, const char *cure)
{
    const struct mot_finding *finding = mot_diagnosis_get(diagnosis, index);

    assert_non_null(finding);
    assert_string_equal(finding->gpu, name);
    assert_int_equal(finding->seen, seen);
    assert_string_equal(finding->problem, problem);
    assert_string_equal(finding->cure, cure);
}

/* The machine's only finding, with nothing seen by OpenCL. */
static void check_unseen(const char *name, const char *problem, const char *cure)
{
    mot_diagnosis *diagnosis = diagnose(NULL, 0);

    assert_int_equal(mot_diagnosis_count(diagnosis), 1);
    check(diagnosis, 0, name, false, problem, cure);
    mot_diagnosis_close(diagnosis);
}

/* ---- seen ---- */

static void a_gpu_is_met_by_its_address(void **state)
{
    const struct mot_device_info seen[] = {gpu("Intel(R) Corporation", "00:02.0")};
    const struct mot_device_info other[] = {gpu("Intel(R) Corporation", "07:00.0")};
    mot_diagnosis *diagnosis;

    (void)state;
    put_tiger_lake();
    diagnosis = diagnose(seen, 1);
    assert_int_equal(mot_diagnosis_count(diagnosis), 1);
    check(diagnosis, 0, "Intel 8086:9a49 at 0000:00:02.0, renderD128", true, "", "");
    mot_diagnosis_close(diagnosis);

    diagnosis = diagnose(other, 1); /* another card of that vendor is not this one */
    assert_int_equal(mot_diagnosis_count(diagnosis), 2);
    assert_false(mot_diagnosis_get(diagnosis, 0)->seen);
    check(diagnosis, 1, "a GPU of Intel(R) Corporation", true, "", "");
    mot_diagnosis_close(diagnosis);
}

static void a_gpu_without_address_is_met_by_vendor_once(void **state)
{
    struct mot_device_info seen[] = {gpu("Advanced Micro Devices, Inc.", ""),
                                     gpu("GenuineIntel", "")};
    mot_diagnosis *diagnosis;

    (void)state;
    seen[1].type = MOT_DEVICE_CPU; /* Intel's processor is no Intel GPU */
    put_radeon();
    put_card(1, "0x1002\n", "0x73bf\n", "amdgpu", "0000:04:00.0");
    put_card(2, "0x8086\n", "0x9a49\n", "i915", "0000:00:02.0");
    diagnosis = diagnose(seen, 2);
    assert_int_equal(mot_diagnosis_count(diagnosis), 3);
    assert_true(mot_diagnosis_get(diagnosis, 0)->seen);
    assert_false(mot_diagnosis_get(diagnosis, 1)->seen);
    assert_false(mot_diagnosis_get(diagnosis, 2)->seen);
    mot_diagnosis_close(diagnosis);
}

/* ---- not seen, and why ---- */

static void a_machine_without_gpu_says_so(void **state)
{
    struct mot_device_info cpu = gpu("GenuineIntel", "");
    mot_diagnosis *diagnosis;

    (void)state;
    put("etc/os-release", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
    check_unseen("no GPU in this machine",
                 "neither /sys/class/drm nor the PCI bus shows one; and no OpenCL device makes use "
                 "of the CPU",
                 "sudo apt install pocl-opencl-icd");
    cpu.type = MOT_DEVICE_CPU;
    diagnosis = diagnose(&cpu, 1);
    check(diagnosis, 0, "no GPU in this machine", false,
          "neither /sys/class/drm nor the PCI bus shows one; training uses the CPU", "");
    mot_diagnosis_close(diagnosis);
}

static const struct {
    const char *release, *cure[3]; /* for Intel, AMD, NVIDIA */
} systems[] = {
    {"ID=debian\n",
     {"sudo apt install intel-opencl-icd",
      "sudo apt install mesa-opencl-icd && export RUSTICL_ENABLE=radeonsi",
      "sudo apt install nvidia-opencl-icd"}},
    {"ID=ubuntu\nID_LIKE=debian\n",
     {"sudo apt install intel-opencl-icd",
      "sudo apt install mesa-opencl-icd && export RUSTICL_ENABLE=radeonsi",
      "sudo ubuntu-drivers install"}},
    {"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
     {"sudo dnf install intel-compute-runtime", "sudo dnf install rocm-opencl",
      "sudo dnf install xorg-x11-drv-nvidia-cuda"}},
    {"ID=arch\n",
     {"sudo pacman -S intel-compute-runtime", "sudo pacman -S rocm-opencl-runtime",
      "sudo pacman -S opencl-nvidia"}},
    {"ID='opensuse-leap'\nID_LIKE=\"suse opensuse\"\n",
     {"sudo zypper install intel-opencl",
      "sudo zypper install Mesa-libRusticlOpenCL && export RUSTICL_ENABLE=radeonsi",
      "sudo zypper install nvidia-compute-G06"}},
    {"ID=plan9\n",
     {"install Intel's compute runtime for OpenCL",
      "install ROCm's OpenCL, or Mesa's rusticl && export RUSTICL_ENABLE=radeonsi",
      "install NVIDIA's driver with its OpenCL part"}},
};

static void a_missing_driver_is_named_for_vendor_and_system(void **state)
{
    size_t i;

    (void)state;
    put_tiger_lake();
    put_card(1, "0x1002\n", "0x73bf\n", "amdgpu", "0000:03:00.0");
    put_card(2, "0x10de\n", "0x2204\n", "nvidia", "0000:04:00.0");
    put("etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n");
    for (i = 0; i < sizeof systems / sizeof *systems; i++) {
        mot_diagnosis *diagnosis;

        put("etc/os-release", systems[i].release);
        diagnosis = diagnose(NULL, 0);
        assert_int_equal(mot_diagnosis_count(diagnosis), 3);
        check(diagnosis, 0, "Intel 8086:9a49 at 0000:00:02.0, renderD128", false,
              "no OpenCL driver is installed for it: intel-opencl-icd", systems[i].cure[0]);
        check(diagnosis, 1, "AMD 1002:73bf at 0000:03:00.0", false,
              "no OpenCL driver is installed for it: rocm-opencl-icd (AMD's archive) or "
              "mesa-opencl-icd",
              systems[i].cure[1]);
        check(diagnosis, 2, "NVIDIA 10de:2204 at 0000:04:00.0, nvidiactl", false,
              "no OpenCL driver is installed for it: nvidia-opencl-icd", systems[i].cure[2]);
        mot_diagnosis_close(diagnosis);
    }
}

/* Run as one who is not root: root may open every node. */
static mot_diagnosis *diagnose_as_nobody(void)
{
    const uid_t self = geteuid();
    mot_diagnosis *diagnosis;

    if (self == 0)
        assert_int_equal(seteuid(65534), 0);
    diagnosis = diagnose(NULL, 0);
    assert_int_equal(seteuid(self), 0);
    return diagnosis;
}

static void put_group(const char *name, const char *members)
{
    struct stat about;
    char text[256];

    assert_int_equal(stat(folder_path(&box, "dev/dri/renderD128"), &about), 0);
    snprintf(text, sizeof text, "daemon:x:1:\n%s:x:%lu:%s\n", name, (unsigned long)about.st_gid,
             members);
    put("etc/group", text);
}

static void a_closed_node_names_its_group(void **state)
{
    static const char *const name = "Intel 8086:9a49 at 0000:00:02.0, renderD128";
    mot_diagnosis *diagnosis;

    (void)state;
    put_tiger_lake();
    put("etc/OpenCL/vendors/intel.icd", INTEL_ICD);
    put_node("dri/renderD128", 0);

    put_group("render", "");
    diagnosis = diagnose_as_nobody();
    check(diagnosis, 0, name, false, "no permission on /dev/dri/renderD128",
          "sudo usermod -aG render $USER   (then log in again)");
    mot_diagnosis_close(diagnosis);

    put_group("video", "bob,alice");
    diagnosis = diagnose_as_nobody();
    check(diagnosis, 0, name, false, "no permission on /dev/dri/renderD128",
          "sudo usermod -aG video $USER   (then log in again)");
    mot_diagnosis_close(diagnosis);

    assert_int_equal(setenv("USER", "alice", 1), 0);
    diagnosis = diagnose_as_nobody();
    check(diagnosis, 0, name, false,
          "no permission on /dev/dri/renderD128: this login began before the group was joined",
          "log out and in again");
    mot_diagnosis_close(diagnosis);

    put_group("root", "alice");
    diagnosis = diagnose_as_nobody();
    check(diagnosis, 0, name, false, "no permission on /dev/dri/renderD128",
          "sudo chgrp render /dev/dri/renderD128 && sudo chmod g+rw /dev/dri/renderD128 && sudo "
          "usermod -aG render $USER   (then log in again)");
    mot_diagnosis_close(diagnosis);
}

static void rocm_needs_its_compute_node(void **state)
{
    mot_diagnosis *diagnosis;

    (void)state;
    put_radeon();
    put("etc/OpenCL/vendors/amdocl64.icd", "libamdocl64.so\n");
    put_node("kfd", 0);
    diagnosis = diagnose_as_nobody();
    check(diagnosis, 0, "AMD 1002:73bf at 0000:03:00.0, renderD128", false,
          "no permission on /dev/kfd, which ROCm needs",
          "sudo usermod -aG render $USER   (then log in again)");
    mot_diagnosis_close(diagnosis);
}

static void a_missing_node_points_at_the_container(void **state)
{
    (void)state;
    put_card(0, "0x8086\n", "0x9a49\n", "i915", "0000:00:02.0");
    put("etc/OpenCL/vendors/intel.icd", INTEL_ICD);
    check_unseen("Intel 8086:9a49 at 0000:00:02.0",
                 "its device node /dev/dri/renderD* is not there; a container must be given it",
                 "docker run --device /dev/dri ...");
}

static void nvidia_in_a_container_wants_its_own_nodes(void **state)
{
    (void)state;
    put_card(0, "0x10de\n", "0x2204\n", "nvidia", "0000:04:00.0");
    put("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
    check_unseen("NVIDIA 10de:2204 at 0000:04:00.0, nvidiactl",
                 "its device node /dev/nvidiactl is not there; a container must be given it",
                 "docker run --gpus all ...");
}

static void rusticl_is_off_until_it_is_switched_on(void **state)
{
    static const char *const name = "AMD 1002:73bf at 0000:03:00.0, renderD128";
    static const char *const off =
        "Mesa's rusticl is installed but switched off for it: RUSTICL_ENABLE ";
    char problem[256];

    (void)state;
    put_radeon();
    put("etc/OpenCL/vendors/rusticl.icd", "libRusticlOpenCL.so.1\n");
    snprintf(problem, sizeof problem, "%sis not set", off);
    check_unseen(name, problem, "export RUSTICL_ENABLE=radeonsi");
    assert_int_equal(setenv("RUSTICL_ENABLE", "llvmpipe,radeonsix", 1), 0);
    snprintf(problem, sizeof problem, "%sdoes not name it", off);
    check_unseen(name, problem, "export RUSTICL_ENABLE=radeonsi");
    assert_int_equal(setenv("RUSTICL_ENABLE", "llvmpipe,radeonsi:0", 1), 0);
    check_unseen(name, "its driver is installed and its node is open, yet OpenCL offers no device",
                 "clinfo; then report it with what motley doctor --report writes");
}

static void a_gpu_of_a_soc_is_known_by_its_driver(void **state)
{
    (void)state;
    put("sys/class/drm/card0/device/uevent", "DRIVER=rockchip-drm\n"); /* only draws */
    put("sys/class/drm/card1/device/uevent", "DRIVER=panfrost\nOF_NAME=gpu\n");
    put_node("dri/renderD128", 0666);
    put("etc/os-release", "ID=debian\n");
    check_unseen("GPU of the SoC (panfrost), renderD128",
                 "no OpenCL driver is installed for it: mesa-opencl-icd",
                 "sudo apt install mesa-opencl-icd");
    put("etc/OpenCL/vendors/rusticl.icd", "libRusticlOpenCL.so.1\n");
    check_unseen("GPU of the SoC (panfrost), renderD128",
                 "Mesa's rusticl is installed but switched off for it: RUSTICL_ENABLE is not set",
                 "export RUSTICL_ENABLE=panfrost");
}

static void intel_before_tiger_lake_wants_the_legacy_package(void **state)
{
    static const char *const name = "Intel 8086:5917 at 0000:00:02.0, renderD128";
    static const char *const unexplained =
        "its driver is installed and its node is open, yet OpenCL offers no device";

    (void)state;
    put_tiger_lake();
    put("etc/OpenCL/vendors/intel.icd", INTEL_ICD);
    check_unseen("Intel 8086:9a49 at 0000:00:02.0, renderD128", unexplained,
                 "clinfo; then report it with what motley doctor --report writes");
    put("sys/class/drm/card0/device/device", "0x5917\n"); /* Kaby Lake */
    check_unseen(name,
                 "drivers after 24.35 do not serve Intel GPUs before Tiger Lake; the legacy "
                 "package does",
                 "install intel-opencl-icd-legacy1: "
                 "https://github.com/intel/compute-runtime/blob/master/LEGACY_PLATFORMS.md");
    put("etc/OpenCL/vendors/intel_legacy1.icd", "/usr/lib/intel-opencl/libigdrcl_legacy1.so\n");
    check_unseen(name, unexplained,
                 "clinfo; then report it with what motley doctor --report writes");
}

static void intel_before_broadwell_is_left_to_the_cpu(void **state)
{
    static const char *const problem = "Intel GPUs before Broadwell have no OpenCL 1.2 driver any "
                                       "more; the CPU can be used instead";

    (void)state;
    put_tiger_lake();
    put("sys/class/drm/card0/device/device", "0x0166\n"); /* Ivy Bridge */
    check_unseen("Intel 8086:0166 at 0000:00:02.0, renderD128", problem,
                 "sudo apt install pocl-opencl-icd");
    put("etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n");
    check_unseen("Intel 8086:0166 at 0000:00:02.0, renderD128", problem, "");
}

static void nouveau_is_not_nvidias_driver(void **state)
{
    (void)state;
    put_card(0, "0x10de\n", "0x2204\n", "nouveau", "0000:04:00.0");
    put_node("dri/renderD128", 0666);
    put("etc/os-release", "ID=debian\n");
    put("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
    check_unseen(
        "NVIDIA 10de:2204 at 0000:04:00.0, renderD128",
        "the kernel driver nouveau runs it; OpenCL needs NVIDIA's own (restart afterwards)",
        "sudo apt install nvidia-driver nvidia-opencl-icd");
}

static void a_card_that_nothing_runs_is_found_on_the_bus(void **state)
{
    mot_diagnosis *diagnosis;

    (void)state;
    put_tiger_lake();
    put("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n"); /* the card again */
    put("sys/bus/pci/devices/0000:00:1f.3/class", "0x040300\n"); /* sound */
    put("sys/bus/pci/devices/0000:04:00.0/class", "0x030200\n");
    put("sys/bus/pci/devices/0000:04:00.0/vendor", "0x10de\n");
    put("sys/bus/pci/devices/0000:04:00.0/device", "0x2204\n");
    put("sys/bus/pci/devices/0000:04:00.0/uevent", "PCI_SLOT_NAME=0000:04:00.0\n");
    diagnosis = diagnose(NULL, 0);
    assert_int_equal(mot_diagnosis_count(diagnosis), 2);
    check(diagnosis, 1, "NVIDIA 10de:2204 at 0000:04:00.0", false, "no kernel driver runs it",
          "sudo apt install nvidia-driver nvidia-opencl-icd");
    mot_diagnosis_close(diagnosis);

    put("sys/bus/pci/devices/0000:04:00.0/uevent", "DRIVER=vfio-pci\n");
    diagnosis = diagnose(NULL, 0);
    check(diagnosis, 1, "NVIDIA 10de:2204 at 0000:04:00.0", false,
          "it is set aside for virtual machines (kernel driver vfio-pci)", "");
    mot_diagnosis_close(diagnosis);
}

static void a_servers_screen_chip_is_no_gpu_for_us(void **state)
{
    (void)state;
    put_card(0, "0x1a03\n", "0x2000\n", "ast", "0000:02:00.0");
    check_unseen("display 1a03:2000 at 0000:02:00.0",
                 "no OpenCL driver is known for its vendor; a card that only draws", "");
}

static void a_variable_can_hide_a_driver(void **state)
{
    (void)state;
    put_tiger_lake();
    put("etc/OpenCL/vendors/intel.icd", INTEL_ICD);
    assert_int_equal(setenv("OCL_ICD_VENDORS", "/somewhere/else", 1), 0);
    check_unseen("Intel 8086:9a49 at 0000:00:02.0, renderD128",
                 "its driver is in /etc/OpenCL/vendors, but OCL_ICD_VENDORS points elsewhere",
                 "unset OCL_ICD_VENDORS");
}

static void each_card_has_the_node_that_sysfs_gives_it(void **state)
{
    mot_diagnosis *diagnosis;

    (void)state;
    put_tiger_lake();
    put_card(10, "0x1002\n", "0x73bf\n", "amdgpu", "0000:03:00.0");
    put_card(2, "0x1002\n", "0x73bf\n", "amdgpu", "0000:04:00.0");
    put("sys/class/drm/card0/device/drm/renderD129/dev", "226:129\n");
    put("sys/class/drm/card10/device/drm/renderD128/dev", "226:128\n");
    diagnosis = diagnose(NULL, 0);
    assert_int_equal(mot_diagnosis_count(diagnosis), 3);
    assert_string_equal(mot_diagnosis_get(diagnosis, 0)->gpu,
                        "Intel 8086:9a49 at 0000:00:02.0, renderD129");
    assert_string_equal(mot_diagnosis_get(diagnosis, 1)->gpu, "AMD 1002:73bf at 0000:04:00.0");
    assert_string_equal(mot_diagnosis_get(diagnosis, 2)->gpu,
                        "AMD 1002:73bf at 0000:03:00.0, renderD128");
    mot_diagnosis_close(diagnosis);
}

/* ---- the report ---- */

static void assert_has(const char *text, const char *words, bool wanted)
{
    if ((strstr(text, words) != NULL) != wanted)
        fail_msg("\"%s\" is %s in the report:\n%s", words, wanted ? "missing" : "", text);
}

static void the_report_tells_all_that_matters(void **state)
{
    struct mot_device_info seen = gpu("Intel(R) Corporation", "00:02.0");
    mot_diagnosis *diagnosis;
    const char *report;

    (void)state;
    put_tiger_lake();
    put_card(1, "0x10de\n", "0x2204\n", "nouveau", "0000:04:00.0");
    put("etc/OpenCL/vendors/intel.icd", INTEL_ICD);
    setenv("RUSTICL_ENABLE", "iris", 1);
    setenv("MOTLEY_LARGEST", "1G", 1);
    seen.memory_bytes = (uint64_t)3 << 30;
    diagnosis = diagnose(&seen, 1);
    report = mot_diagnosis_report(diagnosis);
    assert_has(report, "motley " MOT_VERSION "\n", true);
    assert_has(report, "system: Debian GNU/Linux 12 (bookworm)\n", true);
    assert_has(report, "kernel: ", true);
    assert_has(report, "OpenCL devices: 1\n", true);
    assert_has(report, "0: a GPU of Intel(R) Corporation (GPU at 00:02.0)", true);
    assert_has(report, "driver 24.1", true);
    assert_has(report, "3072 MiB", true);
    assert_has(report, "intel.icd: /usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n", true);
    assert_has(report, "Intel 8086:9a49 at 0000:00:02.0, renderD128: OpenCL sees it\n", true);
    assert_has(report, "problem: the kernel driver nouveau runs it", true);
    assert_has(report, "cure: sudo apt install nvidia-driver", true);
    assert_has(report, "RUSTICL_ENABLE=iris\n", true);
    assert_has(report, "MOTLEY_LARGEST=1G\n", true);
    mot_diagnosis_close(diagnosis);
    unsetenv("MOTLEY_LARGEST");
}

static void the_report_names_no_user_and_no_home(void **state)
{
    mot_diagnosis *diagnosis;
    const char *report;

    (void)state;
    setenv("USER", "alice", 1);
    setenv("HOME", "/srv/people/alice", 1);
    setenv("LD_LIBRARY_PATH", "/srv/people/alice/lib:/home/bob/lib:/media/alice/disk:/opt/srv", 1);
    setenv("OCL_ICD_VENDORS", "/opt/srv/people/malice", 1);
    put("etc/OpenCL/vendors/own.icd", "/home/alice/pocl/libpocl.so\n");
    diagnosis = diagnose(NULL, 0);
    report = mot_diagnosis_report(diagnosis);
    assert_has(report, "alice/", false);
    assert_has(report, "/alice", false);
    assert_has(report, "bob", false);
    assert_has(report, "LD_LIBRARY_PATH=~/lib:/home/user/lib:/media/user/disk:/opt/srv\n", true);
    assert_has(report, "own.icd: /home/user/pocl/libpocl.so\n", true);
    assert_has(report, "OCL_ICD_VENDORS=/opt/srv/people/malice\n", true); /* another word */
    mot_diagnosis_close(diagnosis);
    unsetenv("LD_LIBRARY_PATH");
}

#define IN_A_BOX(test) cmocka_unit_test_setup_teardown(test, open_box, close_box)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_BOX(a_gpu_is_met_by_its_address),
        IN_A_BOX(a_gpu_without_address_is_met_by_vendor_once),
        IN_A_BOX(a_machine_without_gpu_says_so),
        IN_A_BOX(a_missing_driver_is_named_for_vendor_and_system),
        IN_A_BOX(a_closed_node_names_its_group),
        IN_A_BOX(rocm_needs_its_compute_node),
        IN_A_BOX(a_missing_node_points_at_the_container),
        IN_A_BOX(nvidia_in_a_container_wants_its_own_nodes),
        IN_A_BOX(rusticl_is_off_until_it_is_switched_on),
        IN_A_BOX(a_gpu_of_a_soc_is_known_by_its_driver),
        IN_A_BOX(intel_before_tiger_lake_wants_the_legacy_package),
        IN_A_BOX(intel_before_broadwell_is_left_to_the_cpu),
        IN_A_BOX(nouveau_is_not_nvidias_driver),
        IN_A_BOX(a_card_that_nothing_runs_is_found_on_the_bus),
        IN_A_BOX(a_servers_screen_chip_is_no_gpu_for_us),
        IN_A_BOX(a_variable_can_hide_a_driver),
        IN_A_BOX(each_card_has_the_node_that_sysfs_gives_it),
        IN_A_BOX(the_report_tells_all_that_matters),
        IN_A_BOX(the_report_names_no_user_and_no_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
