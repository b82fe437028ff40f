/* test_data_stream.c - arrays and sources as streams: order, epochs, cursors, batches that outlive
 * their stream, reading ahead, failing and hanging sources. */
#include "base/clock.h"
#include "base/thread.h"
#include "data/data.h"
#include "data/reader.h"
#include "support/check.h"

#define COUNT 23
#define WIDTH 3
#define CLASSES 4

/* ---- samples to stream: x = (i, i + 0.25, i + 0.5), label i % 4 ------------------------------ */

static float all_x[COUNT][WIDTH];
static uint32_t all_labels[COUNT];
static float all_targets[COUNT][2];

static int fill_arrays(void **state)
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

static struct mot_arrays labelled(void)
{
    struct mot_arrays arrays = mot_arrays_default();

    arrays.count = COUNT;
    arrays.shape = MOT_SHAPE(WIDTH);
    arrays.x = all_x;
    arrays.labels = all_labels;
    arrays.classes = CLASSES;
    return arrays;
}

static mot_data *open_arrays(void)
{
    const struct mot_arrays arrays = labelled();
    mot_data *data = NULL;

    assert_ok(mot_data_arrays(&arrays, &data));
    return data;
}

/* The numbers of one epoch's samples, in the order they came. */
static size_t take_epoch(mot_data *data, uint64_t *index)
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

static void check_permutation(const uint64_t *index, size_t count)
{
    bool seen[COUNT] = {false};

    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < count; i++) {
        assert_true(index[i] < COUNT);
        assert_false(seen[index[i]]);
        seen[index[i]] = true;
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static void an_epoch_has_each_sample_once_and_a_partial_last_batch(void **state)
{
    static const size_t want[] = {5, 5, 5, 5, 3};
    mot_data *data = open_arrays();
    mot_batch *batch = NULL;

    (void)state;
    assert_int_equal(mot__data_rows(data), COUNT); /* the default 32 is more than there is */
    assert_ok(mot_data_batch(data, 5));
    assert_int_equal(mot__data_rows(data), 5);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint64_t next = 0;

        for (size_t i = 0; i < 5; i++) {
            assert_ok(mot_data_next(data, &batch));
            assert_non_null(batch);
            assert_int_equal(mot_batch_rows(batch), want[i]);
            assert_int_equal(batch->epoch, epoch);
            assert_int_equal(batch->first, next);
            for (size_t j = 0; j < batch->rows; j++)
                assert_int_equal(batch->index[j], next++);
            mot_batch_close(batch);
        }
        assert_ok(mot_data_next(data, &batch));
        assert_null(batch);
    }
    mot_data_close(data);
}

static void shuffling_permutes_anew_for_each_epoch_and_seed(void **state)
{
    uint64_t a[2][COUNT], b[COUNT];
    mot_data *data = open_arrays();

    (void)state;
    assert_ok(mot_data_batch(data, 4));
    assert_ok(mot_data_shuffle(data, 42));
    check_permutation(a[0], take_epoch(data, a[0]));
    check_permutation(a[1], take_epoch(data, a[1]));
    assert_memory_not_equal(a[0], a[1], sizeof a[0]);
    assert_ok(mot_data_shuffle(data, 43));
    assert_ok(mot_data_rewind(data, 0));
    check_permutation(b, take_epoch(data, b));
    assert_memory_not_equal(a[0], b, sizeof b);
    assert_ok(mot_data_shuffle(data, 42)); /* another seed for the epoch just shuffled */
    assert_ok(mot_data_rewind(data, 0));
    take_epoch(data, b);
    assert_memory_equal(a[0], b, sizeof b);
    assert_ok(mot_data_rewind(data, 1)); /* straight there: no earlier epoch plays a part */
    take_epoch(data, b);
    assert_memory_equal(a[1], b, sizeof b);
    mot_data_close(data);
}

/* Every place sees every sample about equally often: 2000 epochs, 87 expected, deviation 9. */
static void shuffling_is_even(void **state)
{
    static unsigned seen[COUNT][COUNT];
    uint64_t index[COUNT];
    mot_data *data = open_arrays();

    (void)state;
    assert_ok(mot_data_shuffle(data, 1));
    for (size_t epoch = 0; epoch < 2000; epoch++) {
        take_epoch(data, index);
        for (size_t i = 0; i < COUNT; i++)
            seen[i][index[i]]++;
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++)
            if (seen[i][j] < 45 || seen[i][j] > 130)
                fail_msg("sample %zu came %u times at place %zu", j, seen[i][j], i);
    mot_data_close(data);
}

/* A checkpoint of today must resume tomorrow: the order is part of the format. */
static void the_shuffled_order_never_changes(void **state)
{
    static const uint64_t golden[8] = {21, 16, 2, 1, 14, 11, 7, 5};
    uint64_t index[COUNT];
    mot_data *data = open_arrays();

    (void)state;
    assert_ok(mot_data_shuffle(data, 0x123456789abcdefull));
    assert_ok(mot_data_rewind(data, 3));
    take_epoch(data, index);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(index[i], golden[i]);
    mot_data_close(data);
}

static void a_cursor_goes_on_in_another_stream(void **state)
{
    uint64_t whole[COUNT];
    mot_data *data = open_arrays(), *other = open_arrays();
    mot_batch *batch = NULL;
    struct mot__cursor cursor;

    (void)state;
    assert_ok(mot_data_batch(data, 4));
    assert_ok(mot_data_shuffle(data, 9));
    assert_ok(mot_data_rewind(data, 2));
    take_epoch(data, whole);
    assert_ok(mot_data_rewind(data, 2));
    for (int i = 0; i < 3; i++) {
        assert_ok(mot_data_next(data, &batch));
        mot_batch_close(batch);
    }
    mot__data_cursor(data, &cursor);
    assert_int_equal(cursor.epoch, 2);
    assert_int_equal(cursor.first, 12);
    assert_ok(mot_data_batch(other, 4));
    assert_ok(mot__data_seek(other, &cursor));
    assert_ok(mot_data_next(other, &batch));
    assert_int_equal(batch->epoch, 2);
    assert_memory_equal(batch->index, whole + 12, 4 * sizeof *whole);
    mot_batch_close(batch);
    cursor.first = COUNT; /* at the epoch's end, before it was told */
    assert_ok(mot__data_seek(other, &cursor));
    assert_ok(mot_data_next(other, &batch));
    assert_null(batch);
    assert_ok(mot_data_next(other, &batch));
    assert_int_equal(batch->epoch, 3);
    mot_batch_close(batch);
    cursor.first = COUNT + 1;
    assert_story(mot__data_seek(other, &cursor), MOT_BAD_ARG,
                 "the cursor stands at sample 24, the data has 23");
    mot_data_close(data);
    mot_data_close(other);
}

static void settings_are_refused_inside_an_epoch(void **state)
{
    mot_data *data = open_arrays();
    mot_batch *batch = NULL;

    (void)state;
    assert_story(mot_data_batch(data, 0), MOT_BAD_ARG, "mot_data_batch: rows = 0");
    assert_story(mot_data_prefetch(data, 0), MOT_BAD_ARG, "mot_data_prefetch: batches = 0");
    assert_story(mot_data_batch(NULL, 1), MOT_BAD_ARG, "mot_data_batch: data is NULL");
    assert_story(mot_data_next(data, NULL), MOT_BAD_ARG, "mot_data_next: NULL argument");
    assert_ok(mot_data_next(data, &batch));
    mot_batch_close(batch);
    assert_story(mot_data_batch(data, 3), MOT_BAD_STATE, "a batch was taken in this epoch");
    assert_story(mot_data_shuffle(data, 3), MOT_BAD_STATE, "mot_data_shuffle: a batch was taken");
    assert_story(mot_data_prefetch(data, 3), MOT_BAD_STATE, "mot_data_prefetch: a batch was");
    assert_story(mot_data_cache(data), MOT_BAD_STATE, "mot_data_cache: a batch was taken");
    assert_ok(mot_data_next(data, &batch));
    assert_null(batch);
    assert_ok(mot_data_batch(data, 3));
    assert_ok(mot_data_cache(data));
    mot_data_close(data);
    mot_data_close(NULL);
    mot_batch_close(NULL);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void refuse(struct mot_arrays arrays, mot_status status, const char *words)
{
    mot_data *data = NULL;

    assert_story(mot_data_arrays(&arrays, &data), status, words);
    assert_null(data);
}

static void unsound_arrays_get_their_sentence(void **state)
{
    struct mot_arrays a;
    float saved = all_targets[5][1];

    (void)state;
    assert_story(mot_data_arrays(NULL, NULL), MOT_BAD_ARG, "mot_data_arrays: NULL argument");
    a = labelled(), a.size = 3;
    refuse(a, MOT_BAD_ARG, "struct mot_arrays: size is 3, not ");
    a = labelled(), a.count = 0;
    refuse(a, MOT_BAD_ARG, "mot_data_arrays: count = 0");
    a = labelled(), a.x = NULL;
    refuse(a, MOT_BAD_ARG, "x is NULL");
    a = labelled(), a.shape.rank = 0;
    refuse(a, MOT_BAD_SHAPE, "the shape has 0 dimensions; 1 to 6 are possible");
    a = labelled(), a.shape.rank = 7;
    refuse(a, MOT_BAD_SHAPE, "the shape has 7 dimensions");
    a = labelled(), a.shape = MOT_SHAPE(3, 0);
    refuse(a, MOT_BAD_SHAPE, "dimension 1 of the shape is 0");
    a = labelled(), a.shape = MOT_SHAPE(SIZE_MAX / 2, 3);
    refuse(a, MOT_BAD_SHAPE, "the shape is too large");
    a = labelled(), a.shape = MOT_SHAPE(SIZE_MAX / 8);
    refuse(a, MOT_BAD_SHAPE, "23 samples of this shape are too large");
    a = labelled(), a.dtype = (enum mot_dtype)9;
    refuse(a, MOT_BAD_ARG, "dtype 9 is unknown");
    a = labelled(), a.classes = 0;
    refuse(a, MOT_BAD_ARG, "labels are given but classes = 0");
    a = labelled(), a.labels = NULL;
    refuse(a, MOT_BAD_ARG, "labels are NULL but classes = 4");
    a = labelled(), a.targets = all_targets[0];
    refuse(a, MOT_BAD_ARG, "targets are given but target_width = 0");
    a.target_width = 2;
    refuse(a, MOT_BAD_ARG, "a label or a row of targets, not both");
    a = labelled(), a.classes = 3;
    refuse(a, MOT_BAD_ARG, "mot_data_arrays: label 3 of sample 3 is not below classes = 3");
    a = labelled(), a.labels = NULL, a.classes = 0, a.targets = all_targets[0], a.target_width = 2;
    all_targets[5][1] = NAN;
    refuse(a, MOT_BAD_NUMBER, "target 1 of sample 5 is not finite");
    all_targets[5][1] = saved;
}

static void a_copy_does_not_follow_the_callers_memory(void **state)
{
    struct mot_arrays arrays = labelled();
    mot_data *own = NULL, *shared = NULL;

    (void)state;
    assert_ok(mot_data_arrays(&arrays, &shared));
    arrays.copy = true;
    assert_ok(mot_data_arrays(&arrays, &own));
    all_x[2][1] += 100;
    all_labels[2]++;
    assert_true(((const float *)mot__data_samples(own)->x)[2 * WIDTH + 1] == all_x[2][1] - 100);
    assert_int_equal(mot__data_samples(own)->labels[2], 2);
    assert_ptr_equal(mot__data_samples(shared)->x, all_x);
    assert_int_not_equal(mot__data_samples(own)->id, 0);
    assert_int_not_equal(mot__data_samples(own)->id, mot__data_samples(shared)->id);
    mot_data_close(own);
    mot_data_close(shared);
    fill_arrays(NULL);
}

static void check_rows(const mot_batch *batch, size_t begin, size_t rows)
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

static void rows_are_copied_from_wherever_they_are(void **state)
{
    struct mot_arrays arrays = labelled();
    mot_data *data = open_arrays();
    mot_batch *batch = NULL;
    float y[COUNT][2];

    (void)state;
    assert_ok(mot_data_shuffle(data, 3));
    assert_ok(mot_data_batch(data, 20));
    assert_ok(mot_data_next(data, &batch));
    check_rows(batch, 0, 20);
    check_rows(batch, 7, 6);
    check_rows(batch, 20, 0);
    mot__batch_copy(batch, 0, 20, NULL, NULL);
    mot_batch_close(batch);
    mot_data_close(data);
    arrays.labels = NULL, arrays.classes = 0;
    arrays.targets = all_targets[0], arrays.target_width = 2;
    assert_ok(mot_data_arrays(&arrays, &data));
    assert_ok(mot_data_next(data, &batch));
    mot__batch_copy(batch, 3, 20, NULL, y);
    assert_memory_equal(y, all_targets[3], 20 * sizeof *y);
    mot_batch_close(batch);
    mot_data_close(data);
}

/* ---- the life of a batch --------------------------------------------------------------------- */

static void a_closed_batch_goes_back_to_the_pool(void **state)
{
    mot_data *data = open_arrays();
    struct mot__store *store;
    mot_batch *batch = NULL;

    (void)state;
    assert_ok(mot_data_batch(data, 4));
    assert_ok(mot_data_next(data, &batch));
    store = ((struct mot__slot *)batch)->store;
    assert_null(store->pool);
    mot_batch_close(batch);
    assert_ptr_equal(store->pool, batch);
    mot_data_close(data);
}

static void batches_may_grow_between_epochs(void **state)
{
    uint64_t index[COUNT];
    mot_data *data = open_arrays();

    (void)state;
    for (size_t rows = 1; rows < 2 * COUNT; rows += 3) {
        assert_ok(mot_data_batch(data, rows));
        check_permutation(index, take_epoch(data, index));
    }
    mot_data_close(data);
}

static void a_stream_in_steady_state_allocates_nothing(void **state)
{
    const mot_batch *seen[2] = {NULL};
    mot_data *data = open_arrays();
    mot_batch *batch = NULL, *older = NULL;

    (void)state;
    assert_ok(mot_data_batch(data, 4));
    for (size_t i = 0; i < 500; i++) { /* two are alive at any time: two must do */
        assert_ok(mot_data_next(data, &batch));
        if (!batch)
            continue;
        for (size_t k = 0; k < 2; k++)
            if (!seen[k]) {
                seen[k] = batch;
                break;
            } else if (seen[k] == batch) {
                break;
            }
        assert_true(batch == seen[0] || batch == seen[1]);
        mot_batch_close(older);
        older = batch;
    }
    mot_batch_close(older);
    mot_data_close(data);
}

static void close_later(void *user)
{
    mot_batch **batch = user;

    for (int i = 0; i < 4; i++) {
        test_sleep(0.001);
        check_rows(batch[i], 0, batch[i]->rows);
        mot_batch_close(batch[i]);
    }
}

static void batches_may_be_closed_by_another_thread_after_their_stream(void **state)
{
    struct mot_arrays arrays = labelled();
    mot_data *data = NULL;
    mot_batch *batch[4] = {NULL};
    mot__thread *thread = NULL;

    (void)state;
    arrays.copy = true;
    assert_ok(mot_data_arrays(&arrays, &data));
    assert_ok(mot_data_batch(data, 4));
    for (int i = 0; i < 4; i++)
        assert_ok(mot_data_next(data, &batch[i]));
    assert_ok(mot__thread_open("late", close_later, batch, &thread));
    mot_data_close(data);
    mot__thread_join(thread);
}

static void a_held_batch_needs_two_closes(void **state)
{
    mot_data *data = open_arrays();
    mot_batch *held = NULL, *batch = NULL;

    (void)state;
    assert_ok(mot_data_batch(data, 4));
    assert_ok(mot_data_next(data, &held));
    mot__batch_hold(held);
    mot_batch_close(held);
    assert_ok(mot_data_next(data, &batch));
    assert_ptr_not_equal(batch, held);
    assert_int_equal(held->index[0], 0);
    mot_batch_close(held);
    mot_batch_close(batch);
    mot_data_close(data);
}

/* ---- sources --------------------------------------------------------------------------------- */

struct reads { /* what a source of the test does, and what was done to it */
    struct mot__lock lock;
    size_t calls, samples;
    size_t fail_at;  /* this call and later ones fail; 0: none */
    size_t block_at; /* this call waits until `open`; 0: none */
    bool open, blocked;
    uint32_t wrong_label;
    pthread_t thread;
};

static int read_rows(void *user, const uint64_t *index, size_t rows, void *x, uint32_t *labels,
                     float *targets)
{
    struct reads *reads = user;
    bool fail;

    mot__lock_take(&reads->lock);
    reads->calls++;
    reads->samples += rows;
    if (reads->calls > 1 && !pthread_equal(reads->thread, pthread_self()))
        abort(); /* two threads */
    reads->thread = pthread_self();
    fail = reads->fail_at && reads->calls >= reads->fail_at;
    while (reads->block_at == reads->calls && !reads->open) {
        reads->blocked = true;
        mot__lock_signal(&reads->lock);
        mot__lock_wait(&reads->lock, INFINITY);
    }
    mot__lock_signal(&reads->lock);
    mot__lock_give(&reads->lock);
    if (targets)
        abort(); /* the source has labels */
    for (size_t i = 0; i < rows; i++) {
        memcpy((float *)x + i * WIDTH, all_x[index[i]], sizeof all_x[0]);
        labels[i] = all_labels[index[i]] + reads->wrong_label;
    }
    return fail ? 7 : 0;
}

static struct mot_source source_of(struct reads *reads)
{
    *reads = (struct reads){.calls = 0};
    assert_ok(mot__lock_init(&reads->lock));
    return (struct mot_source){.size = sizeof(struct mot_source),
                               .count = COUNT,
                               .shape = MOT_SHAPE(WIDTH),
                               .classes = CLASSES,
                               .read = read_rows,
                               .user = reads};
}

static size_t calls_of(struct reads *reads)
{
    size_t calls;

    mot__lock_take(&reads->lock);
    calls = reads->calls;
    mot__lock_give(&reads->lock);
    return calls;
}

static void a_source_gives_what_arrays_would(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    mot_data *data = NULL, *same = open_arrays();

    (void)state;
    assert_ok(mot_data_source(&source, &data));
    assert_null(mot__data_samples(data)->x);
    assert_int_not_equal(mot__data_samples(data)->id, 0);
    assert_ok(mot_data_batch(data, 5));
    assert_ok(mot_data_batch(same, 5));
    assert_ok(mot_data_shuffle(data, 8));
    assert_ok(mot_data_shuffle(same, 8));
    for (size_t i = 0; i < 60; i++) {
        mot_batch *a = NULL, *b = NULL;

        assert_ok(mot_data_next(data, &a));
        assert_ok(mot_data_next(same, &b));
        assert_int_equal(a == NULL, b == NULL);
        if (!a)
            continue;
        assert_non_null(a->x);
        assert_null(b->x);
        assert_int_equal(a->rows, b->rows);
        assert_int_equal(a->epoch, b->epoch);
        assert_int_equal(a->first, b->first);
        assert_memory_equal(a->index, b->index, a->rows * sizeof *a->index);
        check_rows(a, 0, a->rows);
        check_rows(a, 1, a->rows - 1);
        mot_batch_close(a);
        mot_batch_close(b);
    }
    mot_data_close(data);
    mot_data_close(same);
    mot__lock_clear(&reads.lock);
}

static void unsound_sources_get_their_sentence(void **state)
{
    struct reads reads;
    struct mot_source source = source_of(&reads);
    mot_data *data = NULL;

    (void)state;
    assert_story(mot_data_source(NULL, &data), MOT_BAD_ARG, "mot_data_source: NULL argument");
    source.size = 1;
    assert_story(mot_data_source(&source, &data), MOT_BAD_ARG,
                 "struct mot_source: size is 1, not ");
    source = source_of(&reads), source.read = NULL;
    assert_story(mot_data_source(&source, &data), MOT_BAD_ARG, "mot_data_source: read is NULL");
    source = source_of(&reads), source.target_width = 2;
    assert_story(mot_data_source(&source, &data), MOT_BAD_ARG, "not both");
    source = source_of(&reads), source.count = 0;
    assert_story(mot_data_source(&source, &data), MOT_BAD_ARG, "mot_data_source: count = 0");
    assert_null(data);
}

static void reading_ahead_stops_at_the_bound(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    mot_data *data = NULL;
    mot_batch *batch = NULL;

    (void)state;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 2));
    assert_ok(mot_data_prefetch(data, 3));
    assert_int_equal(calls_of(&reads), 0); /* nothing before the first batch is asked for */
    assert_ok(mot_data_next(data, &batch));
    mot_batch_close(batch);
    for (int i = 0; i < 1000 && calls_of(&reads) < 4; i++)
        test_sleep(0.005);
    test_sleep(0.05);
    assert_int_equal(calls_of(&reads), 4); /* one taken, three ahead */
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

static void a_failing_source_is_told_after_what_was_read_before(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    mot_data *data = NULL;
    mot_batch *batch = NULL;

    (void)state;
    reads.fail_at = 3;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 5));
    for (int i = 0; i < 2; i++) {
        assert_ok(mot_data_next(data, &batch));
        check_rows(batch, 0, 5);
        mot_batch_close(batch);
    }
    for (int i = 0; i < 2; i++) { /* and stays */
        assert_story(mot_data_next(data, &batch), MOT_IO,
                     "the source's reader returned 7 for 5 samples at place 10 of epoch 0");
        assert_null(batch);
    }
    mot__lock_take(&reads.lock);
    reads.fail_at = 0;
    mot__lock_give(&reads.lock);
    assert_ok(mot_data_rewind(data, 0)); /* tries again */
    assert_int_equal(take_epoch(data, (uint64_t[COUNT]){0}), COUNT);
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

static void a_label_out_of_range_from_a_source_is_told(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    mot_data *data = NULL;
    mot_batch *batch = NULL;

    (void)state;
    reads.wrong_label = 1;
    assert_ok(mot_data_source(&source, &data));
    assert_story(mot_data_next(data, &batch), MOT_BAD_ARG,
                 "the source's reader: label 4 of sample 3 is not below classes = 4");
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

static void a_cached_source_is_read_once_then_it_is_memory(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    uint64_t index[COUNT];
    const struct mot__samples *before;
    uint64_t id;
    mot_data *data = NULL;
    mot_batch *batch = NULL, *old = NULL;

    (void)state;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 5));
    assert_ok(mot_data_shuffle(data, 4));
    assert_ok(mot_data_cache(data));
    before = mot__data_samples(data);
    id = before->id;
    assert_ok(mot_data_next(data, &old)); /* outlives the change */
    while (mot_data_next(data, &batch) == MOT_OK && batch)
        mot_batch_close(batch);
    assert_int_equal(reads.samples, COUNT);
    assert_non_null(mot__data_samples(data)->x);
    assert_int_not_equal(mot__data_samples(data)->id, id);
    assert_memory_equal(mot__data_samples(data)->x, all_x, sizeof all_x);
    assert_memory_equal(mot__data_samples(data)->labels, all_labels, sizeof all_labels);
    check_permutation(index, take_epoch(data, index));
    assert_int_equal(reads.samples, COUNT);
    check_rows(old, 0, old->rows);
    mot_batch_close(old);
    assert_int_equal(before->id, id); /* who kept the old description may still read it */
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

/* Begun in the middle of an epoch, the cache is full only in the next one. */
static void a_cache_that_begins_late_is_filled_later(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    const struct mot__cursor middle = {.epoch = 0, .first = 15, .seed = 4, .shuffled = true};
    uint64_t index[COUNT];
    mot_data *data = NULL;
    mot_batch *batch = NULL;

    (void)state;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 5));
    assert_ok(mot_data_cache(data));
    assert_ok(mot_data_prefetch(data, 50)); /* every sample is read before the first epoch ends */
    assert_ok(mot__data_seek(data, &middle));
    assert_ok(mot_data_next(data, &batch));
    mot_batch_close(batch);
    for (int i = 0; i < 1000 && calls_of(&reads) < 6; i++)
        test_sleep(0.005);
    while (mot_data_next(data, &batch) == MOT_OK && batch)
        mot_batch_close(batch);
    assert_null(mot__data_samples(data)->x);
    check_permutation(index, take_epoch(data, index));
    assert_memory_equal(mot__data_samples(data)->x, all_x, sizeof all_x);
    assert_in_range(reads.samples, COUNT, 2 * COUNT);
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

/* Rewinding does not wait for a slow read, and what that read brings is not mixed in. */
static void rewinding_drops_what_was_being_read(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    uint64_t index[COUNT];
    mot_data *data = NULL;
    mot_batch *batch = NULL;

    (void)state;
    reads.block_at = 2;
    assert_ok(mot_data_source(&source, &data));
    assert_ok(mot_data_batch(data, 5));
    assert_ok(mot_data_next(data, &batch));
    mot_batch_close(batch);
    mot__lock_take(&reads.lock);
    while (!reads.blocked)
        mot__lock_wait(&reads.lock, INFINITY);
    mot__lock_give(&reads.lock);
    assert_ok(mot_data_rewind(data, 6)); /* read 2, of epoch 0, still hangs */
    mot__lock_take(&reads.lock);
    reads.open = true;
    mot__lock_signal(&reads.lock);
    mot__lock_give(&reads.lock);
    assert_ok(mot_data_next(data, &batch));
    assert_int_equal(batch->epoch, 6);
    assert_int_equal(batch->first, 0);
    mot_batch_close(batch);
    assert_ok(mot_data_rewind(data, 7));
    check_permutation(index, take_epoch(data, index));
    mot_data_close(data);
    mot__lock_clear(&reads.lock);
}

/* Closing gives up waiting; the read returns later into memory that is still there. */
static void a_source_that_hangs_does_not_stop_the_close(void **state)
{
    struct reads reads;
    const struct mot_source source = source_of(&reads);
    const struct mot__samples like = {
        .count = COUNT, .shape = MOT_SHAPE(WIDTH), .width = WIDTH, .classes = CLASSES};
    const struct mot__reader_plan plan = {.rows = 5, .ahead = 2};
    struct mot__store *store = NULL;
    mot__reader *reader = NULL;
    double begin;

    (void)state;
    reads.block_at = 1;
    assert_ok(mot__store_open(&like, &store));
    assert_ok(mot__reader_open(&source, store, NULL, &plan, &reader));
    mot__lock_take(&reads.lock);
    while (!reads.blocked)
        mot__lock_wait(&reads.lock, INFINITY);
    mot__lock_give(&reads.lock);
    begin = mot__clock_s();
    mot__reader_close(reader, 0.05);
    assert_true(mot__clock_s() - begin >= 0.04);
    mot__lock_take(&reads.lock);
    reads.open = true;
    mot__lock_signal(&reads.lock);
    mot__lock_give(&reads.lock);
    for (int i = 0; i < 1000 && atomic_load(&store->owners) > 1; i++)
        test_sleep(0.005); /* the abandoned thread lets go by itself */
    assert_int_equal(atomic_load(&store->owners), 1);
    mot__store_close(store);
    mot__lock_clear(&reads.lock);
}

static void closing_a_stream_that_reads_ahead_waits_for_no_batch(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) { /* at every stage of reading */
        struct reads reads;
        const struct mot_source source = source_of(&reads);
        mot_data *data = NULL;
        mot_batch *batch[3] = {NULL};

        assert_ok(mot_data_source(&source, &data));
        assert_ok(mot_data_batch(data, 3));
        for (int i = 0; i < round % 4; i++)
            assert_ok(mot_data_next(data, &batch[i]));
        mot_data_close(data);
        for (int i = 0; i < round % 4; i++) {
            check_rows(batch[i], 0, batch[i]->rows);
            mot_batch_close(batch[i]);
        }
        mot__lock_clear(&reads.lock);
    }
}

#define CASE(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_epoch_has_each_sample_once_and_a_partial_last_batch),
        CASE(shuffling_permutes_anew_for_each_epoch_and_seed),
        CASE(shuffling_is_even),
        CASE(the_shuffled_order_never_changes),
        CASE(a_cursor_goes_on_in_another_stream),
        CASE(settings_are_refused_inside_an_epoch),
        CASE(unsound_arrays_get_their_sentence),
        CASE(a_copy_does_not_follow_the_callers_memory),
        CASE(rows_are_copied_from_wherever_they_are),
        CASE(a_closed_batch_goes_back_to_the_pool),
        CASE(batches_may_grow_between_epochs),
        CASE(a_stream_in_steady_state_allocates_nothing),
        CASE(batches_may_be_closed_by_another_thread_after_their_stream),
        CASE(a_held_batch_needs_two_closes),
        CASE(a_source_gives_what_arrays_would),
        CASE(unsound_sources_get_their_sentence),
        CASE(reading_ahead_stops_at_the_bound),
        CASE(a_failing_source_is_told_after_what_was_read_before),
        CASE(a_label_out_of_range_from_a_source_is_told),
        CASE(a_cached_source_is_read_once_then_it_is_memory),
        CASE(a_cache_that_begins_late_is_filled_later),
        CASE(rewinding_drops_what_was_being_read),
        CASE(a_source_that_hangs_does_not_stop_the_close),
        CASE(closing_a_stream_that_reads_ahead_waits_for_no_batch),
    };

    return cmocka_run_group_tests(tests, fill_arrays, NULL);
}
