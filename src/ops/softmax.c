/* softmax.c - rows of probabilities, and their gradient. */
#include "ops/softmax.h"
#include "ops/grid.h"

#include <math.h>

/* An item per `each` rows; a wide row on a GPU gets a group. kernel: with a team, and alone. */
static mot_status launch_rows(mot__device *device, const char *const kernel[2], size_t rows,
                              size_t width, const struct mot__arg *args, size_t count, size_t each)
{
    const bool team = mot__grid_team(device, width);
    const struct mot__launch launch = {
        .program = "softmax",
        .kernel = kernel[team],
        .dims = 1,
        .global = {team ? rows * MOT__GRID_TEAM : mot__grid_items(rows, each)},
        .local = {team ? MOT__GRID_TEAM : 0},
        .args = args,
        .count = count};
    mot_status status = mot__grid_fits(kernel[0], rows, width);

    return status == MOT_OK ? mot__launch(device, &launch) : status;
}

mot_status mot__softmax_forward(mot__device *device, size_t rows, size_t width, struct mot__mem x,
                                struct mot__mem y)
{
    static const char *const kernel[] = {"softmax_forward", "softmax_forward_team"};
    const size_t each = mot__grid_each(device, rows, width, 1);
    const struct mot__arg args[] = {MOT__U32(rows), MOT__U32(width), MOT__U32(each), MOT__MEM(x),
                                    MOT__MEM(y)};

    return launch_rows(device, kernel, rows, width, args, MOT__COUNT(args), each);
}

mot_status mot__softmax_backward(mot__device *device, size_t rows, size_t width, struct mot__mem y,
                                 struct mot__mem dy, struct mot__mem dx)
{
    static const char *const kernel[] = {"softmax_backward", "softmax_backward_team"};
    const size_t each = mot__grid_each(device, rows, width, 1);
    const struct mot__arg args[] = {MOT__U32(rows), MOT__U32(width), MOT__U32(each),
                                    MOT__MEM(y),    MOT__MEM(dy),    MOT__MEM(dx)};

    return launch_rows(device, kernel, rows, width, args, MOT__COUNT(args), each);
}

void mot__softmax_reference(size_t rows, size_t width, const float *x, float *y)
{
    for (size_t r = 0; r < rows; r++) {
        const float *from = x + r * width;
        double most = -INFINITY, sum = 0;

        for (size_t j = 0; j < width; j++)
            most = fmax(most, from[j]);
        for (size_t j = 0; j < width; j++)
            sum += exp(from[j] - most);
        for (size_t j = 0; j < width; j++)
            y[r * width + j] = (float)(exp(from[j] - most) / sum);
    }
}
