/* text.c - networks as text: layers with commas between them, words with blanks between them.
 *
 *     input 1x28x28, dense 64 relu, dropout 0.2, dense 10 softmax
 *
 * One table holds every layer: its word, how it is written, how many words follow, and the call of
 * the builder it stands for. A text is built whole or not at all. */
#include "model/build.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (MOT_RANK_MAX + 2) /* the longest layer, and one too many */
#define BLANKS " \t\r\n"

struct word {
    const char *text;
    size_t character; /* in the whole text, from 1 */
};

struct item { /* one layer as it stands in the text */
    struct word word[WORDS_MAX];
    size_t words;
    const struct layer *layer;
};

struct layer {
    const char *word, *form;
    size_t least, most; /* words after the first */
    mot_status (*build)(mot_model *net, const struct item *item);
};

/* word, value */
#define ACTIVATIONS(X)                                                                             \
    X("relu", MOT_ACT_RELU)                                                                        \
    X("leaky_relu", MOT_ACT_LEAKY_RELU)                                                            \
    X("gelu", MOT_ACT_GELU)                                                                        \
    X("sigmoid", MOT_ACT_SIGMOID)                                                                  \
    X("tanh", MOT_ACT_TANH)                                                                        \
    X("softmax", MOT_ACT_SOFTMAX)

struct choice {
    const char *word;
    int value;
};

#define CHOICE(word, value) {word, value},
static const struct choice activations[] = {ACTIVATIONS(CHOICE){NULL, 0}};
#undef CHOICE
static const struct choice initialisers[] = {{"he", MOT_INIT_HE},
                                             {"glorot", MOT_INIT_GLOROT},
                                             {"normal", MOT_INIT_NORMAL},
                                             {"zero", MOT_INIT_ZERO},
                                             {NULL, 0}};

static mot_status fail_at(mot_status status, const struct word *word, const char *complaint)
{
    return mot__fail(status, "network text, character %zu, \"%.40s\": %s", word->character,
                     word->text, complaint);
}

static mot_status fail_form(const struct word *word, const char *complaint,
                            const struct layer *layer)
{
    char text[256];

    snprintf(text, sizeof text, "%s; write \"%s\"", complaint, layer->form);
    return fail_at(MOT_BAD_ARG, word, text);
}

static mot_status choose(const struct choice *table, const struct word *word, const char *complaint,
                         int *out)
{
    struct mot__string text = {0};
    mot_status status;

    for (size_t i = 0; table[i].word; i++)
        if (mot__text_same(table[i].word, word->text)) {
            *out = table[i].value;
            return MOT_OK;
        }
    mot__string_add(&text, "%s; there are ", complaint);
    for (size_t i = 0; table[i].word; i++)
        mot__string_add(&text, "%s%s", i ? ", " : "", table[i].word);
    status = fail_at(MOT_BAD_ARG, word, text.failed ? complaint : text.text);
    mot__string_clear(&text);
    return status;
}

/* What the builder refused, with the place in front of its own sentence. */
static mot_status placed(const struct item *item, mot_status status)
{
    if (status == MOT_OK)
        return MOT_OK;
    return mot__fail_in(status, "network text, character %zu, \"%.40s\"", item->word[0].character,
                        item->word[0].text);
}

static bool read_size(const char *text, size_t *out)
{
    uint64_t value;

    if (!mot__text_u64(text, &value) || value > SIZE_MAX)
        return false;
    *out = (size_t)value;
    return true;
}

/* "784", "1x28x28": more dimensions of the shape. */
static bool read_dimensions(const char *text, struct mot_shape *shape)
{
    for (;;) {
        const size_t length = strcspn(text, "xX");
        char number[32];

        if (length >= sizeof number || shape->rank == MOT_RANK_MAX)
            return false;
        memcpy(number, text, length);
        number[length] = '\0';
        if (!read_size(number, &shape->dim[shape->rank++]))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* An input that is there already (the data's) may be repeated, or asked for as one dimension. */
static mot_status repeat_input(mot_model *net, const struct item *item, struct mot_shape shape)
{
    const struct mot__node *there = &net->node[0];
    char wanted[160], given[160];

    if (net->count == 1 && mot__shape_same(shape, there->shape))
        return MOT_OK;
    if (net->count == 1 && shape.rank == 1 && shape.dim[0] == there->width)
        return placed(item, mot_model_flatten(net));
    if (net->count > 1)
        return fail_at(MOT_BAD_STATE, &item->word[0], "the network has an input already");
    mot__shape_text(shape, wanted, sizeof wanted);
    mot__shape_text(there->shape, given, sizeof given);
    return mot__fail(MOT_BAD_SHAPE,
                     "network text, character %zu, \"input\": %s, but the input has the shape %s",
                     item->word[0].character, wanted, given);
}

static mot_status build_input(mot_model *net, const struct item *item)
{
    struct mot_shape shape = {0, {0}};

    for (size_t i = 1; i < item->words; i++)
        if (!read_dimensions(item->word[i].text, &shape))
            return fail_form(&item->word[i], "not 1 to 6 dimensions", item->layer);
    if (net->count > 0)
        return repeat_input(net, item, shape);
    return placed(item, mot_model_input(net, shape));
}

static mot_status build_dense(mot_model *net, const struct item *item)
{
    int act = MOT_ACT_NONE;
    size_t units;

    if (!read_size(item->word[1].text, &units))
        return fail_form(&item->word[1], "not a number of units", item->layer);
    if (item->words > 2) {
        const mot_status status = choose(activations, &item->word[2], "not an activation", &act);

        if (status != MOT_OK)
            return status;
    }
    return placed(item, mot_model_dense(net, units, (enum mot_act)act));
}

static mot_status build_activation(mot_model *net, const struct item *item)
{
    mot_status status;
    int act;

    MOT_TRY(choose(activations, &item->word[0], "not an activation", &act));
    MOT_TRY(placed(item, mot_model_activation(net, (enum mot_act)act)));
done:
    return status;
}

static mot_status build_dropout(mot_model *net, const struct item *item)
{
    double rate;

    if (!mot__text_f64(item->word[1].text, &rate))
        return fail_form(&item->word[1], "not a rate", item->layer);
    return placed(item, mot_model_dropout(net, rate));
}

static mot_status build_flatten(mot_model *net, const struct item *item)
{
    return placed(item, mot_model_flatten(net));
}

static mot_status build_mark(mot_model *net, const struct item *item)
{
    return placed(item, mot_model_mark(net, item->word[1].text));
}

static mot_status build_goto(mot_model *net, const struct item *item)
{
    return placed(item, mot_model_goto(net, item->word[1].text));
}

static mot_status build_add(mot_model *net, const struct item *item)
{
    return placed(item, mot_model_add(net, item->word[1].text));
}

static mot_status build_init(mot_model *net, const struct item *item)
{
    mot_status status;
    int init;

    MOT_TRY(choose(initialisers, &item->word[1], "not an initialiser", &init));
    MOT_TRY(placed(item, mot_model_init(net, (enum mot_init)init)));
done:
    return status;
}

#define LAYER(word, value) {word, word, 0, 0, build_activation},
static const struct layer layers[] = {
    {"input", "input 784 (or 1x28x28)", 1, MOT_RANK_MAX, build_input},
    {"dense", "dense UNITS [ACTIVATION]", 1, 2, build_dense},
    {"dropout", "dropout RATE", 1, 1, build_dropout},
    {"flatten", "flatten", 0, 0, build_flatten},
    {"mark", "mark NAME", 1, 1, build_mark},
    {"goto", "goto NAME", 1, 1, build_goto},
    {"add", "add NAME", 1, 1, build_add},
    {"init", "init INITIALISER", 1, 1, build_init},
    ACTIVATIONS(LAYER)};
#undef LAYER
#define LAYERS (sizeof layers / sizeof *layers)

static mot_status fail_unknown(const struct word *word)
{
    struct mot__string text = {0};
    mot_status status;
    const char *name;

    mot__string_add(&text, "no layer has this name; there are ");
    for (size_t i = 0; i < LAYERS; i++)
        mot__string_add(&text, "%s%s", i ? ", " : "", layers[i].word);
    mot__string_add(&text, "; a whole text may be ");
    for (size_t i = 0; (name = mot_preset(i, NULL)) != NULL; i++)
        mot__string_add(&text, "%s%s", i ? ", " : "", name);
    status = fail_at(MOT_BAD_ARG, word, text.failed ? "no layer has this name" : text.text);
    mot__string_clear(&text);
    return status;
}

static mot_status build_item(mot_model *net, struct item *item)
{
    const struct layer *layer = NULL;

    for (size_t i = 0; i < LAYERS; i++)
        if (mot__text_same(layers[i].word, item->word[0].text))
            layer = &layers[i];
    if (!layer)
        return fail_unknown(&item->word[0]);
    if (item->words - 1 < layer->least)
        return fail_form(&item->word[0], "something is missing", layer);
    if (item->words - 1 > layer->most)
        return fail_form(&item->word[layer->most + 1], "one word too many", layer);
    item->layer = layer;
    return layer->build(net, item);
}

/* Characters, not bytes: UTF-8 goes on with 10xxxxxx. */
static size_t character_of(const char *text, const char *at)
{
    size_t character = 1;

    for (; text < at; text++)
        character += ((unsigned char)*text & 0xC0) != 0x80;
    return character;
}

/* Cut the layer that begins at *rest into words; *rest goes behind its comma, NULL at the end. */
static void cut_item(char *text, const char *original, char **rest, struct item *item)
{
    char *at = *rest, *end = at + strcspn(at, ",");

    *rest = *end == ',' ? end + 1 : NULL;
    *end = '\0';
    memset(item, 0, sizeof *item);
    for (;;) {
        at += strspn(at, BLANKS);
        if (*at == '\0' || item->words == WORDS_MAX)
            return;
        item->word[item->words].text = at;
        item->word[item->words++].character = character_of(original, original + (at - text));
        at += strcspn(at, BLANKS);
        if (*at != '\0')
            *at++ = '\0';
    }
}

static mot_status build_text(mot_model *net, char *text, const char *original)
{
    char *rest = text;
    struct item item;

    while (rest) {
        const char *begin = rest;
        mot_status status;

        cut_item(text, original, &rest, &item);
        if (item.words == 0)
            return mot__fail(MOT_BAD_ARG, "network text, character %zu: a layer is missing%s",
                             character_of(original, original + (begin - text)),
                             rest ? " before the comma" : " at the end");
        status = build_item(net, &item);
        if (status != MOT_OK)
            return status;
    }
    return MOT_OK;
}

/* The preset's text if the whole text is a preset's name; else the text itself. */
static const char *expand(const char *text)
{
    const char *begin = text + strspn(text, BLANKS), *preset;
    const size_t length = strcspn(begin, BLANKS);
    char name[32];

    if (length >= sizeof name || begin[length + strspn(begin + length, BLANKS)] != '\0')
        return text;
    memcpy(name, begin, length);
    name[length] = '\0';
    preset = mot__preset_text(name);
    return preset ? preset : text;
}

mot_status mot_model_text(mot_model *net, const char *text)
{
    mot_status status = MOT_OK;
    mot_model *trial = NULL;
    char *words = NULL;

    if (!text || text[strspn(text, BLANKS)] == '\0')
        return mot__fail(MOT_BAD_ARG, "the network text is empty");
    text = expand(text);
    words = strdup(text);
    if (!words)
        return mot__fail(MOT_NO_MEMORY, "out of memory for a network text");
    MOT_TRY(mot__model_copy(net, &trial));
    MOT_TRY(build_text(trial, words, text));
    mot__model_swap(net, trial);
done:
    mot_model_close(trial);
    free(words);
    return status;
}
