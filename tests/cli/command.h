/* command.h - run the built command as a user's shell does, and look at what it left. */
#ifndef MOT_TEST_COMMAND_H
#define MOT_TEST_COMMAND_H

#include "support/check.h"
#include "support/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

struct place {            /* where one test works */
    struct folder here;   /* the command's working folder */
    struct folder beside; /* what the shell caught */
    int code;
    char out[1 << 16], err[1 << 16];
};

static inline void place_open(struct place *place)
{
    memset(place, 0, sizeof *place);
    assert_true(folder_open(&place->here));
    assert_true(folder_open(&place->beside));
}

static inline void place_close(struct place *place)
{
    folder_close(&place->here);
    folder_close(&place->beside);
}

static inline void place_read(const struct place *place, const char *name, char *out, size_t bytes)
{
    FILE *file = fopen(folder_path(&place->beside, name), "r");
    size_t used = file ? fread(out, 1, bytes - 1, file) : 0;

    out[used] = 0;
    if (file)
        fclose(file);
}

/* environment: "NAME=value NAME=value", as a shell takes it before a command. */
static inline int place_run(struct place *place, const char *environment, const char *arguments)
{
    char line[4096];
    int status;

    /* The catching comes first, so that a test's own redirection wins. */
    snprintf(line, sizeof line, "cd '%s' && exec env %s '%s' >'%s/out' 2>'%s/err' </dev/null %s",
             place->here.path, environment, MOTLEY_COMMAND, place->beside.path, place->beside.path,
             arguments);
    status = system(line);
    place->code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    place_read(place, "out", place->out, sizeof place->out);
    place_read(place, "err", place->err, sizeof place->err);
    return place->code;
}

static inline void place_expect(const struct place *place, int code, const char *words)
{
    if (place->code != code)
        fail_msg("exit code %d, not %d\nout: %s\nerr: %s", place->code, code, place->out,
                 place->err);
    if (!strstr(code ? place->err : place->out, words))
        fail_msg("no \"%s\" in\nout: %s\nerr: %s", words, place->out, place->err);
}

/* ---- a small set of images ------------------------------------------------------------------- */

enum { IDX_SIDE = 28, IDX_TRAIN = 400, IDX_TEST = 100 };

static inline void idx_number(FILE *file, unsigned number)
{
    int shift;

    for (shift = 24; shift >= 0; shift -= 8)
        fputc((int)(number >> shift & 255), file);
}

/* Sample i is of class i % 10 and has a bright bar whose place tells it. */
static inline void idx_part(const struct place *place, const char *name, unsigned count)
{
    char path[128];
    FILE *images, *labels;
    unsigned i, pixel;

    snprintf(path, sizeof path, "data/%s-images-idx3-ubyte", name);
    images = fopen(folder_path(&place->here, path), "wb");
    snprintf(path, sizeof path, "data/%s-labels-idx1-ubyte", name);
    labels = fopen(folder_path(&place->here, path), "wb");
    assert_non_null(images);
    assert_non_null(labels);
    idx_number(images, 0x803);
    idx_number(images, count);
    idx_number(images, IDX_SIDE);
    idx_number(images, IDX_SIDE);
    idx_number(labels, 0x801);
    idx_number(labels, count);
    for (i = 0; i < count; i++) {
        fputc((int)(i % 10), labels);
        for (pixel = 0; pixel < IDX_SIDE * IDX_SIDE; pixel++)
            fputc(pixel / 78 == i % 10 ? 200 + (int)(i % 50) : (int)(pixel * i % 30), images);
    }
    assert_int_equal(fclose(images), 0);
    assert_int_equal(fclose(labels), 0);
}

/* The folder "data" in the working folder. */
static inline void idx_make(const struct place *place)
{
    assert_int_equal(mkdir(folder_path(&place->here, "data"), 0777), 0);
    idx_part(place, "train", IDX_TRAIN);
    idx_part(place, "t10k", IDX_TEST);
}

static inline void idx_cut(const struct place *place, const char *name, long bytes)
{
    char path[128];

    snprintf(path, sizeof path, "data/%s", name);
    assert_int_equal(truncate(folder_path(&place->here, path), bytes), 0);
}

#endif
