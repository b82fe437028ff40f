/* gemm_epilogue.cl - C = act(C + bias), for a GEMM that cannot do it itself; from zero when there
 * were no products. Grid: one item per element, spare items leave. */
kernel void gemm_epilogue(const uint m, const uint n, const uint from_zero, const uint act,
                          const float leaky, const uint has_bias, global const STORED *bias,
                          const uint bias_at, global STORED *c, const uint c_at)
{
    const size_t i = get_global_id(0);
    float v;

    if (i >= m * (size_t)n)
        return;
    v = from_zero ? 0.0f : LOAD(c, c_at + i);
    if (has_bias)
        v += LOAD(bias, bias_at + i % n);
    STORE(c, c_at + i, act_one(act, leaky, v));
}
