/* folder.h - a folder of the test's own under $TMPDIR, removed with all it holds. */
#ifndef MOT_TEST_FOLDER_H
#define MOT_TEST_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[256];
};

static inline bool folder_open(struct folder *folder)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder->path, sizeof folder->path, "%s/motley-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder->path) != NULL;
}

/* A path inside; the last eight stay valid. */
static inline const char *folder_path(const struct folder *folder, const char *name)
{
    static char path[8][512];
    static size_t turn;

    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder->path, name);
    return path[turn];
}

static inline void folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char inner[1024];

    while (dir && (entry = readdir(dir)) != NULL) {
        struct stat about;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner)
            continue;
        if (lstat(inner, &about) == 0 && S_ISDIR(about.st_mode))
            folder_remove(inner);
        else
            unlink(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static inline void folder_close(struct folder *folder)
{
    folder_remove(folder->path);
}

/* How many entries it holds. */
static inline size_t folder_count(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    while (dir && (entry = readdir(dir)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return count;
}

#endif
