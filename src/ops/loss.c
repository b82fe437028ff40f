/* loss.c - losses of rows, their gradients, and the record of a step. */
#include "ops/loss.h"
#include "ops/grid.h"

#include <math.h>

#define RECORD_ITEMS 64 /* of the one group that adds the rows up; changes no bit of the sum */
#define LOW 1e-7f       /* probabilities are kept in [LOW, HIGH] */
#define HIGH (1.0f - 1e-7f)

static const char *const defines[] = {"-DKIND=0", "-DKIND=1", "-DKIND=2"}; /* by kind */

static mot_status launch_rows(mot__device *device, const struct mot__loss *loss)
{
    const bool team = mot__grid_team(device, loss->width);
    const size_t each = mot__grid_each(device, loss->rows, loss->width, 1);
    const struct mot__arg args[] = {MOT__U32(loss->rows),
                                    MOT__U32(loss->width),
                                    MOT__U32(each),
                                    MOT__U32(loss->labels.buffer != NULL),
                                    MOT__U32(loss->dx.buffer != NULL),
                                    MOT__F32(loss->scale),
                                    MOT__MEM(loss->x),
                                    MOT__MEM(mot__grid_or(loss->labels, loss->x)),
                                    MOT__MEM(mot__grid_or(loss->targets, loss->x)),
                                    MOT__MEM(mot__grid_or(loss->dx, loss->x)),
                                    MOT__MEM(loss->row)};
    const struct mot__launch launch = {
        .program = "loss",
        .kernel = team ? "loss_rows_team" : "loss_rows",
        .defines = defines[loss->kind],
        .dims = 1,
        .global = {team ? loss->rows * MOT__GRID_TEAM : mot__grid_items(loss->rows, each)},
        .local = {team ? MOT__GRID_TEAM : 0},
        .args = args,
        .count = MOT__COUNT(args)};

    return mot__launch(device, &launch);
}

static mot_status launch_record(mot__device *device, const struct mot__loss *loss)
{
    const size_t items = mot__grid_cpu(device)
                             ? 1
                             : mot__size_min(RECORD_ITEMS, mot__device_facts(device)->max_group);
    const struct mot__arg args[] = {MOT__U32(loss->rows), MOT__U32(loss->accumulate),
                                    MOT__MEM(loss->row), MOT__MEM(loss->record)};
    const struct mot__launch launch = {.program = "loss",
                                       .kernel = "loss_record",
                                       .defines = defines[loss->kind],
                                       .dims = 1,
                                       .global = {items},
                                       .local = {items},
                                       .args = args,
                                       .count = MOT__COUNT(args)};

    return mot__launch(device, &launch);
}

mot_status mot__loss_launch(mot__device *device, const struct mot__loss *loss)
{
    mot_status status = MOT_OK;

    if ((int)loss->kind < MOT__LOSS_LOGITS || loss->kind > MOT__LOSS_SQUARES)
        return mot__fail(MOT_BAD_ARG, "loss: there is no kind %d", (int)loss->kind);
    if (loss->width == 0)
        return mot__fail(MOT_BAD_ARG, "loss: rows of width 0");
    if (!loss->labels.buffer == !loss->targets.buffer)
        return mot__fail(MOT_BAD_ARG, "loss: it takes labels or targets, one of the two");
    MOT_TRY(mot__grid_fits("loss", loss->rows, loss->width));
    MOT_TRY(launch_rows(device, loss));
    MOT_TRY(launch_record(device, loss));
done:
    return status;
}

/* ---- plain C ---- */

struct row {
    size_t width;
    const float *x, *targets;
    const uint32_t *label; /* NULL: targets */
    float *dx;             /* NULL: not wanted */
};

static double target(const struct row *row, size_t j)
{
    return row->label ? j == *row->label : row->targets[j];
}

static double logits_row(const struct row *row)
{
    double most = -INFINITY, sum = 0, weight = 0, loss = 0;

    for (size_t j = 0; j < row->width; j++)
        most = fmax(most, row->x[j]);
    for (size_t j = 0; j < row->width; j++) {
        sum += exp(row->x[j] - most);
        weight += target(row, j);
    }
    for (size_t j = 0; j < row->width; j++)
        if (target(row, j) != 0)
            loss += target(row, j) * (log(sum) - (row->x[j] - most));
    if (isnan(sum))
        loss = NAN;
    for (size_t j = 0; row->dx && j < row->width; j++)
        row->dx[j] = (float)(exp(row->x[j] - most) / sum * weight - target(row, j));
    return loss;
}

static double probabilities_row(const struct row *row)
{
    double loss = 0;

    for (size_t j = 0; j < row->width; j++) {
        const float x = row->x[j], q = x < LOW ? LOW : x > HIGH ? HIGH : x;
        const double t = target(row, j);

        if (t != 0)
            loss -= t * log(q);
        if (row->dx)
            row->dx[j] = x < LOW || x > HIGH || t == 0 ? 0 : (float)(-t / q);
    }
    return loss;
}

static double squares_row(const struct row *row)
{
    double loss = 0;

    for (size_t j = 0; j < row->width; j++) {
        const double d = row->x[j] - target(row, j);

        loss += d * d / (double)row->width;
        if (row->dx)
            row->dx[j] = (float)(2 * d / (double)row->width);
    }
    return loss;
}

/* Is the first of the largest outputs the label, or at the largest target? */
static bool is_correct(const struct row *row)
{
    double most = -INFINITY;
    size_t best = 0;

    for (size_t j = 1; j < row->width; j++)
        if (row->x[j] > row->x[best])
            best = j;
    for (size_t j = 0; j < row->width; j++)
        most = fmax(most, target(row, j));
    return target(row, best) == most;
}

double mot__loss_reference(enum mot__loss_kind kind, size_t rows, size_t width, const float *x,
                           const uint32_t *labels, const float *targets, float *row, float *dx,
                           size_t *correct)
{
    static double (*const loss_of[])(const struct row *) = {logits_row, probabilities_row,
                                                            squares_row};
    double sum = 0;

    *correct = 0;
    for (size_t r = 0; r < rows; r++) {
        const struct row one = {width, x + r * width, targets ? targets + r * width : NULL,
                                labels ? labels + r : NULL, dx ? dx + r * width : NULL};
        double loss = loss_of[kind](&one);

        if (labels && labels[r] >= width)
            loss = NAN;
        row[r] = (float)loss;
        if (!isfinite(row[r]))
            continue;
        sum += loss;
        *correct += kind != MOT__LOSS_SQUARES && is_correct(&one);
    }
    return sum;
}
