/* gemm_cpu.cl - C = act(alpha * op(A) * op(B) + bias) or C += alpha * op(A) * op(B), row-major,
 * shaped for a CPU: a register tile, and packed panels that stay in its caches.
 * Grid: one work-item per group; group (x, y) computes the mb x nb block of C at (y mb, x nb). Its
 * part of A and a panel of B are copied to local memory, kc steps of k at a time, zeros beyond the
 * edges, so that the innermost loop has constant strides and no edge. Defines: WIDTH, floats in a
 * register (4, 8, 16); DEPTH, the most steps of k in one pass, a multiple of 16. Arguments say how
 * the operands lie, so that one kernel serves every product of a step: trans_a: A is stored (k, m);
 * trans_b: B is stored (n, k). ROWS is known to device/gemm_tile.c too. */
#if WIDTH == 16
typedef float16 reg;
#define LOAD_REG(p) vload16(0, p)
/* 16 accumulators of 32 registers: enough to hide the latency, and it divides round batches. */
#define ROWS 8
#define ROWS_LAST 4
#define COPY_ROWS(from, to) vstore8(vload8(0, from), 0, to)
#elif WIDTH == 8
typedef float8 reg;
#define LOAD_REG(p) vload8(0, p)
#define ROWS 6 /* 12 accumulators of 16 registers */
#define ROWS_LAST 2
#define COPY_ROWS(from, to) COPY_6(from, to)
#elif WIDTH == 4
typedef float4 reg;
#define LOAD_REG(p) vload4(0, p)
#define ROWS 6
#define ROWS_LAST 2
#define COPY_ROWS(from, to) COPY_6(from, to)
#else
#error "WIDTH must be 4, 8 or 16"
#endif
/* A store at any float's address in one instruction: PoCL's vstore16 takes three. */
typedef reg reg_anywhere __attribute__((aligned(4)));
#define STORE_REG(v, p) (*(global reg_anywhere *)(p) = (v))
#define COLS (2 * WIDTH)
#define A_PITCH (DEPTH + 16) /* never a power of two: rows must not share cache sets */

#define UNROLL _Pragma("unroll")
/* A loop over what whole registers leave: few turns, which wide code would make slower to run and
 * to compile (PoCL: 0.8 instead of 1.0 s for this kernel). */
#define EDGE _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")
#define COPY_6(from, to) (vstore4(vload4(0, from), 0, to), vstore2(vload2(2, from), 2, to))

/* A strip of rows is packed (rows, A_PITCH) as it lies, or (kc, rows) when A is transposed: plain
 * copies either way, and both take rows * A_PITCH floats at most. row and step: floats from one
 * row, and from one step of k, to the next; constants, since a tile of one register has no time to
 * spare. tile (rows, 2 registers) = strip (rows, kc) * panel (kc, regs registers). LOAD_REG where
 * b[j] would do: clang gives 512-bit registers only to functions that pass 512-bit values to or
 * from a call. */
#define TILE(name, rows, regs, row, step)                                                          \
    static void name(const uint kc, local const float *a, local const reg *b, reg *tile)           \
    {                                                                                              \
        reg sum[rows][regs];                                                                       \
                                                                                                   \
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < regs; j++) sum[i][j] =    \
            (reg)(0.0f);                                                                           \
        for (uint p = 0; p < kc; p++, a += step, b += regs)                                        \
            UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < regs; j++)            \
                sum[i][j] += (reg)(a[i * (row)]) * LOAD_REG((local const float *)(b + j));         \
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < regs; j++)                \
            tile[2 * i + j] = sum[i][j];                                                           \
    }

TILE(wide, ROWS, 2, A_PITCH, 1)
TILE(narrow, ROWS, 1, A_PITCH, 1)
TILE(wide_last, ROWS_LAST, 2, A_PITCH, 1)
TILE(narrow_last, ROWS_LAST, 1, A_PITCH, 1)
TILE(wide_steps, ROWS, 2, 1, ROWS)
TILE(narrow_steps, ROWS, 1, 1, ROWS)
TILE(wide_last_steps, ROWS_LAST, 2, 1, ROWS_LAST)
TILE(narrow_last_steps, ROWS_LAST, 1, 1, ROWS_LAST)

static void tile_rows(const int whole, const int both, const uint kc, local const float *a,
                      local const reg *b, reg *tile)
{
    if (whole && both)
        wide(kc, a, b, tile);
    else if (whole)
        narrow(kc, a, b, tile);
    else if (both)
        wide_last(kc, a, b, tile);
    else
        narrow_last(kc, a, b, tile);
}

static void tile_steps(const int whole, const int both, const uint kc, local const float *a,
                       local const reg *b, reg *tile)
{
    if (whole && both)
        wide_steps(kc, a, b, tile);
    else if (whole)
        narrow_steps(kc, a, b, tile);
    else if (both)
        wide_last_steps(kc, a, b, tile);
    else
        narrow_last_steps(kc, a, b, tile);
}

/* How many rows the strip at row i of a block has: whole strips, then short ones. */
static uint strip_rows(const uint rows, const uint i)
{
    return rows - i > ROWS - ROWS_LAST ? ROWS : ROWS_LAST;
}

/* count floats from global to local memory. */
static void copy(const uint count, global const STORED *from, local reg *to)
{
    uint i = 0;

    for (; i + WIDTH <= count; i += WIDTH)
        to[i / WIDTH] = LOAD_REG(from + i);
    EDGE
    for (; i < count; i++)
        ((local float *)to)[i] = LOAD(from, i);
}

/* A strip of w rows, kc steps from p0 on, of which `rows` are there: a (m, k) or (k, m). */
static void pack_rows(const uint k, const uint rows, const uint w, const uint kc,
                      global const STORED *a, local float *to)
{
    for (uint r = 0; r < w; r++)
        if (r < rows)
            copy(kc, a + r * (size_t)k, (local reg *)(to + r * A_PITCH));
        else
            EDGE
            for (uint p = 0; p < kc; p++)
                to[r * A_PITCH + p] = 0.0f;
}

static void pack_steps(const uint m, const uint rows, const uint w, const uint kc,
                       global const STORED *a, local float *to)
{
    if (w == ROWS && rows >= ROWS)
        for (uint p = 0; p < kc; p++)
            COPY_ROWS(a + p * (size_t)m, to + p * ROWS);
    else
        EDGE
        for (uint p = 0; p < kc; p++)
            EDGE
            for (uint r = 0; r < w; r++)
                to[p * w + r] = r < rows ? LOAD(a, p * (size_t)m + r) : 0.0f;
}

/* kc steps from p0 on of op(A)'s rows [i0, i0 + rows), into strips. */
static void pack_a(const uint trans, const uint m, const uint k, const uint i0, const uint rows,
                   const uint p0, const uint kc, global const STORED *a, local float *to)
{
    for (uint i = 0, w; i < rows; i += w, to += w * A_PITCH) {
        w = strip_rows(rows, i);
        if (trans)
            pack_steps(m, rows - i, w, kc, a + p0 * (size_t)m + i0 + i, to);
        else
            pack_rows(k, rows - i, w, kc, a + (i0 + i) * (size_t)k + p0, to);
    }
}

/* to (WIDTH, regs) = WIDTH steps of WIDTH rows of B, transposed: the registers' perfect shuffle,
 * log2(WIDTH) times. */
static void pack_square(global const STORED *b, const uint k, const uint rows, const uint regs,
                        local reg *to)
{
    reg v[WIDTH], u[WIDTH];

#pragma unroll
    for (uint i = 0; i < WIDTH; i++)
        v[i] = i < rows ? LOAD_REG(b + i * (size_t)k) : (reg)(0.0f);
#pragma unroll
    for (uint s = 1; s < WIDTH; s *= 2) {
#pragma unroll
        for (uint i = 0; i < WIDTH / 2; i++) {
            u[2 * i].even = v[i].lo;
            u[2 * i].odd = v[i + WIDTH / 2].lo;
            u[2 * i + 1].even = v[i].hi;
            u[2 * i + 1].odd = v[i + WIDTH / 2].hi;
        }
#pragma unroll
        for (uint i = 0; i < WIDTH; i++)
            v[i] = u[i];
    }
#pragma unroll
    for (uint i = 0; i < WIDTH; i++)
        to[i * regs] = v[i];
}

/* cols columns of op(B), kc steps, into to (kc, regs registers): b (n, k), or (k, n). */
static void pack_columns(const uint k, const uint cols, const uint kc, const uint regs,
                         global const STORED *b, local reg *to)
{
    for (uint j = 0; j < regs; j++) {
        const uint rows = min(cols - j * WIDTH, (uint)WIDTH);
        global const STORED *from = b + j * WIDTH * (size_t)k;
        uint p = 0;

        for (; p + WIDTH <= kc; p += WIDTH)
            pack_square(from + p, k, rows, regs, to + p * regs + j);
        EDGE
        for (; p < kc; p++)
            EDGE
            for (uint i = 0; i < WIDTH; i++)
                ((local float *)(to + p * regs + j))[i] =
                    i < rows ? LOAD(from, i * (size_t)k + p) : 0.0f;
    }
}

static void pack_plain(const uint n, const uint cols, const uint kc, const uint regs,
                       global const STORED *b, local reg *to)
{
    for (uint p = 0; p < kc; p++, to += regs) {
        copy(cols, b + p * (size_t)n, to);
        EDGE
        for (uint j = cols; j < regs * WIDTH; j++)
            ((local float *)to)[j] = 0.0f;
    }
}

struct finish { /* what follows the products */
    float alpha, leaky;
    uint add, has_bias, act; /* add: to what C holds */
};

/* A whole tile, with nothing added: what most are. */
static void put_whole(const float alpha, const uint n, const reg *tile, global STORED *c)
{
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < 2; j++)
        STORE_REG(alpha * tile[2 * i + j], c + i * (size_t)n + j * WIDTH);
}

/* The tile goes to rows x cols of C. */
static void put_part(const struct finish how, const uint rows, const uint cols, const uint n,
                     const reg *tile, global const STORED *bias, global STORED *c)
{
    for (uint i = 0; i < rows; i++, c += n) {
        const float *row = (const float *)(tile + 2 * i);
        uint j = 0;

        for (; j + WIDTH <= cols; j += WIDTH) {
            reg v = how.alpha * tile[2 * i + j / WIDTH];

            if (how.add)
                v += LOAD_REG(c + j);
            if (how.has_bias)
                v += LOAD_REG(bias + j);
            STORE_REG(v, c + j);
        }
        EDGE
        for (; j < cols; j++) {
            float v = how.alpha * row[j];

            if (how.add)
                v += LOAD(c, j);
            if (how.has_bias)
                v += LOAD(bias, j);
            STORE(c, j, v);
        }
        if (how.act)
            for (j = 0; j < cols; j++)
                STORE(c, j, act_one(how.act, how.leaky, LOAD(c, j)));
    }
}

/* One panel of B against every strip of A. */
static void panel(const struct finish how, const uint trans_a, const uint rows, const uint cols,
                  const uint n, const uint kc, local const float *a, local const reg *b,
                  global const STORED *bias, global STORED *c)
{
    const int plain = cols == COLS && !how.add && !how.has_bias && !how.act;
    reg tile[2 * ROWS];

    for (uint i = 0, w; i < rows; i += w, a += w * A_PITCH) {
        w = strip_rows(rows, i);
        if (trans_a)
            tile_steps(w == ROWS, cols > WIDTH, kc, a, b, tile);
        else
            tile_rows(w == ROWS, cols > WIDTH, kc, a, b, tile);
        if (plain && rows - i >= ROWS)
            put_whole(how.alpha, n, tile, c + i * (size_t)n);
        else
            put_part(how, min(w, rows - i), cols, n, tile, bias, c + i * (size_t)n);
    }
}

/* ---- dot products: op(A) (m, k) and op(B) as (n, k), both read as they lie ---- */

/* Where A meets few columns, packing it costs more than the products. A sum runs along k, WIDTH
 * steps at a time, and its lanes are added in the end. */
#define DOT_ROWS 4
#if WIDTH == 16
#define DOT_COLS 5 /* 20 accumulators of 32 registers, and it divides ten classes */
#else
#define DOT_COLS 3
#endif

static float lanes_sum(const reg v)
{
#if WIDTH == 16
    const float8 half_ = v.lo + v.hi;
    const float4 four = half_.lo + half_.hi;
#elif WIDTH == 8
    const float4 four = v.lo + v.hi;
#else
    const float4 four = v;
#endif
    return (four.s0 + four.s2) + (four.s1 + four.s3);
}

/* The first count of WIDTH floats, then zeros. */
static reg load_first(const uint count, global const STORED *p)
{
    float part[WIDTH];

    EDGE
    for (uint i = 0; i < WIDTH; i++)
        part[i] = i < count ? LOAD(p, i) : 0.0f;
    return LOAD_REG(part);
}

/* tile (DOT_ROWS, COLS floats) = the dot products of DOT_ROWS rows of A and DOT_COLS of B; past the
 * last row of either, that one again. */
static void dot_tile(const uint rows, const uint cols, const uint k, global const STORED *a,
                     global const STORED *b, reg *tile)
{
    reg sum[DOT_ROWS][DOT_COLS], x, w[DOT_COLS];
    uint p = 0;

    UNROLL for (uint i = 0; i < DOT_ROWS; i++) UNROLL for (uint j = 0; j < DOT_COLS; j++)
        sum[i][j] = (reg)(0.0f);
    for (; p + WIDTH <= k; p += WIDTH) {
        UNROLL for (uint j = 0; j < DOT_COLS; j++)
            w[j] = LOAD_REG(b + min(j, cols - 1) * (size_t)k + p);
        UNROLL for (uint i = 0; i < DOT_ROWS; i++) {
            x = LOAD_REG(a + min(i, rows - 1) * (size_t)k + p);
            UNROLL for (uint j = 0; j < DOT_COLS; j++) sum[i][j] += x * w[j];
        }
    }
    if (p < k) {
        UNROLL for (uint j = 0; j < DOT_COLS; j++)
            w[j] = load_first(k - p, b + min(j, cols - 1) * (size_t)k + p);
        UNROLL for (uint i = 0; i < DOT_ROWS; i++) {
            x = load_first(k - p, a + min(i, rows - 1) * (size_t)k + p);
            UNROLL for (uint j = 0; j < DOT_COLS; j++) sum[i][j] += x * w[j];
        }
    }
    UNROLL for (uint i = 0; i < DOT_ROWS; i++) UNROLL for (uint j = 0; j < DOT_COLS; j++)
        ((float *)tile)[i * COLS + j] = lanes_sum(sum[i][j]);
}

static void dot_block(const struct finish how, const uint rows, const uint cols, const uint n,
                      const uint k, global const STORED *a, global const STORED *b,
                      global const STORED *bias, global STORED *c)
{
    reg tile[2 * DOT_ROWS];

    for (uint j = 0; j < cols; j += DOT_COLS)
        for (uint i = 0; i < rows; i += DOT_ROWS) {
            const uint tall = min(rows - i, (uint)DOT_ROWS), broad = min(cols - j, (uint)DOT_COLS);

            dot_tile(tall, broad, k, a + i * (size_t)k, b + j * (size_t)k, tile);
            put_part(how, tall, broad, n, tile, bias + j, c + i * (size_t)n + j);
        }
}

/* strips: (mb rounded up to whole strips, A_PITCH); columns: (DEPTH, COLS). dots: A is not
 * transposed, B is, and nothing is packed. */
kernel void gemm_cpu(const uint trans_a, const uint trans_b, const uint dots, const uint m,
                     const uint n, const uint k, const uint mb, const uint nb, const uint kc_most,
                     const float alpha, const uint accumulate, const uint act, const float leaky,
                     const uint has_bias, local reg *strips, local reg *columns,
                     global const STORED *a, const uint a_at, global const STORED *b,
                     const uint b_at, global const STORED *bias, const uint bias_at,
                     global STORED *c, const uint c_at)
{
    const uint i0 = get_global_id(1) * mb, j0 = get_global_id(0) * nb;
    const uint rows = min(mb, m - i0), j_end = min(j0 + nb, n);
    struct finish how = {alpha, leaky, accumulate, 0, 0};

    if (dots) {
        how.act = act;
        how.has_bias = has_bias;
        dot_block(how, rows, j_end - j0, n, k, a + a_at + i0 * (size_t)k, b + b_at + j0 * (size_t)k,
                  bias + bias_at + j0, c + c_at + i0 * (size_t)n + j0);
        return;
    }
    for (uint p0 = 0; p0 < k; p0 += kc_most) {
        const uint kc = min(kc_most, k - p0);

        if (p0 + kc == k) {
            how.act = act;
            how.has_bias = has_bias;
        }
        pack_a(trans_a, m, k, i0, rows, p0, kc, a + a_at, (local float *)strips);
        for (uint j = j0; j < j_end; j += COLS) {
            const uint cols = min((uint)COLS, j_end - j);

            const uint regs = cols > WIDTH ? 2 : 1;

            if (trans_b)
                pack_columns(k, cols, kc, regs, b + b_at + j * (size_t)k + p0, columns);
            else
                pack_plain(n, cols, kc, regs, b + b_at + p0 * (size_t)n + j, columns);
            panel(how, trans_a, rows, cols, n, kc, (local const float *)strips, columns,
                  bias + bias_at + j, c + c_at + i0 * (size_t)n + j);
        }
        how.add = 1;
    }
}
