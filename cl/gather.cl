/* gather.cl - out[r] = source[index[r]] as floats, and the label or target words y_out[r] =
 * y[index[r]] with it. Grid: CPU one item per `each` rows; GPU one item per element of (rows, width
 * + y_width). has_index 0: row r is r. */
#if CLASS_CPU
#define GATHER(name, type, VALUE, VALUE8)                                                          \
    kernel void name(const uint rows, const uint width, const uint y_width, const uint each,       \
                     const uint has_index, global const uint *index, const uint index_at,          \
                     global const type *x, const uint x_at, global STORED *out, const uint out_at, \
                     global const uint *y, const uint y_at, global uint *y_out,                    \
                     const uint y_out_at)                                                          \
    {                                                                                              \
        const size_t begin = get_global_id(0) * each, end = min(begin + each, (size_t)rows);       \
                                                                                                   \
        for (size_t r = begin; r < end; r++) {                                                     \
            const size_t s = has_index ? index[index_at + r] : r;                                  \
            global const type *from = x + x_at + s * width;                                        \
            global STORED *to = out + out_at + r * width;                                          \
            uint j = 0;                                                                            \
                                                                                                   \
            for (; j + 8 <= width; j += 8)                                                         \
                STORE8(to, j, VALUE8(from, j));                                                    \
            for (; j < width; j++)                                                                 \
                STORE(to, j, VALUE(from, j));                                                      \
            for (j = 0; j < y_width; j++)                                                          \
                y_out[y_out_at + r * y_width + j] = y[y_at + s * y_width + j];                     \
        }                                                                                          \
    }
#else
#define GATHER(name, type, VALUE, VALUE8)                                                          \
    kernel void name(const uint rows, const uint width, const uint y_width, const uint each,       \
                     const uint has_index, global const uint *index, const uint index_at,          \
                     global const type *x, const uint x_at, global STORED *out, const uint out_at, \
                     global const uint *y, const uint y_at, global uint *y_out,                    \
                     const uint y_out_at)                                                          \
    {                                                                                              \
        const size_t i = get_global_id(0), r = i / (width + y_width),                              \
                     j = i - r * (width + y_width);                                                \
                                                                                                   \
        if (r < rows) {                                                                            \
            const size_t s = has_index ? index[index_at + r] : r;                                  \
                                                                                                   \
            if (j < width)                                                                         \
                STORE(out + out_at, r * width + j, VALUE(x + x_at, s * width + j));                \
            else                                                                                   \
                y_out[y_out_at + r * y_width + j - width] = y[y_at + s * y_width + j - width];     \
        }                                                                                          \
    }
#endif

#define SAME(p, i) ((p)[i])
#define SAME8(p, i) vload8(0, (p) + (i))
#define UNIT(p, i) ((p)[i] * (1.0f / 255.0f))
#define UNIT8(p, i) (convert_float8(vload8(0, (p) + (i))) * (1.0f / 255.0f))
GATHER(gather_f32, float, SAME, SAME8)
GATHER(gather_u8, uchar, UNIT, UNIT8)
