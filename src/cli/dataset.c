/* dataset.c - MNIST from the cache or the network, Fashion-MNIST of the distribution, digits drawn
 * by the library, or a folder of the user's. No network is no error unless MNIST was asked for. */
#include "cli/dataset.h"

#include "cli/fetch.h"
#include "cli/interrupt.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 2048, RETRY_S = 24 * 60 * 60 };
/* Drawn digits do not depend on --seed: what one run learns, another can test. */
enum { DIGITS_TRAIN = 20000, DIGITS_TEST = 4000, DIGITS_TRAIN_SEED = 1, DIGITS_TEST_SEED = 2 };

static const struct fetch_file mnist_files[] = {
    {"train-images-idx3-ubyte.gz",
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte.gz",
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte.gz",
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte.gz",
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
};
enum { MNIST_FILES = sizeof mnist_files / sizeof *mnist_files };

static mot_status open_idx(const struct dataset_wish *wish, const char *dir, struct dataset *out)
{
    return mot_data_idx(dir, wish->train ? &out->train : NULL, &out->test);
}

/* ---- MNIST ----------------------------------------------------------------------------------- */

/* Where it is kept; false: this user has no folder for caches. */
static bool cache_path(char out[PATH_BYTES])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/') /* the specification: a relative one is to be ignored */
        return snprintf(out, PATH_BYTES, "%s/motley/mnist", cache) < PATH_BYTES - 64;
    if (home && *home)
        return snprintf(out, PATH_BYTES, "%s/.cache/motley/mnist", home) < PATH_BYTES - 64;
    return false;
}

static bool make_folders(const char *path)
{
    char part[PATH_BYTES];
    char *slash;

    say_into(part, sizeof part, "%s", path);
    for (slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(part, 0777) == 0 || errno == EEXIST;
}

static bool is_cached(const char *dir)
{
    char path[PATH_BYTES];
    size_t i;

    for (i = 0; i < MNIST_FILES; i++) {
        const int used = snprintf(path, sizeof path, "%s/%s", dir, mnist_files[i].name);

        if (access(path, R_OK) == 0)
            continue;
        path[used - 3] = 0; /* without .gz, as a user may have put it there */
        if (access(path, R_OK) != 0)
            return false;
    }
    return true;
}

/* The reason of a failure less than a day old. */
static bool failed_lately(const char *stamp, char reason[FETCH_REASON])
{
    struct stat info;
    FILE *file;
    double age;

    if (stat(stamp, &info))
        return false;
    age = difftime(time(NULL), info.st_mtime);
    file = age >= 0 && age < RETRY_S ? fopen(stamp, "r") : NULL;
    if (!file)
        return false;
    if (!fgets(reason, FETCH_REASON, file))
        *reason = 0;
    reason[strcspn(reason, "\n")] = 0;
    fclose(file);
    return true;
}

static void remember_failure(const char *stamp, const char *reason)
{
    FILE *file = fopen(stamp, "w");

    if (!file)
        return; /* then it is tried again: slower, not wrong */
    fprintf(file, "%s\n", reason);
    fclose(file);
}

static bool download(const char *dir, bool quiet, char reason[FETCH_REASON])
{
    static const char *const published[] = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                            "https://storage.googleapis.com/cvdf-datasets/mnist/"};
    const char *mirror = getenv("MOTLEY_MIRROR");
    char own[PATH_BYTES];
    const char *const chosen[] = {own};

    if (mirror && *mirror)
        say_into(own, sizeof own, "%s%s", mirror, mirror[strlen(mirror) - 1] == '/' ? "" : "/");
    else
        mirror = NULL;
    if (!quiet)
        say_note("fetching MNIST (12 MB) from %s", mirror ? own : published[0]);
    return mirror ? fetch_files(chosen, 1, mnist_files, MNIST_FILES, dir, reason)
                  : fetch_files(published, 2, mnist_files, MNIST_FILES, dir, reason);
}

/* Bring MNIST into dir; false: the note tells why it is not there. */
static bool fetch_mnist(const struct dataset_wish *wish, const char *dir, struct dataset *out)
{
    char stamp[PATH_BYTES], reason[FETCH_REASON];

    say_into(stamp, sizeof stamp, "%s/download-failed", dir);
    if (wish->offline || !fetch_possible()) {
        say_into(out->note, sizeof out->note, "MNIST is not in the cache and %s",
                 wish->offline ? "--offline forbids the download" : "this build cannot download");
        return false;
    }
    if (!wish->which && failed_lately(stamp, reason)) {
        say_into(out->note, sizeof out->note,
                 "MNIST download failed: %s; --data mnist tries again before a day has passed",
                 reason);
        return false;
    }
    if (!make_folders(dir)) {
        say_into(out->note, sizeof out->note, "MNIST cannot be kept in %s: %s", dir,
                 strerror(errno));
        return false;
    }
    if (!download(dir, wish->quiet, reason)) {
        if (!interrupt_seen())
            remember_failure(stamp, reason);
        say_into(out->note, sizeof out->note, "MNIST download failed: %s", reason);
        return false;
    }
    unlink(stamp);
    return true;
}

static bool open_mnist(const struct dataset_wish *wish, struct dataset *out)
{
    char dir[PATH_BYTES];

    if (!cache_path(dir)) {
        say_into(out->note, sizeof out->note,
                 "MNIST has no place: neither XDG_CACHE_HOME nor HOME is set");
        return false;
    }
    if (is_cached(dir) && open_idx(wish, dir, out) == MOT_OK)
        return true;
    if (!fetch_mnist(wish, dir, out)) /* replaces a damaged file too */
        return false;
    if (open_idx(wish, dir, out) == MOT_OK)
        return true;
    say_into(out->note, sizeof out->note, "%s", mot_error());
    return false;
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool open_fashion(const struct dataset_wish *wish, struct dataset *out)
{
    const char *root = getenv("MOTLEY_DATASETS");
    char dir[PATH_BYTES];

    say_into(dir, sizeof dir, "%s/fashion-mnist", root && *root ? root : "/usr/share/datasets");
    if (access(dir, R_OK) != 0)
        say_into(out->note, sizeof out->note,
                 "Fashion-MNIST is not in %s: install the package dataset-fashion-mnist", dir);
    else if (open_idx(wish, dir, out) == MOT_OK)
        return true;
    else
        say_into(out->note, sizeof out->note, "%s", mot_error());
    return false;
}

static bool open_digits(const struct dataset_wish *wish, struct dataset *out)
{
    if (mot_data_digits(DIGITS_TEST_SEED, DIGITS_TEST, &out->test) == MOT_OK &&
        (!wish->train || mot_data_digits(DIGITS_TRAIN_SEED, DIGITS_TRAIN, &out->train) == MOT_OK))
        return true;
    say_into(out->note, sizeof out->note, "%s", mot_error());
    return false;
}

static const struct {
    const char *name, *title;
    bool (*open)(const struct dataset_wish *wish, struct dataset *out); /* false: note says why */
} source_table[] = {
    /* in the order in which they are tried where none is asked for */
    {"mnist", "MNIST", open_mnist},
    {"fashion", "Fashion-MNIST", open_fashion},
    {"digits", "drawn digits", open_digits},
};
enum { SOURCES = sizeof source_table / sizeof *source_table };

static int open_first(const struct dataset_wish *wish, struct dataset *out)
{
    char notes[sizeof out->note] = "";
    size_t i, used;

    for (i = 0; i < SOURCES; i++) {
        if (source_table[i].open(wish, out)) {
            memcpy(out->note, notes, sizeof notes);
            say_into(out->name, sizeof out->name, "%s", source_table[i].title);
            return 0;
        }
        if (interrupt_seen())
            return fail(EXIT_INTERRUPTED, "stopped before training began");
        dataset_close(out);
        used = strlen(notes);
        say_into(notes + used, sizeof notes - used, "%s%s", used ? "; " : "", out->note);
    }
    return fail(EXIT_FAILED, "no data: %s", notes);
}

int dataset_open(const struct dataset_wish *wish, struct dataset *out)
{
    const struct dataset empty = {0};
    mot_status status;
    size_t i;

    *out = empty;
    if (!wish->which)
        return open_first(wish, out);
    for (i = 0; i < SOURCES; i++) {
        if (strcmp(wish->which, source_table[i].name) != 0)
            continue;
        say_into(out->name, sizeof out->name, "%s", source_table[i].title);
        if (source_table[i].open(wish, out)) {
            out->note[0] = 0;
            return 0;
        }
        dataset_close(out);
        return fail(interrupt_seen() ? EXIT_INTERRUPTED : EXIT_FAILED, "%s", out->note);
    }
    say_into(out->name, sizeof out->name, "%s", wish->which);
    status = open_idx(wish, wish->which, out);
    return status == MOT_OK ? 0 : fail_library(status);
}

void dataset_close(struct dataset *dataset)
{
    mot_data_close(dataset->train);
    mot_data_close(dataset->test);
    dataset->train = dataset->test = NULL;
}
