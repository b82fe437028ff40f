/* doctor.c - motley doctor: each GPU of the machine, whether OpenCL sees it, and what cures it. */
#include "cli/commands.h"
#include "cli/outfile.h"

#include <stdio.h>
#include <string.h>

static void print_finding(const struct mot_finding *finding)
{
    printf("%s\n", finding->gpu);
    if (finding->seen || !finding->problem[0])
        printf("   OpenCL %s it\n", finding->seen ? "sees" : "does not see");
    if (finding->problem[0])
        printf("   problem  %s\n", finding->problem);
    if (finding->cure[0])
        printf("   cure     %s\n", finding->cure);
}

/* How many OpenCL devices there are at all: a machine without a GPU trains on its CPU. */
static size_t count_devices(void)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_inventory *inventory = NULL;
    size_t count = 0, i;

    config.devices = "all"; /* whatever $MOTLEY_DEVICES says */
    if (mot_inventory_open(&config, &inventory) == MOT_OK) {
        count = mot_inventory_count(inventory);
        for (i = 0; i < count; i++)
            printf("OpenCL device %zu: %s (%s)\n", i, mot_inventory_get(inventory, i)->name,
                   mot_inventory_get(inventory, i)->platform);
    }
    if (count == 0)
        printf("OpenCL offers no device\n");
    mot_inventory_close(inventory);
    return count;
}

static int write_report(const char *path, const char *text)
{
    struct outfile file;
    int code;

    if (strcmp(path, "-") == 0) {
        fputs(text, stdout);
        return 0;
    }
    code = outfile_open(&file, path);
    if (code)
        return code;
    fputs(text, file.stream);
    code = outfile_commit(&file);
    if (code == 0)
        printf("report written to %s\n", path);
    return code;
}

int command_doctor(const struct options *options)
{
    mot_diagnosis *diagnosis = NULL;
    mot_status status;
    size_t i, ill = 0;
    int code = 0;

    if (options->report && strcmp(options->report, "-") != 0)
        code = outfile_check(options->report);
    if (code)
        return code;
    status = mot_diagnosis_open("/", &diagnosis);
    if (status != MOT_OK)
        return fail_library(status);
    for (i = 0; i < mot_diagnosis_count(diagnosis); i++) {
        const struct mot_finding *finding = mot_diagnosis_get(diagnosis, i);

        print_finding(finding);
        ill += finding->cure[0] != 0;
    }
    if (mot_diagnosis_count(diagnosis) == 0)
        printf("no GPU found in this machine\n");
    if (count_devices() == 0)
        ill++;
    if (options->report)
        code = write_report(options->report, mot_diagnosis_report(diagnosis));
    mot_diagnosis_close(diagnosis);
    return code ? code : ill ? EXIT_FAILED : EXIT_FINE;
}
