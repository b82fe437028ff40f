/* evaluate.c - loss and accuracy over data, and outputs for it, spread over the replicas. */
#include "base/size.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 1024 /* of one batch */

size_t mot__evaluate_rows(const struct mot__samples *samples)
{
    return mot__size_min(ROWS, samples->count);
}

/* Plans, and a batch size that suits inference on this data; leaves it at the first batch of its
 * first epoch. */
static mot_status make_ready(mot_trainer *trainer, mot_data *data)
{
    const struct mot__samples *samples = mot__data_samples(data);
    const size_t rows = mot__evaluate_rows(samples);
    mot_status status = mot__engine_prepare(trainer->engine, samples, rows, false, false);

    /* Training holds all the memory, and can make its part anew; not what waits for its update. */
    if (status == MOT_NO_MEMORY && mot__engine_pending(trainer->engine) == 0) {
        status = mot__engine_release(trainer->engine, true);
        if (status == MOT_OK)
            status = mot__engine_prepare(trainer->engine, samples, rows, false, false);
    }
    if (status == MOT_OK)
        status = mot_data_rewind(data, 0);
    if (status == MOT_OK)
        status = mot_data_batch(data, rows);
    return status;
}

/* Where the data stood: it is put back there, in the middle of an epoch too. */
struct found {
    struct mot__cursor cursor;
    size_t rows;
};

static struct found look(const mot_data *data)
{
    struct found found = {.rows = mot__data_rows(data)};

    mot__data_cursor(data, &found.cursor);
    return found;
}

static mot_status give_back(mot_data *data, const struct found *found, mot_status status)
{
    struct mot__story story = {MOT_OK, ""};
    mot_status back;

    if (status != MOT_OK)
        mot__story_take(status, &story);
    back = mot_data_rewind(data, 0);
    if (back == MOT_OK)
        back = mot_data_batch(data, found->rows);
    if (back == MOT_OK)
        back = mot__data_seek(data, &found->cursor);
    return status != MOT_OK ? mot__story_tell(&story) : back;
}

mot_status mot_evaluate(mot_trainer *trainer, mot_data *data, struct mot_metrics *out)
{
    const struct found found = look(data);
    mot_status status = MOT_OK;
    mot_batch *batch = NULL;

    MOT_TRY(make_ready(trainer, data));
    MOT_TRY(mot__engine_tally_begin(trainer->engine));
    for (;;) {
        MOT_TRY(mot_data_next(data, &batch));
        if (!batch)
            break;
        MOT_TRY(mot__engine_tally(trainer->engine, batch));
    }
    MOT_TRY(mot__engine_tally_end(trainer->engine, out));
done:
    return give_back(data, &found, status);
}

static mot_status predict_all(mot_trainer *trainer, mot_data *data, float *out, size_t width)
{
    float *part = calloc(mot__data_rows(data) * width, sizeof *part);
    mot_status status = MOT_OK;
    mot_batch *batch = NULL;
    size_t r;

    if (!part)
        return mot__fail(MOT_NO_MEMORY, "outputs of %zu rows", mot__data_rows(data));
    for (;;) {
        MOT_TRY(mot_data_next(data, &batch));
        if (!batch)
            break;
        mot__batch_hold(batch);
        status = mot__engine_predict(trainer->engine, batch, part);
        for (r = 0; status == MOT_OK && r < batch->rows;
             r++) /* shuffled data comes back in order */
            memcpy(out + batch->index[r] * width, part + r * width, width * sizeof *out);
        mot_batch_close(batch);
        MOT_TRY(status);
    }
done:
    free(part);
    return status;
}

mot_status mot_predict(mot_trainer *trainer, mot_data *data, float *out, size_t count)
{
    const mot_model *net = mot__engine_common(trainer->engine)->net;
    const size_t width = net->node[net->here].width;
    const struct found found = look(data);
    mot_status status = MOT_OK;

    if (count != mot_data_count(data) * width)
        return mot__fail(MOT_BAD_ARG, "mot_predict: room for %zu outputs, but there are %zu x %zu",
                         count, mot_data_count(data), width);
    MOT_TRY(make_ready(trainer, data));
    MOT_TRY(predict_all(trainer, data, out, width));
done:
    return give_back(data, &found, status);
}
