/* preset.c - networks by name. They follow an input of the data's own shape. */
#include "model/build.h"

#include "base/text.h"

static const struct preset {
    const char *name, *text;
} presets[] = {
    {"mlp10", "dense 10 relu, dense 10"},
    {"mlp64", "dense 64 relu, dense 10"},
    {"mlp512", "dense 512 relu, dense 512 relu, dense 10"},
};

const char *mot_preset(size_t index, const char **text)
{
    if (index >= sizeof presets / sizeof *presets)
        return NULL;
    if (text)
        *text = presets[index].text;
    return presets[index].name;
}

const char *mot__preset_text(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (mot__text_same(presets[i].name, name))
            return presets[i].text;
    return NULL;
}
