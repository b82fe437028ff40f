/* choice.c - the choice of a fleet in the store of its first device. */
#include "strategy/choice.h"

#include "base/sum.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *const algorithm_name[] = {[MOT__ALGORITHM_AUTO] = "auto",
                                             [MOT__ALGORITHM_RING] = "ring",
                                             [MOT__ALGORITHM_DIRECT] = "direct"};

void mot__choice_text(const struct mot__fleet_choice *choice, char out[MOT__CHOICE_TEXT])
{
    snprintf(out, MOT__CHOICE_TEXT, "%s-%zu", algorithm_name[choice->algorithm],
             choice->bucket_floats);
}

static bool parse(const char *text, struct mot__fleet_choice *out)
{
    const size_t length = strcspn(text, "-");
    uint64_t floats;
    size_t i;

    if (!text[length] || !mot__text_u64(text + length + 1, &floats) || floats > SIZE_MAX)
        return false;
    out->bucket_floats = (size_t)floats;
    for (i = 0; i < MOT__COUNT(algorithm_name); i++)
        if (strlen(algorithm_name[i]) == length && memcmp(algorithm_name[i], text, length) == 0) {
            out->algorithm = (enum mot__algorithm)i;
            return true;
        }
    return false;
}

void mot__choice_what(const mot_fleet *fleet, size_t parameters, char out[MOT__CHOICE_WHAT])
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < mot_fleet_count(fleet); i++) {
        const char *key = mot__device_facts(mot__lane_device(mot__fleet_lane(fleet, i)))->key;

        sum = mot__hash64(key, strlen(key), sum);
    }
    snprintf(out, MOT__CHOICE_WHAT, "fleet.%016llx.%zu", (unsigned long long)sum, parameters);
}

struct reading {
    char what[MOT__CHOICE_WHAT];
    struct mot__tuned tuned;
    bool found;
};

static mot_status job_read(mot__lane *lane, void *user, void *payload)
{
    struct reading *reading = user;

    (void)payload;
    return mot__tuned_get(mot__lane_device(lane), reading->what, &reading->tuned, &reading->found);
}

mot_status mot__choice_read(mot_fleet *fleet, size_t parameters, struct mot__fleet_choice *out)
{
    const struct mot__fleet_choice *tried = mot__fleet_tried(fleet), usual = {0};
    struct reading reading = {.found = false};
    mot_status status = MOT_OK;

    *out = tried ? *tried : usual;
    if (tried)
        return MOT_OK;
    mot__choice_what(fleet, parameters, reading.what);
    MOT_TRY(mot__fleet_call(fleet, 0, job_read, &reading, sizeof reading));
    if (reading.found && !parse(reading.tuned.choice, out))
        *out = usual;
done:
    return status;
}
