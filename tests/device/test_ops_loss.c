/* test_ops_loss.c - losses, gradients and the record against plain C and finite differences. */
#include "support/device.h"

#include "ops/loss.h"
#include "ops/softmax.h"

enum { LOSS, CORRECT, COUNT, BAD, RECORD = 16 }; /* as enum mot__record of optim.h */

struct batch {
    enum mot__loss_kind kind;
    size_t rows, width;
    float *x, *targets; /* (rows, width) */
    uint32_t *labels;   /* (rows) */
    bool labelled;      /* labels are used, else targets */
    float scale;
    bool wants_dx, in_place, accumulate;
    float *row, *dx;      /* results: (rows, 2), (rows, width) */
    float record[RECORD]; /* before and after */
};

static struct batch batch_open(enum mot__loss_kind kind, size_t rows, size_t width, bool labelled)
{
    const size_t n = rows * width;
    struct batch batch = {.kind = kind, .rows = rows, .width = width, .labelled = labelled};
    uint64_t seed = n + 17;

    batch.x = test_floats(n);
    batch.targets = test_floats(n);
    batch.labels = test_alloc(rows, 4);
    batch.row = test_floats(2 * rows);
    batch.dx = test_floats(n);
    batch.scale = 1;
    batch.wants_dx = true;
    test_fill(batch.x, n, n, -3, 3);
    if (kind == MOT__LOSS_PROBABILITIES)
        mot__softmax_reference(rows, width, batch.x, batch.x);
    for (size_t r = 0; r < rows; r++) {
        batch.labels[r] = test_random(&seed) % (uint32_t)width;
        batch.targets[r * width + batch.labels[r]] = 1;
    }
    if (kind == MOT__LOSS_SQUARES)
        test_fill(batch.targets, n, n + 1, -1, 1);
    for (size_t i = 0; i < RECORD; i++)
        batch.record[i] = (float)i + 0.5f;
    return batch;
}

static void batch_close(struct batch *batch)
{
    free(batch->x);
    free(batch->targets);
    free(batch->labels);
    free(batch->row);
    free(batch->dx);
}

static void run(mot__device *device, struct batch *batch)
{
    const size_t n = batch->rows * batch->width;
    struct test_array x = test_put(device, batch->x, n), dx = test_put(device, NULL, n);
    struct test_array labels = test_put(device, batch->labels, batch->rows);
    struct test_array targets = test_put(device, batch->targets, n);
    struct test_array row = test_put(device, NULL, 2 * batch->rows);
    struct test_array record = test_put(device, batch->record, RECORD);
    struct mot__loss loss = {.kind = batch->kind,
                             .rows = batch->rows,
                             .width = batch->width,
                             .x = x.mem,
                             .scale = batch->scale,
                             .row = row.mem,
                             .record = record.mem,
                             .accumulate = batch->accumulate};

    if (batch->labelled)
        loss.labels = labels.mem;
    else
        loss.targets = targets.mem;
    if (batch->wants_dx)
        loss.dx = batch->in_place ? x.mem : dx.mem;
    assert_ok(mot__loss_launch(device, &loss));
    test_get(&row, batch->row);
    test_get(&record, batch->record);
    if (batch->wants_dx)
        test_get(batch->in_place ? &x : &dx, batch->dx);
    test_drop(&x);
    test_drop(&dx);
    test_drop(&labels);
    test_drop(&targets);
    test_drop(&row);
    test_drop(&record);
}

/* Every kind, labels and targets, narrow rows and rows that get a team; no row and odd rows. */
static const struct {
    size_t rows, width;
} sizes[] = {{0, 10},  {1, 1},   {1, 2},   {31, 10}, {33, 9},   {65, 31},
             {130, 8}, {3, 127}, {3, 128}, {2, 193}, {300, 10}, {2, 5000}};

static void matches_on(mot__device *device, struct batch *batch)
{
    const size_t n = batch->rows * batch->width;
    float *row = test_floats(batch->rows), *got = test_floats(batch->rows), *dx = test_floats(n);
    size_t correct = 0;
    double sum = mot__loss_reference(batch->kind, batch->rows, batch->width, batch->x,
                                     batch->labelled ? batch->labels : NULL, batch->targets, row,
                                     dx, &correct);
    const float want[4] = {(float)sum, (float)correct, (float)batch->rows, 0};

    run(device, batch);
    for (size_t r = 0; r < batch->rows; r++)
        got[r] = batch->row[2 * r];
    check_close("row", got, row, batch->rows, 1e-5, 1e-6);
    for (size_t i = 0; i < n; i++)
        dx[i] *= batch->scale;
    check_close("dx", batch->dx, dx, n, 2e-5, 1e-6);
    if (batch->width > 1)
        check_seen("dx", batch->dx, n);
    check_close("record", batch->record, want, 4, 1e-5, 1e-6);
    for (size_t i = 4; i < RECORD; i++)
        assert_true(batch->record[i] == (float)i + 0.5f); /* the rest is someone else's */
    free(row);
    free(got);
    free(dx);
}

static void every_kind_matches_plain_c(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t s = 0; s < MOT__COUNT(sizes); s++)
        for (int kind = MOT__LOSS_LOGITS; kind <= MOT__LOSS_SQUARES; kind++)
            for (int way = 0; way < 4; way++) { /* labels or targets, dx beside or over x */
                struct batch batch;

                if (test_small() && sizes[s].rows * sizes[s].width > 400)
                    continue;
                batch =
                    batch_open((enum mot__loss_kind)kind, sizes[s].rows, sizes[s].width, way & 1);
                batch.in_place = way & 2;
                batch.scale = way & 2 ? 0.25f : 1;
                matches_on(device, &batch);
                batch_close(&batch);
            }
}

static void soft_targets_weigh_every_class(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int kind = MOT__LOSS_LOGITS; kind <= MOT__LOSS_PROBABILITIES; kind++)
        for (size_t width = 5; width < 200; width += 150) {
            struct batch batch = batch_open((enum mot__loss_kind)kind, 7, width, false);

            test_fill(batch.targets, 7 * width, 3, 0, 1); /* rows do not add up to 1 */
            matches_on(device, &batch);
            batch_close(&batch);
        }
}

/* Row losses of the device with column j moved. */
static void moved_rows(mot__device *device, struct batch *batch, size_t j, float h, double *out)
{
    float *keep = test_floats(batch->rows);

    for (size_t r = 0; r < batch->rows; r++) {
        keep[r] = batch->x[r * batch->width + j];
        batch->x[r * batch->width + j] += h;
    }
    run(device, batch);
    for (size_t r = 0; r < batch->rows; r++) {
        batch->x[r * batch->width + j] = keep[r];
        out[r] = (double)batch->row[2 * r];
    }
    free(keep);
}

static void differences_on(mot__device *device, enum mot__loss_kind kind, bool labelled)
{
    enum { ROWS = 6, WIDTH = 9 };
    const float h = kind == MOT__LOSS_PROBABILITIES ? 1.0f / 512 : 1.0f / 64;
    struct batch batch = batch_open(kind, ROWS, WIDTH, labelled);
    float dx[ROWS * WIDTH];
    double up[ROWS], down[ROWS];

    if (kind == MOT__LOSS_PROBABILITIES)
        test_fill(batch.x, ROWS * WIDTH, 2, 0.2, 0.8); /* away from where it is clipped */
    run(device, &batch);
    memcpy(dx, batch.dx, sizeof dx);
    check_seen("dx", dx, ROWS * WIDTH);
    batch.wants_dx = false;
    for (size_t j = 0; j < WIDTH; j++) {
        moved_rows(device, &batch, j, h, up);
        moved_rows(device, &batch, j, -h, down);
        for (size_t r = 0; r < ROWS; r++) {
            const float numeric = (float)((up[r] - down[r]) / (2 * (double)h));

            check_close("dx against differences", &dx[r * WIDTH + j], &numeric, 1, 1e-3, 5e-4);
        }
    }
    batch_close(&batch);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (int kind = MOT__LOSS_LOGITS; kind <= MOT__LOSS_SQUARES; kind++)
        for (int labelled = 0; labelled < 2; labelled++)
            differences_on(device, (enum mot__loss_kind)kind, labelled);
}

static void logits_of_ten_thousand_stay_exact(void **state)
{
    static const float x[] = {1e4f, -1e4f, 9999, -1e4f, 1e4f, 0, -1e4f, -1e4f, -1e4f};
    static const uint32_t labels[] = {2, 0, 1};
    static const float want[] = {1.3132617f, 2e4f, 1.0986123f};

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_LOGITS, 3, 3, true);

        memcpy(batch.x, x, sizeof x);
        memcpy(batch.labels, labels, sizeof labels);
        run(device, &batch);
        for (size_t r = 0; r < 3; r++)
            check_close("row", &batch.row[2 * r], &want[r], 1, 1e-6, 0);
        check_close("dx of the wrong class", &batch.dx[3], &(float){-1}, 1, 0, 1e-6);
        check_close("dx of the chosen class", &batch.dx[4], &(float){1}, 1, 0, 1e-6);
        assert_true(batch.record[BAD] == 0);
        batch_close(&batch);
    }
}

/* A row that is not finite is counted, not added; its neighbours are as if it were not there. */
static void bad_rows_are_counted_and_left_out(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t width = 5; width < 200; width += 150) {
        struct batch batch = batch_open(MOT__LOSS_LOGITS, 200, width, true);
        double sum = 0;
        size_t correct = 0;

        batch.x[3 * width + 1] = NAN;
        batch.x[150 * width + 4] = INFINITY;
        batch.labels[9] = (uint32_t)width;
        batch.labels[11] = 0xffffffffu;
        run(device, &batch);
        for (size_t r = 0; r < 200; r++) {
            const bool bad = r == 3 || r == 150 || r == 9 || r == 11;

            assert_true(!isfinite(batch.row[2 * r]) == bad);
            assert_false(bad && batch.row[2 * r + 1] != 0);
            sum += bad ? 0 : (double)batch.row[2 * r];
            correct += batch.row[2 * r + 1] > 0;
        }
        assert_true(batch.record[BAD] == 4 && batch.record[COUNT] == 200);
        assert_true(batch.record[CORRECT] == (float)correct);
        check_close("sum", &batch.record[LOSS], &(float){(float)sum}, 1, 1e-6, 0);
        batch_close(&batch);
    }
}

static void a_nan_probability_is_bad(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_PROBABILITIES, 2, 4, true);

        batch.x[batch.labels[0]] = NAN;
        run(device, &batch);
        assert_true(batch.record[BAD] == 1);
        batch_close(&batch);
    }
}

static void an_infinite_loss_is_bad_and_not_added(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_SQUARES, 3, 4, false);

        batch.x[5] = 1e30f; /* its square is infinite */
        run(device, &batch);
        assert_true(isinf(batch.row[2]) && batch.record[BAD] == 1);
        assert_true(batch.record[LOSS] == batch.row[0] + batch.row[4]);
        batch_close(&batch);
    }
}

static void clipped_probabilities_have_no_slope(void **state)
{
    static const float x[] = {0, 1, 0.5f, 1, 0, 0};
    static const uint32_t labels[] = {0, 0};

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_PROBABILITIES, 2, 3, true);

        memcpy(batch.x, x, sizeof x);
        memcpy(batch.labels, labels, sizeof labels);
        run(device, &batch);
        check_close("log of 1e-7", &batch.row[0], &(float){16.118096f}, 1, 1e-6, 0);
        assert_true(batch.row[2] > 0 && batch.row[2] < 2e-7f);
        for (size_t i = 0; i < 6; i++)
            assert_true(batch.dx[i] == 0);
        batch_close(&batch);
    }
}

/* Ties go to the first, as in Keras. */
static void the_first_of_equal_outputs_counts(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t width = 12; width < 200; width += 150) {
        struct batch batch = batch_open(MOT__LOSS_LOGITS, 3, width, true);

        for (size_t i = 0; i < 3 * width; i++)
            batch.x[i] = -1;
        for (size_t r = 0; r < 3; r++)
            batch.x[r * width + 4] = batch.x[r * width + width - 1] = 2;
        batch.labels[0] = 4;
        batch.labels[1] = (uint32_t)width - 1;
        batch.labels[2] = 0;
        run(device, &batch);
        assert_true(batch.row[1] == 1 && batch.row[3] == 0 && batch.row[5] == 0);
        assert_true(batch.record[CORRECT] == 1);
        batch_close(&batch);
    }
}

static void the_record_accumulates(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_LOGITS, 33, 10, true);
        float first[4];

        run(device, &batch);
        memcpy(first, batch.record, sizeof first);
        assert_true(first[LOSS] > 0 && first[COUNT] == 33);
        batch.accumulate = true;
        run(device, &batch);
        for (size_t i = 0; i < 4; i++)
            assert_true(batch.record[i] == 2 * first[i]);
        batch.rows = 0; /* an empty shard adds nothing, */
        run(device, &batch);
        assert_true(batch.record[COUNT] == 66);
        batch.accumulate = false; /* and alone is a record of zeros */
        run(device, &batch);
        for (size_t i = 0; i < 4; i++)
            assert_true(batch.record[i] == 0);
        batch_close(&batch);
    }
}

/* The order of addition is the text's, not the device's: lane l of 128 adds rows l, l + 128, ... */
static void the_record_adds_in_the_same_order_everywhere(void **state)
{
    enum { ROWS = 700, LANES = 128 };

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct batch batch = batch_open(MOT__LOSS_SQUARES, ROWS, 1, false);
        float lane[LANES] = {0};

        run(device, &batch);
        for (size_t r = 0; r < ROWS; r++)
            lane[r % LANES] += batch.row[2 * r];
        for (size_t half = LANES / 2; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                lane[l] += lane[l + half];
        check_bits("loss", &batch.record[LOSS], lane, 1);
        batch_close(&batch);
    }
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array a = test_put(device, NULL, 16);
        struct mot__loss loss = {.rows = 1, .width = 2, .x = a.mem, .row = a.mem, .record = a.mem};

        assert_story(mot__loss_launch(device, &loss), MOT_BAD_ARG, "labels or targets");
        loss.labels = loss.targets = a.mem;
        assert_story(mot__loss_launch(device, &loss), MOT_BAD_ARG, "labels or targets");
        loss.width = 0;
        assert_story(mot__loss_launch(device, &loss), MOT_BAD_ARG, "width 0");
        test_drop(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_matches_plain_c),
        cmocka_unit_test(soft_targets_weigh_every_class),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(logits_of_ten_thousand_stay_exact),
        cmocka_unit_test(bad_rows_are_counted_and_left_out),
        cmocka_unit_test(a_nan_probability_is_bad),
        cmocka_unit_test(an_infinite_loss_is_bad_and_not_added),
        cmocka_unit_test(clipped_probabilities_have_no_slope),
        cmocka_unit_test(the_first_of_equal_outputs_counts),
        cmocka_unit_test(the_record_accumulates),
        cmocka_unit_test(the_record_adds_in_the_same_order_everywhere),
        cmocka_unit_test(contradictions_are_refused),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
