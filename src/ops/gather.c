/* gather.c - rows of a data set to the rows of a batch, with their labels, in one launch. */
#include "ops/gather.h"
#include "ops/grid.h"

mot_status mot__gather_launch(mot__device *device, const struct mot__gather *gather)
{
    const size_t words = gather->width + gather->y_width;
    const size_t each = mot__grid_each(device, gather->rows, words, 1);
    const struct mot__arg args[] = {MOT__U32(gather->rows),
                                    MOT__U32(gather->width),
                                    MOT__U32(gather->y_width),
                                    MOT__U32(each),
                                    MOT__U32(gather->index.buffer != NULL),
                                    MOT__MEM(mot__grid_or(gather->index, gather->x)),
                                    MOT__MEM(gather->x),
                                    MOT__MEM(gather->out),
                                    MOT__MEM(mot__grid_or(gather->y, gather->x)),
                                    MOT__MEM(mot__grid_or(gather->y_out, gather->out))};
    const struct mot__launch launch = {
        .program = "gather",
        .kernel = gather->dtype == MOT_DTYPE_U8 ? "gather_u8" : "gather_f32",
        .dims = 1,
        .global = {mot__grid_cpu(device) ? mot__grid_items(gather->rows, each)
                                         : gather->rows * words},
        .args = args,
        .count = MOT__COUNT(args)};
    mot_status status = mot__grid_fits("gather", gather->rows, words);

    return status == MOT_OK ? mot__launch(device, &launch) : status;
}
