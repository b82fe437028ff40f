/* idx.c - a folder of IDX files under the names of MNIST: a train and a test set. */
#include "data/idx.h"

#include "base/file.h"
#include "data/store.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096

static const char *const set_name[] = {"train", "t10k"};
enum { SET_TRAIN, SET_TEST, SET_COUNT };

static const char *const middle[] = {"-", "."};
static const char *const ending[] = {"", ".gz"};

/* The first of train-images-idx3-ubyte, …-ubyte.gz, train-images.idx3-ubyte, … that is there. */
static mot_status find_file(const char *dir, const char *set, const char *what, size_t rank,
                            char path[PATH_BYTES])
{
    char name[64];

    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++) {
        for (size_t j = 0; j < sizeof ending / sizeof *ending; j++) {
            mot_status status;

            snprintf(name, sizeof name, "%s-%s%sidx%zu-ubyte%s", set, what, middle[i], rank,
                     ending[j]);
            status = mot__path_join(path, PATH_BYTES, dir, name);
            if (status != MOT_OK)
                return status;
            if (mot__file_exists(path))
                return MOT_OK;
        }
    }
    return mot__fail(MOT_IO, "%s: no %s-%s-idx%zu-ubyte or %s-%s-idx%zu-ubyte.gz there", dir, set,
                     what, rank, set, what, rank);
}

static mot_status read_labels(const char *dir, const char *set, struct mot__idx *out)
{
    char path[PATH_BYTES];
    const mot_status status = find_file(dir, set, "labels", 1, path);

    return status != MOT_OK ? status : mot__idx_read(path, 1, out);
}

static mot_status read_images(const char *dir, const char *set, const struct mot__idx *labels,
                              struct mot__idx *out)
{
    char path[PATH_BYTES];
    mot_status status = find_file(dir, set, "images", 3, path);
    struct mot__idx images;

    if (status == MOT_OK)
        status = mot__idx_read(path, 3, &images);
    if (status != MOT_OK)
        return status;
    if (images.dim[0] != labels->dim[0]) {
        free(images.data);
        return mot__fail(MOT_FORMAT, "%s: %zu images, but %zu labels beside it", path,
                         images.dim[0], labels->dim[0]);
    }
    *out = images;
    return MOT_OK;
}

static size_t classes_of(const struct mot__idx *labels)
{
    size_t classes = 0;

    for (size_t i = 0; labels->data && i < labels->bytes; i++)
        if (labels->data[i] >= classes)
            classes = (size_t)labels->data[i] + 1;
    return classes;
}

/* Takes images->data on success. */
static mot_status make_data(struct mot__idx *images, const struct mot__idx *labels, size_t classes,
                            mot_data **out)
{
    mot_status status = MOT_OK;
    struct mot__samples like = {.count = images->dim[0],
                                .shape = {.rank = 3, .dim = {1, images->dim[1], images->dim[2]}},
                                .dtype = MOT_DTYPE_U8,
                                .classes = classes};
    struct mot__store *store = NULL;
    uint32_t *wide = NULL;

    MOT_TRY(mot__samples_check("mot_data_idx", &like));
    wide = malloc(like.count * sizeof *wide);
    if (!wide)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "mot_data_idx: no memory for %zu labels", like.count));
    for (size_t i = 0; i < like.count; i++)
        wide[i] = labels->data[i];
    like.x = images->data;
    like.labels = wide;
    MOT_TRY(mot__store_open(&like, &store));
    store->x = images->data;
    images->data = NULL;
    store->labels = wide;
    wide = NULL;
    MOT_TRY(mot__data_of(store, out));
done:
    free(wide);
    return status;
}

static mot_status check_same_size(const struct mot__idx images[SET_COUNT])
{
    const size_t *a = images[SET_TRAIN].dim, *b = images[SET_TEST].dim;

    if (images[SET_TRAIN].data && images[SET_TEST].data && (a[1] != b[1] || a[2] != b[2]))
        return mot__fail(MOT_FORMAT, "train images are %zu x %zu, test images %zu x %zu", a[1],
                         a[2], b[1], b[2]);
    return MOT_OK;
}

static mot_status read_sets(const char *dir, const bool wanted[SET_COUNT],
                            struct mot__idx images[SET_COUNT], struct mot__idx labels[SET_COUNT],
                            mot_data *data[SET_COUNT])
{
    mot_status status = MOT_OK;
    size_t classes = 2; /* one alone is nothing to learn */

    /* Both sets have the same classes, so the labels of a set that is not wanted are looked at
     * where they can be. */
    for (int i = 0; i < SET_COUNT; i++) {
        status = read_labels(dir, set_name[i], &labels[i]);
        if (status != MOT_OK && wanted[i])
            goto done;
        if (classes_of(&labels[i]) > classes)
            classes = classes_of(&labels[i]);
    }
    for (int i = 0; i < SET_COUNT; i++)
        if (wanted[i])
            MOT_TRY(read_images(dir, set_name[i], &labels[i], &images[i]));
    MOT_TRY(check_same_size(images));
    status = MOT_OK;
    for (int i = 0; i < SET_COUNT; i++)
        if (wanted[i])
            MOT_TRY(make_data(&images[i], &labels[i], classes, &data[i]));
done:
    return status;
}

mot_status mot_data_idx(const char *dir, mot_data **train, mot_data **test)
{
    mot_data **const out[SET_COUNT] = {train, test};
    const bool wanted[SET_COUNT] = {train != NULL, test != NULL};
    struct mot__idx images[SET_COUNT] = {{0}}, labels[SET_COUNT] = {{0}};
    mot_data *data[SET_COUNT] = {NULL};
    mot_status status;

    if (!dir || (!train && !test))
        return mot__fail(MOT_BAD_ARG, "mot_data_idx: NULL argument");
    status = read_sets(dir, wanted, images, labels, data);
    for (int i = 0; i < SET_COUNT; i++) {
        free(images[i].data);
        free(labels[i].data);
        if (status == MOT_OK && wanted[i])
            *out[i] = data[i];
        else
            mot_data_close(data[i]);
    }
    return status;
}
