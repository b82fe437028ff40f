/* test_model_text.c - networks as text: what is built, and the sentence for every way to err. */
#include "support/check.h"

#include "model/model.h"

#include <stdlib.h>

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
    return 0;
}

static void text_builds_what_the_calls_build(void **state)
{
    mot_model *called = NULL;

    (void)state;
    assert_ok(mot_model_text(net, "input 1x28x28, dense 64 relu, dropout 0.2, flatten, mark a, "
                                  "dense 64 tanh, goto a, dense 64, add a, relu, init normal, "
                                  "dense 10 softmax"));
    assert_ok(mot_model_open(&called));
    assert_ok(mot_model_input(called, MOT_SHAPE(1, 28, 28)));
    assert_ok(mot_model_dense(called, 64, MOT_ACT_RELU));
    assert_ok(mot_model_dropout(called, 0.2));
    assert_ok(mot_model_flatten(called));
    assert_ok(mot_model_mark(called, "a"));
    assert_ok(mot_model_dense(called, 64, MOT_ACT_TANH));
    assert_ok(mot_model_goto(called, "a"));
    assert_ok(mot_model_dense(called, 64, MOT_ACT_NONE));
    assert_ok(mot_model_add(called, "a"));
    assert_ok(mot_model_activation(called, MOT_ACT_RELU));
    assert_ok(mot_model_init(called, MOT_INIT_NORMAL));
    assert_ok(mot_model_dense(called, 10, MOT_ACT_SOFTMAX));
    assert_int_equal(net->count, called->count);
    assert_memory_equal(net->node, called->node, net->count * sizeof *net->node);
    assert_int_equal(net->table.count, called->table.count);
    assert_memory_equal(net->table.row, called->table.row,
                        net->table.count * sizeof *net->table.row);
    assert_int_equal(net->init, MOT_INIT_NORMAL);
    mot_model_close(called);
}

static void every_activation_has_a_word(void **state)
{
    static const char *const words[] = {"relu", "leaky_relu", "gelu", "sigmoid", "tanh", "softmax"};
    char text[64];

    (void)state;
    assert_ok(mot_model_text(net, "input 3"));
    for (size_t i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "dense 3 %s, %s", words[i], words[i]);
        assert_ok(mot_model_text(net, text));
        assert_int_equal(net->node[net->here].kind, MOT__NODE_ACTIVATION);
        assert_int_equal(net->node[net->here].act, (int)i + 1);
        assert_int_equal(net->node[net->here - 1].act, (int)i + 1);
    }
}

static void every_initialiser_has_a_word(void **state)
{
    static const char *const words[] = {"glorot", "he", "normal", "zero"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "init %s", words[i]);
        assert_ok(mot_model_text(net, text));
        assert_int_equal(net->init, (int)i);
    }
}

static void blanks_and_case_do_not_matter(void **state)
{
    (void)state;
    assert_ok(mot_model_text(net, "  Input\t1 28 28 ,DENSE 5 ReLU\n, dense   2"));
    assert_true(mot__shape_same(net->node[0].shape, MOT_SHAPE(1, 28, 28)));
    assert_int_equal(net->node[2].act, MOT_ACT_RELU);
    assert_int_equal(mot_model_parameters(net), 784 * 5 + 5 + 5 * 2 + 2);
}

static void the_input_may_be_there_already(void **state)
{
    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(1, 28, 28)));
    assert_story(mot_model_text(net, "input 100, dense 2"), MOT_BAD_SHAPE,
                 "network text, character 1, \"input\": (100), but the input has the shape "
                 "(1, 28, 28)");
    assert_ok(mot_model_text(net, "input 784, dense 2")); /* the same numbers in a row */
    assert_int_equal(net->node[1].kind, MOT__NODE_FLATTEN);
    assert_int_equal(net->count, 3);
    assert_story(mot_model_text(net, "input 2, dense 2"), MOT_BAD_STATE,
                 "the network has an input already");
    mot_model_close(net);
    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_input(net, MOT_SHAPE(1, 28, 28)));
    assert_ok(mot_model_text(net, "input 1x28x28, dense 2"));
    assert_int_equal(net->count, 3);
}

static void presets_are_networks(void **state)
{
    static const struct {
        const char *name;
        size_t parameters;
    } wanted[] = {{"mlp10", 784 * 10 + 10 + 10 * 10 + 10},
                  {"mlp64", 784 * 64 + 64 + 64 * 10 + 10},
                  {"mlp512", 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10}};
    const char *text = NULL;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        mot_model *preset = NULL, *spelled = NULL;

        assert_string_equal(mot_preset(i, &text), wanted[i].name);
        assert_ok(mot_model_open(&preset));
        assert_ok(mot_model_input(preset, MOT_SHAPE(1, 28, 28)));
        assert_ok(mot_model_text(preset, wanted[i].name));
        assert_int_equal(mot_model_parameters(preset), wanted[i].parameters);
        assert_true(mot__shape_same(mot_model_output(preset), MOT_SHAPE(10)));
        assert_int_equal(preset->node[preset->here].act, MOT_ACT_NONE);
        assert_int_equal(preset->node[2].act, MOT_ACT_RELU);
        assert_ok(mot_model_open(&spelled));
        assert_ok(mot_model_input(spelled, MOT_SHAPE(1, 28, 28)));
        assert_ok(mot_model_text(spelled, text));
        assert_int_equal(mot_model_parameters(spelled), wanted[i].parameters);
        mot_model_close(spelled);
        mot_model_close(preset);
    }
    assert_null(mot_preset(3, &text));
    assert_string_equal(mot_preset(0, NULL), "mlp10");
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    assert_ok(mot_model_text(net, " MLP64\n"));
    assert_int_equal(net->count, 3);
}

static const struct {
    const char *text;
    mot_status status;
    const char *story;
} bad_texts[] = {
    {"", MOT_BAD_ARG, "the network text is empty"},
    {" \n", MOT_BAD_ARG, "the network text is empty"},
    {NULL, MOT_BAD_ARG, "the network text is empty"},
    {"dens 64", MOT_BAD_ARG,
     "network text, character 1, \"dens\": no layer has this name; there are input, dense, "
     "dropout, flatten, mark, goto, add, init, relu, leaky_relu, gelu, sigmoid, tanh, softmax; "
     "a whole text may be mlp10, mlp64, mlp512"},
    {"dense 4, mlp10", MOT_BAD_ARG, "character 10, \"mlp10\": no layer has this name"},
    {"dense 64 relu, conv 3", MOT_BAD_ARG, "character 16, \"conv\": no layer"},
    {"dense", MOT_BAD_ARG,
     "character 1, \"dense\": something is missing; write \"dense UNITS [ACTIVATION]\""},
    {"dense 6f", MOT_BAD_ARG, "character 7, \"6f\": not a number of units; write \"dense"},
    {"dense -6", MOT_BAD_ARG, "character 7, \"-6\": not a number of units"},
    {"dense 99999999999999999999", MOT_BAD_ARG, "\"99999999999999999999\": not a number"},
    {"dense 6 rule", MOT_BAD_ARG,
     "character 9, \"rule\": not an activation; there are relu, leaky_relu, gelu, sigmoid, "
     "tanh, softmax"},
    {"dense 6 relu 7", MOT_BAD_ARG,
     "character 14, \"7\": one word too many; write \"dense UNITS [ACTIVATION]\""},
    {"dense 0", MOT_BAD_ARG, "character 1, \"dense\": dense1: 0 units"},
    {"dense 2305843009213693951", MOT_BAD_SHAPE, "character 1, \"dense\": dense1: the shape"},
    {"dropout", MOT_BAD_ARG, "something is missing; write \"dropout RATE\""},
    {"dropout x", MOT_BAD_ARG, "character 9, \"x\": not a rate; write \"dropout RATE\""},
    {"dropout 1.5", MOT_BAD_ARG, "\"dropout\": dropout1: a rate of 1.5; it must be at least 0"},
    {"dropout nan", MOT_BAD_ARG, "\"dropout\": dropout1: a rate of nan"},
    {"dropout 0,2", MOT_BAD_ARG, "character 11, \"2\": no layer"},
    {"flatten 2", MOT_BAD_ARG, "character 9, \"2\": one word too many; write \"flatten\""},
    {"relu 2", MOT_BAD_ARG, "character 6, \"2\": one word too many; write \"relu\""},
    {"mark", MOT_BAD_ARG, "something is missing; write \"mark NAME\""},
    {"mark a!b", MOT_BAD_ARG, "\"mark\": mark: \"a!b\" is no name"},
    {"goto b", MOT_BAD_ARG, "character 1, \"goto\": goto: there is no mark \"b\""},
    {"mark a, dense 2, add a", MOT_BAD_SHAPE,
     "character 18, \"add\": add1: (2) from dense1 does not fit (4) at the mark \"a\""},
    {"init best", MOT_BAD_ARG,
     "character 6, \"best\": not an initialiser; there are he, glorot, normal, zero"},
    {"dense 4,, dense 5", MOT_BAD_ARG, "character 9: a layer is missing before the comma"},
    {", dense 5", MOT_BAD_ARG, "character 1: a layer is missing before the comma"},
    {"dense 4, ", MOT_BAD_ARG, "character 9: a layer is missing at the end"},
    {"input 4x", MOT_BAD_ARG, "character 7, \"4x\": not 1 to 6 dimensions; write \"input"},
    {"input 1x1x1x1x1x1x1", MOT_BAD_ARG, "not 1 to 6 dimensions"},
    {"input 1 1 1 1 1 1 1", MOT_BAD_ARG, "character 19, \"1\": one word too many"},
    {"input", MOT_BAD_ARG, "something is missing; write \"input 784 (or 1x28x28)\""},
    {"dense 4 r\xc3\xa9lu", MOT_BAD_ARG, "character 9, \"r\xc3\xa9lu\": not an activation"},
    {"relu, \xc3\xa9\xc3\xa9, x", MOT_BAD_ARG, "character 7, \"\xc3\xa9\xc3\xa9\""},
    {"mark \xc3\xa9", MOT_BAD_ARG, "is no name"},
    {"dense 4 a b c d e f g h i j k l m", MOT_BAD_ARG, "one word too many"},
};

static void every_bad_text_gets_its_sentence(void **state)
{
    (void)state;
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        assert_story(mot_model_text(net, bad_texts[i].text), bad_texts[i].status,
                     bad_texts[i].story);
        assert_int_equal(net->count, 1); /* whole or not at all */
        assert_int_equal(net->marks, 0);
        assert_int_equal(net->table.count, 0);
        assert_int_equal(net->here, 0);
    }
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    assert_story(mot_model_text(net, "input 3, mark \xc3\xa9, x"), MOT_BAD_ARG, "is no name");
    assert_story(mot_model_text(net, "input 3 \xc3\xa9\xc3\xa9 zz"), MOT_BAD_ARG,
                 "character 9, \"\xc3\xa9\xc3\xa9\"");
    assert_ok(mot_model_input(net, MOT_SHAPE(4)));
    assert_story(mot_model_text(net, "dense 4 relu \xc3\xa9\xc3\xa9, x"), MOT_BAD_ARG,
                 "character 14");
}

static void text_without_an_input_is_told(void **state)
{
    (void)state;
    assert_story(mot_model_text(net, "mlp10"), MOT_BAD_STATE,
                 "character 1, \"dense\": dense1: the network has no input yet");
    assert_story(mot_model_text(net, "init he, relu"), MOT_BAD_STATE,
                 "character 10, \"relu\": activation1: the network has no input yet");
    assert_int_equal(net->init, MOT_INIT_GLOROT);
}

static void a_long_word_does_not_hide_the_complaint(void **state)
{
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_story(mot_model_text(net, text), MOT_BAD_ARG, "xxx\": no layer has this name");
}

/* Any bytes at all: a status and a sentence, or a network; never a crash (sanitizers look on). */
static void no_text_breaks_the_parser(void **state)
{
    static const char *const parts[] = {"dense", " ",   ",",    "7",    "relu",
                                        "input", "2x2", "mark", "a",    "add",
                                        "goto",  "0.5", "x",    "\xff", "init"};
    uint32_t r = 1;

    (void)state;
    for (size_t round = 0; round < 3000; round++) {
        char text[128] = "";

        for (size_t i = 0; i < 1 + round % 12; i++) {
            r = r * 1664525u + 1013904223u;
            strcat(text, parts[(r >> 16) % (sizeof parts / sizeof *parts)]);
            if (r >> 31)
                strcat(text, " ");
        }
        if (mot_model_text(net, text) != MOT_OK)
            assert_true(strlen(mot_error()) > 20);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_net, close_net)
    const struct CMUnitTest tests[] = {
        TEST(text_builds_what_the_calls_build), TEST(every_activation_has_a_word),
        TEST(every_initialiser_has_a_word),     TEST(blanks_and_case_do_not_matter),
        TEST(the_input_may_be_there_already),   TEST(presets_are_networks),
        TEST(every_bad_text_gets_its_sentence), TEST(characters_are_counted_not_bytes),
        TEST(text_without_an_input_is_told),    TEST(a_long_word_does_not_hide_the_complaint),
        TEST(no_text_breaks_the_parser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
