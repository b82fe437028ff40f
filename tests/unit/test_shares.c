/* test_shares.c - how many rows of a batch each replica takes. */
#include "strategy/shares.h"
#include "support/check.h"

static void rows_follow_the_weights(void **state)
{
    static const struct {
        size_t rows, lanes;
        double weight[4];
        size_t share[4];
    } deals[] = {
        {4, 3, {1, 1, 1}, {2, 1, 1}},
        {7, 4, {1, 1, 1, 1}, {2, 2, 2, 1}},
        {0, 3, {1, 1, 1}, {0, 0, 0}},
        {1, 4, {1, 1, 1, 1}, {1, 0, 0, 0}},
        {2, 4, {1, 1, 1, 1}, {1, 1, 0, 0}},
        {16, 2, {3, 1}, {12, 4}},
        {5, 2, {1, 0}, {5, 0}},
        {5, 2, {0, 1}, {0, 5}},
        {10, 3, {5, 0, 2}, {7, 0, 3}},
        {128, 3, {0.56, 0.29, 0.15}, {72, 37, 19}},
        {3, 3, {1e-9, 1, 1e9}, {0, 0, 3}},
        {10, 1, {0.1}, {10}},
    };
    size_t share[4];

    (void)state;
    for (size_t d = 0; d < sizeof deals / sizeof *deals; d++) {
        mot__shares_split(deals[d].rows, deals[d].weight, deals[d].lanes, share);
        for (size_t i = 0; i < deals[d].lanes; i++)
            if (share[i] != deals[d].share[i])
                fail_msg("deal %zu, replica %zu: %zu rows, wanted %zu", d, i, share[i],
                         deals[d].share[i]);
    }
}

/* Whatever the weights: every row is dealt once, none to a weight of 0, each within a row of its
 * due. */
static void every_row_is_dealt_once(void **state)
{
    uint64_t random = 3;
    double weight[5], sum;
    size_t share[5], dealt;

    (void)state;
    for (size_t turn = 0; turn < 2000; turn++) {
        const size_t lanes = 1 + test_random(&random) % 5, rows = test_random(&random) % 300;

        sum = 0;
        for (size_t i = 0; i < lanes; i++) {
            weight[i] = test_random(&random) % 4 ? test_random(&random) / 1e6 : 0;
            sum += weight[i];
        }
        if (!(sum > 0))
            continue;
        mot__shares_split(rows, weight, lanes, share);
        dealt = 0;
        for (size_t i = 0; i < lanes; i++) {
            const double due = (double)rows * weight[i] / sum;

            dealt += share[i];
            if (!(fabs((double)share[i] - due) < 1 + 1e-9) || (weight[i] == 0 && share[i] > 0))
                fail_msg("turn %zu: %zu rows for a due of %g", turn, share[i], due);
        }
        assert_int_equal(dealt, rows);
    }
}

/* 6, 6, 2: the last takes 1 of 11 rows but 2 of 10; room must be made for both. */
static void no_smaller_batch_passes_the_most(void **state)
{
    const double weights[][3] = {{6, 6, 2}, {1, 1, 1}, {5, 0, 2}, {0.1, 0.2, 0.7}};
    size_t most[3], share[3];

    (void)state;
    for (size_t w = 0; w < 4; w++)
        for (size_t rows = 0; rows < 40; rows++) {
            mot__shares_most(rows, weights[w], 3, most);
            for (size_t fewer = 0; fewer <= rows; fewer++) {
                mot__shares_split(fewer, weights[w], 3, share);
                for (size_t i = 0; i < 3; i++)
                    if (share[i] > most[i])
                        fail_msg("weights %zu: %zu of %zu rows, at most %zu of %zu", w, share[i],
                                 fewer, most[i], rows);
            }
        }
    mot__shares_most(128, weights[1], 2, most);
    assert_true(most[0] == 64 && most[1] == 64); /* and no more than that */
}

static void texts_are_read_or_get_a_sentence(void **state)
{
    static const struct {
        const char *text;
        enum mot__shares_kind kind;
        double weight[2];
        const char *words; /* NULL: it is good */
    } rows[] = {
        {NULL, MOT__SHARES_AUTO, {0}, NULL},
        {"", MOT__SHARES_AUTO, {0}, NULL},
        {"auto", MOT__SHARES_AUTO, {0}, NULL},
        {"even", MOT__SHARES_EVEN, {1, 1}, NULL},
        {"3,1", MOT__SHARES_FIXED, {3, 1}, NULL},
        {"0.5,1.5", MOT__SHARES_FIXED, {0.5, 1.5}, NULL},
        {"1,0", MOT__SHARES_FIXED, {1, 0}, NULL},
        {"1", MOT__SHARES_FIXED, {0}, "shares \"1\": 1 for 2 replicas"},
        {"1,2,3", MOT__SHARES_FIXED, {0}, "more than the 2 replicas there are"},
        {"0,0", MOT__SHARES_FIXED, {0}, "they sum to 0"},
        {"1,-2", MOT__SHARES_FIXED, {0}, "character 3: expected auto, even or numbers like 3,1"},
        {"1,nan", MOT__SHARES_FIXED, {0}, "character 3"},
        {"1,inf", MOT__SHARES_FIXED, {0}, "character 3"},
        {"1e300,1e300", MOT__SHARES_FIXED, {0}, "they are too large"},
        {"1e308,1e308", MOT__SHARES_FIXED, {0}, "they are too large"},
        {"1,", MOT__SHARES_FIXED, {0}, "character 3"},
        {",1", MOT__SHARES_FIXED, {0}, "character 1"},
        {"odd", MOT__SHARES_FIXED, {0}, "character 1"},
    };
    enum mot__shares_kind kind;

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double weight[2] = {0, 0};

        if (rows[r].words) {
            assert_story(mot__shares_parse(rows[r].text, 2, &kind, weight), MOT_BAD_ARG,
                         rows[r].words);
            continue;
        }
        assert_ok(mot__shares_parse(rows[r].text, 2, &kind, weight));
        assert_int_equal(kind, rows[r].kind);
        if (kind != MOT__SHARES_AUTO)
            assert_true(weight[0] == rows[r].weight[0] && weight[1] == rows[r].weight[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_weights),
        cmocka_unit_test(every_row_is_dealt_once),
        cmocka_unit_test(no_smaller_batch_passes_the_most),
        cmocka_unit_test(texts_are_read_or_get_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
