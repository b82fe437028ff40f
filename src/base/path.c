/* path.c - folders: made with their parents, and where caches go. */
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Look before making: mkdir() on a read-only or automounted parent need not say "exists". */
static int make_one(const char *path)
{
    struct stat about;

    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return errno;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? 0 : ENOTDIR; /* another made it */
}

mot_status mot__dir_make(const char *path)
{
    char *part = strdup(path);
    char reason[128] = "unknown error";
    int error = 0;

    if (!part)
        return mot__fail(MOT_NO_MEMORY, "cannot make the folder %s: out of memory", path);
    for (char *end = part; error == 0 && *end != '\0'; end++) {
        if (*end != '/' || end == part)
            continue;
        *end = '\0';
        error = make_one(part);
        *end = '/';
    }
    if (error == 0)
        error = make_one(part);
    free(part);
    if (error == 0)
        return MOT_OK;
    strerror_r(error, reason, sizeof reason);
    return mot__fail(MOT_IO, "cannot make the folder %s: %s", path, reason);
}

mot_status mot__path_join(char *out, size_t bytes, const char *dir, const char *name)
{
    const size_t length = strlen(dir);
    const char *between = length == 0 || dir[length - 1] == '/' ? "" : "/";
    const int needed = snprintf(out, bytes, "%s%s%s", dir, between, name);

    if (needed < 0 || (size_t)needed >= bytes)
        return mot__fail(MOT_BAD_ARG, "the path %s%s%s is too long", dir, between, name);
    return MOT_OK;
}

mot_status mot__path_cache(const char *configured, char *out, size_t bytes)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (configured)
        return mot__path_join(out, bytes, "", configured);
    if (xdg && xdg[0] == '/') /* the XDG rules: a relative one is ignored */
        return mot__path_join(out, bytes, xdg, "motley");
    if (home && home[0] == '/')
        return mot__path_join(out, bytes, home, ".cache/motley");
    return mot__path_join(out, bytes, "", "");
}
