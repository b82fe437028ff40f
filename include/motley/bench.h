/* bench.h - measuring. Figures come from the machine they are asked on, never from a table. */
#ifndef MOTLEY_BENCH_H
#define MOTLEY_BENCH_H

#include <motley/motley.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mot_device_speed {
    double gemm_gflops; /* 512 x 512 x 512 through the chosen kernel */
    double memory_gbps; /* device memory, read + write */
    double upload_gbps, download_gbps;
};

/* Measure one opened device, about a tenth of a second each. */
mot_status mot_bench_device(mot_fleet *fleet, size_t lane, struct mot_device_speed *out);

/* What one training step cost, from counters the library keeps; exact. Since the last call. */
struct mot_counts {
    uint64_t launches, waits, uploads, downloads, upload_bytes, download_bytes;
    uint64_t allocations, allocated_bytes, compiles;
};
mot_status mot_bench_counts(mot_fleet *fleet, size_t lane, struct mot_counts *out);

/* Time from the devices' own clocks since the last call; needs $MOTLEY_PROFILE=1 when the fleet
 * opens. */
struct mot_kernel_time {
    const char *name; /* of the kernel, or "upload", "download" */
    uint64_t calls;
    double seconds;
};
mot_status mot_bench_profile(mot_fleet *fleet, size_t lane, struct mot_kernel_time *row,
                             size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
