/* onnx.h - the operator cases of ONNX (Debian: libonnx-testdata; $MOTLEY_ONNX_DATA elsewhere): one
 * node with its attributes, inputs and wanted outputs. Reads of protobuf what these files hold:
 * onnx.proto's ModelProto.graph = 7, GraphProto.node = 1, NodeProto.op_type = 4 and attribute = 5,
 * AttributeProto.name = 1, f = 2, i = 3, s = 4, TensorProto.dims = 1, data_type = 2,
 * raw_data = 9. */
#ifndef MOT_TEST_ONNX_H
#define MOT_TEST_ONNX_H

#include "support/check.h"

#define ONNX_RANK_MAX 8
#define ONNX_TENSORS_MAX 12
#define ONNX_ATTRIBUTES_MAX 8

struct onnx_tensor {
    size_t rank, dim[ONNX_RANK_MAX], count;
    float *f;   /* of a float tensor, else NULL */
    int64_t *i; /* of an int64 tensor, else NULL */
};

struct onnx_attribute {
    char name[40], s[24];
    float f;
    int64_t i;
};

struct onnx_case {
    char name[96], op[40];
    size_t nodes; /* 1, or the case is written out in other operators */
    struct onnx_attribute attribute[ONNX_ATTRIBUTES_MAX];
    size_t attributes, inputs, outputs;
    struct onnx_tensor input[ONNX_TENSORS_MAX], output[ONNX_TENSORS_MAX];
};

/* ---- protobuf ---- */

struct onnx_bytes {
    const unsigned char *at, *end;
};

struct onnx_field {
    unsigned number, wire;
    uint64_t value;          /* wire 0, 1, 5 */
    struct onnx_bytes bytes; /* wire 2 */
};

static inline uint64_t onnx_varint(struct onnx_bytes *in)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        assert_true(in->at < in->end);
        value |= (uint64_t)(*in->at & 0x7f) << shift;
        if (!(*in->at++ & 0x80))
            return value;
    }
    fail_msg("%s: a number without end", check_where());
    return 0;
}

static inline uint64_t onnx_fixed(struct onnx_bytes *in, size_t bytes)
{
    uint64_t value = 0;

    assert_true((size_t)(in->end - in->at) >= bytes);
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}

/* The next field of a message; false at its end. */
static inline bool onnx_next(struct onnx_bytes *in, struct onnx_field *field)
{
    uint64_t key, bytes;

    if (in->at == in->end)
        return false;
    key = onnx_varint(in);
    *field = (struct onnx_field){.number = (unsigned)(key >> 3), .wire = (unsigned)(key & 7)};
    switch (field->wire) {
    case 0:
        field->value = onnx_varint(in);
        return true;
    case 1:
        field->value = onnx_fixed(in, 8);
        return true;
    case 2:
        bytes = onnx_varint(in);
        assert_true(bytes <= (uint64_t)(in->end - in->at));
        field->bytes = (struct onnx_bytes){in->at, in->at + bytes};
        in->at += bytes;
        return true;
    case 5:
        field->value = onnx_fixed(in, 4);
        return true;
    default:
        fail_msg("%s: protobuf wire type %u", check_where(), field->wire);
        return false;
    }
}

static inline float onnx_float(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float value;

    memcpy(&value, &word, sizeof value);
    return value;
}

static inline void onnx_text(struct onnx_bytes bytes, char *out, size_t capacity)
{
    const size_t n = (size_t)(bytes.end - bytes.at);

    assert_true(n < capacity);
    memcpy(out, bytes.at, n);
    out[n] = '\0';
}

/* ---- the messages ---- */

static inline struct onnx_tensor onnx_tensor_of(struct onnx_bytes in)
{
    struct onnx_tensor tensor = {.count = 1};
    struct onnx_bytes raw = {NULL, NULL};
    struct onnx_field field;
    uint64_t type = 0;

    while (onnx_next(&in, &field)) {
        if (field.number == 1 && field.wire == 0) {
            assert_true(tensor.rank < ONNX_RANK_MAX);
            tensor.dim[tensor.rank++] = (size_t)field.value;
        } else if (field.number == 2) {
            type = field.value;
        } else if (field.number == 9) {
            raw = field.bytes;
        } else if (field.number != 8) { /* its name */
            fail_msg("%s: tensor field %u", check_where(), field.number);
        }
    }
    for (size_t d = 0; d < tensor.rank; d++)
        tensor.count *= tensor.dim[d];
    if (type == 1) { /* FLOAT; little-endian, as every machine these tests meet */
        assert_int_equal(raw.end - raw.at, tensor.count * sizeof(float));
        tensor.f = test_alloc(tensor.count, sizeof(float));
        memcpy(tensor.f, raw.at, tensor.count * sizeof(float));
    } else if (type == 7) { /* INT64 */
        assert_int_equal(raw.end - raw.at, tensor.count * sizeof(int64_t));
        tensor.i = test_alloc(tensor.count, sizeof(int64_t));
        memcpy(tensor.i, raw.at, tensor.count * sizeof(int64_t));
    }
    return tensor;
}

static inline void onnx_attribute_of(struct onnx_bytes in, struct onnx_attribute *out)
{
    struct onnx_field field;

    *out = (struct onnx_attribute){.f = 0};
    while (onnx_next(&in, &field)) {
        if (field.number == 1)
            onnx_text(field.bytes, out->name, sizeof out->name);
        else if (field.number == 2)
            out->f = onnx_float(field.value);
        else if (field.number == 3)
            out->i = (int64_t)field.value;
        else if (field.number == 4)
            onnx_text(field.bytes, out->s, sizeof out->s);
    }
}

static inline void onnx_node_of(struct onnx_bytes in, struct onnx_case *out)
{
    struct onnx_field field;

    while (onnx_next(&in, &field)) {
        if (field.number == 4)
            onnx_text(field.bytes, out->op, sizeof out->op);
        if (field.number == 5) {
            assert_true(out->attributes < ONNX_ATTRIBUTES_MAX);
            onnx_attribute_of(field.bytes, &out->attribute[out->attributes++]);
        }
    }
}

/* ---- files ---- */

static inline const char *onnx_folder(void)
{
    const char *set = getenv("MOTLEY_ONNX_DATA");

    return set ? set : "/usr/share/libonnx-testdata/data/node";
}

/* The whole file; NULL: there is none. The caller frees it. */
static inline unsigned char *onnx_read(const char *name, const char *file, struct onnx_bytes *out)
{
    unsigned char *all = test_alloc(1, 1 << 20);
    char path[512];
    FILE *stream;
    size_t n;

    snprintf(path, sizeof path, "%s/%s/%s", onnx_folder(), name, file);
    stream = fopen(path, "rb");
    if (!stream) {
        free(all);
        return NULL;
    }
    n = fread(all, 1, 1 << 20, stream);
    fclose(stream);
    assert_true(n < 1 << 20);
    *out = (struct onnx_bytes){all, all + n};
    return all;
}

static inline size_t onnx_tensors(const char *name, const char *kind, struct onnx_tensor *out)
{
    size_t count = 0;

    for (; count < ONNX_TENSORS_MAX; count++) {
        struct onnx_bytes bytes;
        unsigned char *all;
        char file[64];

        snprintf(file, sizeof file, "test_data_set_0/%s_%zu.pb", kind, count);
        all = onnx_read(name, file, &bytes);
        if (!all)
            break;
        out[count] = onnx_tensor_of(bytes);
        free(all);
    }
    return count;
}

/* Failures name the case from now on. A case that is not there ends the test. */
static inline struct onnx_case *onnx_open(const char *name)
{
    struct onnx_case *out = test_alloc(1, sizeof *out);
    struct onnx_bytes model = {NULL, NULL};
    struct onnx_field field, node;
    unsigned char *all = onnx_read(name, "model.onnx", &model);

    if (!all)
        fail_msg("no %s/%s/model.onnx: install libonnx-testdata or set MOTLEY_ONNX_DATA",
                 onnx_folder(), name);
    snprintf(out->name, sizeof out->name, "%s", name);
    while (onnx_next(&model, &field))
        while (field.number == 7 && onnx_next(&field.bytes, &node))
            if (node.number == 1 && out->nodes++ == 0)
                onnx_node_of(node.bytes, out);
    free(all);
    if (out->nodes == 1) {
        out->inputs = onnx_tensors(name, "input", out->input);
        out->outputs = onnx_tensors(name, "output", out->output);
        assert_true(out->inputs > 0 && out->outputs > 0);
    }
    return out;
}

static inline void onnx_close(struct onnx_case *test)
{
    for (size_t t = 0; t < ONNX_TENSORS_MAX; t++) {
        free(test->input[t].f);
        free(test->input[t].i);
        free(test->output[t].f);
        free(test->output[t].i);
    }
    free(test);
}

/* NULL: the node does not say. */
static inline const struct onnx_attribute *onnx_find(const struct onnx_case *test, const char *name)
{
    for (size_t a = 0; a < test->attributes; a++)
        if (strcmp(test->attribute[a].name, name) == 0)
            return &test->attribute[a];
    return NULL;
}
static inline double onnx_f(const struct onnx_case *test, const char *name, double otherwise)
{
    const struct onnx_attribute *found = onnx_find(test, name);

    return found ? (double)found->f : otherwise;
}
static inline int64_t onnx_i(const struct onnx_case *test, const char *name, int64_t otherwise)
{
    const struct onnx_attribute *found = onnx_find(test, name);

    return found ? found->i : otherwise;
}

/* Move axis to the end: (outer, width, inner) to (outer, inner, width). back: the other way. */
static inline void onnx_axis_last(const float *from, float *to, size_t outer, size_t width,
                                  size_t inner, bool back)
{
    for (size_t o = 0; o < outer; o++)
        for (size_t w = 0; w < width; w++)
            for (size_t i = 0; i < inner; i++) {
                const size_t plain = (o * width + w) * inner + i;
                const size_t moved = (o * inner + i) * width + w;

                if (back)
                    to[plain] = from[moved];
                else
                    to[moved] = from[plain];
            }
}

#endif
