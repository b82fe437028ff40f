/* add.cl - y = a + b, element by element; y may be either.
 * Grid: one item per `each` elements, spare items leave. */
kernel void add_forward(const uint n, const uint each, global const STORED *a, const uint a_at,
                        global const STORED *b, const uint b_at, global STORED *y, const uint y_at)
{
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)n);

    for (size_t i = begin; i < end; i += VEC)
        store_part(y + y_at, i, end,
                   load_part(a + a_at, i, end, 0.0f) + load_part(b + b_at, i, end, 0.0f));
}
