/* tuned.c - lines of the store that tuning wrote: "<choice> <value> <usual> <before> <when>". */
#include "device/tuned.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORDS 5
#define WORD_BYTES 32

/* Cut a line at single spaces; false where it has not WORDS words. */
static bool cut(const char *line, char word[WORDS][WORD_BYTES])
{
    size_t i, length;

    for (i = 0; i < WORDS; i++) {
        length = strcspn(line, " ");
        if (length == 0 || length >= WORD_BYTES || (line[length] == '\0') != (i == WORDS - 1))
            return false;
        memcpy(word[i], line, length);
        word[i][length] = '\0';
        line += length + (i < WORDS - 1);
    }
    return true;
}

bool mot__tuned_parse(const char *line, struct mot__tuned *out)
{
    char word[WORDS][WORD_BYTES];

    if (!cut(line, word) || strlen(word[0]) >= sizeof out->choice ||
        strlen(word[2]) >= sizeof out->usual)
        return false;
    strcpy(out->choice, word[0]);
    strcpy(out->usual, word[2]);
    return mot__text_f64(word[1], &out->value) && mot__text_f64(word[3], &out->before) &&
           mot__text_u64(word[4], &out->when) && isfinite(out->value) && isfinite(out->before) &&
           out->value > 0 && out->before > 0;
}

mot_status mot__tuned_get(mot__device *device, const char *what, struct mot__tuned *out,
                          bool *found)
{
    char key[100], line[200];
    mot_status status;

    snprintf(key, sizeof key, MOT__TUNED "%s", what);
    status = mot__store_get(device, key, line, sizeof line, found);
    *found = status == MOT_OK && *found && mot__tuned_parse(line, out);
    return status;
}

mot_status mot__tuned_set(mot__device *device, const char *what, const struct mot__tuned *tuned)
{
    char key[100], line[200], value[32], before[32];

    mot__text_of_f64(tuned->value, value);
    mot__text_of_f64(tuned->before, before);
    snprintf(key, sizeof key, MOT__TUNED "%s", what);
    snprintf(line, sizeof line, "%s %s %s %s %llu", tuned->choice, value, tuned->usual, before,
             (unsigned long long)tuned->when);
    return mot__store_set(device, key, line);
}

static mot_status note_one(void *user, const char *key, const char *value)
{
    struct mot__tuned tuned;
    bool *found = user;

    (void)key;
    *found = *found || mot__tuned_parse(value, &tuned);
    return MOT_OK;
}

mot_status mot__tuned_any(mot__device *device, bool *found)
{
    *found = false;
    return mot__store_each(device, MOT__TUNED, note_one, found);
}
