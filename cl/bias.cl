/* bias.cl - from dy (rows, width) and the output y: dz = dy * act'(y) in place, and db = its sum
 * over rows. Grid: CPU one item per `each` columns, rows in order. GPU: groups of (columns, lanes);
 * lane l adds rows l, l + lanes, ... and a fixed tree adds the lanes. No atomics: the same grid
 * gives the same bits. */
#if CLASS_CPU
kernel void bias_backward(const uint rows, const uint width, const uint each, const uint act,
                          const float leaky, const uint accumulate, global const STORED *y,
                          const uint y_at, global STORED *dy, const uint dy_at, global STORED *db,
                          const uint db_at)
{
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)width);

    for (size_t j = begin; j < end; j += VEC) {
        vec sum = (vec)(0.0f);

        for (size_t r = 0; r < rows; r++) {
            global STORED *row = dy + dy_at + r * width;
            vec dz = load_part(row, j, end, 0.0f);

            if (act != ACT_NONE) {
                dz *= act_slope(act, leaky, load_part(y + y_at + r * width, j, end, 0.0f));
                store_part(row, j, end, dz);
            }
            sum += dz;
        }
        if (accumulate)
            sum += load_part(db + db_at, j, end, 0.0f);
        store_part(db + db_at, j, end, sum);
    }
}
#else
kernel void bias_backward(const uint rows, const uint width, const uint each, const uint act,
                          const float leaky, const uint accumulate, global const STORED *y,
                          const uint y_at, global STORED *dy, const uint dy_at, global STORED *db,
                          const uint db_at, local float *scratch)
{
    const size_t j = get_global_id(0);
    const uint lane = get_local_id(1), lanes = get_local_size(1), columns = get_local_size(0);
    local float *mine = scratch + lane * columns + get_local_id(0);
    float sum = 0.0f;

    for (size_t r = lane; j < width && r < rows; r += lanes) {
        const size_t i = r * width + j;
        float dz = LOAD(dy + dy_at, i);

        if (act != ACT_NONE) {
            dz *= act_slope(act, leaky, LOAD(y + y_at, i));
            STORE(dy + dy_at, i, dz);
        }
        sum += dz;
    }
    *mine = sum;
    for (uint half_lanes = lanes / 2; half_lanes > 0; half_lanes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_lanes)
            *mine += mine[half_lanes * columns];
    }
    if (lane == 0 && j < width)
        STORE(db + db_at, j, accumulate ? LOAD(db + db_at, j) + *mine : *mine);
}
#endif
