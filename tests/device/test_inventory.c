/* test_inventory.c - what the drivers at hand tell. $MOTLEY_TEST_MACHINE says which machine the
 * environment describes (tests/inventory.cmake); unset, only what holds everywhere is asked. */
#include "support/check.h"

#include "device/inventory.h"

#include <dirent.h>

#define POCL "Portable Computing Language"

static bool machine_is(const char *name)
{
    const char *machine = getenv("MOTLEY_TEST_MACHINE");

    return machine && strcmp(machine, name) == 0;
}

static mot_inventory *look(const char *devices)
{
    struct mot_fleet_config config = {.size = sizeof config, .devices = devices};
    mot_inventory *inventory = NULL;

    assert_ok(mot_inventory_open(&config, &inventory));
    assert_non_null(inventory);
    return inventory;
}

/* The n-th entry of a platform; NULL: it has fewer. */
static const struct mot_device_info *find(const mot_inventory *inventory, const char *platform,
                                          size_t n)
{
    size_t i;

    for (i = 0; i < mot_inventory_count(inventory); i++) {
        const struct mot_device_info *info = mot_inventory_get(inventory, i);

        if (strcmp(info->platform, platform) == 0 && n-- == 0)
            return info;
    }
    return NULL;
}

static size_t count_chosen(const mot_inventory *inventory)
{
    size_t i, count = 0;

    for (i = 0; i < mot_inventory_count(inventory); i++)
        count += mot_inventory_get(inventory, i)->chosen;
    return count;
}

static void assert_notes(const mot_inventory *inventory, const char *words)
{
    if (!strstr(mot_inventory_notes(inventory), words))
        fail_msg("notes \"%s\" lack \"%s\"", mot_inventory_notes(inventory), words);
}

/* ---- everywhere ---- */

static void every_entry_is_whole(void **state)
{
    mot_inventory *inventory = look("");
    const size_t count = mot_inventory_count(inventory);
    size_t i;

    (void)state;
    for (i = 0; i < count; i++) {
        const struct mot_device_info *info = mot_inventory_get(inventory, i);
        void *platform = NULL, *device = NULL;

        assert_int_equal(info->index, i);
        assert_true(info->name[0] && info->platform[0] && info->driver[0]);
        assert_true(strncmp(info->version, "OpenCL ", 7) == 0);
        assert_true(info->units > 0 && info->max_group > 0);
        assert_true(info->largest_bytes > 0 && info->largest_bytes <= info->memory_bytes);
        assert_true(info->local_bytes > 0);
        assert_true(info->max_sub <= info->units);
        assert_true(info->chosen == (info->reason[0] == '\0'));
        assert_true(info->same_as >= -1 && info->same_as < (ptrdiff_t)count);
        mot__inventory_handles(inventory, i, &platform, &device);
        assert_non_null(platform);
        assert_non_null(device);
    }
    assert_null(mot_inventory_get(inventory, count));
    mot_inventory_close(inventory);
}

static void the_device_text_counts_before_the_environment(void **state)
{
    mot_inventory *inventory;

    (void)state;
    assert_int_equal(setenv("MOTLEY_DEVICES", "12345", 1), 0);
    inventory = look(NULL);
    assert_string_equal(mot__inventory_text(inventory), "12345");
    assert_int_equal(count_chosen(inventory), 0);
    assert_notes(inventory,
                 mot_inventory_count(inventory) ? "is the index of no device" : "looked");
    mot_inventory_close(inventory);

    inventory = look(""); /* the default policy, whatever the environment says */
    assert_null(mot__inventory_text(inventory));
    assert_true((count_chosen(inventory) > 0) == (mot_inventory_count(inventory) > 0));
    mot_inventory_close(inventory);

    assert_int_equal(unsetenv("MOTLEY_DEVICES"), 0);
    inventory = look(NULL);
    assert_null(mot__inventory_text(inventory));
    mot_inventory_close(inventory);
}

static void a_malformed_text_opens_nothing(void **state)
{
    struct mot_fleet_config config = {.size = sizeof config, .devices = "gqu"};
    mot_inventory *inventory = NULL;

    (void)state;
    assert_story(mot_inventory_open(&config, &inventory), MOT_BAD_ARG, "devices \"gqu\"");
    assert_null(inventory);
    assert_story(mot_inventory_open(NULL, NULL), MOT_BAD_ARG, "out is NULL");
    mot_inventory_close(NULL);
}

static size_t open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void looking_twice_tells_the_same_and_keeps_no_file(void **state)
{
    mot_inventory *first = look(""), *second;
    const size_t files = open_files();
    size_t i;

    (void)state;
    second = look("");
    assert_int_equal(mot_inventory_count(first), mot_inventory_count(second));
    for (i = 0; i < mot_inventory_count(first); i++)
        assert_memory_equal(mot_inventory_get(first, i), mot_inventory_get(second, i),
                            sizeof(struct mot_device_info));
    assert_string_equal(mot_inventory_notes(first), mot_inventory_notes(second));
    mot_inventory_close(first);
    mot_inventory_close(second);
    assert_int_equal(open_files(), files);
}

/* ---- one machine each ---- */

static void on_pocl(const mot_inventory *inventory)
{
    const struct mot_device_info *info = find(inventory, POCL, 0);

    assert_int_equal(mot_inventory_count(inventory), 1);
    assert_non_null(info);
    assert_int_equal(info->type, MOT_DEVICE_CPU);
    assert_int_equal(info->device_class, MOT_CLASS_CPU);
    assert_true(info->unified && !info->simulator && info->chosen);
    assert_int_equal(info->same_as, -1);
    if (info->units > 1)
        assert_int_equal(info->max_sub, info->units);
    assert_string_equal(mot_inventory_notes(inventory), "");
}

static void on_two(const mot_inventory *inventory)
{
    mot_inventory *both = look("0,1"), *cpu = look("cpu");

    assert_int_equal(mot_inventory_count(inventory), 2);
    assert_int_equal(count_chosen(inventory), 1);
    assert_true(find(inventory, POCL, 0)->chosen);
    assert_int_equal(find(inventory, POCL, 1)->same_as, -1);
    assert_string_equal(find(inventory, POCL, 1)->reason,
                        "same processor as 0; the default takes the CPU once");
    assert_int_equal(count_chosen(both), 2);
    assert_int_equal(count_chosen(cpu), 2);
    mot_inventory_close(both);
    mot_inventory_close(cpu);
}

static void on_all(const mot_inventory *inventory)
{
    mot_inventory *all = look("all"), *named = look("name:Oclgrind*");
    const struct mot_device_info *mesa = find(inventory, "rusticl", 0);
    const struct mot_device_info *toy = find(inventory, "Oclgrind", 0);
    struct mot__pick *pick = NULL;
    size_t count = 0;
    char text[32];

    assert_int_equal(mot_inventory_count(inventory), 3);
    assert_int_equal(count_chosen(inventory), 1);
    assert_true(find(inventory, POCL, 0)->chosen);

    assert_non_null(strstr(mesa->name, "llvmpipe"));
    assert_int_equal(mesa->type, MOT_DEVICE_CPU);
    assert_int_equal(mesa->same_as, -1);
    assert_non_null(strstr(mesa->reason, "same processor as"));
    assert_int_equal(mesa->max_sub, 0); /* cutting it would end this process */
    snprintf(text, sizeof text, "%zu/2", mesa->index);
    assert_story(mot__pick_parse(inventory, text, &pick, &count), MOT_UNSUPPORTED,
                 "cannot be cut (clCreateSubDevices ends the process");

    assert_true(toy->simulator);
    assert_int_equal(toy->type, MOT_DEVICE_OTHER);
    assert_int_equal(toy->device_class, MOT_CLASS_GPU);
    assert_string_equal(toy->reason, "a simulator; taken only by name or index");

    assert_int_equal(count_chosen(all), 2); /* named together, the CPU is had twice */
    assert_false(find(all, "Oclgrind", 0)->chosen);
    assert_int_equal(count_chosen(named), 1);
    assert_true(find(named, "Oclgrind", 0)->chosen);
    mot_inventory_close(all);
    mot_inventory_close(named);
}

static void on_empty(const mot_inventory *inventory)
{
    assert_int_equal(mot_inventory_count(inventory), 1);
    assert_true(find(inventory, POCL, 0)->chosen);
    assert_notes(inventory, "platform rusticl offers no device (RUSTICL_ENABLE is not set)");
}

static void on_named_twice(const mot_inventory *inventory)
{
    assert_int_equal(mot_inventory_count(inventory), 1);
    assert_string_equal(mot_inventory_notes(inventory),
                        "platform " POCL " is offered twice: its devices count once");
}

static void on_broken(const mot_inventory *inventory)
{
    struct mot__pick *pick = NULL;
    size_t count = 0;

    assert_int_equal(mot_inventory_count(inventory), 0);
    assert_notes(inventory, ": 1 .icd file");
    assert_story(mot__pick_parse(inventory, NULL, &pick, &count), MOT_NO_DEVICE, ": 1 .icd file");
}

static void on_none(const mot_inventory *inventory)
{
    struct mot__pick *pick = NULL;
    size_t count = 0;
    char wanted[1024];

    snprintf(wanted, sizeof wanted,
             "looked through the OpenCL loader in %s (OCL_ICD_VENDORS): 0 .icd files",
             getenv("OCL_ICD_VENDORS"));
    assert_int_equal(mot_inventory_count(inventory), 0);
    assert_string_equal(mot_inventory_notes(inventory), wanted);
    assert_story(mot__pick_parse(inventory, NULL, &pick, &count), MOT_NO_DEVICE,
                 "no OpenCL device: looked through");
    assert_story(mot__pick_parse(inventory, "gpu", &pick, &count), MOT_NO_DEVICE, wanted);
}

/* ---- machines that tests/fault/guise.c plays ---- */

static void on_cards(const mot_inventory *inventory)
{
    const struct mot_device_info *amd = find(inventory, POCL, 0);
    const struct mot_device_info *nvidia = find(inventory, POCL, 1);
    const struct mot_device_info *mesa = find(inventory, "rusticl", 0);
    char reason[64];

    assert_int_equal(mot_inventory_count(inventory), 4);
    assert_string_equal(amd->name, "AMD Radeon RX 6800 (gfx1030)");
    assert_string_equal(amd->pci, "c3:00.1");
    assert_string_equal(nvidia->pci, "0001:0a:03.2");
    assert_int_equal(amd->type, MOT_DEVICE_GPU);
    assert_int_equal(amd->device_class, MOT_CLASS_GPU);
    assert_int_equal(mesa->type, MOT_DEVICE_GPU);
    assert_string_equal(mesa->pci, "c3:00.1");
    assert_int_equal(mesa->same_as, amd->index);
    assert_int_equal(mesa->max_sub, 0); /* whatever it says */
    snprintf(reason, sizeof reason, "same card as %zu", amd->index);
    assert_string_equal(mesa->reason, reason);
    assert_true(amd->chosen && nvidia->chosen);
    assert_int_equal(count_chosen(inventory), 2);
}

static void on_host(const mot_inventory *inventory)
{
    const struct mot_device_info *cpu = find(inventory, POCL, 0);
    const struct mot_device_info *igpu = find(inventory, POCL, 1);
    const struct mot_device_info *mesa = find(inventory, "rusticl", 0);

    assert_string_equal(cpu->uuid, "0102030405060708090a0b0c0d0e0ffe");
    assert_string_equal(cpu->pci, "");
    assert_int_equal(cpu->same_as, -1); /* equal inside one platform: two devices */
    assert_int_equal(igpu->same_as, -1);
    assert_int_equal(igpu->type, MOT_DEVICE_IGPU);
    assert_int_equal(igpu->max_sub, 0);
    assert_true(igpu->chosen && !cpu->chosen);
    assert_int_equal(mesa->type, MOT_DEVICE_CPU);
    assert_int_equal(mesa->same_as, cpu->index);
    assert_string_equal(find(inventory, "Oclgrind", 0)->uuid, "");
}

static void on_sick(const mot_inventory *inventory)
{
    assert_int_equal(mot_inventory_count(inventory), 0);
    assert_notes(inventory, "platform " POCL " failed to list its devices: OpenCL error -6\n");
    assert_notes(inventory,
                 " on platform rusticl is left out: its driver says it is not available");
    assert_notes(inventory, "Oclgrind Simulator on platform Oclgrind is left out: it offers OpenCL "
                            "1.1 and 1.2 is needed");
    assert_notes(inventory, "\nlooked through the OpenCL loader in ");
}

static const struct {
    const char *name;
    void (*check)(const mot_inventory *inventory);
} machines[] = {
    {"pocl", on_pocl},   {"two", on_two},       {"all", on_all},
    {"empty", on_empty}, {"broken", on_broken}, {"named_twice", on_named_twice},
    {"none", on_none},   {"cards", on_cards},   {"host", on_host},
    {"sick", on_sick},
};

static void the_machine_is_told_as_it_is(void **state)
{
    mot_inventory *inventory = look(NULL);
    size_t i, checked = 0;

    (void)state;
    for (i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (machine_is(machines[i].name)) {
            machines[i].check(inventory);
            checked++;
        }
    }
    assert_int_equal(checked, getenv("MOTLEY_TEST_MACHINE") ? 1 : 0);
    mot_inventory_close(inventory);
}

/* ---- the doctor, with the same drivers ---- */

static void the_doctor_looks_at_this_machine(void **state)
{
    mot_inventory *inventory = look("");
    mot_diagnosis *diagnosis = NULL;
    char devices[64];

    (void)state;
    assert_int_equal(setenv("MOTLEY_DEVICES", ",,", 1), 0); /* wrong, and not its business */
    assert_ok(mot_diagnosis_open("/", &diagnosis));
    assert_int_equal(unsetenv("MOTLEY_DEVICES"), 0);
    assert_true(mot_diagnosis_count(diagnosis) > 0);
    assert_null(mot_diagnosis_get(diagnosis, mot_diagnosis_count(diagnosis)));
    snprintf(devices, sizeof devices, "OpenCL devices: %zu\n", mot_inventory_count(inventory));
    assert_non_null(strstr(mot_diagnosis_report(diagnosis), devices));
    mot_diagnosis_close(diagnosis);
    mot_inventory_close(inventory);
}

static void the_doctor_bears_a_root_that_is_not_there(void **state)
{
    mot_diagnosis *diagnosis = NULL;

    (void)state;
    assert_ok(mot_diagnosis_open("/nowhere/at/all", &diagnosis));
    assert_true(mot_diagnosis_count(diagnosis) > 0);
    mot_diagnosis_close(diagnosis);
    diagnosis = NULL;
    assert_story(mot_diagnosis_open(NULL, &diagnosis), MOT_BAD_ARG, "root or out is NULL");
    assert_null(diagnosis);
    mot_diagnosis_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_whole),
        cmocka_unit_test(the_device_text_counts_before_the_environment),
        cmocka_unit_test(a_malformed_text_opens_nothing),
        cmocka_unit_test(looking_twice_tells_the_same_and_keeps_no_file),
        cmocka_unit_test(the_machine_is_told_as_it_is),
        cmocka_unit_test(the_doctor_looks_at_this_machine),
        cmocka_unit_test(the_doctor_bears_a_root_that_is_not_there),
    };

    unsetenv("MOTLEY_DEVICES"); /* a developer's own */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
