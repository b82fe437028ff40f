/* predict.c - motley predict: the class of each test sample, and how sure the network is. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/outfile.h"
#include "cli/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The largest of the row's outputs and its probability; logits are put through a softmax. */
static size_t decide(const float *row, size_t width, bool logits, double *probability)
{
    double sum = 0;
    size_t i, best = 0;

    for (i = 1; i < width; i++)
        if (row[i] > row[best])
            best = i;
    for (i = 0; i < width; i++)
        sum += exp((double)row[i] - (double)row[best]);
    *probability = logits ? 1 / sum : (double)row[best];
    return best;
}

static void write_rows(const struct options *options, FILE *out, const float *output, size_t count,
                       size_t width)
{
    const bool logits =
        options->loss == MOT_LOSS_CROSS_ENTROPY && !session_ends_in_softmax(options);
    size_t i;

    if (!options->json)
        fputs("index,class,probability\n", out);
    for (i = 0; i < count; i++) {
        struct json json = {.out = out};
        double probability;
        const size_t best = decide(output + i * width, width, logits, &probability);

        if (!options->json) {
            fprintf(out, "%zu,%zu,%.6f\n", i, best, probability);
            continue;
        }
        put_object(&json, NULL);
        put_count(&json, "index", i);
        put_count(&json, "class", best);
        put_number(&json, "probability", probability);
        put_end(&json);
    }
}

static int write_all(const struct options *options, const float *output, size_t count, size_t width)
{
    const char *path = options->out;
    struct outfile file;
    int code = 0;

    if (!path || !*path) {
        write_rows(options, stdout, output, count, width);
        return 0;
    }
    code = outfile_open(&file, path);
    if (code)
        return code;
    write_rows(options, file.stream, output, count, width);
    code = outfile_commit(&file);
    if (code == 0 && !options->quiet)
        printf("%zu predictions written to %s\n", count, path);
    return code;
}

static int predict(const struct options *options, struct session *session)
{
    const size_t count = mot_data_count(session->data.test);
    const size_t width = mot_shape_count(mot_model_output(session->net));
    float *output = count && width < SIZE_MAX / sizeof *output / count
                        ? malloc(count * width * sizeof *output) /* (count, width) */
                        : NULL;
    mot_status status;
    int code;

    if (!output)
        return fail(EXIT_FAILED, "no memory for the outputs of %zu samples", count);
    status = mot_predict(session->trainer, session->data.test, output, count * width);
    if (status == MOT_OK)
        code = write_all(options, output,
                         options->count && options->count < count ? options->count : count, width);
    else
        code = fail_library(status);
    free(output);
    return code;
}

int command_predict(const struct options *options)
{
    struct session session = {0};
    int code = options->out && *options->out ? outfile_check(options->out) : 0;

    if (code)
        return code;
    code = session_open(options, false, &session);
    if (code == 0)
        code = predict(options, &session);
    session_close(&session);
    return code;
}
