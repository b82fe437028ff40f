/* stream.h - samples to stream, and what an epoch of them gave. */
#ifndef MOT_TEST_STREAM_H
#define MOT_TEST_STREAM_H

#include "data/data.h"
#include "support/check.h"

#define COUNT 23
#define WIDTH 3
#define CLASSES 4

/* x = (i, i + 0.25, i + 0.5), label i % 4 */

static float all_x[COUNT][WIDTH];
static uint32_t all_labels[COUNT];
static float all_targets[COUNT][2];

static inline int fill_arrays(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < WIDTH; j++)
            all_x[i][j] = (float)i + 0.25f * (float)j;
        all_labels[i] = (uint32_t)(i % CLASSES);
        all_targets[i][0] = -(float)i;
        all_targets[i][1] = 2 * (float)i;
    }
    return 0;
}

static inline struct mot_arrays labelled(void)
{
    struct mot_arrays arrays = mot_arrays_default();

    arrays.count = COUNT;
    arrays.shape = MOT_SHAPE(WIDTH);
    arrays.x = all_x;
    arrays.labels = all_labels;
    arrays.classes = CLASSES;
    return arrays;
}

static inline mot_data *open_arrays(void)
{
    const struct mot_arrays arrays = labelled();
    mot_data *data = NULL;

    assert_ok(mot_data_arrays(&arrays, &data));
    return data;
}

/* The numbers of one epoch's samples, in the order they came. */
static inline size_t take_epoch(mot_data *data, uint64_t *index)
{
    mot_batch *batch = NULL;
    size_t used = 0;

    for (;;) {
        assert_ok(mot_data_next(data, &batch));
        if (!batch)
            return used;
        assert_int_equal(batch->first, used);
        assert_true(used + batch->rows <= COUNT);
        memcpy(index + used, batch->index, batch->rows * sizeof *index);
        used += batch->rows;
        mot_batch_close(batch);
    }
}

static inline void check_permutation(const uint64_t *index, size_t count)
{
    bool seen[COUNT] = {false};

    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < count; i++) {
        assert_true(index[i] < COUNT);
        assert_false(seen[index[i]]);
        seen[index[i]] = true;
    }
}

static inline void check_rows(const mot_batch *batch, size_t begin, size_t rows)
{
    float x[COUNT][WIDTH];
    uint32_t labels[COUNT];

    mot__batch_copy(batch, begin, rows, x, labels);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t from = batch->index[begin + i];

        assert_memory_equal(x[i], all_x[from], sizeof x[i]);
        assert_int_equal(labels[i], all_labels[from]);
    }
}

#endif
