/* print.c - events as lines people know from Keras, on a stream of the caller's. The only place
 * that writes to a stream, and only when handed to mot_fit. Numbers are put together from whole
 * parts: a locale's decimal comma has no say. */
#include "base/status.h"

#include <math.h>
#include <stdio.h>

static const char *fixed(double value, unsigned decimals, char out[48])
{
    unsigned long long scale = 1, whole;
    unsigned i;

    for (i = 0; i < decimals; i++)
        scale *= 10;
    if (!isfinite(value) || fabs(value) > 1e12)
        snprintf(out, 48, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    else {
        whole = (unsigned long long)(fabs(value) * (double)scale + 0.5);
        snprintf(out, 48, "%s%llu.%0*llu", value < 0 ? "-" : "", whole / scale, (int)decimals,
                 whole % scale);
    }
    return out;
}

static void print_epoch(const struct mot_event *event, FILE *stream)
{
    char text[5][48];

    fprintf(stream, "%zu/%zu - %ss - loss: %s", event->step, event->steps,
            fixed(event->seconds, 1, text[0]), fixed(event->loss, 4, text[1]));
    if (!isnan(event->accuracy))
        fprintf(stream, " - accuracy: %s", fixed(event->accuracy, 4, text[2]));
    if (!isnan(event->test_loss))
        fprintf(stream, " - test_loss: %s", fixed(event->test_loss, 4, text[3]));
    if (!isnan(event->test_accuracy))
        fprintf(stream, " - test_accuracy: %s", fixed(event->test_accuracy, 4, text[4]));
    fprintf(stream, " - %.0f samples/s\n", event->samples_per_s);
}

int mot_print_event(const struct mot_event *event, void *user)
{
    FILE *stream = user ? user : stdout;

    if (event->kind == MOT_EVENT_START)
        fprintf(stream, "%zu parameters on %zu replica%s, batch %zu\n", event->parameters,
                event->replicas, event->replicas == 1 ? "" : "s", event->batch);
    if (event->kind == MOT_EVENT_EPOCH) {
        fprintf(stream, "Epoch %zu/%zu\n", event->epoch, event->epochs);
        print_epoch(event, stream);
    }
    if (event->kind == MOT_EVENT_NOTE)
        fprintf(stream, "%s\n", event->note->text);
    fflush(stream);
    return 0;
}
