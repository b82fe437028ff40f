/* test_data_source.c - sources of the user's own as streams: reading ahead, caching, rewinding,
 * failing and hanging. */
#include "support/stream.h"

#include "base/clock.h"
#include "base/thread.h"
#include "data/reader.h"

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
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_gives_what_arrays_would),
        cmocka_unit_test(unsound_sources_get_their_sentence),
        cmocka_unit_test(reading_ahead_stops_at_the_bound),
        cmocka_unit_test(a_failing_source_is_told_after_what_was_read_before),
        cmocka_unit_test(a_label_out_of_range_from_a_source_is_told),
        cmocka_unit_test(a_cached_source_is_read_once_then_it_is_memory),
        cmocka_unit_test(a_cache_that_begins_late_is_filled_later),
        cmocka_unit_test(rewinding_drops_what_was_being_read),
        cmocka_unit_test(a_source_that_hangs_does_not_stop_the_close),
        cmocka_unit_test(closing_a_stream_that_reads_ahead_waits_for_no_batch),
    };

    return cmocka_run_group_tests(tests, fill_arrays, NULL);
}
