/* fleet.c - open the chosen devices together, leave out those that cannot be used, and say why. */
#include "strategy/fleet.h"

#include "base/config.h"
#include "base/file.h"
#include "base/size.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define DEADLINE_S 60.0

struct mot_fleet {
    mot_inventory *inventory;
    mot__lane **lane;
    size_t lanes;
    double deadline_s;
    char cache_dir[512];
    char *notes;
    const struct mot__fleet_choice *tried;
    bool tainted; /* a lane was given up; its thread may still read what is here */
};

struct mot_fleet_config mot_fleet_config_default(void)
{
    return (struct mot_fleet_config){.size = sizeof(struct mot_fleet_config)};
}

/* ---- what the configuration and the environment say ---- */

struct word {
    const char *text;
    int value;
};

static mot_status read_word(const char *what, const char *text, const struct word *word,
                            size_t count, int *out)
{
    struct mot__string legal = {0};
    size_t i;

    if (!text || !text[0])
        return MOT_OK;
    for (i = 0; i < count; i++) {
        if (mot__text_same(text, word[i].text)) {
            *out = word[i].value;
            mot__string_clear(&legal);
            return MOT_OK;
        }
        mot__string_add(&legal, "%s%s", i ? ", " : "", word[i].text);
    }
    mot__fail(MOT_BAD_ARG, "%s \"%s\" is none of %s", what, text, legal.text ? legal.text : "");
    mot__string_clear(&legal);
    return MOT_BAD_ARG;
}

static mot_status read_options(const struct mot_fleet_config *config,
                               struct mot__device_options *out)
{
    static const struct word classes[] = {
        {"auto", MOT_CLASS_AUTO}, {"cpu", MOT_CLASS_CPU}, {"gpu", MOT_CLASS_GPU}};
    static const struct word stagings[] = {
        {"auto", MOT__STAGING_AUTO}, {"map", MOT__STAGING_MAP}, {"copy", MOT__STAGING_COPY}};
    static const struct word gemms[] = {
        {"auto", MOT__GEMM_AUTO}, {"clblast", MOT__GEMM_CLBLAST}, {"tile", MOT__GEMM_TILE}};
    const char *profile = getenv("MOTLEY_PROFILE");
    int class = (int)config->device_class, gemm = MOT__GEMM_AUTO, staging = MOT__STAGING_AUTO;
    const char *largest = getenv("MOTLEY_LARGEST"); /* a driver may promise more than it holds */
    uint64_t largest_bytes = 0;
    mot_status status = MOT_OK;

    if (largest && (!mot__text_bytes(largest, &largest_bytes) || largest_bytes == 0))
        return mot__fail(MOT_BAD_ARG, "MOTLEY_LARGEST \"%s\": expected bytes, like 512M or 4G",
                         largest);
    out->largest_bytes = (size_t)largest_bytes;
    if (class == MOT_CLASS_AUTO)
        MOT_TRY(read_word("MOTLEY_CLASS", getenv("MOTLEY_CLASS"), classes, MOT__COUNT(classes),
                          &class));
    MOT_TRY(read_word("MOTLEY_STAGING", getenv("MOTLEY_STAGING"), stagings, MOT__COUNT(stagings),
                      &staging));
    MOT_TRY(read_word(config->gemm ? "gemm" : "MOTLEY_GEMM",
                      config->gemm ? config->gemm : getenv("MOTLEY_GEMM"), gemms, MOT__COUNT(gemms),
                      &gemm));
    out->device_class = (enum mot_device_class) class;
    out->gemm = (enum mot__gemm_kind)gemm;
    out->staging = (enum mot__staging)staging;
    out->profile = config->profile || (profile && strcmp(profile, "1") == 0);
done:
    return status;
}

/* How closely the words before a limit's = name this lane: 0 not, 1 its device, 2 its part of it.
 */
static mot_status how_near(const mot_inventory *inventory, const char *words,
                           const struct mot__pick *lane, size_t *out)
{
    struct mot__pick *named = NULL;
    size_t count = 0, i;
    const mot_status status = mot__pick_parse(inventory, words, &named, &count);

    *out = 0;
    for (i = 0; status == MOT_OK && i < count; i++)
        if (named[i].device == lane->device && named[i].parts == 1)
            *out = mot__size_max(*out, 1);
        else if (named[i].device == lane->device && named[i].parts == lane->parts &&
                 named[i].part == lane->part)
            *out = 2;
    free(named);
    return status;
}

struct limit { /* one of a list */
    char words[128];
    size_t bytes;
    bool named; /* words tell for which; else for each device */
};

/* The one at *at, which is moved on; NULL: it was the last. */
static mot_status read_limit(const char *text, const char **at, struct limit *out)
{
    const char *end = strchr(*at, ',');
    const size_t length = end ? (size_t)(end - *at) : strlen(*at);
    char *equals = NULL;
    uint64_t bytes = 0;

    if (length < sizeof out->words) {
        memcpy(out->words, *at, length);
        out->words[length] = '\0';
        equals = strrchr(out->words, '=');
    }
    if (length >= sizeof out->words || equals == out->words ||
        !mot__text_bytes(equals ? equals + 1 : out->words, &bytes) || bytes == 0)
        return mot__fail(
            MOT_BAD_ARG,
            "memory limit \"%s\", character %zu: expected 1G, or 0=512M,1=2G by device", text,
            (size_t)(*at - text) + 1);
    if (equals)
        *equals = '\0';
    out->named = equals != NULL;
    out->bytes = (size_t)bytes;
    *at = end ? end + 1 : NULL;
    return MOT_OK;
}

/* "1G" for each device, "0=512M,1=2G" for some, in the words that choose devices ("0/2.1=512M" for
 * a part), or both: what names a lane most closely goes before. *out = 0 where nothing is said. */
static mot_status read_memory(const char *text, const mot_inventory *inventory,
                              const struct mot__pick *lane, size_t *out)
{
    size_t near, limit[3] = {0, 0, 0}; /* of all, of its device, of its part */
    mot_status status = MOT_OK;
    struct limit one;
    const char *at;

    for (at = text; at && *at;) {
        MOT_TRY(read_limit(text, &at, &one));
        near = 0;
        if (one.named)
            status = how_near(inventory, one.words, lane, &near);
        if (status != MOT_OK)
            return mot__fail_in(status == MOT_NO_DEVICE ? MOT_BAD_ARG : status,
                                "memory limit \"%s\"", text);
        if (one.named && !near)
            continue;
        if (limit[near])
            return mot__fail(MOT_BAD_ARG, "memory limit \"%s\": two for %s%s", text,
                             one.named ? "device " : "each device", one.named ? one.words : "");
        limit[near] = one.bytes;
    }
    *out = limit[2] ? limit[2] : limit[1] ? limit[1] : limit[0];
done:
    return status;
}

/* A limit for a device that is there but not used does nothing; all of them were read before. */
static mot_status note_unused(const char *text, const mot_inventory *inventory,
                              const struct mot__pick *lane, size_t lanes, struct mot__string *notes)
{
    mot_status status = MOT_OK;
    struct limit one;
    const char *at;
    size_t i, near;

    for (at = text; at && *at;) {
        MOT_TRY(read_limit(text, &at, &one));
        near = !one.named;
        for (i = 0; i < lanes && !near; i++)
            MOT_TRY(how_near(inventory, one.words, &lane[i], &near));
        if (!near)
            mot__string_add(notes, "%smemory limit \"%s\": %s is not among the devices in use",
                            notes->used ? "\n" : "", text, one.words);
    }
done:
    return status;
}

/* ---- opening ---- */

static mot_status open_lanes(mot_fleet *fleet, const struct mot_fleet_config *config,
                             const struct mot__pick *pick, size_t count)
{
    struct mot__lane_config lane = {.inventory = fleet->inventory, .deadline_s = fleet->deadline_s};
    mot_status status = MOT_OK;
    size_t i;

    MOT_TRY(read_options(config, &lane.options));
    MOT_TRY(mot__path_cache(config->cache_dir, fleet->cache_dir, sizeof fleet->cache_dir));
    lane.options.cache_dir = fleet->cache_dir;
    for (i = 0; i < count; i++) {
        lane.pick = pick[i];
        MOT_TRY(
            read_memory(config->memory, fleet->inventory, &pick[i], &lane.options.memory_bytes));
        MOT_TRY(mot__lane_open(&lane, &fleet->lane[fleet->lanes]));
        fleet->lanes++;
    }
done:
    return status;
}

/* Wait for each to open; those that failed are closed and noted. */
static mot_status keep_good(mot_fleet *fleet, struct mot__string *notes)
{
    size_t i, kept = 0;

    for (i = 0; i < fleet->lanes; i++) {
        if (mot__lane_wait(fleet->lane[i]) == MOT_OK) {
            fleet->lane[kept++] = fleet->lane[i];
            continue;
        }
        mot__string_add(notes, "%sdevice %s left out: %s", notes->used ? "\n" : "",
                        mot__lane_label(fleet->lane[i]), mot_error());
        fleet->tainted = fleet->tainted || mot__lane_tainted(fleet->lane[i]);
        mot__lane_close(fleet->lane[i]);
    }
    fleet->lanes = kept;
    return kept ? MOT_OK
                : mot__fail(MOT_NO_DEVICE, "no device can be used: %s",
                            notes->text ? notes->text : "none was chosen");
}

mot_status mot_fleet_open(const struct mot_fleet_config *given, mot_fleet **out)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_status status = MOT_OK;
    mot_fleet *fleet = calloc(1, sizeof *fleet);
    struct mot__pick *pick = NULL;
    struct mot__string notes = {0};
    size_t count = 0;

    if (!fleet)
        return mot__fail(MOT_NO_MEMORY, "a fleet's %zu bytes", sizeof *fleet);
    MOT_TRY(mot__config_take(given, sizeof config, "mot_fleet_config", &config));
    fleet->deadline_s = config.deadline_s > 0 ? config.deadline_s : DEADLINE_S;
    MOT_TRY(mot_inventory_open(&config, &fleet->inventory));
    MOT_TRY(
        mot__pick_parse(fleet->inventory, mot__inventory_text(fleet->inventory), &pick, &count));
    fleet->lane = calloc(count ? count : 1, sizeof *fleet->lane);
    if (!fleet->lane) {
        status = mot__fail(MOT_NO_MEMORY, "%zu lanes", count);
        goto done;
    }
    MOT_TRY(open_lanes(fleet, &config, pick, count));
    MOT_TRY(note_unused(config.memory, fleet->inventory, pick, count, &notes));
    MOT_TRY(keep_good(fleet, &notes));
    MOT_TRY(mot__string_take(&notes, &fleet->notes));
    *out = fleet;
    fleet = NULL;
done:
    mot__string_clear(&notes);
    free(pick);
    mot_fleet_close(fleet);
    return status;
}

void mot_fleet_close(mot_fleet *fleet)
{
    size_t i;

    if (!fleet)
        return;
    for (i = 0; i < fleet->lanes; i++) {
        fleet->tainted = fleet->tainted || mot__lane_tainted(fleet->lane[i]);
        mot__lane_close(fleet->lane[i]);
    }
    if (fleet->tainted)
        return; /* an abandoned thread may still read what the fleet holds */
    mot_inventory_close(fleet->inventory);
    free(fleet->lane);
    free(fleet->notes);
    free(fleet);
}

size_t mot_fleet_count(const mot_fleet *fleet)
{
    return fleet->lanes;
}

const struct mot_device_info *mot_fleet_get(const mot_fleet *fleet, size_t lane)
{
    return lane < fleet->lanes ? &mot__device_facts(mot__lane_device(fleet->lane[lane]))->info
                               : NULL;
}

const char *mot_fleet_label(const mot_fleet *fleet, size_t lane)
{
    return lane < fleet->lanes ? mot__lane_label(fleet->lane[lane]) : NULL;
}

const char *mot_fleet_notes(const mot_fleet *fleet)
{
    return fleet->notes;
}

mot__lane *mot__fleet_lane(const mot_fleet *fleet, size_t lane)
{
    return fleet->lane[lane];
}

mot_status mot__fleet_call(mot_fleet *fleet, size_t lane, mot__job_fn run, void *user, size_t bytes)
{
    void *copy = NULL;
    mot_status status;

    if (lane >= fleet->lanes)
        return mot__fail(MOT_BAD_ARG, "device %zu of %zu", lane, fleet->lanes);
    if (bytes > 0) {
        copy = malloc(bytes);
        if (!copy)
            return mot__fail(MOT_NO_MEMORY, "a job's %zu bytes", bytes);
        memcpy(copy, user, bytes);
    }
    status = mot__lane_call(fleet->lane[lane], run, copy, NULL, 0);
    if (mot__lane_tainted(fleet->lane[lane]))
        return status; /* the copy is the lane's */
    if (bytes > 0)
        memcpy(user, copy, bytes);
    free(copy);
    return status;
}

mot_status mot__fleet_meet(mot_fleet *fleet, mot__group *group, mot__job_fn run, void *user)
{
    mot_status status = MOT_OK, one;
    size_t i;

    for (i = 0; i < fleet->lanes; i++)
        mot__group_on_sleep(group, i, mot__lane_sleeps, fleet->lane[i]);
    for (i = 0; i < fleet->lanes && status == MOT_OK; i++) {
        status = mot__lane_post(fleet->lane[i], run, user, &i, sizeof i);
        if (status != MOT_OK)
            mot__group_abort(group, i, status); /* it will not come */
    }
    for (i = 0; i < fleet->lanes; i++) {
        one = mot__lane_wait(fleet->lane[i]);
        status = status != MOT_OK ? status : one;
    }
    return status;
}

bool mot__fleet_idle(const mot_fleet *fleet)
{
    size_t i;

    for (i = 0; i < fleet->lanes; i++)
        if (mot__lane_tainted(fleet->lane[i]))
            return false;
    return true;
}

double mot__fleet_deadline(const mot_fleet *fleet)
{
    return fleet->deadline_s;
}

void mot__fleet_patience(mot_fleet *fleet, double deadline_s)
{
    size_t i;

    fleet->deadline_s = deadline_s;
    for (i = 0; i < fleet->lanes; i++)
        mot__lane_deadline(fleet->lane[i], deadline_s);
}

void mot__fleet_try(mot_fleet *fleet, const struct mot__fleet_choice *choice)
{
    fleet->tried = choice;
}

const struct mot__fleet_choice *mot__fleet_tried(const mot_fleet *fleet)
{
    return fleet->tried;
}
