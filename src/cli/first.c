/* first.c - a cold and a warm start, each in a process of its own. */
#include "cli/first.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTS 5 /* cold and warm ones, whose medians count */

/* Who reads where its cache lies from which variable. */
static const char *const variable[] = {
    "XDG_CACHE_HOME",        /* ours, and whoever follows the convention */
    "POCL_CACHE_DIR",        /* PoCL */
    "CUDA_CACHE_PATH",       /* NVIDIA */
    "MESA_SHADER_CACHE_DIR", /* rusticl */
    "NEO_CACHE_DIR",         /* Intel */
    "AMD_COMGR_CACHE_DIR",   /* AMD */
};

static bool point_caches(const char *folder)
{
    char path[512];
    size_t i;

    for (i = 0; i < sizeof variable / sizeof *variable; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, variable[i]);
        mkdir(path, 0700); /* the warm start finds it there */
        if (access(path, W_OK) || setenv(variable[i], path, 1))
            return false;
    }
    return true;
}

/* What goes wrong here goes wrong in the caller's own run too, which then says it. */
static void be_quiet(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);

    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static double start_once(first_start *start, void *user, const char *folder)
{
    double seconds = NAN;
    int ends[2];
    pid_t child;
    bool told;

    if (pipe(ends))
        return NAN;
    fflush(NULL); /* else the child would write it once more */
    child = fork();
    if (child == 0) {
        be_quiet();
        told = point_caches(folder) && start(user, &seconds) &&
               write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &seconds, sizeof seconds) != sizeof seconds)
        seconds = NAN;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return seconds;
}

static void remove_tree(const char *path)
{
    DIR *folder = remove(path) ? opendir(path) : NULL; /* NULL too: it was no full folder */
    struct dirent *entry;
    char inside[1024];

    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) < (int)sizeof inside)
            remove_tree(inside);
    closedir(folder);
    remove(path);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *seconds, size_t count)
{
    qsort(seconds, count, sizeof *seconds, by_value);
    return seconds[count / 2];
}

/* The last one leaves its caches. An odd number, of which none is begun that the patience would
 * not cover, but for the first. */
static double cold_start(first_start *start, void *user, const char *folder, double patience_s,
                         size_t *count)
{
    double seconds[STARTS], spent_s = 0;

    for (*count = 0; *count < STARTS;) {
        if (*count % 2 == 1 && spent_s + 2 * spent_s / (double)*count > patience_s)
            break;
        remove_tree(folder);
        if (mkdir(folder, 0700))
            return NAN;
        seconds[*count] = start_once(start, user, folder);
        if (isnan(seconds[*count]))
            return NAN;
        spent_s += seconds[(*count)++];
    }
    return median(seconds, *count);
}

static double warm_start(first_start *start, void *user, const char *folder)
{
    double seconds[STARTS];
    size_t i;

    for (i = 0; i < STARTS; i++) {
        seconds[i] = start_once(start, user, folder);
        if (isnan(seconds[i]))
            return NAN;
    }
    return median(seconds, STARTS);
}

struct first first_measure(first_start *start, void *user, double patience_s)
{
    const char *place = getenv("TMPDIR");
    struct first first = {NAN, NAN, 0};
    char folder[256];

    if (!place || place[0] != '/') /* caches want a path from the root */
        place = "/tmp";
    snprintf(folder, sizeof folder, "%.200s/motley-first-XXXXXX", place);
    if (!mkdtemp(folder))
        return first;
    first.cold = cold_start(start, user, folder, patience_s, &first.colds);
    if (!isnan(first.cold))
        first.warm = warm_start(start, user, folder);
    remove_tree(folder);
    return first;
}
