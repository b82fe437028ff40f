/* softmax.cl - rows of probabilities, y = exp(x - max x) / sum, and the gradient y * (dy - sum y
 * dy). Grid: one item per `each` rows, or (_team, wide rows on GPUs) one group of TEAM items per
 * row. */
static void forward_row(const struct team team, const uint width, global const STORED *x,
                        global STORED *y)
{
    vec most = (vec)(-INFINITY), sum = (vec)(0.0f);
    float top, scale;

    for (uint j = team.me * VEC; j < width; j += team.size * VEC)
        most = fmax(most, load_part(x, j, width, -INFINITY));
    top = team_max(team, most);
    for (uint j = team.me * VEC; j < width; j += team.size * VEC) {
        const vec e = exp(load_part(x, j, width, -INFINITY) - top);

        sum += e;
        store_part(y, j, width, e);
    }
    scale = 1.0f / team_sum(team, sum);
    for (uint j = team.me * VEC; j < width; j += team.size * VEC)
        store_part(y, j, width, load_part(y, j, width, 0.0f) * scale);
}

static void backward_row(const struct team team, const uint width, global const STORED *y,
                         global const STORED *dy, global STORED *dx)
{
    vec sum = (vec)(0.0f);
    float dot;

    for (uint j = team.me * VEC; j < width; j += team.size * VEC)
        sum += load_part(y, j, width, 0.0f) * load_part(dy, j, width, 0.0f);
    dot = team_sum(team, sum);
    for (uint j = team.me * VEC; j < width; j += team.size * VEC)
        store_part(dx, j, width,
                   load_part(y, j, width, 0.0f) * (load_part(dy, j, width, 0.0f) - dot));
}

kernel void softmax_forward(const uint rows, const uint width, const uint each,
                            global const STORED *x, const uint x_at, global STORED *y,
                            const uint y_at) /* y may be x */
{
    const struct team alone = {0, 1, 0};
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)rows);

    for (size_t r = begin; r < end; r++)
        forward_row(alone, width, x + x_at + r * width, y + y_at + r * width);
}

kernel void softmax_backward(const uint rows, const uint width, const uint each,
                             global const STORED *y, const uint y_at, global const STORED *dy,
                             const uint dy_at, global STORED *dx,
                             const uint dx_at) /* dx may be dy */
{
    const struct team alone = {0, 1, 0};
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)rows);

    for (size_t r = begin; r < end; r++)
        backward_row(alone, width, y + y_at + r * width, dy + dy_at + r * width,
                     dx + dx_at + r * width);
}

#if !CLASS_CPU
kernel void softmax_forward_team(const uint rows, const uint width, const uint each,
                                 global const STORED *x, const uint x_at, global STORED *y,
                                 const uint y_at)
{
    local float scratch[TEAM];
    const struct team team = {get_local_id(0), TEAM, scratch};
    const size_t r = get_group_id(0);

    forward_row(team, width, x + x_at + r * width, y + y_at + r * width);
}

kernel void softmax_backward_team(const uint rows, const uint width, const uint each,
                                  global const STORED *y, const uint y_at, global const STORED *dy,
                                  const uint dy_at, global STORED *dx, const uint dx_at)
{
    local float scratch[TEAM];
    const struct team team = {get_local_id(0), TEAM, scratch};
    const size_t r = get_group_id(0);

    backward_row(team, width, y + y_at + r * width, dy + dy_at + r * width, dx + dx_at + r * width);
}
#endif
