/* together.c - one table of options that exclude each other; what depends on the devices is told as
 * a note, since the same line may make sense on another machine. */
#include "cli/together.h"

#include <string.h>

static bool single(const struct options *options)
{
    return options->strategy == MOT_STRATEGY_SINGLE; /* choices in the enum's order */
}

static bool splits(const struct options *options)
{
    return options->shares && *options->shares && strcmp(options->shares, "auto") != 0;
}

/* ---- by themselves --------------------------------------------------------------------------- */

static bool single_splits(const struct options *options)
{
    return single(options) && splits(options);
}

static bool single_compares(const struct options *options)
{
    return single(options) && options->verify > 0;
}

static bool compares_nothing(const struct options *options)
{
    return options->verify == 0;
}

static bool in_words(const struct options *options)
{
    return !options->json;
}

static bool no_choices(const struct options *options)
{
    return !options->tune_choices;
}

static const char measures[] = "nothing is measured then";
static const char one[] = "there is one replica then";

static const struct {
    const char *name[2];                          /* both were given ... */
    bool (*clash)(const struct options *options); /* ... and this holds; NULL: always */
    const char *why;
} table[] = {
    {{"plan", "why"}, NULL, "a plan trains nothing that could be explained"},
    {{"quiet", "why"}, in_words, "only the result is printed then"},
    {{"verify", "on-differ"}, compares_nothing, "--verify 0 compares nothing"},
    {{"strategy", "shares"}, single_splits, one},
    {{"strategy", "verify"}, single_compares, one},
    {{"strategy", "on-differ"}, single, one},
    {{"show", "forget"}, NULL, "what is forgotten cannot be shown"},
    {{"show", "choices"}, NULL, measures},
    {{"show", "batch"}, NULL, measures},
    {{"show", "rows"}, NULL, measures},
    {{"show", "seconds"}, NULL, measures},
    {{"show", "all"}, NULL, measures},
    {{"forget", "choices"}, NULL, measures},
    {{"forget", "batch"}, NULL, measures},
    {{"forget", "rows"}, NULL, measures},
    {{"forget", "seconds"}, NULL, measures},
    {{"forget", "all"}, NULL, measures},
    {{"batch", "rows"}, no_choices, "rows are those of --choices; --batch tries its own"},
    {{"batch", "all"}, no_choices, "all is for --choices"},
};

int together_check(const struct options *options)
{
    size_t i;

    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (option_given(options, table[i].name[0]) && option_given(options, table[i].name[1]) &&
            (!table[i].clash || table[i].clash(options)))
            return fail(EXIT_USAGE, "--%s and --%s exclude each other: %s", table[i].name[0],
                        table[i].name[1], table[i].why);
    return 0;
}

/* ---- on these devices ------------------------------------------------------------------------ */

void together_note(const struct options *options, const mot_fleet *fleet)
{
    const size_t devices = mot_fleet_count(fleet);

    if (single(options) && devices > 1)
        say_note("--strategy single uses device %s alone, not the other %zu",
                 mot_fleet_label(fleet, 0), devices - 1);
    if (devices > 1)
        return;
    if (splits(options))
        say_note("--shares %s: there is one device, so nothing is split", options->shares);
    if (option_given(options, "verify") && options->verify > 0)
        say_note("--verify %llu: there is one device, so nothing is compared",
                 (unsigned long long)options->verify);
    else if (option_given(options, "on-differ"))
        say_note("--on-differ: there is one device, so nothing is compared");
}
