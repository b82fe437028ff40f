/* options.c - the table of commands, the table of options, and the parser that reads them. */
#include "cli/options.h"

#include "cli/commands.h"
#include "cli/together.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICES = 1,
    DOCTOR = 2,
    TRAIN = 4,
    EVAL = 8,
    PREDICT = 16,
    HELP = 32,
    VERSION = 64,
    BENCH = 128,
    TUNE = 256
};
#define RUNS (TRAIN | EVAL | PREDICT)
#define MEASURES (BENCH | TUNE)
#define EVERY (DEVICES | DOCTOR | RUNS | MEASURES | HELP | VERSION)

const struct command command_table[] = {
    {"devices", DEVICES, NULL, "list the OpenCL devices, what they measure, and which are used",
     "The used devices are measured. Devices are chosen by a small language: all, gpu, cpu, 0,2, "
     "0,0 (two replicas on one device), pci:03:00.0, name:Arc*, 0/2 (device 0 cut in two), 0/2.1 "
     "(the second part). The default: all discrete GPUs; without any, the integrated ones; "
     "without any, the CPU.",
     command_devices},
    {"doctor", DOCTOR, NULL, "tell why a GPU of this machine is not seen, and what cures it",
     "Exits with 1 where something is to be cured.", command_doctor},
    {"train", TRAIN, NULL, "train a network on the chosen devices and save its weights",
     "Without --data it takes MNIST from the cache or the network, else Fashion-MNIST where "
     "installed, else digits it draws itself; the result names the data. One Ctrl-C finishes the "
     "step, saves and leaves; two leave at once.",
     command_train},
    {"eval", EVAL, NULL, "measure saved weights on the test data",
     "Give the --net that the weights were trained with.", command_eval},
    {"predict", PREDICT, NULL, "print the class of each test sample and its probability",
     "Lines are index,class,probability. Give the --net that the weights were trained with.",
     command_predict},
    {"bench", BENCH, "gemm|allreduce|train|scale", "measure, every figure beside its limit",
     "gemm: each candidate for the products of the presets and for squares, or of --net alone, "
     "beside the peak of the arithmetic units. allreduce: 1 KB to 256 MB over the devices, beside "
     "the time no host-staged "
     "one can beat. train: samples a second with host batches and with resident data, and where "
     "the time and the bytes go. scale: one device, then two, and so on, beside the same devices "
     "without communication, by turns. The median of five windows; run it alone.",
     command_bench},
    {"tune", TUNE, NULL, "measure what suits these devices and this network, and remember it",
     "Each part has an option of its own; without any, all are measured. --choices tries matrix "
     "products for the network's shapes, staging, and how gradients are summed, and keeps what was "
     "fastest in the cache; the next run on these devices takes it. Run it alone.",
     command_tune},
    {"help", HELP, "[COMMAND]", "explain the commands, or one of them", NULL, command_help},
    {"version", VERSION, NULL, "print the version", NULL, command_version},
    {NULL, 0, NULL, NULL, NULL, NULL}};

#define AT(field) offsetof(struct options, field)

const struct option option_table[] = {
    {"net", "PRESET|TEXT", "mlp512", RUNS | MEASURES, OPTION_TEXT, AT(net),
     "the network: a preset, or text such as \"dense 64 relu, dropout 0.2, dense 10\""},
    {"data", "mnist|fashion|digits|DIR", NULL, RUNS | MEASURES, OPTION_TEXT, AT(data),
     "what to learn; DIR is a folder of IDX files, plain or .gz, under MNIST's names"},
    {"epochs", "N", "5", TRAIN, OPTION_COUNT, AT(epochs), "passes over the training data"},
    {"batch", "N|auto", "128", TRAIN, OPTION_LIMIT, AT(batch),
     "samples of one step, over all devices; auto tries some and takes the smallest that is nearly "
     "as fast as the best, which changes what is learned"},
    {"batch", "N", "128", EVAL | PREDICT, OPTION_COUNT, AT(batch),
     "samples of one step, over all devices"},
    {"choices", NULL, NULL, TUNE, OPTION_FLAG, AT(tune_choices),
     "kernels, staging and sums of gradients, remembered for the next run"},
    {"rows", "N", "128", TUNE, OPTION_COUNT, AT(rows),
     "samples of the steps that --choices measures"},
    {"show", NULL, NULL, TUNE, OPTION_FLAG, AT(show),
     "measure nothing: print what is remembered of the devices"},
    {"forget", NULL, NULL, TUNE, OPTION_FLAG, AT(forget),
     "measure nothing: delete what is remembered of the devices"},
    {"batch", NULL, NULL, TUNE, OPTION_FLAG, AT(tune_batch),
     "samples/s and memory of growing batches, and the pick"},
    {"accumulate", "N", "1", TRAIN, OPTION_COUNT, AT(accumulate),
     "steps whose gradients add up to one update, as a batch N times as large would make"},
    {"batch", "N", NULL, BENCH, OPTION_COUNT, AT(batch),
     "samples of one step; without it 32 for mlp64, else 128"},
    {"bytes", "N", NULL, BENCH, OPTION_COUNT, AT(bytes),
     "allreduce: of this size alone; without it 1 KB to 256 MB"},
    {"seconds", "S", "5", BENCH, OPTION_RATE, AT(seconds),
     "how long each figure is measured; bench gemm takes a 25th, allreduce a 20th of it"},
    {"seconds", "S", "1", TUNE, OPTION_RATE, AT(seconds), "how long each figure is measured"},
    {"lr", "X", "0.001", TRAIN, OPTION_RATE, AT(lr), "learning rate"},
    {"optimizer", "sgd|momentum|nesterov|adam|adamw", "adam", TRAIN | TUNE, OPTION_CHOICE,
     AT(optimizer), "the update rule; momentum and nesterov are sgd with 0.9"},
    {"loss", "cross-entropy|probabilities", "cross-entropy", RUNS, OPTION_CHOICE, AT(loss),
     "of the outputs as they are, or of outputs that are probabilities already"},
    {"seed", "N", "1", RUNS, OPTION_SEED, AT(seed), "of initial values, dropout and the order"},
    {"devices", "TEXT", NULL, RUNS | DEVICES | MEASURES, OPTION_TEXT, AT(devices),
     "which devices: all, gpu, cpu, 0,2, 0/2, pci:03:00.0, name:Arc*; see motley help devices"},
    {"strategy", "auto|single|mirrored|central", "auto", RUNS | MEASURES, OPTION_CHOICE,
     AT(strategy),
     "one device, a replica on each, or replicas whose variables and state are on the host"},
    {"shares", "auto|even|3,1", "auto", RUNS | MEASURES, OPTION_TEXT, AT(shares),
     "how a batch is split: by measured speed, evenly, or by these weights"},
    {"memory", "TEXT", NULL, RUNS | MEASURES, OPTION_TEXT, AT(memory),
     "most memory to use: 1G for each device, or 0=512M,1=2G; devices by any of their names"},
    {"verify", "N", "200", TRAIN, OPTION_SEED, AT(verify),
     "compare the replicas every N steps, their variables to the bit; 0 never"},
    {"on-differ", "resend|stop", "resend", TRAIN, OPTION_CHOICE, AT(on_differ),
     "a replica that differs gets the variables of the others anew, or the run ends"},
    {"on-nan", "stop|skip", "stop", TRAIN, OPTION_CHOICE, AT(on_nan),
     "a step whose loss or gradient is not finite changes nothing; stop saves the weights before "
     "it, skip goes on"},
    {"weights", "FILE", NULL, TRAIN, OPTION_TEXT, AT(weights), "start from these weights"},
    {"weights", "FILE", "motley.safetensors", EVAL | PREDICT, OPTION_TEXT, AT(weights),
     "the weights to use"},
    {"out", "FILE", "motley.safetensors", TRAIN, OPTION_TEXT, AT(out),
     "where the weights go; \"\" keeps none"},
    {"out", "FILE", NULL, PREDICT, OPTION_TEXT, AT(out), "write the lines to this file"},
    {"count", "N|all", "all", PREDICT, OPTION_LIMIT, AT(count), "only the first N samples"},
    {"report", "FILE", NULL, DOCTOR, OPTION_TEXT, AT(report),
     "write what belongs into a bug report; - is stdout"},
    {"all", NULL, NULL, DEVICES, OPTION_FLAG, AT(all), "measure the unused devices too"},
    {"all", NULL, NULL, TUNE, OPTION_FLAG, AT(all),
     "try parameters for CLBlast even where it is far behind; compiling them may take minutes"},
    {"json", NULL, NULL, RUNS | DEVICES | MEASURES, OPTION_FLAG, AT(json),
     "JSON on stdout, for programs"},
    {"plan", NULL, NULL, TRAIN, OPTION_FLAG, AT(plan),
     "do not train: print what would go where on each device, and why"},
    {"why", NULL, NULL, TRAIN, OPTION_FLAG, AT(why),
     "print where the time went, what each cure should give and, tried, what it gives"},
    {"quiet", NULL, NULL, RUNS, OPTION_FLAG, AT(quiet), "only the result"},
    {"offline", NULL, NULL, RUNS | MEASURES, OPTION_FLAG, AT(offline), "never use the network"},
    {"help", NULL, NULL, EVERY, OPTION_FLAG, AT(help), "this text"},
    {NULL, NULL, NULL, 0, OPTION_FLAG, 0, NULL}};

_Static_assert(sizeof option_table / sizeof *option_table <= 64, "a bit each in struct options");

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_whole(const char *text, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9') /* strtoull would take a sign and spaces */
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *end == 0 && errno == 0;
}

static bool read_flag(const struct option *option, const char *text, void *value)
{
    (void)option;
    (void)text;
    *(bool *)value = true;
    return true;
}

static bool read_text(const struct option *option, const char *text, void *value)
{
    (void)option;
    *(const char **)value = text;
    return true;
}

static bool read_count(const struct option *option, const char *text, void *value)
{
    uint64_t number;

    (void)option;
    if (!read_whole(text, &number) || number == 0 || number > SIZE_MAX / 2)
        return false;
    *(size_t *)value = (size_t)number;
    return true;
}

static bool read_limit(const struct option *option, const char *text, void *value)
{
    if (strcmp(text, strchr(option->argument, '|') + 1) != 0)
        return read_count(option, text, value);
    *(size_t *)value = 0;
    return true;
}

static bool read_seed(const struct option *option, const char *text, void *value)
{
    (void)option;
    return read_whole(text, value);
}

static bool read_rate(const struct option *option, const char *text, void *value)
{
    char *end;
    double number;

    (void)option;
    if (strspn(text, "0123456789.") == 0) /* no sign, no space, no word such as nan */
        return false;
    number = strtod(text, &end); /* the command never sets a locale, so '.' is the point */
    if (*end || !isfinite(number) || !(number > 0))
        return false;
    *(double *)value = number;
    return true;
}

static bool read_choice(const struct option *option, const char *text, void *value)
{
    const size_t length = strlen(text);
    const char *word = option->argument;
    size_t place = 0;

    while (*word) {
        const size_t size = strcspn(word, "|");

        if (size == length && memcmp(word, text, size) == 0) {
            *(size_t *)value = place;
            return true;
        }
        word += size + (word[size] == '|');
        place++;
    }
    return false;
}

static const struct {
    bool (*read)(const struct option *option, const char *text, void *value);
    const char *wanted;
} kind_table[] = {
    [OPTION_FLAG] = {read_flag, ""},
    [OPTION_TEXT] = {read_text, ""},
    [OPTION_COUNT] = {read_count, "a whole number from 1 up is wanted"},
    [OPTION_LIMIT] = {read_limit, NULL},
    [OPTION_SEED] = {read_seed, "a whole number from 0 up is wanted"},
    [OPTION_RATE] = {read_rate, "a finite number above 0 is wanted"},
    [OPTION_CHOICE] = {read_choice, NULL},
};

static int set_value(const struct option *option, const char *text, struct options *out)
{
    const char *wanted = kind_table[option->kind].wanted;

    if (kind_table[option->kind].read(option, text, (char *)out + option->offset))
        return 0;
    if (wanted)
        return fail(EXIT_USAGE, "--%s \"%s\": %s", option->name, text, wanted);
    if (option->kind == OPTION_LIMIT)
        return fail(EXIT_USAGE, "--%s \"%s\": a whole number from 1 up, or %s, is wanted",
                    option->name, text, strchr(option->argument, '|') + 1);
    return fail(EXIT_USAGE, "--%s \"%s\": one of %s is wanted", option->name, text,
                option->argument);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* How many letters must be put in, taken out, changed or swapped to make a from b. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t row[3][MOST + 1];
    const size_t n = strlen(a), m = strlen(b);
    size_t i, j;

    if (n > MOST || m > MOST)
        return MOST;
    for (j = 0; j <= m; j++)
        row[0][j] = j;
    for (i = 1; i <= n; i++) {
        size_t *now = row[i % 3];
        const size_t *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

static void consider(const char *name, const char *candidate, size_t *best, const char **out)
{
    const size_t away = distance(name, candidate);
    const size_t near = 1 + strlen(candidate) / 3; /* more is another word, not a slip */

    if (away <= near && away < *best) {
        *best = away;
        *out = candidate;
    }
}

int command_lookup(const char *name, const struct command **out)
{
    static const char *const alias[][2] = {
        {"-h", "help"}, {"--help", "help"}, {"-V", "version"}, {"--version", "version"}};
    const char *near = NULL, *wanted = name;
    size_t best = SIZE_MAX, i;

    for (i = 0; i < sizeof alias / sizeof *alias; i++)
        if (strcmp(name, alias[i][0]) == 0)
            wanted = alias[i][1];
    for (*out = command_table; (*out)->name; ++*out) {
        if (strcmp((*out)->name, wanted) == 0)
            return 0;
        consider(name, (*out)->name, &best, &near);
    }
    if (near)
        return fail(EXIT_USAGE, "unknown command \"%s\"; did you mean %s?", name, near);
    return fail(EXIT_USAGE, "unknown command \"%s\"; motley help lists them", name);
}

static const struct option *find_option(const char *name, size_t length, unsigned commands)
{
    const struct option *row;

    for (row = option_table; row->name; row++)
        if ((row->commands & commands) && strlen(row->name) == length &&
            memcmp(row->name, name, length) == 0)
            return row;
    return NULL;
}

static const char *nearest_option(const char *name, const struct command *command)
{
    const struct option *row;
    const char *out = NULL;
    size_t best = SIZE_MAX;

    for (row = option_table; row->name; row++)
        if (row->commands & command->bit)
            consider(name, row->name, &best, &out);
    return out;
}

static int unknown_option(const char *argument, size_t length, const struct command *command)
{
    char name[64];
    const char *near;

    snprintf(name, sizeof name, "%.*s", (int)length, argument);
    near = nearest_option(name, command);
    if (find_option(argument, length, EVERY))
        return fail(EXIT_USAGE, "%s has no option --%s; motley help %s lists them", command->name,
                    name, command->name);
    if (near)
        return fail(EXIT_USAGE, "unknown option --%s; did you mean --%s?", name, near);
    return fail(EXIT_USAGE, "unknown option --%s; motley help %s lists them", name, command->name);
}

bool option_given(const struct options *options, const char *name)
{
    size_t i;

    for (i = 0; option_table[i].name; i++)
        if ((options->given >> i & 1) && strcmp(option_table[i].name, name) == 0)
            return true;
    return false;
}

/* ---- the parser ------------------------------------------------------------------------------ */

static void set_fallbacks(const struct command *command, struct options *out)
{
    const struct option *row;

    for (row = option_table; row->name; row++)
        if ((row->commands & command->bit) && row->fallback)
            set_value(row, row->fallback, out);
}

/* One option and its value, "--name value" or "--name=value"; *at moves past what was used. */
static int parse_option(int argc, char **argv, int *at, const struct command *command,
                        struct options *out)
{
    const char *name = argv[*at] + 2;
    const size_t length = strcspn(name, "=");
    const struct option *option = find_option(name, length, command->bit);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;

    if (!option)
        return unknown_option(name, length, command);
    if (option->kind == OPTION_FLAG && value)
        return fail(EXIT_USAGE, "--%s takes no value", option->name);
    if (option->kind != OPTION_FLAG && !value) {
        if (*at + 1 >= argc)
            return fail(EXIT_USAGE, "--%s needs a value: %s", option->name, option->argument);
        value = argv[++*at];
    }
    out->given |= (uint64_t)1 << (option - option_table);
    return set_value(option, value, out);
}

int options_parse(int argc, char **argv, struct options *out, const struct command **command)
{
    const struct options none = {0};
    int code, at;

    *out = none;
    if (argc < 2) {
        help_print(stderr, NULL);
        return EXIT_USAGE;
    }
    code = command_lookup(argv[1], command);
    if (code)
        return code;
    set_fallbacks(*command, out);
    for (at = 2; at < argc && code == 0; at++) {
        if (strcmp(argv[at], "-h") == 0)
            out->help = true;
        else if (strncmp(argv[at], "--", 2) == 0)
            code = parse_option(argc, argv, &at, *command, out);
        else if ((*command)->argument && !out->topic)
            out->topic = argv[at];
        else
            code = fail(EXIT_USAGE, "%s takes no argument \"%s\"; options begin with --",
                        (*command)->name, argv[at]);
    }
    return code || out->help ? code : together_check(out);
}
