/* store.c - what was measured and chosen on this device before: lines "key value" in
 * <cache>/choices/<device key>.txt. A file of another driver or version of ours has another name,
 * so nothing stale is ever read. */
#include "base/file.h"
#include "base/text.h"
#include "device/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_LIMIT ((size_t)1 << 20)

static void store_path(const mot__device *device, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/choices/%.32s.txt", device->cache_dir, device->facts.key);
}

static mot_status put(mot__device *device, const char *key, size_t key_bytes, const char *value,
                      size_t value_bytes)
{
    struct mot__choice *row;
    char *copy = strndup(value, value_bytes);

    if (!copy)
        return mot__fail(MOT_NO_MEMORY, "a choice");
    for (row = device->choices; row; row = row->next)
        if (strlen(row->key) == key_bytes && memcmp(row->key, key, key_bytes) == 0) {
            free(row->value);
            row->value = copy;
            return MOT_OK;
        }
    row = calloc(1, sizeof *row);
    if (!row || !(row->key = strndup(key, key_bytes))) {
        free(row);
        free(copy);
        return mot__fail(MOT_NO_MEMORY, "a choice");
    }
    row->value = copy;
    row->next = device->choices;
    device->choices = row;
    return MOT_OK;
}

static void read_file(mot__device *device)
{
    char path[700], *text = NULL, *line, *end, *space;
    size_t bytes;

    if (!device->cache_dir[0])
        return;
    store_path(device, path, sizeof path);
    if (mot__file_read(path, STORE_LIMIT, (void **)&text, &bytes) != MOT_OK)
        return;
    for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        space = memchr(line, ' ', (size_t)(end - line));
        if (space && put(device, line, (size_t)(space - line), space + 1,
                         (size_t)(end - space - 1)) != MOT_OK)
            break;
    }
    free(text);
}

mot_status mot__store_get(mot__device *device, const char *key, char *value, size_t bytes,
                          bool *found)
{
    struct mot__choice *row;

    if (!device->choices_read) {
        device->choices_read = true;
        read_file(device);
    }
    *found = false;
    for (row = device->choices; row; row = row->next)
        if (strcmp(row->key, key) == 0) {
            snprintf(value, bytes, "%s", row->value);
            *found = true;
        }
    return MOT_OK;
}

mot_status mot__store_set(mot__device *device, const char *key, const char *value)
{
    struct mot__string text = {0};
    struct mot__choice *row;
    char path[700], folder[600], *whole = NULL;
    mot_status status = MOT_OK;

    if (strpbrk(key, " \n") || strchr(value, '\n'))
        return mot__fail(MOT_BAD_ARG, "choice \"%s\": a key has no space, a value one line", key);
    read_file(device); /* another process may have added lines since */
    device->choices_read = true;
    MOT_TRY(put(device, key, strlen(key), value, strlen(value)));
    if (!device->cache_dir[0])
        return MOT_OK;
    for (row = device->choices; row; row = row->next)
        mot__string_add(&text, "%s %s\n", row->key, row->value);
    MOT_TRY(mot__string_take(&text, &whole));
    snprintf(folder, sizeof folder, "%s/choices", device->cache_dir);
    store_path(device, path, sizeof path);
    if (mot__dir_make(folder) == MOT_OK)
        mot__file_write(path, whole, strlen(whole)); /* a cache: failing to keep it is no failure */
done:
    mot__string_clear(&text);
    free(whole);
    return status;
}

void mot__store_clear(mot__device *device)
{
    struct mot__choice *row;

    while ((row = device->choices) != NULL) {
        device->choices = row->next;
        free(row->key);
        free(row->value);
        free(row);
    }
}
