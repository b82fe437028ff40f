/* test_data_digits.c - drawn digits: the same for the same seed, all different, and worth learning:
 * too hard for the distance to a mean, easy for a small network. */
#include "data/data.h"
#include "support/check.h"

#define PIXELS 784
#define CLASSES 10
#define HIDDEN 32
#define TRAIN 6000
#define TEST 1000

static mot_data *open_digits(uint64_t seed, size_t count)
{
    mot_data *data = NULL;

    assert_ok(mot_data_digits(seed, count, &data));
    return data;
}

static const unsigned char *pixels(const mot_data *data)
{
    return mot__data_samples(data)->x;
}

static void a_sample_depends_on_seed_and_number_alone(void **state)
{
    mot_data *few = open_digits(5, 7), *many = open_digits(5, 40), *other = open_digits(6, 7);

    (void)state;
    assert_memory_equal(pixels(few), pixels(many), 7 * PIXELS);
    for (size_t i = 0; i < 7; i++)
        assert_memory_not_equal(pixels(few) + i * PIXELS, pixels(other) + i * PIXELS, PIXELS);
    for (size_t i = 10; i < 40; i++) /* the same digit, never the same drawing */
        assert_memory_not_equal(pixels(many) + i * PIXELS, pixels(many) + (i - 10) * PIXELS,
                                PIXELS);
    mot_data_close(few);
    mot_data_close(many);
    mot_data_close(other);
}

static void digits_look_like_mnist_from_outside(void **state)
{
    mot_data *data = open_digits(1, 200);
    size_t seen[CLASSES] = {0};

    (void)state;
    assert_int_equal(mot_data_count(data), 200);
    assert_int_equal(mot_data_classes(data), CLASSES);
    assert_int_equal(mot_data_shape(data).rank, 3);
    assert_int_equal(mot_data_shape(data).dim[0], 1);
    assert_int_equal(mot_data_shape(data).dim[1], 28);
    assert_int_equal(mot_data_shape(data).dim[2], 28);
    assert_int_equal(mot__data_samples(data)->dtype, MOT_DTYPE_U8);
    for (size_t i = 0; i < 200; i++) {
        size_t ink = 0;

        seen[mot__data_samples(data)->labels[i]]++;
        for (size_t j = 0; j < PIXELS; j++)
            ink += pixels(data)[i * PIXELS + j] > 100;
        if (ink < 15 || ink > 300)
            fail_msg("sample %zu has %zu dark pixels", i, ink);
    }
    for (size_t k = 0; k < CLASSES; k++)
        assert_int_equal(seen[k], 20);
    mot_data_close(data);
}

static void no_digits_are_refused(void **state)
{
    mot_data *data = NULL;

    (void)state;
    assert_story(mot_data_digits(1, 0, &data), MOT_BAD_ARG, "mot_data_digits: count = 0");
    assert_story(mot_data_digits(1, SIZE_MAX / 2, &data), MOT_BAD_SHAPE, "are too large");
    assert_story(mot_data_digits(1, 5, NULL), MOT_BAD_ARG, "mot_data_digits: NULL argument");
    assert_null(data);
}

/* ---- a small network in plain C ----------------------------------------------------------------
 */

static float hidden_w[HIDDEN][PIXELS], hidden_b[HIDDEN], out_w[CLASSES][HIDDEN], out_b[CLASSES];

static float unit(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-24f - 0.5f;
}

static size_t forward(const unsigned char *image, float x[PIXELS], float h[HIDDEN],
                      float p[CLASSES])
{
    size_t best = 0;

    for (size_t j = 0; j < PIXELS; j++)
        x[j] = (float)image[j] / 255.0f;
    for (size_t i = 0; i < HIDDEN; i++) {
        float sum = hidden_b[i];

        for (size_t j = 0; j < PIXELS; j++)
            sum += hidden_w[i][j] * x[j];
        h[i] = sum > 0 ? sum : 0;
    }
    for (size_t k = 0; k < CLASSES; k++) {
        p[k] = out_b[k];
        for (size_t i = 0; i < HIDDEN; i++)
            p[k] += out_w[k][i] * h[i];
        if (p[k] > p[best])
            best = k;
    }
    return best;
}

static void learn(const unsigned char *image, uint32_t label, float rate)
{
    float x[PIXELS], h[HIDDEN], p[CLASSES], dh[HIDDEN] = {0}, sum = 0;
    const float top = p[forward(image, x, h, p)];

    for (size_t k = 0; k < CLASSES; k++)
        sum += p[k] = expf(p[k] - top);
    for (size_t k = 0; k < CLASSES; k++) {
        const float d = p[k] / sum - (k == label ? 1.0f : 0.0f);

        for (size_t i = 0; i < HIDDEN; i++) {
            dh[i] += d * out_w[k][i];
            out_w[k][i] -= rate * d * h[i];
        }
        out_b[k] -= rate * d;
    }
    for (size_t i = 0; i < HIDDEN; i++) {
        if (!(h[i] > 0))
            continue;
        for (size_t j = 0; j < PIXELS; j++)
            hidden_w[i][j] -= rate * dh[i] * x[j];
        hidden_b[i] -= rate * dh[i];
    }
}

static double accuracy_of_network(const mot_data *train, const mot_data *test)
{
    float x[PIXELS], h[HIDDEN], p[CLASSES];
    uint32_t state = 1;
    size_t right = 0;

    for (size_t i = 0; i < HIDDEN; i++)
        for (size_t j = 0; j < PIXELS; j++)
            hidden_w[i][j] = 0.17f * unit(&state);
    for (size_t k = 0; k < CLASSES; k++)
        for (size_t i = 0; i < HIDDEN; i++)
            out_w[k][i] = 0.6f * unit(&state);
    for (size_t epoch = 0; epoch < 4; epoch++)
        for (size_t i = 0; i < TRAIN; i++)
            learn(pixels(train) + i * PIXELS, mot__data_samples(train)->labels[i],
                  0.03f / (float)(1 + epoch));
    for (size_t i = 0; i < TEST; i++)
        right += forward(pixels(test) + i * PIXELS, x, h, p) == mot__data_samples(test)->labels[i];
    return (double)right / TEST;
}

static double accuracy_of_means(const mot_data *train, const mot_data *test)
{
    static double mean[CLASSES][PIXELS];
    size_t right = 0;

    for (size_t i = 0; i < TRAIN; i++)
        for (size_t j = 0; j < PIXELS; j++)
            mean[i % CLASSES][j] += pixels(train)[i * PIXELS + j] * (double)CLASSES / TRAIN;
    for (size_t i = 0; i < TEST; i++) {
        double least = INFINITY;
        size_t best = 0;

        for (size_t k = 0; k < CLASSES; k++) {
            double far = 0;

            for (size_t j = 0; j < PIXELS; j++)
                far += pow(pixels(test)[i * PIXELS + j] - mean[k][j], 2);
            if (far < least) {
                least = far;
                best = k;
            }
        }
        right += best == i % CLASSES;
    }
    return (double)right / TEST;
}

static void a_network_learns_what_a_mean_cannot_tell(void **state)
{
    mot_data *train = open_digits(1, TRAIN), *test = open_digits(2, TEST);
    const double means = accuracy_of_means(train, test);
    const double network = accuracy_of_network(train, test);

    (void)state;
    print_message("nearest mean %.3f, network %.3f\n", means, network);
    if (!(means > 0.4 && means < 0.75))
        fail_msg("nearest mean: %g", means);
    if (!(network > 0.95))
        fail_msg("network: %g", network);
    mot_data_close(train);
    mot_data_close(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_depends_on_seed_and_number_alone),
        cmocka_unit_test(digits_look_like_mnist_from_outside),
        cmocka_unit_test(no_digits_are_refused),
        cmocka_unit_test(a_network_learns_what_a_mean_cannot_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
