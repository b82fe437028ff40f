/* test_plan_lower.c - networks to operations: what vanishes, what joins, what shares a place; and
 * the buckets their gradients travel in. */
#include "model/lower.h"
#include "support/check.h"

static struct mot__lowering lower_cut(const char *text, enum mot_loss loss, bool training,
                                      size_t segments)
{
    struct mot__plan_config config = {
        .rows = 10, .training = training, .loss = loss, .segments = segments};
    struct mot__lowering low;
    mot_model *net = NULL;

    snprintf(check_where(), CHECK_WHERE_BYTES, "%.180s", text);
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_text(net, text));
    config.net = net;
    assert_ok(mot__lower(&config, &low));
    mot_model_close(net);
    return low;
}

static struct mot__lowering lower(const char *text, enum mot_loss loss, bool training)
{
    return lower_cut(text, loss, training, 0);
}

/* One letter for each operation: I D A S R (dropout) + and the activation of a dense layer. */
static void letters(const struct mot__lowering *low, char *out)
{
    static const char kinds[] = "IDASR+", acts[] = ".rlgsts";

    for (size_t i = 0; i < low->count; i++) {
        *out++ = kinds[low->op[i].kind];
        if (low->op[i].kind == MOT__LOWERED_DENSE && low->op[i].act != MOT_ACT_NONE)
            *out++ = acts[low->op[i].act];
    }
    *out = '\0';
}

static void layers_become_the_fewest_operations(void **state)
{
    static const struct {
        const char *text;
        enum mot_loss loss;
        bool training, joined;
        const char *ops;
    } rows[] = {
        {"input 4, dense 3 relu, dense 2", MOT_LOSS_CROSS_ENTROPY, true, false, "IDrD"},
        {"input 4, dense 3, relu, dense 2, softmax", MOT_LOSS_CROSS_ENTROPY, true, true, "IDrD"},
        {"input 2x2, flatten, dense 3, relu, relu", MOT_LOSS_MSE, true, false, "IDrA"},
        {"input 4, dense 3 gelu, dense 2", MOT_LOSS_CROSS_ENTROPY, true, false, "IDAD"},
        {"input 4, dense 2 softmax", MOT_LOSS_MSE, true, false, "IDS"},
        {"input 4, dense 2 softmax", MOT_LOSS_CROSS_ENTROPY_PROBABILITIES, true, true, "ID"},
        {"input 4, dense 3 softmax, dense 2", MOT_LOSS_CROSS_ENTROPY, true, false, "IDSD"},
        {"input 4, dense 3 relu, dropout 0.5, dense 2", MOT_LOSS_MSE, true, false, "IDrRD"},
        {"input 4, dense 3 relu, dropout 0.5, dense 2", MOT_LOSS_MSE, false, false, "IDrD"},
        {"input 4, dense 3 relu, dropout 0, dense 2", MOT_LOSS_MSE, true, false, "IDrD"},
        {"input 4, dense 4, mark a, relu, add a, dense 2", MOT_LOSS_MSE, true, false, "IDA+D"},
        {"input 4, mark x, dense 9, goto x, dense 2", MOT_LOSS_MSE, true, false, "ID"},
    };
    char seen[32];

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct mot__lowering low = lower(rows[r].text, rows[r].loss, rows[r].training);

        letters(&low, seen);
        if (strcmp(seen, rows[r].ops) != 0 || low.joined != rows[r].joined)
            fail_msg("[%s] %s joined %d, wanted %s joined %d", check_where(), seen, low.joined,
                     rows[r].ops, rows[r].joined);
        mot__lowering_clear(&low);
    }
}

static void inference_needs_less_room_than_training(void **state)
{
    const char *text = "input 100, dense 100 relu, dense 100 relu, dense 100 relu, dense 100";
    struct mot__lowering train = lower(text, MOT_LOSS_MSE, true);
    struct mot__lowering infer = lower(text, MOT_LOSS_MSE, false);

    (void)state;
    assert_true(infer.floats * 2 < train.floats);
    assert_int_equal(train.floats, train.live_floats); /* a chain of layers leaves no gap */
    assert_int_equal(infer.floats, infer.live_floats);
    mot__lowering_clear(&train);
    mot__lowering_clear(&infer);
}

/* Eight layers in segments: less room, and each operation's value is there when it is read. */
static void segments_need_less_room(void **state)
{
    const char *text = "input 10, dense 100 relu, dense 100 relu, dense 100 gelu, dense 100 relu, "
                       "dense 100 tanh, dense 100 relu, dense 100 relu, dense 10";
    struct mot__lowering plain = lower(text, MOT_LOSS_MSE, true);
    struct mot__lowering cut = lower_cut(text, MOT_LOSS_MSE, true, 3);
    struct mot__lowering infer = lower_cut(text, MOT_LOSS_MSE, false, 3);
    size_t again = 0;

    (void)state;
    assert_int_equal(plain.segments, 1);
    assert_int_equal(cut.segments, 3);
    assert_int_equal(infer.segments, 1);
    assert_true(cut.floats * 10 < plain.floats * 8);
    for (size_t i = 0; i < plain.count; i++) {
        assert_true(plain.op[i].again == MOT__NONE);
        again += cut.op[i].again != MOT__NONE;
        if (cut.op[i].segment + 1 == cut.segments)
            assert_true(cut.op[i].again == MOT__NONE);
        if (cut.op[i].again != MOT__NONE)
            assert_true(cut.op[i].again < cut.op[i].back);
    }
    assert_true(again >= 3 && again < cut.count);
    mot__lowering_clear(&plain);
    mot__lowering_clear(&cut);
    mot__lowering_clear(&infer);
}

/* ---- buckets ---- */

static void check_buckets(const mot_model *net, size_t first_floats, size_t bucket_floats,
                          size_t wanted)
{
    struct mot__range *bucket = NULL;
    size_t count = 0, end = net->table.floats + 16;

    assert_ok(mot__buckets_make(&net->table, 16, first_floats, bucket_floats, &bucket, &count));
    assert_int_equal(count, wanted);
    for (size_t b = 0; b < count; b++) { /* last layer first, without a gap, the record in front */
        bool starts = false;

        assert_int_equal(bucket[b].begin + bucket[b].count, end);
        assert_true(bucket[b].count >= (b ? bucket_floats : first_floats) || b + 1 == count);
        for (size_t p = 0; p < net->table.count; p++)
            starts = starts || net->table.row[p].offset == bucket[b].begin;
        assert_true(starts);
        end = bucket[b].begin;
    }
    assert_int_equal(end, 0);
    free(bucket);
}

static void buckets_cover_every_gradient_once(void **state)
{
    mot_model *net = NULL;

    (void)state;
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_text(net, "input 32, dense 32 relu, dense 32 relu, dense 16"));
    check_buckets(net, SIZE_MAX, SIZE_MAX, 1);
    check_buckets(net, 1, 1, 6);
    check_buckets(net, 544, 544, 3); /* the record, 16 + 512 floats of the last layer */
    check_buckets(net, 577, 577, 2);
    check_buckets(net, 1600, 1600, 2);
    check_buckets(net, 1633, 1633, 1);
    check_buckets(net, 544, SIZE_MAX, 2); /* an early first one, the rest together */
    check_buckets(net, 544, 1056, 3);     /* a layer and the bias before it */
    check_buckets(net, 1600, 1, 3);
    mot_model_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_become_the_fewest_operations),
        cmocka_unit_test(inference_needs_less_room_than_training),
        cmocka_unit_test(segments_need_less_room),
        cmocka_unit_test(buckets_cover_every_gradient_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
