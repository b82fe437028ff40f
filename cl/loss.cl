/* loss.cl - the loss of each row with its gradient, and the record of the step.
 * Grid of the rows: one item per `each` rows, or (_team, wide rows on GPUs) one group of TEAM items
 * per row. Every pass of an item touches the same columns, so dx may be x. */
#define KIND_LOGITS 0 /* numbers as in enum mot__loss_kind */
#define KIND_PROBABILITIES 1
#define KIND_SQUARES 2
#define NO_LABEL (-1)
#ifndef KIND /* one program for each, so that no device compiles what it does not use */
#define KIND KIND_LOGITS
#endif

struct row {
    struct team team;
    uint width;
    global const STORED *x;
    int label; /* NO_LABEL: targets */
    global const STORED *targets;
    float scale;
    uint wants_dx;
    global STORED *dx;
};

/* Targets of the columns from j on; a label is a row with one 1. Past the end: 0. */
static vec target_at(const struct row row, const uint j)
{
    if (row.label != NO_LABEL)
        return VEC_INDEX + (int)j == row.label ? (vec)(1.0f) : (vec)(0.0f);
    return load_part(row.targets, j, row.width, 0.0f);
}

/* Largest output and largest target of the row. */
static float2 row_tops(const struct row row)
{
    vec x = (vec)(-INFINITY), t = (vec)(-INFINITY);

    for (uint j = row.team.me * VEC; j < row.width; j += row.team.size * VEC) {
        x = fmax(x, load_part(row.x, j, row.width, -INFINITY));
        if (row.label == NO_LABEL)
            t = fmax(t, load_part(row.targets, j, row.width, -INFINITY));
    }
    return (float2)(team_max(row.team, x), row.label == NO_LABEL ? team_max(row.team, t) : 1.0f);
}

/* 1 if the first of the largest outputs is the label or has the largest target; first is minus its
 * column. */
static float row_correct(const struct row row, const vec first, const float top_target)
{
    const float column = -team_max(row.team, first);

    if (!(column < (float)row.width)) /* no largest: a NaN */
        return 0.0f;
    if (row.label != NO_LABEL)
        return (int)column == row.label;
    return LOAD(row.targets, (uint)column) == top_target;
}

/* Minus the column of each output that is the largest; kept as a float, exact below 2^24. */
static vec minus_column(const vec x, const float top, const uint j)
{
#if CLASS_CPU
    return x == top ? -convert_float8(VEC_INDEX + (int)j) : (vec)(-INFINITY);
#else
    return x == top ? -(float)j : -INFINITY;
#endif
}

/* loss = sum t * (log sum exp(x - top) - (x - top)): nothing is subtracted that could cancel. dx
 * holds the exponentials between the two passes. */
static float2 logits_row(const struct row row)
{
    const float2 top = row_tops(row);
    vec e_sum = (vec)(0.0f), t_sum = (vec)(0.0f), td_sum = (vec)(0.0f), first = (vec)(-INFINITY);
    float sum, weight, correct, loss, factor;

    for (uint j = row.team.me * VEC; j < row.width; j += row.team.size * VEC) {
        const vec x = load_part(row.x, j, row.width, -INFINITY), t = target_at(row, j);
        const vec d = x - top.x, e = exp(d);

        e_sum += e;
        t_sum += t;
        td_sum += t == 0.0f ? (vec)(0.0f) : t * d; /* 0 * -inf is no NaN here */
        first = fmax(first, minus_column(x, top.x, j));
        if (row.wants_dx)
            store_part(row.dx, j, row.width, e);
    }
    sum = team_sum(row.team, e_sum);
    weight = team_sum(row.team, t_sum);
    loss = weight * log(sum) - team_sum(row.team, td_sum);
    correct = row_correct(row, first, top.y);
    if (!row.wants_dx)
        return (float2)(loss, correct);
    factor = weight / sum;
    for (uint j = row.team.me * VEC; j < row.width; j += row.team.size * VEC) {
        const vec e = load_part(row.dx, j, row.width, 0.0f);

        store_part(row.dx, j, row.width, (e * factor - target_at(row, j)) * row.scale);
    }
    return (float2)(loss, correct);
}

/* loss = -sum t * log x, x kept in [low, high]; where it was outside the slope is 0. */
static float2 probabilities_row(const struct row row)
{
    const float low = 1e-7f, high = 1.0f - 1e-7f;
    const float2 top = row_tops(row);
    vec sum = (vec)(0.0f), first = (vec)(-INFINITY);
    float loss;

    for (uint j = row.team.me * VEC; j < row.width; j += row.team.size * VEC) {
        const vec x = load_part(row.x, j, row.width, 0.5f), t = target_at(row, j);
        const vec q = x < low ? (vec)(low) : (x > high ? (vec)(high) : x); /* a NaN stays one */

        sum += t == 0.0f ? (vec)(0.0f) : t * log(q);
        first = fmax(first, minus_column(x, top.x, j));
        if (row.wants_dx)
            store_part(row.dx, j, row.width,
                       ((x < low) | (x > high) | (t == 0.0f)) ? (vec)(0.0f) : -t / q * row.scale);
    }
    loss = -team_sum(row.team, sum);
    return (float2)(loss, row_correct(row, first, top.y));
}

/* loss = mean of (x - t)^2 over the width. */
static float2 squares_row(const struct row row)
{
    const float factor = 2.0f / (float)row.width * row.scale;
    vec sum = (vec)(0.0f);

    for (uint j = row.team.me * VEC; j < row.width; j += row.team.size * VEC) {
        const vec d = load_part(row.x, j, row.width, 0.0f) - target_at(row, j);

        sum += d * d;
        if (row.wants_dx)
            store_part(row.dx, j, row.width, d * factor);
    }
    return (float2)(team_sum(row.team, sum) / (float)row.width, 0.0f);
}

/* A label that is no class makes the row's loss NaN; the record counts it as bad. Inlined by
 * demand: a call would pass the row through private memory. */
static __attribute__((always_inline)) float2 loss_of_row(const struct row row)
{
#if KIND == KIND_LOGITS
    float2 result = logits_row(row);
#elif KIND == KIND_PROBABILITIES
    float2 result = probabilities_row(row);
#else
    float2 result = squares_row(row);
#endif

    if (row.label >= (int)row.width || row.label < NO_LABEL)
        result = (float2)(NAN, 0.0f);
    return isfinite(result.x) ? result : (float2)(result.x, 0.0f);
}

/* Row r of the arguments that both kernels take. */
#define ROW(r, team_)                                                                              \
    {                                                                                              \
        team_, width, x + x_at + (r)*width,                                                        \
            has_labels ? label_of(labels[labels_at + (r)]) : NO_LABEL,                             \
            targets + targets_at + (r)*width, scale, wants_dx, dx + dx_at + (r)*width              \
    }

static int label_of(const uint label)
{
    return label > 0x7ffffffeu ? 0x7ffffffe : (int)label;
}

kernel void loss_rows(const uint rows, const uint width, const uint each, const uint has_labels,
                      const uint wants_dx, const float scale, global const STORED *x,
                      const uint x_at, global const uint *labels, const uint labels_at,
                      global const STORED *targets, const uint targets_at, global STORED *dx,
                      const uint dx_at, global float *out, const uint out_at)
{
    const struct team alone = {0, 1, 0};
    const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)rows);

    for (size_t r = begin; r < end; r++) {
        const struct row row = ROW(r, alone);

        vstore2(loss_of_row(row), r, out + out_at);
    }
}

#if !CLASS_CPU
kernel void loss_rows_team(const uint rows, const uint width, const uint each,
                           const uint has_labels, const uint wants_dx, const float scale,
                           global const STORED *x, const uint x_at, global const uint *labels,
                           const uint labels_at, global const STORED *targets,
                           const uint targets_at, global STORED *dx, const uint dx_at,
                           global float *out, const uint out_at)
{
    local float scratch[TEAM];
    const struct team team = {get_local_id(0), TEAM, scratch};
    const size_t r = get_group_id(0);
    const struct row row = ROW(r, team);
    const float2 result = loss_of_row(row);

    if (team.me == 0)
        vstore2(result, r, out + out_at);
}
#endif

/* The record, by one group of any size: lane l of SUM_LANES adds rows l, l + SUM_LANES, ... in
 * order, then a fixed tree adds the lanes. Lanes are not items, so every device and group size adds
 * in the same order. */
#define SUM_LANES 128

kernel void loss_record(const uint rows, const uint accumulate, global const float *row,
                        const uint row_at, global float *record, const uint record_at)
{
    local float loss[SUM_LANES], correct[SUM_LANES], bad[SUM_LANES];
    const uint me = get_local_id(0), items = get_local_size(0);

    for (uint lane = me; lane < SUM_LANES; lane += items) {
        float loss_sum = 0.0f, correct_sum = 0.0f, bad_sum = 0.0f;

        for (size_t r = lane; r < rows; r += SUM_LANES) {
            const float2 v = vload2(r, row + row_at);

            if (isfinite(v.x))
                loss_sum += v.x;
            else
                bad_sum += 1.0f;
            correct_sum += v.y;
        }
        loss[lane] = loss_sum;
        correct[lane] = correct_sum;
        bad[lane] = bad_sum;
    }
    for (uint half_lanes = SUM_LANES / 2; half_lanes > 0; half_lanes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint lane = me; lane < half_lanes; lane += items) {
            loss[lane] += loss[lane + half_lanes];
            correct[lane] += correct[lane + half_lanes];
            bad[lane] += bad[lane + half_lanes];
        }
    }
    if (me == 0) {
        const float4 sum = (float4)(loss[0], correct[0], (float)rows, bad[0]);

        vstore4(accumulate ? vload4(0, record + record_at) + sum : sum, 0, record + record_at);
    }
}
