/* policy.c - one physical device is one entry, and which devices are taken when nobody says: all
 * discrete GPUs; without any, the integrated ones; without any, the CPU, once. */
#include "device/entries.h"
#include "device/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same card behind two platforms ---- */

static bool same_platform(const struct mot__inventory_entry *a,
                          const struct mot__inventory_entry *b)
{
    if (a->platform || b->platform)
        return a->platform == b->platform;
    return strcmp(a->info.platform, b->info.platform) == 0;
}

/* A platform lists a device once, so equal keys inside one are parts of a card or PoCL's copies of
 * the CPU. Where both tell a PCI address it decides; drivers make up UUIDs in ways of their own. */
static bool same_card(const struct mot__inventory_entry *a, const struct mot__inventory_entry *b)
{
    if (same_platform(a, b))
        return false;
    if (a->info.pci[0] && b->info.pci[0])
        return strcmp(a->info.pci, b->info.pci) == 0;
    return a->info.uuid[0] && strcmp(a->info.uuid, b->info.uuid) == 0;
}

static bool serves_better(const struct mot__inventory_entry *a,
                          const struct mot__inventory_entry *b)
{
    const int rank_a = mot__quirk_platform_rank(a->info.platform);
    const int rank_b = mot__quirk_platform_rank(b->info.platform);

    return rank_a != rank_b ? rank_a > rank_b : a->info.index < b->info.index;
}

void mot__policy_join(mot_inventory *inventory)
{
    size_t i, j;

    for (i = 0; i < inventory->count; i++) {
        const struct mot__inventory_entry *best = &inventory->entry[i];

        for (j = 0; j < inventory->count; j++) {
            if (same_card(&inventory->entry[i], &inventory->entry[j]) &&
                serves_better(&inventory->entry[j], best))
                best = &inventory->entry[j];
        }
        inventory->entry[i].info.same_as =
            best == &inventory->entry[i] ? -1 : (ptrdiff_t)best->info.index;
    }
}

/* ---- the default ---- */

static bool candidate(const struct mot_device_info *info, enum mot_device_type type)
{
    return info->type == type && !info->simulator && info->same_as < 0;
}

static size_t take_all(const mot_inventory *inventory, enum mot_device_type type, bool *take)
{
    size_t i, taken = 0;

    for (i = 0; i < inventory->count; i++) {
        take[i] = candidate(&inventory->entry[i].info, type);
        taken += take[i];
    }
    return taken;
}

/* Every CPU device is the one host processor: take the entry that serves it best, a renderer last.
 */
static size_t take_cpu(const mot_inventory *inventory, bool *take)
{
    const struct mot__inventory_entry *best = NULL;
    size_t i;

    for (i = 0; i < inventory->count; i++) {
        const struct mot__inventory_entry *entry = &inventory->entry[i];
        const bool draws = mot__quirk_has(&entry->info, MOT__QUIRK_SOFTWARE, NULL);

        if (!candidate(&entry->info, MOT_DEVICE_CPU))
            continue;
        if (!best || (!draws && mot__quirk_has(&best->info, MOT__QUIRK_SOFTWARE, NULL)) ||
            (draws == mot__quirk_has(&best->info, MOT__QUIRK_SOFTWARE, NULL) &&
             serves_better(entry, best)))
            best = entry;
    }
    if (best)
        take[best->info.index] = true;
    return best != NULL;
}

size_t mot__policy_default(const mot_inventory *inventory, bool *take)
{
    size_t taken = take_all(inventory, MOT_DEVICE_GPU, take);

    if (taken == 0)
        taken = take_all(inventory, MOT_DEVICE_IGPU, take);
    return taken ? taken : take_cpu(inventory, take);
}

const char *mot_device_type_text(enum mot_device_type type)
{
    static const char *const texts[] = {
        [MOT_DEVICE_GPU] = "GPU",
        [MOT_DEVICE_IGPU] = "integrated GPU",
        [MOT_DEVICE_CPU] = "CPU",
        [MOT_DEVICE_OTHER] = "accelerator",
    };

    return (size_t)type < sizeof texts / sizeof *texts ? texts[type] : "unknown type";
}

/* ---- chosen, and why not ---- */

static const char *const left_out[] = {
    /* by the default policy, when something else was taken */
    [MOT_DEVICE_GPU] = "the default policy left it out",
    [MOT_DEVICE_IGPU] = "integrated; the default takes the discrete GPUs alone",
    [MOT_DEVICE_CPU] = "a CPU; the default takes the GPUs alone",
    [MOT_DEVICE_OTHER] = "neither GPU nor CPU; taken only by name or index",
};

static void explain(struct mot_device_info *info, const struct mot_device_info *cpu,
                    const char *text)
{
    if (info->chosen)
        info->reason[0] = '\0';
    else if (info->same_as >= 0)
        snprintf(info->reason, sizeof info->reason, "same card as %td", info->same_as);
    else if (info->simulator)
        snprintf(info->reason, sizeof info->reason, "a simulator; taken only by name or index");
    else if (text)
        snprintf(info->reason, sizeof info->reason, "not in the devices asked for, \"%.100s\"",
                 text);
    else if (info->type == MOT_DEVICE_CPU && cpu)
        snprintf(info->reason, sizeof info->reason,
                 "same processor as %zu; the default takes the CPU once", cpu->index);
    else
        snprintf(info->reason, sizeof info->reason, "%s", left_out[info->type]);
}

mot_status mot__policy_choose(mot_inventory *inventory, struct mot__string *told)
{
    const struct mot_device_info *cpu = NULL; /* the one the default took */
    struct mot__pick *picks = NULL;
    size_t count = 0, i;
    mot_status status;

    if (inventory->count == 0 && !inventory->text)
        return MOT_OK;
    status = mot__pick_parse(inventory, inventory->text, &picks, &count);
    if (status == MOT_NO_DEVICE || status == MOT_UNSUPPORTED) {
        if (inventory->count > 0)
            mot__string_add(told, "%s\n", mot_error());
        status = MOT_OK;
    }
    for (i = 0; i < inventory->count; i++)
        inventory->entry[i].info.chosen = false;
    for (i = 0; i < count; i++) {
        struct mot_device_info *info = &inventory->entry[picks[i].device].info;

        info->chosen = true;
        cpu = info->type == MOT_DEVICE_CPU ? info : cpu;
    }
    for (i = 0; i < inventory->count; i++)
        explain(&inventory->entry[i].info, cpu, inventory->text);
    free(picks);
    return status;
}
