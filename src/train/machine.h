/* machine.h - what the operating system tells of the GPUs in the machine and of the OpenCL drivers
 * installed, without OpenCL. Every path is taken below a root folder, so that tests build one. */
#ifndef MOT_TRAIN_MACHINE_H
#define MOT_TRAIN_MACHINE_H

#include "base/status.h"

enum mot__gpu_vendor {
    MOT__GPU_INTEL,
    MOT__GPU_AMD,
    MOT__GPU_NVIDIA,
    MOT__GPU_SOC, /* no PCI device: known by its kernel driver */
    MOT__GPU_STRANGE,
    MOT__GPU_VENDORS
};

enum mot__node_state { MOT__NODE_MISSING, MOT__NODE_CLOSED, MOT__NODE_OPEN };

struct mot__gpu {
    enum mot__gpu_vendor vendor;
    unsigned vendor_id, device_id;
    char pci[16];    /* "0000:03:00.0"; "" on a SoC */
    char driver[32]; /* of the kernel; "" if none runs it */
    char node[24];   /* "renderD128"; "" if the kernel made none */
    enum mot__node_state state;
    char group[32];    /* that may use the node; "" if unknown */
    bool group_joined; /* the user is in it, but this login is older */
};

struct mot__icd {
    char file[64], library[192];
};

enum mot__packager {
    MOT__PACKAGER_APT,
    MOT__PACKAGER_UBUNTU, /* apt, and a tool of its own for NVIDIA */
    MOT__PACKAGER_DNF,
    MOT__PACKAGER_PACMAN,
    MOT__PACKAGER_ZYPPER,
    MOT__PACKAGER_UNKNOWN,
    MOT__PACKAGERS
};

#define MOT__GPUS_MAX 32
#define MOT__ICDS_MAX 32

struct mot__machine {
    struct mot__gpu gpu[MOT__GPUS_MAX];
    size_t gpus;
    struct mot__icd icd[MOT__ICDS_MAX];
    size_t icds;
    enum mot__packager packager;
    char system[128]; /* "Debian GNU/Linux 12 (bookworm)" */
    bool kfd_open;    /* AMD's compute node may be used, or is not there */
};

/* Fills what it can; what is missing or unreadable is left out. */
void mot__machine_read(const char *root, struct mot__machine *out);
/* An .icd file whose name or library fits the pattern. */
bool mot__machine_has_icd(const struct mot__machine *machine, const char *pattern);

#endif
