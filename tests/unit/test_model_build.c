/* test_model_build.c - the builder: nodes, parameters, marks, and what it refuses. */
#include "support/check.h"

#include "model/model.h"

#include <math.h>

static mot_model *net;

static int open_net(void **state)
{
    (void)state;
    net = NULL;
    return mot_model_open(&net) == MOT_OK ? 0 : -1;
}

static int close_net(void **state)
{
    (void)state;
    mot_model_close(net);
    mot_model_close(NULL);
    return 0;
}

static void layers_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(mot_model_layers(net), 0);
    assert_int_equal(mot_model_output(net).rank, 0);
    assert_ok(mot_model_input(net, MOT_SHAPE(784)));
    assert_ok(mot_model_dense(net, 64, MOT_ACT_RELU));
    assert_ok(mot_model_dropout(net, 0.2));
    assert_ok(mot_model_dense(net, 10, MOT_ACT_SOFTMAX));
    assert_int_equal(mot_model_layers(net), 3);
    assert_true(mot__shape_same(mot_model_output(net), MOT_SHAPE(10)));
    assert_int_equal(mot_model_parameters(net), 784 * 64 + 64 + 64 * 10 + 10);
    assert_int_equal(net->count, 4);
    assert_string_equal(net->node[3].name, "dense2");
    assert_int_equal(net->node[3].kind, MOT__NODE_DENSE);
    assert_int_equal(net->node[3].input[0], 2);
    assert_int_equal(net->node[3].inputs, 1);
    assert_int_equal(net->node[3].act, MOT_ACT_SOFTMAX);
    assert_true(net->node[2].rate == 0.2 && net->node[2].width == 64);
    assert_int_equal(net->here, 3);
    assert_ok(mot__model_check(net));
}

static void parameters_have_names_places_and_fans(void **state)
{
    static const struct {
        const char *name;
        size_t offset, count, rank;
        enum mot_init init;
    } wanted[] = {{"dense1.weight", 0, 15, 2, MOT_INIT_GLOROT},
                  {"dense1.bias", 16, 5, 1, MOT_INIT_ZERO},
                  {"dense2.weight", 32, 10, 2, MOT_INIT_GLOROT},
                  {"dense2.bias", 48, 2, 1, MOT_INIT_ZERO}};

    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(3)));
    assert_ok(mot_model_dense(net, 5, MOT_ACT_LEAKY_RELU));
    assert_ok(mot_model_dense(net, 2, MOT_ACT_NONE));
    assert_int_equal(net->table.count, 4);
    assert_int_equal(net->table.floats, 64);
    for (size_t i = 0; i < 4; i++) {
        const struct mot__parameter *row = &net->table.row[i];

        assert_string_equal(row->name, wanted[i].name);
        assert_int_equal(row->offset, wanted[i].offset);
        assert_int_equal(row->count, wanted[i].count);
        assert_int_equal(row->shape.rank, wanted[i].rank);
        assert_int_equal(row->init, wanted[i].init);
        assert_int_equal(row->count, mot_shape_count(row->shape));
    }
    assert_true(mot__shape_same(net->table.row[0].shape, MOT_SHAPE(5, 3))); /* (out, in) */
    assert_int_equal(net->table.row[0].fan_in, 3);
    assert_int_equal(net->table.row[0].fan_out, 5);
    assert_int_equal(net->node[2].weight, 2);
    assert_int_equal(net->node[2].bias, 3);
}

static void the_initialiser_is_glorots_until_another_is_asked_for(void **state)
{
    static const enum mot_init wanted[] = {MOT_INIT_GLOROT, MOT_INIT_GLOROT, MOT_INIT_NORMAL,
                                           MOT_INIT_HE, MOT_INIT_ZERO};

    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(3)));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_RELU));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_NONE));
    assert_ok(mot_model_init(net, MOT_INIT_NORMAL));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_NONE));
    assert_ok(mot_model_activation(net, MOT_ACT_RELU));
    assert_ok(mot_model_init(net, MOT_INIT_HE));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_SIGMOID));
    assert_ok(mot_model_init(net, MOT_INIT_ZERO));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_NONE));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(net->table.row[2 * i].init, wanted[i]);
        assert_int_equal(net->table.row[2 * i + 1].init, MOT_INIT_ZERO);
    }
}

static void the_first_values_do_not_depend_on_what_comes_later(void **state)
{
    mot_model *longer = NULL;

    (void)state;
    assert_ok(mot_model_text(net, "input 20, dense 8 relu, dense 3"));
    assert_ok(mot_model_open(&longer));
    assert_ok(mot_model_text(longer, "input 20, dense 8 relu, dense 3, dense 7"));
    for (size_t p = 0; p < net->table.count; p++)
        for (size_t i = 0; i < net->table.row[p].count; i++)
            assert_true(mot__parameter_start(&net->table, p, 5, i) ==
                        mot__parameter_start(&longer->table, p, 5, i));
    assert_true(mot__parameter_start(&net->table, 0, 5, 0) != 0);
    assert_true(mot__parameter_start(&net->table, 1, 5, 0) == 0); /* a bias */
    mot_model_close(longer);
}

static void images_are_flattened_before_dense(void **state)
{
    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(1, 28, 28)));
    assert_ok(mot_model_dense(net, 10, MOT_ACT_NONE));
    assert_int_equal(net->count, 3);
    assert_int_equal(net->node[1].kind, MOT__NODE_FLATTEN);
    assert_string_equal(net->node[1].name, "flatten1");
    assert_int_equal(net->node[2].input[0], 1);
    assert_true(mot__shape_same(net->table.row[0].shape, MOT_SHAPE(10, 784)));
}

static void a_residual_is_marked_left_and_joined(void **state)
{
    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(8)));
    assert_ok(mot_model_mark(net, "start"));
    assert_ok(mot_model_dense(net, 8, MOT_ACT_RELU));
    assert_ok(mot_model_mark(net, "left"));
    assert_ok(mot_model_goto(net, "start"));
    assert_int_equal(net->here, 0);
    assert_ok(mot_model_dense(net, 8, MOT_ACT_TANH));
    assert_ok(mot_model_add(net, "left"));
    assert_int_equal(net->node[2].input[0], 0);
    assert_int_equal(net->node[3].kind, MOT__NODE_ADD);
    assert_int_equal(net->node[3].inputs, 2);
    assert_int_equal(net->node[3].input[0], 2); /* this ... */
    assert_int_equal(net->node[3].input[1], 1); /* ... + that */
    assert_ok(mot__model_check(net));
}

static void bad_shapes_name_their_layer(void **state)
{
    (void)state;
    assert_story(mot_model_input(net, (struct mot_shape){0, {0}}), MOT_BAD_SHAPE,
                 "input: a shape of 0 dimensions; 1 to 6 are possible");
    assert_story(mot_model_input(net, (struct mot_shape){7, {1}}), MOT_BAD_SHAPE,
                 "input: a shape of 7 dimensions");
    assert_story(mot_model_input(net, MOT_SHAPE(3, 0)), MOT_BAD_SHAPE,
                 "input: the shape (3, 0) has a dimension of 0");
    assert_story(mot_model_input(net, MOT_SHAPE(SIZE_MAX / 2, 4)), MOT_BAD_SHAPE, "is too large");
    assert_int_equal(net->count, 0);
    assert_ok(mot_model_input(net, MOT_SHAPE(2, 4)));
    assert_ok(mot_model_mark(net, "a"));
    assert_story(mot_model_dense(net, SIZE_MAX / 8, MOT_ACT_NONE), MOT_BAD_SHAPE,
                 "dense1: the shape (2305843009213693951, 8) is too large");
    assert_int_equal(net->count, 1); /* the flatten it wanted is gone too */
    assert_int_equal(net->table.count, 0);
    assert_story(mot_model_dense(net, SIZE_MAX / 8 / 8, MOT_ACT_NONE), MOT_BAD_SHAPE,
                 "dense1: more parameters than memory can hold"); /* its bias is too much */
    assert_int_equal(net->table.count, 0);
    assert_int_equal(net->table.floats, 0);
    assert_story(mot_model_activation(net, MOT_ACT_SOFTMAX), MOT_BAD_SHAPE,
                 "activation1: softmax of (2, 4); it goes over one dimension");
    assert_ok(mot_model_dense(net, 3, MOT_ACT_NONE));
    assert_story(mot_model_add(net, "a"), MOT_BAD_SHAPE,
                 "add1: (3) from dense1 does not fit (2, 4) at the mark \"a\" (input1)");
}

static void bad_arguments_are_told(void **state)
{
    (void)state;
    assert_story(mot_model_dense(net, 5, MOT_ACT_NONE), MOT_BAD_STATE,
                 "dense1: the network has no input yet");
    assert_story(mot_model_mark(net, "a"), MOT_BAD_STATE, "mark: the network has no input yet");
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    assert_story(mot_model_input(net, MOT_SHAPE(4)), MOT_BAD_STATE, "has one already");
    assert_story(mot_model_dense(net, 0, MOT_ACT_NONE), MOT_BAD_ARG, "dense1: 0 units");
    assert_story(mot_model_dense(net, 1, (enum mot_act)99), MOT_BAD_ARG,
                 "dense1: there is no activation 99");
    assert_story(mot_model_activation(net, (enum mot_act)99), MOT_BAD_ARG, "activation 99");
    assert_story(mot_model_activation(net, MOT_ACT_NONE), MOT_BAD_ARG, "\"none\"");
    assert_story(mot_model_dropout(net, 1), MOT_BAD_ARG,
                 "dropout1: a rate of 1; it must be at least 0 and below 1");
    assert_story(mot_model_dropout(net, -0.5), MOT_BAD_ARG, "a rate of -0.5");
    assert_story(mot_model_dropout(net, (double)NAN), MOT_BAD_ARG, "dropout1: a rate of");
    assert_story(mot_model_init(net, (enum mot_init)9), MOT_BAD_ARG, "no initialiser 9");
    assert_int_equal(net->count, 1);
}

static void bad_marks_are_told(void **state)
{
    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    assert_story(mot_model_goto(net, "a"), MOT_BAD_ARG,
                 "goto: there is no mark \"a\"; there are: none");
    assert_ok(mot_model_mark(net, "a"));
    assert_ok(mot_model_mark(net, "b.1"));
    assert_story(mot_model_add(net, "c"), MOT_BAD_ARG,
                 "add1: there is no mark \"c\"; there are: a, b.1");
    assert_story(mot_model_goto(net, NULL), MOT_BAD_ARG, "no mark \"\"");
    assert_story(mot_model_mark(net, "a"), MOT_BAD_ARG, "\"a\" is there already, at input1");
    assert_story(mot_model_mark(net, ""), MOT_BAD_ARG, "\"\" is no name");
    assert_story(mot_model_mark(net, NULL), MOT_BAD_ARG, "\"\" is no name");
    assert_story(mot_model_mark(net, "a,b"), MOT_BAD_ARG, "\"a,b\" is no name");
    assert_story(mot_model_mark(net, "0123456789012345678901234567890a"), MOT_BAD_ARG,
                 "is no name (1 to 31");
    assert_int_equal(net->marks, 2);
}

static void a_copy_is_equal_and_its_own(void **state)
{
    mot_model *copy = NULL;

    (void)state;
    assert_ok(mot__model_copy(net, &copy)); /* an empty one too */
    mot_model_close(copy);
    assert_ok(mot_model_text(net, "input 4, dense 3 relu, mark a, dense 3"));
    assert_ok(mot__model_copy(net, &copy));
    assert_ok(mot_model_dense(net, 7, MOT_ACT_NONE));
    assert_int_equal(copy->count, 3);
    assert_int_equal(copy->table.count, 4);
    assert_ok(mot_model_add(copy, "a"));
    assert_ok(mot_model_dense(copy, 5, MOT_ACT_NONE));
    assert_string_equal(copy->table.row[4].name, "dense3.weight");
    assert_true(mot__shape_same(copy->table.row[4].shape, MOT_SHAPE(5, 3)));
    assert_true(mot__shape_same(net->table.row[4].shape, MOT_SHAPE(7, 3)));
    mot_model_close(copy);
}

static void an_unfinished_network_is_told(void **state)
{
    (void)state;
    assert_story(mot__model_check(net), MOT_BAD_STATE, "the network has no input");
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    assert_story(mot__model_check(net), MOT_BAD_STATE, "nothing to learn: add a dense layer");
    assert_ok(mot_model_mark(net, "a"));
    assert_ok(mot_model_dense(net, 4, MOT_ACT_NONE));
    assert_ok(mot_model_goto(net, "a"));
    assert_story(mot__model_check(net), MOT_BAD_STATE,
                 "ends at input1, but dense1 was built after it");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_net, close_net)
    const struct CMUnitTest tests[] = {
        TEST(layers_follow_each_other),
        TEST(parameters_have_names_places_and_fans),
        TEST(the_initialiser_is_glorots_until_another_is_asked_for),
        TEST(the_first_values_do_not_depend_on_what_comes_later),
        TEST(images_are_flattened_before_dense),
        TEST(a_residual_is_marked_left_and_joined),
        TEST(bad_shapes_name_their_layer),
        TEST(bad_arguments_are_told),
        TEST(bad_marks_are_told),
        TEST(a_copy_is_equal_and_its_own),
        TEST(an_unfinished_network_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
