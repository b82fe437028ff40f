/* test_pick.c - one entry per physical device, the default policy and the device language, on
 * tables made by hand. */
#include "support/check.h"

#include "device/inventory.h"
#include "device/quirks.h"

/* ---- machines ---- */

static struct mot_device_info device(enum mot_device_type type, const char *name,
                                     const char *platform, const char *pci)
{
    struct mot_device_info info = {0};

    info.type = type;
    info.units = 8;
    snprintf(info.name, sizeof info.name, "%s", name);
    snprintf(info.platform, sizeof info.platform, "%s", platform);
    snprintf(info.pci, sizeof info.pci, "%s", pci);
    return info;
}

static struct mot_device_info radeon(const char *pci)
{
    return device(MOT_DEVICE_GPU, "AMD Radeon RX 6800 (gfx1030)",
                  "AMD Accelerated Parallel Processing", pci);
}

static struct mot_device_info radeon_of_mesa(const char *pci)
{
    return device(MOT_DEVICE_GPU, "AMD Radeon RX 6800 (radeonsi, navi21)", "rusticl", pci);
}

static struct mot_device_info arc(void)
{
    return device(MOT_DEVICE_GPU, "Intel(R) Arc(TM) A770 Graphics", "Intel(R) OpenCL Graphics",
                  "0a:00.0");
}

static struct mot_device_info iris(void)
{
    return device(MOT_DEVICE_IGPU, "Intel(R) Iris(R) Xe Graphics", "Intel(R) OpenCL Graphics",
                  "00:02.0");
}

static struct mot_device_info pocl(void)
{
    struct mot_device_info info =
        device(MOT_DEVICE_CPU, "pthread-haswell", "Portable Computing Language", "");

    info.max_sub = 4;
    return info;
}

static struct mot_device_info llvmpipe(void)
{
    return device(MOT_DEVICE_CPU, "llvmpipe (LLVM 15.0.6, 256 bits)", "rusticl", "");
}

static struct mot_device_info oclgrind(void)
{
    struct mot_device_info info = device(MOT_DEVICE_OTHER, "Oclgrind Simulator", "Oclgrind", "");

    info.simulator = true;
    return info;
}

#define MACHINE(...)                                                                               \
    machine((struct mot_device_info[]){__VA_ARGS__},                                               \
            sizeof((struct mot_device_info[]){__VA_ARGS__}) / sizeof(struct mot_device_info))

static mot_inventory *machine(const struct mot_device_info *info, size_t count)
{
    mot_inventory *inventory = NULL;

    assert_ok(mot__inventory_of(info, count, &inventory));
    assert_int_equal(mot_inventory_count(inventory), count);
    return inventory;
}

/* AMD's card behind two platforms, an Arc, an integrated GPU, the CPU twice, a simulator. */
static mot_inventory *full_box(void)
{
    return MACHINE(radeon_of_mesa("03:00.0"), radeon("03:00.0"), arc(), iris(), pocl(), llvmpipe(),
                   oclgrind());
}

/* ---- checks ---- */

/* The labels that the text picks, joined by blanks. */
static void check_picks(const mot_inventory *inventory, const char *text, const char *wanted)
{
    struct mot__pick *pick = NULL;
    size_t count = 0, i;
    char seen[256] = "";

    assert_ok(mot__pick_parse(inventory, text, &pick, &count));
    for (i = 0; i < count; i++) {
        strcat(seen, i ? " " : "");
        strcat(seen, pick[i].label);
    }
    free(pick);
    if (strcmp(seen, wanted) != 0)
        fail_msg("\"%s\" picks %s, wanted %s", text ? text : "(default)", seen, wanted);
}

static void check_refused(const mot_inventory *inventory, const char *text, mot_status status,
                          const char *words)
{
    struct mot__pick *pick = (struct mot__pick *)&pick;
    size_t count = 99;

    assert_story(mot__pick_parse(inventory, text, &pick, &count), status, words);
    assert_ptr_equal(pick, (struct mot__pick *)&pick); /* nothing is published on failure */
    assert_int_equal(count, 99);
}

static void check_reason(const mot_inventory *inventory, size_t index, const char *wanted)
{
    const struct mot_device_info *info = mot_inventory_get(inventory, index);

    assert_non_null(info);
    assert_string_equal(info->reason, wanted);
    assert_int_equal(info->chosen, wanted[0] == '\0');
}

/* ---- the default policy ---- */

static void discrete_gpus_come_first(void **state)
{
    mot_inventory *inventory = full_box();

    (void)state;
    check_picks(inventory, NULL, "1 2");
    check_picks(inventory, "", "1 2");
    check_reason(inventory, 0, "same card as 1");
    check_reason(inventory, 1, "");
    check_reason(inventory, 2, "");
    check_reason(inventory, 3, "integrated; the default takes the discrete GPUs alone");
    check_reason(inventory, 4, "a CPU; the default takes the GPUs alone");
    check_reason(inventory, 5, "a CPU; the default takes the GPUs alone");
    check_reason(inventory, 6, "a simulator; taken only by name or index");
    mot_inventory_close(inventory);
}

static void integrated_gpus_come_before_the_cpu(void **state)
{
    mot_inventory *inventory = MACHINE(pocl(), iris());

    (void)state;
    check_picks(inventory, NULL, "1");
    check_reason(inventory, 0, "a CPU; the default takes the GPUs alone");
    mot_inventory_close(inventory);
}

static void the_cpu_is_taken_once_and_not_through_a_renderer(void **state)
{
    mot_inventory *inventory = MACHINE(llvmpipe(), oclgrind(), pocl(), pocl());

    (void)state;
    check_picks(inventory, NULL, "2");
    check_reason(inventory, 0, "same processor as 2; the default takes the CPU once");
    check_reason(inventory, 3, "same processor as 2; the default takes the CPU once");
    mot_inventory_close(inventory);
}

static void a_renderer_serves_where_it_is_all_there_is(void **state)
{
    mot_inventory *inventory = MACHINE(oclgrind(), llvmpipe());

    (void)state;
    check_picks(inventory, NULL, "1");
    mot_inventory_close(inventory);
}

static void a_simulator_is_never_taken_by_default(void **state)
{
    mot_inventory *inventory = MACHINE(oclgrind());

    (void)state;
    check_refused(inventory, NULL, MOT_NO_DEVICE,
                  "no GPU and no CPU device to take by default; name one of 0 (simulator, Oclgrind "
                  "Simulator)");
    check_reason(inventory, 0, "a simulator; taken only by name or index");
    assert_non_null(strstr(mot_inventory_notes(inventory), "name one of 0"));
    mot_inventory_close(inventory);
}

static void an_empty_machine_opens_and_refuses_to_pick(void **state)
{
    mot_inventory *inventory = machine(NULL, 0);

    (void)state;
    check_refused(inventory, NULL, MOT_NO_DEVICE, "no OpenCL device");
    check_refused(inventory, "gpu", MOT_NO_DEVICE, "no OpenCL device");
    check_refused(inventory, "0", MOT_NO_DEVICE, "no OpenCL device");
    check_refused(inventory, "0,", MOT_NO_DEVICE, "no OpenCL device");
    check_refused(inventory, "0/", MOT_BAD_ARG, "\"0/\" at character 1 is not an index");
    check_refused(inventory, "gqu", MOT_BAD_ARG, "name:Arc*); there are: none");
    assert_null(mot_inventory_get(inventory, 0));
    mot_inventory_close(inventory);
}

/* ---- one entry per physical device ---- */

static void the_vendors_own_driver_serves_a_card_whatever_the_order(void **state)
{
    mot_inventory *first = MACHINE(radeon("03:00.0"), radeon_of_mesa("03:00.0"));
    mot_inventory *last = MACHINE(radeon_of_mesa("03:00.0"), radeon("03:00.0"));

    (void)state;
    assert_int_equal(mot_inventory_get(first, 0)->same_as, -1);
    assert_int_equal(mot_inventory_get(first, 1)->same_as, 0);
    assert_int_equal(mot_inventory_get(last, 0)->same_as, 1);
    assert_int_equal(mot_inventory_get(last, 1)->same_as, -1);
    check_reason(first, 1, "same card as 0");
    mot_inventory_close(first);
    mot_inventory_close(last);
}

static void unlike_cards_of_one_kind_stay_two(void **state)
{
    mot_inventory *inventory = MACHINE(radeon("03:00.0"), radeon("04:00.0"),
                                       radeon_of_mesa("04:00.0"), radeon_of_mesa("03:00.0"));

    (void)state;
    check_picks(inventory, NULL, "0 1");
    assert_int_equal(mot_inventory_get(inventory, 2)->same_as, 1);
    assert_int_equal(mot_inventory_get(inventory, 3)->same_as, 0);
    mot_inventory_close(inventory);
}

static void a_uuid_joins_where_an_address_is_missing(void **state)
{
    struct mot_device_info own = radeon("03:00.0"), mesa = radeon_of_mesa(""), other;
    mot_inventory *inventory;

    (void)state;
    strcpy(own.uuid, "00112233445566778899aabbccddeeff");
    strcpy(mesa.uuid, own.uuid);
    other = radeon_of_mesa("05:00.0"); /* addresses that differ outweigh a UUID */
    strcpy(other.uuid, own.uuid);
    inventory = MACHINE(own, mesa, other);
    assert_int_equal(mot_inventory_get(inventory, 1)->same_as, 0);
    assert_int_equal(mot_inventory_get(inventory, 2)->same_as, -1);
    mot_inventory_close(inventory);
}

static void unknown_addresses_join_nothing(void **state)
{
    mot_inventory *inventory = MACHINE(radeon(""), radeon_of_mesa(""));

    (void)state;
    check_picks(inventory, NULL, "0 1");
    mot_inventory_close(inventory);
}

static void equal_keys_inside_one_platform_stay_apart(void **state)
{
    struct mot_device_info a = pocl(), b = pocl();
    mot_inventory *inventory;

    (void)state;
    strcpy(a.uuid, "00112233445566778899aabbccddeeff");
    strcpy(b.uuid, a.uuid);
    inventory = MACHINE(a, b, radeon("03:00.0"), radeon("03:00.0"));
    check_picks(inventory, "all", "0 1 2 3");
    mot_inventory_close(inventory);
}

/* ---- the language ---- */

static const struct {
    const char *text, *picks;
} terms[] = {
    {"all", "1 2 3 4 5"}, /* every card once; no simulator */
    {"gpu", "1 2 3"},
    {"GPU", "1 2 3"},
    {"cpu", "4 5"},
    {"gpu,cpu", "1 2 3 4 5"},
    {"cpu , gpu", "4 5 1 2 3"},
    {"0", "0"}, /* asked for by its index, the other entry of a card is had */
    {"6", "6"},
    {"2,1", "2 1"},
    {"4,4", "4 4"},
    {" 2 ,\t4 ", "2 4"},
    {"pci:03:00.0", "1"},
    {"pci:3:0.0", "1"},
    {"pci:0000:03:00.0", "1"},
    {"PCI:0A:00.0", "2"},
    {"name:Arc*", "2"},
    {"name:arc", "2"},
    {"name:*Graphics", "2 3"},
    {"name:*6800*", "1"}, /* both entries of the card fit: one of them */
    {"name:*radeonsi*", "0"},
    {"name:Oclgrind*", "6"},
    {"name:pthread-haswell", "4"},
    {"name:llvmpipe", "5"},
    {"4/2", "4/2.0 4/2.1"},
    {"4/2.1", "4/2.1"},
    {"4/4.3,4/4.0", "4/4.3 4/4.0"},
    {"4/1", "4"},
    {"2/1.0", "2"},
    {"gpu,4/2.0,name:Ocl*", "1 2 3 4/2.0 6"},
};

static void every_term_picks_what_it_says(void **state)
{
    mot_inventory *inventory = full_box();
    size_t i;

    (void)state;
    for (i = 0; i < sizeof terms / sizeof *terms; i++)
        check_picks(inventory, terms[i].text, terms[i].picks);
    mot_inventory_close(inventory);
}

static void parts_carry_their_numbers(void **state)
{
    mot_inventory *inventory = full_box();
    struct mot__pick *pick = NULL;
    size_t count = 0;

    (void)state;
    assert_ok(mot__pick_parse(inventory, "4/4.2,3", &pick, &count));
    assert_int_equal(count, 2);
    assert_int_equal(pick[0].device, 4);
    assert_int_equal(pick[0].parts, 4);
    assert_int_equal(pick[0].part, 2);
    assert_int_equal(pick[1].device, 3);
    assert_int_equal(pick[1].parts, 1);
    assert_int_equal(pick[1].part, 0);
    free(pick);
    mot_inventory_close(inventory);
}

static void a_whole_name_is_preferred_to_a_part_of_one(void **state)
{
    struct mot_device_info small = radeon("03:00.0"), large = radeon("04:00.0");
    mot_inventory *inventory;

    (void)state;
    strcpy(small.name, "GeForce RTX 3080");
    strcpy(large.name, "GeForce RTX 3080 Ti");
    inventory = MACHINE(large, small);
    check_picks(inventory, "name:GeForce RTX 3080", "1");
    check_picks(inventory, "name:RTX 3080", "0 1");
    mot_inventory_close(inventory);
}

static const struct {
    const char *text;
    mot_status status;
    const char *words;
} wrong[] = {
    {"gqu", MOT_BAD_ARG,
     "devices \"gqu\": \"gqu\" at character 1 is no device (known: all, gpu, cpu, 0, 0/2, 0/2.1, "
     "pci:03:00.0, name:Arc*); there are: 0 (GPU at 03:00.0, AMD Radeon RX 6800 (radeonsi, "
     "navi21)"},
    {"0,,1", MOT_BAD_ARG, "\"\" at character 3 is empty: a device is missing there"},
    {"0,1,", MOT_BAD_ARG, "at character 5 is empty"},
    {",0", MOT_BAD_ARG, "at character 1 is empty"},
    {"  ", MOT_BAD_ARG, "at character 1 is empty"},
    {"0, x", MOT_BAD_ARG, "\"x\" at character 4 is no device"},
    {"-1", MOT_BAD_ARG, "\"-1\" at character 1 is no device"},
    {"1x", MOT_BAD_ARG, "\"1x\" at character 1 is not an index such as 0, 0/2 or 0/2.1"},
    {"4.1", MOT_BAD_ARG, "is not an index"},
    {"4/", MOT_BAD_ARG, "is not an index"},
    {"4/2.", MOT_BAD_ARG, "is not an index"},
    {"4/2.1.0", MOT_BAD_ARG, "is not an index"},
    {"4/2/2", MOT_BAD_ARG, "is not an index"},
    {"99999999999999999999", MOT_BAD_ARG, "is not an index"},
    {"gpu/2", MOT_BAD_ARG, "\"gpu/2\" at character 1 is no device"},
    {"4/0", MOT_BAD_ARG, "cuts into a number of parts that makes no sense"},
    {"4/2.2", MOT_BAD_ARG, "names a part that is not there: parts count from 0"},
    {"0,7", MOT_NO_DEVICE, "\"7\" at character 3 is the index of no device; there are: 0 (GPU"},
    {"4/5", MOT_UNSUPPORTED, "cannot be had: device 4 can be cut into at most 4 parts; there are"},
    {"5/2", MOT_UNSUPPORTED, "cannot be had: device 5 cannot be cut"},
    {"pci:", MOT_BAD_ARG, "is not a PCI address such as pci:03:00.0"},
    {"pci:03:00", MOT_BAD_ARG, "is not a PCI address"},
    {"pci:03:00.0x", MOT_BAD_ARG, "is not a PCI address"},
    {"pci:05:00.0", MOT_NO_DEVICE, "is the address of no device; there are"},
    {"pci:0001:03:00.0", MOT_NO_DEVICE, "is the address of no device"},
    {"name:", MOT_BAD_ARG, "lacks a pattern such as name:Arc*"},
    {"name:Tesla*", MOT_NO_DEVICE,
     "\"name:Tesla*\" at character 1 is the name of no device; there"},
};

static void every_error_names_the_place_and_what_there_is(void **state)
{
    mot_inventory *inventory = full_box();
    size_t i;

    (void)state;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_refused(inventory, wrong[i].text, wrong[i].status, wrong[i].words);
    mot_inventory_close(inventory);
}

static void groups_that_are_empty_say_so(void **state)
{
    mot_inventory *no_gpu = MACHINE(pocl()), *no_cpu = MACHINE(iris()), *toy = MACHINE(oclgrind());
    struct mot_device_info odd = iris();
    mot_inventory *neither;

    (void)state;
    odd.type = MOT_DEVICE_OTHER;
    neither = MACHINE(odd);
    check_refused(neither, "gpu", MOT_NO_DEVICE, "there are: 0 (accelerator at 00:02.0, Intel(R)");
    assert_string_equal(mot_device_type_text((enum mot_device_type)9), "unknown type");
    mot_inventory_close(neither);
    check_refused(no_gpu, "gpu", MOT_NO_DEVICE,
                  "\"gpu\" at character 1 finds no GPU; there are: 0 (CPU, pthread-haswell)");
    check_refused(no_gpu, "cpu,gpu", MOT_NO_DEVICE, "\"gpu\" at character 5 finds no GPU");
    check_refused(no_cpu, "cpu", MOT_NO_DEVICE,
                  "finds no CPU device; there are: 0 (integrated GPU at 00:02.0, Intel(R) Iris(R)");
    check_refused(toy, "all", MOT_NO_DEVICE, "finds nothing but simulators");
    mot_inventory_close(no_gpu);
    mot_inventory_close(no_cpu);
    mot_inventory_close(toy);
}

static void a_long_list_is_cut_short(void **state)
{
    struct mot_device_info many[40];
    mot_inventory *inventory;
    size_t i;

    (void)state;
    for (i = 0; i < 40; i++)
        many[i] = pocl();
    inventory = machine(many, 40);
    check_picks(inventory, "39", "39");
    check_refused(inventory, "40", MOT_NO_DEVICE, "7 (CPU, pthread-haswell) and 32 more");
    mot_inventory_close(inventory);
}

/* ---- quirks ---- */

static void quirks_are_found_by_platform_and_name(void **state)
{
    const struct mot_device_info mesa = llvmpipe(), cpu = pocl(), toy = oclgrind(), card = arc();
    const char *reason = NULL;

    (void)state;
    assert_true(mot__quirk_has(&mesa, MOT__QUIRK_SOFTWARE, NULL));
    assert_true(mot__quirk_has(&mesa, MOT__QUIRK_NO_SUB_DEVICES, &reason));
    assert_non_null(strstr(reason, "clCreateSubDevices"));
    assert_false(mot__quirk_has(&mesa, MOT__QUIRK_SIMULATOR, NULL));
    assert_true(mot__quirk_has(&toy, MOT__QUIRK_SIMULATOR, NULL));
    assert_true(mot__quirk_has(&card, MOT__QUIRK_CLBLAST_SUSPECT, NULL));
    assert_false(mot__quirk_has(&card, MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES, NULL));
    assert_true(mot__quirk_has(&mesa, MOT__QUIRK_UNMAP_WAITS, NULL));
    for (int flag = 0; flag < MOT__QUIRKS; flag++)
        assert_int_equal(mot__quirk_has(&cpu, (enum mot__quirk)flag, NULL),
                         flag == MOT__QUIRK_KEEP_SUB_DEVICES || flag == MOT__QUIRK_KEEPS_BINARIES ||
                             flag == MOT__QUIRK_SURVIVES_OUT_OF_RESOURCES); /* PoCL's only ones */
}

static void every_quirk_has_a_reason_and_a_link(void **state)
{
    const struct mot__quirk_row *row;
    size_t i;

    (void)state;
    for (i = 0; (row = mot__quirk_row(i)); i++) {
        assert_true(row->platform || row->name);
        assert_true(strlen(row->reason) > 10);
        assert_true(strncmp(row->link, "https://", 8) == 0);
        assert_true(row->flag < MOT__QUIRKS);
    }
    assert_true(i > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discrete_gpus_come_first),
        cmocka_unit_test(integrated_gpus_come_before_the_cpu),
        cmocka_unit_test(the_cpu_is_taken_once_and_not_through_a_renderer),
        cmocka_unit_test(a_renderer_serves_where_it_is_all_there_is),
        cmocka_unit_test(a_simulator_is_never_taken_by_default),
        cmocka_unit_test(an_empty_machine_opens_and_refuses_to_pick),
        cmocka_unit_test(the_vendors_own_driver_serves_a_card_whatever_the_order),
        cmocka_unit_test(unlike_cards_of_one_kind_stay_two),
        cmocka_unit_test(a_uuid_joins_where_an_address_is_missing),
        cmocka_unit_test(unknown_addresses_join_nothing),
        cmocka_unit_test(equal_keys_inside_one_platform_stay_apart),
        cmocka_unit_test(every_term_picks_what_it_says),
        cmocka_unit_test(parts_carry_their_numbers),
        cmocka_unit_test(a_whole_name_is_preferred_to_a_part_of_one),
        cmocka_unit_test(every_error_names_the_place_and_what_there_is),
        cmocka_unit_test(groups_that_are_empty_say_so),
        cmocka_unit_test(a_long_list_is_cut_short),
        cmocka_unit_test(quirks_are_found_by_platform_and_name),
        cmocka_unit_test(every_quirk_has_a_reason_and_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
