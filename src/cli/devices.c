/* devices.c - motley devices: what was found, what it measures, which are used or why not. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/session.h"

#include <motley/bench.h>

#include <math.h>
#include <stdio.h>

struct measured {
    struct mot_device_speed speed; /* NaN: not measured */
    char error[512];               /* why it could not be opened; "" if it could or was not tried */
};

static void measure(const struct options *options, size_t index, struct measured *out)
{
    struct mot_fleet_config config = session_fleet_config(options);
    mot_fleet *fleet = NULL;
    char device[24];

    snprintf(device, sizeof device, "%zu", index);
    config.devices = device;
    if (mot_fleet_open(&config, &fleet) != MOT_OK ||
        mot_bench_device(fleet, 0, &out->speed) != MOT_OK)
        snprintf(out->error, sizeof out->error, "%s", mot_error());
    mot_fleet_close(fleet);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void write_speed(double value, const char *unit, char out[32])
{
    if (isnan(value))
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, value < 100 ? "%.1f %s" : "%.0f %s", value, unit);
}

static void print_device(const struct mot_device_info *info)
{
    char memory[32], largest[32];

    say_bytes(info->memory_bytes, memory);
    say_bytes(info->largest_bytes, largest);
    printf("%zu  %s\n", info->index, info->name);
    printf("   type      %s, %u unit%s, PCI %s\n", mot_device_type_text(info->type),
           (unsigned)info->units, info->units == 1 ? "" : "s", info->pci[0] ? info->pci : "-");
    printf("   platform  %s, driver %s\n", info->platform, info->driver);
    printf("   memory    %s, largest allocation %s\n", memory, largest);
}

static void print_measured(const struct mot_device_info *info, const struct measured *measured)
{
    const struct mot_device_speed *speed = &measured->speed;
    char gemm[32], inside[32], up[32], down[32];

    write_speed(speed->gemm_gflops, "GFLOP/s", gemm);
    write_speed(speed->memory_gbps, "GB/s", inside);
    write_speed(speed->upload_gbps, "GB/s", up);
    write_speed(speed->download_gbps, "GB/s", down);
    printf("   speed     GEMM %s, memory %s, upload %s, download %s\n", gemm, inside, up, down);
    if (measured->error[0])
        printf("   not used  %s\n", measured->error);
    else if (info->chosen)
        printf("   used\n");
    else
        printf("   not used  %s\n", info->reason);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_device(struct json *json, const struct mot_device_info *info,
                        const struct measured *measured)
{
    put_object(json, NULL);
    put_count(json, "index", info->index);
    put_text(json, "pci", info->pci[0] ? info->pci : NULL);
    put_text(json, "name", info->name);
    put_text(json, "platform", info->platform);
    put_text(json, "vendor", info->vendor);
    put_text(json, "driver", info->driver);
    put_text(json, "version", info->version);
    put_text(json, "type", mot_device_type_text(info->type));
    put_count(json, "units", info->units);
    put_count(json, "memory_bytes", info->memory_bytes);
    put_count(json, "largest_bytes", info->largest_bytes);
    put_number(json, "gemm_gflops", measured->speed.gemm_gflops);
    put_number(json, "memory_gbps", measured->speed.memory_gbps);
    put_number(json, "upload_gbps", measured->speed.upload_gbps);
    put_number(json, "download_gbps", measured->speed.download_gbps);
    put_bool(json, "used", info->chosen && !measured->error[0]);
    put_text(json, "reason",
             measured->error[0] ? measured->error
             : info->chosen     ? NULL
                                : info->reason);
    put_end(json);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Each device as it is measured; gives back how many of the chosen ones work. */
static size_t tell_devices(const struct options *options, const mot_inventory *inventory,
                           struct json *json)
{
    size_t i, used = 0;

    for (i = 0; i < mot_inventory_count(inventory); i++) {
        const struct mot_device_info *info = mot_inventory_get(inventory, i);
        struct measured measured = {{NAN, NAN, NAN, NAN}, ""};

        if (!options->json)
            print_device(info);
        fflush(stdout); /* a first measurement compiles kernels: it may take a while */
        if (options->all || info->chosen)
            measure(options, i, &measured);
        used += info->chosen && !measured.error[0];
        if (options->json)
            json_device(json, info, &measured);
        else
            print_measured(info, &measured);
    }
    return used;
}

/* The notes tell where it looked, or what the device text asked for in vain. */
static int no_device(const mot_inventory *inventory)
{
    const int code = mot_inventory_count(inventory) == 0
                         ? fail(EXIT_NO_DEVICE, "no OpenCL device found; motley doctor tells more")
                         : fail(EXIT_NO_DEVICE, "none of the devices can be used");

    say_notes(stderr, mot_inventory_notes(inventory));
    return code;
}

static int list(const struct options *options, const mot_inventory *inventory)
{
    struct json json = {.out = stdout};
    size_t used;

    if (options->json) {
        put_object(&json, NULL);
        put_array(&json, "devices");
    }
    used = tell_devices(options, inventory, &json);
    if (options->json) {
        put_end(&json);
        put_lines(&json, "notes", mot_inventory_notes(inventory));
        put_end(&json);
    }
    if (used == 0)
        return no_device(inventory);
    if (!options->json)
        say_notes(stdout, mot_inventory_notes(inventory));
    return EXIT_FINE;
}

int command_devices(const struct options *options)
{
    const struct mot_fleet_config config = session_fleet_config(options);
    mot_inventory *inventory = NULL;
    const mot_status status = mot_inventory_open(&config, &inventory);
    int code;

    if (status == MOT_OK)
        code = list(options, inventory);
    else
        code = fail_library(status);
    mot_inventory_close(inventory);
    return code;
}
