/* gemm_gpu.cl - C = act(alpha * op(A) * op(B) + bias) or C += alpha * op(A) * op(B), row-major,
 * through local memory: a group of SIDE x SIDE items computes a square of EDGE = 4 SIDE rows and
 * columns, 4 x 4 for each item, which lie SIDE apart so that neighbours read and write neighbours.
 * Grid: SIDE x SIDE items per square. Defines: SIDE (16, 8, 4, 2, 1); TRANS_A: A is stored (k, m);
 * TRANS_B: B is stored (n, k). */
#define EDGE (4 * SIDE)
#define DEPTH 16         /* steps of k that are in local memory at a time */
#define PITCH (EDGE + 1) /* so that a column does not sit in one bank */

/* What follows the products, for one element. */
static void put(const float sum, const float alpha, const uint accumulate, const uint act,
                const float leaky, const uint has_bias, global const STORED *bias, global STORED *c)
{
    float v = alpha * sum;

    if (accumulate)
        v += LOAD(c, 0);
    if (has_bias)
        v += LOAD(bias, 0);
    STORE(c, 0, act_one(act, leaky, v));
}

kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
gemm_gpu(const uint m, const uint n, const uint k, const float alpha, const uint accumulate,
         const uint act, const float leaky, const uint has_bias, global const STORED *a,
         const uint a_at, global const STORED *b, const uint b_at, global const STORED *bias,
         const uint bias_at, global STORED *c, const uint c_at)
{
    local float part_a[DEPTH][PITCH], part_b[DEPTH][PITCH]; /* both (k, m or n) */
    const uint x = get_local_id(0), y = get_local_id(1), me = y * SIDE + x;
    const uint i0 = get_group_id(1) * EDGE, j0 = get_group_id(0) * EDGE;
    float4 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (uint p0 = 0; p0 < k; p0 += DEPTH) {
        /* Neighbours read along the rows as they are stored. */
        for (uint e = me; e < EDGE * DEPTH; e += SIDE * SIDE) {
#if TRANS_A
            const uint i = e % EDGE, p = e / EDGE;

            part_a[p][i] =
                i0 + i < m && p0 + p < k ? LOAD(a, a_at + (p0 + p) * (size_t)m + i0 + i) : 0.0f;
#else
            const uint i = e / DEPTH, p = e % DEPTH;

            part_a[p][i] =
                i0 + i < m && p0 + p < k ? LOAD(a, a_at + (i0 + i) * (size_t)k + p0 + p) : 0.0f;
#endif
        }
        for (uint e = me; e < EDGE * DEPTH; e += SIDE * SIDE) {
#if TRANS_B
            const uint j = e / DEPTH, p = e % DEPTH;

            part_b[p][j] =
                j0 + j < n && p0 + p < k ? LOAD(b, b_at + (j0 + j) * (size_t)k + p0 + p) : 0.0f;
#else
            const uint j = e % EDGE, p = e / EDGE;

            part_b[p][j] =
                j0 + j < n && p0 + p < k ? LOAD(b, b_at + (p0 + p) * (size_t)n + j0 + j) : 0.0f;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint p = 0; p < DEPTH; p++) {
            const float4 row = (float4)(part_b[p][x], part_b[p][x + SIDE], part_b[p][x + 2 * SIDE],
                                        part_b[p][x + 3 * SIDE]);

#pragma unroll
            for (uint i = 0; i < 4; i++)
                sum[i] += part_a[p][y + i * SIDE] * row;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (uint i = 0; i < 4; i++) {
        const float part[4] = {sum[i].x, sum[i].y, sum[i].z, sum[i].w};

#pragma unroll
        for (uint j = 0; j < 4; j++)
            if (i0 + y + i * SIDE < m && j0 + x + j * SIDE < n)
                put(part[j], alpha, accumulate, act, leaky, has_bias,
                    bias + bias_at + j0 + x + j * SIDE,
                    c + c_at + (i0 + y + i * SIDE) * (size_t)n + j0 + x + j * SIDE);
    }
}
