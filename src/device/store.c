/* store.c - what was measured and chosen on this device before: one small file for each key,
 * <cache>/choices/<device key>/<key>, that holds the value and a newline. Files are replaced whole,
 * so writers of different keys never meet and writers of one key leave the value of one of them. A
 * folder of another driver or version of ours has another name, so nothing stale is ever read. */
#include "base/file.h"
#include "device/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_LIMIT ((size_t)64 << 10)
#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

static mot_status check_key(const char *key)
{
    if (key[0] && key[0] != '.' && strlen(key) < 100 && key[strspn(key, KEY_LETTERS)] == '\0')
        return MOT_OK;
    return mot__fail(MOT_BAD_ARG, "choice \"%s\": a key is made of letters, digits, _ . -", key);
}

static void store_folder(const mot__device *device, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/choices/%.32s", device->cache_dir, device->facts.key);
}

static struct mot__choice *find(const mot__device *device, const char *key)
{
    struct mot__choice *row = device->choices;

    while (row && strcmp(row->key, key) != 0)
        row = row->next;
    return row;
}

static mot_status put(mot__device *device, const char *key, const char *value)
{
    struct mot__choice *row = find(device, key);
    char *copy = strdup(value);

    if (copy && row) {
        free(row->value);
        row->value = copy;
        return MOT_OK;
    }
    row = copy ? calloc(1, sizeof *row) : NULL;
    if (!row || !(row->key = strdup(key))) {
        free(row);
        free(copy);
        return mot__fail(MOT_NO_MEMORY, "choice \"%s\"", key);
    }
    row->value = copy;
    row->next = device->choices;
    device->choices = row;
    return MOT_OK;
}

/* What a file says, remembered; a missing or damaged one says nothing. */
static mot_status read_choice(mot__device *device, const char *key)
{
    char path[700], *text = NULL;
    size_t bytes = 0;
    mot_status status = MOT_OK;

    if (!device->cache_dir[0])
        return MOT_OK;
    store_folder(device, path, sizeof path - 101);
    strcat(strcat(path, "/"), key);
    if (mot__file_read(path, VALUE_LIMIT, (void **)&text, &bytes) != MOT_OK)
        return MOT_OK;
    if (bytes > 0 && strcspn(text, "\n") == bytes - 1 && text[bytes - 1] == '\n') {
        text[bytes - 1] = '\0';
        status = put(device, key, text);
    }
    free(text);
    return status;
}

mot_status mot__store_get(mot__device *device, const char *key, char *value, size_t bytes,
                          bool *found)
{
    struct mot__choice *row;
    mot_status status = check_key(key);

    *found = false;
    if (status == MOT_OK && !find(device, key))
        status = read_choice(device, key);
    row = find(device, key);
    if (status != MOT_OK || !row)
        return status;
    snprintf(value, bytes, "%s", row->value);
    *found = true;
    return MOT_OK;
}

mot_status mot__store_set(mot__device *device, const char *key, const char *value)
{
    char path[700], *line = NULL;
    const size_t length = strlen(value);
    mot_status status = check_key(key);

    if (status != MOT_OK)
        return status;
    if (strchr(value, '\n') || length >= VALUE_LIMIT)
        return mot__fail(MOT_BAD_ARG, "choice \"%s\": a value is one short line", key);
    MOT_TRY(put(device, key, value));
    if (!device->cache_dir[0])
        return MOT_OK;
    line = malloc(length + 2);
    if (!line)
        return mot__fail(MOT_NO_MEMORY, "choice \"%s\"", key);
    memcpy(line, value, length);
    memcpy(line + length, "\n", 2);
    store_folder(device, path, sizeof path - 101);
    if (mot__dir_make(path) == MOT_OK) /* a cache: failing to keep it is no failure */
        mot__file_write(strcat(strcat(path, "/"), key), line, length + 1);
done:
    free(line);
    return status;
}

/* What this key's file holds is in memory from here on. */
static mot_status recall(mot__device *device, const char *key)
{
    return check_key(key) != MOT_OK || find(device, key) ? MOT_OK : read_choice(device, key);
}

/* Whatever it holds: a damaged file is forgotten, too. */
static mot_status remove_file(mot__device *device, const char *key)
{
    char path[960];

    store_folder(device, path, sizeof path - 260);
    strcat(strcat(path, "/"), key);
    if (unlink(path) == 0 || errno == ENOENT)
        return MOT_OK;
    return mot__fail(MOT_IO, "forgetting %s: %s", path, strerror(errno));
}

/* each, for every file of the device whose name begins so. */
static mot_status walk(mot__device *device, const char *prefix,
                       mot_status (*each)(mot__device *device, const char *key))
{
    mot_status status = MOT_OK;
    struct dirent *entry;
    char path[700];
    DIR *folder;

    if (!device->cache_dir[0])
        return MOT_OK;
    store_folder(device, path, sizeof path);
    folder = opendir(path);
    while (folder && status == MOT_OK && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            status = each(device, entry->d_name);
    if (folder)
        closedir(folder);
    return status;
}

mot_status mot__store_each(mot__device *device, const char *prefix, mot__store_fn fn, void *user)
{
    mot_status status = walk(device, prefix, recall);
    const struct mot__choice *row;

    for (row = device->choices; row && status == MOT_OK; row = row->next)
        if (strncmp(row->key, prefix, strlen(prefix)) == 0)
            status = fn(user, row->key, row->value);
    return status;
}

static void drop(struct mot__choice **place)
{
    struct mot__choice *row = *place;

    *place = row->next;
    free(row->key);
    free(row->value);
    free(row);
}

mot_status mot__store_forget(mot__device *device, const char *prefix, size_t *count)
{
    struct mot__choice **place = &device->choices;
    mot_status status = walk(device, prefix, recall);

    *count = 0;
    if (status == MOT_OK)
        status = walk(device, prefix, remove_file);
    while (status == MOT_OK && *place) {
        if (strncmp((*place)->key, prefix, strlen(prefix)) == 0) {
            drop(place);
            ++*count;
        } else {
            place = &(*place)->next;
        }
    }
    return status;
}

void mot__store_clear(mot__device *device)
{
    while (device->choices)
        drop(&device->choices);
}
