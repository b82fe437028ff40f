/* activation.cl - y = act(x), element by element, and its gradient.
 * Grid: one item per `each` elements, spare items leave. gelu is the exact form, x Phi(x): erfc
 * keeps its tail. */

/* Comparisons are so that a NaN stays one. */
static vec act_value(const uint act, const float leaky, const vec x)
{
    switch (act) {
    case ACT_RELU:
        return x < 0.0f ? (vec)(0.0f) : x;
    case ACT_LEAKY_RELU:
        return x < 0.0f ? leaky * x : x;
    case ACT_GELU:
        return 0.5f * x * erfc(-0.70710678118654752f * x);
    case ACT_SIGMOID:
        return 1.0f / (1.0f + exp(-x)); /* exp(-x) = inf gives the right 0 */
    case ACT_TANH:
        return tanh(x);
    default:
        return x;
    }
}

/* d/dx x Phi(x) = Phi(x) + x phi(x) */
static vec gelu_slope(const vec x)
{
    return 0.5f * erfc(-0.70710678118654752f * x) + 0.39894228040143268f * x * exp(-0.5f * x * x);
}

kernel void activation_forward(const uint n, const uint each, const uint act, const float leaky,
                               global const STORED *x, const uint x_at, global STORED *y,
                               const uint y_at) /* y may be x */
{
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)n);

    for (size_t i = begin; i < end; i += VEC)
        store_part(y + y_at, i, end, act_value(act, leaky, load_part(x + x_at, i, end, 0.0f)));
}

/* from: the output y, for gelu the input x. dx may be dy. */
kernel void activation_backward(const uint n, const uint each, const uint act, const float leaky,
                                global const STORED *from, const uint from_at,
                                global const STORED *dy, const uint dy_at, global STORED *dx,
                                const uint dx_at)
{
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)n);

    for (size_t i = begin; i < end; i += VEC) {
        const vec v = load_part(from + from_at, i, end, 0.0f);
        const vec slope = act == ACT_GELU ? gelu_slope(v) : act_slope(act, leaky, v);

        store_part(dx + dx_at, i, end, load_part(dy + dy_at, i, end, 0.0f) * slope);
    }
}
