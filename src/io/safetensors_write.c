/* safetensors_write.c - named arrays to one file, atomically: large elements first, then by name,
 * so that each array is aligned; the header padded with spaces to a multiple of 8. */
#include "io/safetensors.h"

#include "base/file.h"
#include "base/size.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 8192

struct item {
    const struct mot__tensor_out *tensor;
    size_t bits, bytes;
};

static mot_status check_tensor(const char *path, const struct mot__tensor_out *tensor,
                               struct item *out)
{
    size_t count = 1, bits;

    if (!tensor->name || strcmp(tensor->name, "__metadata__") == 0)
        return mot__fail(MOT_BAD_ARG, "cannot write %s: %s is no name for a tensor", path,
                         tensor->name ? tensor->name : "NULL");
    out->tensor = tensor;
    out->bits = tensor->dtype ? mot__safetensors_bits(tensor->dtype) : 0;
    if (out->bits == 0)
        return mot__fail(MOT_BAD_ARG, "cannot write %s: tensor %s has the unknown type %s", path,
                         tensor->name, tensor->dtype ? tensor->dtype : "NULL");
    if (tensor->shape.rank > MOT_RANK_MAX)
        return mot__fail(MOT_BAD_SHAPE, "cannot write %s: tensor %s has %zu dimensions", path,
                         tensor->name, tensor->shape.rank);
    for (size_t i = 0; i < tensor->shape.rank; i++)
        if (!mot__size_mul(count, tensor->shape.dim[i], &count))
            return mot__fail(MOT_BAD_SHAPE, "cannot write %s: tensor %s is too large", path,
                             tensor->name);
    if (!mot__size_mul(count, out->bits, &bits) || bits % 8 != 0)
        return mot__fail(MOT_BAD_SHAPE,
                         "cannot write %s: tensor %s is too large or ends inside a byte", path,
                         tensor->name);
    out->bytes = bits / 8;
    if (!tensor->data && out->bytes > 0)
        return mot__fail(MOT_BAD_ARG, "cannot write %s: tensor %s has no data", path, tensor->name);
    return MOT_OK;
}

static int by_size_and_name(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    if (left->bits != right->bits)
        return left->bits < right->bits ? 1 : -1;
    return strcmp(left->tensor->name, right->tensor->name);
}

static mot_status collect(const char *path, const struct mot__tensor_out *tensor, size_t count,
                          struct item *item)
{
    for (size_t i = 0; i < count; i++) {
        const mot_status status = check_tensor(path, &tensor[i], &item[i]);

        if (status != MOT_OK)
            return status;
    }
    if (count > 1)
        qsort(item, count, sizeof *item, by_size_and_name);
    return MOT_OK;
}

static json_t *json_of_tensor(const struct item *item, size_t begin)
{
    const struct mot_shape *shape = &item->tensor->shape;
    json_t *dims = json_array();

    for (size_t i = 0; dims && i < shape->rank; i++)
        if (json_array_append_new(dims, json_integer((json_int_t)shape->dim[i])) != 0) {
            json_decref(dims);
            dims = NULL;
        }
    if (!dims)
        return NULL;
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", item->tensor->dtype, "shape", dims,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + item->bytes));
}

/* jansson refuses names that are not UTF-8 by giving no object. */
static mot_status add_key(const char *path, json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key)) {
        json_decref(value);
        return mot__fail(MOT_BAD_ARG, "cannot write %s: two entries are called %s", path, key);
    }
    if (json_object_set_new(object, key, value) != 0) /* value may be NULL */
        return mot__fail(MOT_BAD_ARG,
                         "cannot write %s: entry %s is not text in UTF-8, or no memory", path, key);
    return MOT_OK;
}

static mot_status add_notes(const char *path, json_t *header, const struct mot__note *note,
                            size_t notes)
{
    mot_status status = MOT_OK;
    json_t *pairs = json_object();

    if (!pairs)
        return mot__fail(MOT_NO_MEMORY, "cannot write %s: no memory", path);
    for (size_t i = 0; i < notes; i++) {
        if (!note[i].key || !note[i].value)
            MOT_TRY(mot__fail(MOT_BAD_ARG, "cannot write %s: a note is NULL", path));
        MOT_TRY(add_key(path, pairs, note[i].key, json_string(note[i].value)));
    }
    if (notes > 0)
        status = add_key(path, header, "__metadata__", json_incref(pairs));
done:
    json_decref(pairs);
    return status;
}

static mot_status add_tensors(const char *path, json_t *header, const struct item *item,
                              size_t count)
{
    size_t begin = 0;

    for (size_t i = 0; i < count; i++) {
        const mot_status status =
            add_key(path, header, item[i].tensor->name, json_of_tensor(&item[i], begin));

        if (status != MOT_OK)
            return status;
        if (!mot__size_add(begin, item[i].bytes, &begin) || begin > INT64_MAX)
            return mot__fail(MOT_BAD_SHAPE, "cannot write %s: the tensors are too large", path);
    }
    return MOT_OK;
}

static mot_status make_header(const char *path, const struct item *item, size_t count,
                              const struct mot__note *note, size_t notes, char **out)
{
    mot_status status = MOT_OK;
    json_t *header = json_object();
    char *text = NULL;

    if (!header)
        return mot__fail(MOT_NO_MEMORY, "cannot write %s: no memory for its header", path);
    MOT_TRY(add_notes(path, header, note, notes));
    MOT_TRY(add_tensors(path, header, item, count));
    text = json_dumps(header, JSON_COMPACT);
    if (!text)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "cannot write %s: no memory for its header", path));
    *out = text;
done:
    json_decref(header);
    return status;
}

static mot_status write_header(mot__writer *writer, const char *path, const char *text)
{
    const size_t used = strlen(text), padded = mot__size_round_up(used, 8);
    unsigned char length[8];
    mot_status status = MOT_OK;

    if (padded > MOT__SAFETENSORS_HEADER_MAX)
        return mot__fail(MOT_BAD_ARG,
                         "cannot write %s: a header of %zu bytes; the format allows %u", path,
                         padded, MOT__SAFETENSORS_HEADER_MAX);
    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)padded >> 8 * i & 255);
    MOT_TRY(mot__writer_add(writer, length, sizeof length));
    MOT_TRY(mot__writer_add(writer, text, used));
    MOT_TRY(mot__writer_add(writer, "       ", padded - used));
done:
    return status;
}

static bool host_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* The file is little-endian: on a big-endian host each element is turned round, a chunk at a time.
 */
static mot_status write_data(mot__writer *writer, const struct item *item)
{
    /* a complex number is two of 32 bits */
    const size_t size = strcmp(item->tensor->dtype, "C64") == 0 ? 4 : item->bits / 8;
    const unsigned char *data = item->tensor->data;
    unsigned char chunk[CHUNK_BYTES]; /* a multiple of any element */
    mot_status status = MOT_OK;

    if (size <= 1 || !host_is_big())
        return mot__writer_add(writer, data, item->bytes);
    for (size_t at = 0; status == MOT_OK && at < item->bytes; at += sizeof chunk) {
        const size_t bytes = mot__size_min(sizeof chunk, item->bytes - at);

        for (size_t i = 0; i < bytes; i++)
            chunk[i] = data[at + i / size * size + (size - 1 - i % size)];
        status = mot__writer_add(writer, chunk, bytes);
    }
    return status;
}

mot_status mot__safetensors_write(const char *path, const struct mot__tensor_out *tensor,
                                  size_t count, const struct mot__note *note, size_t notes)
{
    mot_status status = MOT_OK;
    struct item *item = calloc(count ? count : 1, sizeof *item);
    mot__writer *writer = NULL;
    char *header = NULL;

    if (!item)
        return mot__fail(MOT_NO_MEMORY, "cannot write %s: no memory for %zu tensors", path, count);
    MOT_TRY(collect(path, tensor, count, item));
    MOT_TRY(make_header(path, item, count, note, notes, &header));
    MOT_TRY(mot__writer_open(path, &writer));
    MOT_TRY(write_header(writer, path, header));
    for (size_t i = 0; i < count; i++)
        MOT_TRY(write_data(writer, &item[i]));
    MOT_TRY(mot__writer_commit(writer));
done:
    mot__writer_close(writer);
    free(header);
    free(item);
    return status;
}
