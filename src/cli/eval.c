/* eval.c - motley eval: how well saved weights do on the test data. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/screen.h"
#include "cli/session.h"

#include <math.h>
#include <stdio.h>

static void tell(const struct options *options, const struct dataset *data,
                 const struct mot_metrics *metrics)
{
    struct json json = {.out = stdout};
    char result[2048];

    if (options->json) {
        put_object(&json, NULL);
        put_text(&json, "event", "eval");
        put_text(&json, "data", data->name);
        put_number(&json, "test_loss", metrics->loss);
        put_number(&json, "test_accuracy", metrics->accuracy);
        put_count(&json, "samples", metrics->count);
        put_text(&json, "weights", options->weights);
        put_end(&json);
        return;
    }
    if (!options->quiet && !isnan(metrics->accuracy))
        printf("test loss %.4f, %llu samples\n", metrics->loss, (unsigned long long)metrics->count);
    screen_result(metrics->loss, metrics->accuracy, data, result, sizeof result);
    printf("%s\n", result);
}

int command_eval(const struct options *options)
{
    struct session session = {0};
    struct mot_metrics metrics;
    mot_status status;
    int code = session_open(options, false, &session);

    if (code == 0) {
        status = mot_evaluate(session.trainer, session.data.test, &metrics);
        if (status == MOT_OK)
            tell(options, &session.data, &metrics);
        else
            code = fail_library(status);
    }
    session_close(&session);
    return code;
}
