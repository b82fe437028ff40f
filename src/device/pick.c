/* pick.c - the device language: terms joined by commas, each adds its devices in order. A device
 * that two terms name gets two replicas ("0,0"). Errors name the place and what there is. */
#include "device/entries.h"
#include "device/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 4096

struct reader {
    const mot_inventory *inventory;
    const char *text; /* the whole of it, for the story */
    size_t place;     /* of the term, counted from 1 */
    const char *term; /* trimmed, a copy */
    struct mot__pick *pick;
    size_t count, capacity;
};

/* "0 (CPU, pthread-haswell), 1 (simulator, Oclgrind Simulator)" */
static void list_devices(const mot_inventory *inventory, char *out, size_t bytes)
{
    const size_t shown = inventory->count < 8 ? inventory->count : 8;
    size_t i, used = 0;

    snprintf(out, bytes, "none");
    for (i = 0; i < shown && used < bytes; i++) {
        const struct mot_device_info *info = &inventory->entry[i].info;

        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%zu (%s%s%s, %.60s)", i ? ", " : "", i,
                             info->simulator ? "simulator" : mot_device_type_text(info->type),
                             info->pci[0] ? " at " : "", info->pci, info->name);
    }
    if (shown < inventory->count && used < bytes)
        snprintf(out + used, bytes - used, " and %zu more", inventory->count - shown);
}

static mot_status malformed(const struct reader *reader, const char *what)
{
    return mot__fail(MOT_BAD_ARG, "devices \"%.100s\": \"%.60s\" at character %zu %s", reader->text,
                     reader->term, reader->place, what);
}

/* Nothing was found at all: the notes tell where it was looked for. */
static mot_status nothing(const mot_inventory *inventory)
{
    char notes[MOT__STORY_BYTES];
    size_t i;

    snprintf(notes, sizeof notes, "%s", mot_inventory_notes(inventory));
    for (i = 0; notes[i]; i++) {
        if (notes[i] == '\n')
            notes[i] = ';';
    }
    return mot__fail(MOT_NO_DEVICE, "no OpenCL device%s%s", notes[0] ? ": " : "", notes);
}

static mot_status unmatched(const struct reader *reader, mot_status status, const char *what)
{
    char list[640];

    if (reader->inventory->count == 0 && status != MOT_BAD_ARG)
        return nothing(reader->inventory);
    list_devices(reader->inventory, list, sizeof list);
    return mot__fail(status, "devices \"%.100s\": \"%.60s\" at character %zu %s; there are: %s",
                     reader->text, reader->term, reader->place, what, list);
}

static mot_status add(struct reader *reader, size_t device, uint32_t parts, uint32_t part)
{
    struct mot__pick *pick;

    if (reader->count == reader->capacity) {
        const size_t capacity = reader->capacity ? 2 * reader->capacity : 8;
        struct mot__pick *grown = realloc(reader->pick, capacity * sizeof *grown);

        if (!grown)
            return mot__fail(MOT_NO_MEMORY, "devices: %zu replicas", capacity);
        reader->pick = grown;
        reader->capacity = capacity;
    }
    pick = &reader->pick[reader->count++];
    *pick = (struct mot__pick){.device = device, .parts = parts, .part = part};
    if (parts == 1)
        snprintf(pick->label, sizeof pick->label, "%zu", device);
    else
        snprintf(pick->label, sizeof pick->label, "%zu/%u.%u", device, (unsigned)parts,
                 (unsigned)part);
    return MOT_OK;
}

/* ---- all, gpu, cpu ---- */

static bool is_any(const struct mot_device_info *info)
{
    (void)info;
    return true;
}

static bool is_gpu(const struct mot_device_info *info)
{
    return info->type == MOT_DEVICE_GPU || info->type == MOT_DEVICE_IGPU;
}

static bool is_cpu(const struct mot_device_info *info)
{
    return info->type == MOT_DEVICE_CPU;
}

static const struct group {
    const char *word;
    bool (*holds)(const struct mot_device_info *info);
    const char *missing;
} groups[] = {
    {"all", is_any, "finds nothing but simulators, which are taken only by name or index"},
    {"gpu", is_gpu, "finds no GPU"},
    {"cpu", is_cpu, "finds no CPU device"},
};

static mot_status add_group(struct reader *reader, const struct group *group)
{
    const size_t before = reader->count;
    size_t i;

    for (i = 0; i < reader->inventory->count; i++) {
        const struct mot_device_info *info = &reader->inventory->entry[i].info;
        mot_status status = MOT_OK;

        if (!info->simulator && info->same_as < 0 && group->holds(info))
            status = add(reader, i, 1, 0);
        if (status != MOT_OK)
            return status;
    }
    return reader->count > before ? MOT_OK : unmatched(reader, MOT_NO_DEVICE, group->missing);
}

/* ---- pci: and name: ---- */

/* "3:0.0", "03:00.0", "0000:03:00.0" as domain, bus, device, function. */
static bool read_pci(const char *text, unsigned out[4])
{
    char end;

    if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text))
        return false;
    if (sscanf(text, "%4x:%2x:%2x.%1x%c", &out[0], &out[1], &out[2], &out[3], &end) == 4)
        return true;
    out[0] = 0;
    return sscanf(text, "%2x:%2x.%1x%c", &out[1], &out[2], &out[3], &end) == 3;
}

static mot_status add_pci(struct reader *reader, const char *address)
{
    unsigned want[4], have[4];
    size_t i;

    if (!read_pci(address, want))
        return malformed(reader, "is not a PCI address such as pci:03:00.0");
    for (i = 0; i < reader->inventory->count; i++) {
        const struct mot_device_info *info = &reader->inventory->entry[i].info;

        if (info->same_as < 0 && read_pci(info->pci, have) && memcmp(want, have, sizeof want) == 0)
            return add(reader, i, 1, 0);
    }
    return unmatched(reader, MOT_NO_DEVICE, "is the address of no device");
}

/* Every device whose name the pattern fits; the other entry of a card that fits too stays out. */
static mot_status add_names(struct reader *reader, const char *pattern)
{
    const size_t before = reader->count;
    size_t i;

    for (i = 0; i < reader->inventory->count; i++) {
        const struct mot_device_info *info = &reader->inventory->entry[i].info;
        const struct mot_device_info *twin =
            info->same_as < 0 ? NULL : &reader->inventory->entry[info->same_as].info;
        mot_status status = MOT_OK;

        if (mot__text_match(pattern, info->name) && !(twin && mot__text_match(pattern, twin->name)))
            status = add(reader, i, 1, 0);
        if (status != MOT_OK)
            return status;
    }
    return reader->count > before ? MOT_OK
                                  : mot__fail(MOT_NO_DEVICE, "no device is called %s", pattern);
}

/* The whole name, or where none fits as a whole any part of it: drivers put their vendor first
 * ("Intel(R) Arc(TM) A770 Graphics"). */
static mot_status add_name(struct reader *reader, const char *pattern)
{
    char part[128];
    mot_status status;

    if (pattern[0] == '\0')
        return malformed(reader, "lacks a pattern such as name:Arc*");
    status = add_names(reader, pattern);
    if (status != MOT_NO_DEVICE)
        return status;
    snprintf(part, sizeof part, "*%.120s*", pattern);
    status = add_names(reader, part);
    return status == MOT_NO_DEVICE ? unmatched(reader, MOT_NO_DEVICE, "is the name of no device")
                                   : status;
}

/* ---- 2, 0/2, 0/2.1 ---- */

/* Digits up to the next other character; false: none, or too many. */
static bool read_number(const char **at, uint32_t *out)
{
    const size_t digits = strspn(*at, "0123456789");

    if (digits == 0 || digits > 6)
        return false;
    *out = (uint32_t)strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

static mot_status check_parts(const struct reader *reader, uint32_t device, uint32_t parts)
{
    const struct mot_device_info *info = &reader->inventory->entry[device].info;
    const char *reason;
    char what[256];

    if (parts == 1 || parts <= info->max_sub)
        return MOT_OK;
    if (mot__quirk_has(info, MOT__QUIRK_NO_SUB_DEVICES, &reason))
        snprintf(what, sizeof what, "cannot be had: device %u cannot be cut (%s)", (unsigned)device,
                 reason);
    else if (info->max_sub < 2)
        snprintf(what, sizeof what, "cannot be had: device %u cannot be cut", (unsigned)device);
    else
        snprintf(what, sizeof what, "cannot be had: device %u can be cut into at most %u parts",
                 (unsigned)device, (unsigned)info->max_sub);
    return unmatched(reader, MOT_UNSUPPORTED, what);
}

static mot_status add_index(struct reader *reader)
{
    const char *at = reader->term;
    uint32_t device = 0, parts = 1, part = 0, i;
    bool one = false, good = read_number(&at, &device);
    mot_status status;

    if (good && *at == '/') {
        at++;
        good = read_number(&at, &parts);
        one = good && *at == '.';
    }
    if (one) {
        at++;
        good = read_number(&at, &part);
    }
    if (!good || *at)
        return malformed(reader, "is not an index such as 0, 0/2 or 0/2.1");
    if (parts == 0 || parts > PARTS_MAX)
        return malformed(reader, "cuts into a number of parts that makes no sense");
    if (part >= parts)
        return malformed(reader, "names a part that is not there: parts count from 0");
    if (device >= reader->inventory->count)
        return unmatched(reader, MOT_NO_DEVICE, "is the index of no device");
    status = check_parts(reader, device, parts);
    for (i = one ? part : 0; status == MOT_OK && i < (one ? part + 1 : parts); i++)
        status = add(reader, device, parts, i);
    return status;
}

/* ---- the whole text ---- */

static mot_status read_term(struct reader *reader)
{
    size_t i;

    if (reader->term[0] == '\0')
        return malformed(reader, "is empty: a device is missing there");
    if (reader->term[0] >= '0' && reader->term[0] <= '9')
        return add_index(reader);
    if (mot__text_match("pci:*", reader->term))
        return add_pci(reader, reader->term + 4);
    if (mot__text_match("name:*", reader->term))
        return add_name(reader, reader->term + 5);
    for (i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (mot__text_same(groups[i].word, reader->term))
            return add_group(reader, &groups[i]);
    }
    return unmatched(reader, MOT_BAD_ARG,
                     "is no device (known: all, gpu, cpu, 0, 0/2, 0/2.1, pci:03:00.0, name:Arc*)");
}

static mot_status read_text(struct reader *reader)
{
    static const char blanks[] = " \t\n";
    mot_status status = MOT_OK;
    const char *at = reader->text;
    char *term = malloc(strlen(at) + 1);

    if (!term)
        return mot__fail(MOT_NO_MEMORY, "devices: %zu bytes", strlen(at) + 1);
    reader->term = term;
    for (;;) {
        const char *begin = at + strspn(at, blanks), *comma = at + strcspn(at, ",");
        size_t length = begin < comma ? (size_t)(comma - begin) : 0;

        while (length > 0 && strchr(blanks, begin[length - 1]))
            length--;
        memcpy(term, begin, length);
        term[length] = '\0';
        reader->place = (size_t)((length ? begin : at) - reader->text) + 1;
        MOT_TRY(read_term(reader));
        if (*comma == '\0')
            break;
        at = comma + 1;
    }
done:
    free(term);
    return status;
}

static mot_status read_default(struct reader *reader)
{
    const mot_inventory *inventory = reader->inventory;
    mot_status status = MOT_OK;
    bool *take = NULL;
    char list[640];
    size_t i;

    if (inventory->count == 0)
        return nothing(inventory);
    take = calloc(inventory->count, sizeof *take);
    if (!take)
        return mot__fail(MOT_NO_MEMORY, "devices: %zu bytes", inventory->count);
    if (mot__policy_default(inventory, take) == 0) {
        list_devices(inventory, list, sizeof list);
        status = mot__fail(MOT_NO_DEVICE,
                           "no GPU and no CPU device to take by default; name one of %s", list);
    }
    for (i = 0; status == MOT_OK && i < inventory->count; i++) {
        if (take[i])
            status = add(reader, i, 1, 0);
    }
    free(take);
    return status;
}

mot_status mot__pick_parse(const mot_inventory *inventory, const char *text, struct mot__pick **out,
                           size_t *count)
{
    struct reader reader = {.inventory = inventory, .text = text};
    mot_status status = MOT_OK;

    if (text && text[0])
        MOT_TRY(read_text(&reader));
    else
        MOT_TRY(read_default(&reader));

    *out = reader.pick;
    *count = reader.count;
    reader.pick = NULL;
done:
    free(reader.pick);
    return status;
}
