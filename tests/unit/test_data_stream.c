/* test_data_stream.c - arrays as streams: order, epochs, cursors, batches that outlive their
 * stream. */
#include "support/stream.h"

#include "base/thread.h"
#include "data/reader.h"

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
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_has_each_sample_once_and_a_partial_last_batch),
        cmocka_unit_test(shuffling_permutes_anew_for_each_epoch_and_seed),
        cmocka_unit_test(shuffling_is_even),
        cmocka_unit_test(the_shuffled_order_never_changes),
        cmocka_unit_test(a_cursor_goes_on_in_another_stream),
        cmocka_unit_test(settings_are_refused_inside_an_epoch),
        cmocka_unit_test(unsound_arrays_get_their_sentence),
        cmocka_unit_test(a_copy_does_not_follow_the_callers_memory),
        cmocka_unit_test(rows_are_copied_from_wherever_they_are),
        cmocka_unit_test(a_closed_batch_goes_back_to_the_pool),
        cmocka_unit_test(batches_may_grow_between_epochs),
        cmocka_unit_test(a_stream_in_steady_state_allocates_nothing),
        cmocka_unit_test(batches_may_be_closed_by_another_thread_after_their_stream),
        cmocka_unit_test(a_held_batch_needs_two_closes),
    };

    return cmocka_run_group_tests(tests, fill_arrays, NULL);
}
