/* safetensors.c - named arrays from one file. Every rule of the format is held up against the file
 * before a tensor is listed: nothing the header says is used to allocate or to seek until it has
 * been found possible. */
#include "io/safetensors.h"

#include "base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t bits;
} dtypes[] = {
    {"F32", 32},        {"F16", 16},        {"BF16", 16},   {"F64", 64},    {"U8", 8},
    {"I8", 8},          {"U16", 16},        {"I16", 16},    {"U32", 32},    {"I32", 32},
    {"U64", 64},        {"I64", 64},        {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8},     {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

struct mot__safetensors {
    char *path;
    int descriptor;
    uint64_t bytes; /* of the file */
    uint64_t start; /* of the data */
    json_t *header; /* owns all names */
    struct mot__tensor_in *tensor;
    size_t *dims; /* of all tensors, one after another */
    size_t count;
    struct mot__note *note;
    size_t notes;
};

size_t mot__safetensors_bits(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, dtype) == 0)
            return dtypes[i].bits;
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static mot_status fail_errno(const char *path, int error)
{
    char reason[128] = "unknown error";

    strerror_r(error, reason, sizeof reason);
    return mot__fail(MOT_IO, "cannot read %s: %s", path, reason);
}

static mot_status read_at(const mot__safetensors *file, uint64_t offset, void *out, size_t bytes)
{
    const size_t most = (size_t)1 << 30; /* some systems refuse 2 GB at once */
    size_t used = 0;

    while (used < bytes) {
        const ssize_t got = pread(file->descriptor, (char *)out + used,
                                  mot__size_min(bytes - used, most), (off_t)(offset + used));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(file->path, errno);
        if (got == 0)
            return mot__fail(MOT_FORMAT, "%s: became shorter while it was read", file->path);
        used += (size_t)got;
    }
    return MOT_OK;
}

static mot_status open_file(mot__safetensors *file)
{
    struct stat about;

    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0 || fstat(file->descriptor, &about) != 0)
        return fail_errno(file->path, errno);
    if (!S_ISREG(about.st_mode))
        return mot__fail(MOT_IO, "cannot read %s: not a plain file", file->path);
    file->bytes = (uint64_t)about.st_size;
    return MOT_OK;
}

static mot_status read_header(mot__safetensors *file)
{
    mot_status status = MOT_OK;
    unsigned char head[8];
    uint64_t length = 0;
    json_error_t error;
    char *text = NULL;

    if (file->bytes < sizeof head)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: %llu bytes are too few for a safetensors file",
                          file->path, (unsigned long long)file->bytes));
    MOT_TRY(read_at(file, 0, head, sizeof head));
    for (unsigned i = 0; i < 8; i++)
        length |= (uint64_t)head[i] << 8 * i;
    if (length > MOT__SAFETENSORS_HEADER_MAX)
        MOT_TRY(mot__fail(MOT_FORMAT,
                          "%s: not a safetensors file, or a header of %llu bytes (at "
                          "most %u are allowed)",
                          file->path, (unsigned long long)length, MOT__SAFETENSORS_HEADER_MAX));
    if (length > file->bytes - sizeof head)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: cut short: a header of %llu bytes in a file of %llu",
                          file->path, (unsigned long long)length, (unsigned long long)file->bytes));
    text = malloc((size_t)length + 1);
    if (!text)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "%s: no %llu bytes for its header", file->path,
                          (unsigned long long)length));
    MOT_TRY(read_at(file, sizeof head, text, (size_t)length));
    if (length == 0 || text[0] != '{')
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: its header does not begin with {", file->path));
    file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!file->header)
        MOT_TRY(mot__fail(MOT_FORMAT, "%s: its header is not sound JSON: %s (at byte %d)",
                          file->path, error.text, error.position));
    file->start = sizeof head + length;
done:
    free(text);
    return status;
}

/* ---- the header ------------------------------------------------------------------------------ */

/* A whole number that is not negative and fits; jansson refuses those beyond 63 bits itself. */
static bool get_size(const json_t *value, size_t *out)
{
    const json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uintmax_t)number > SIZE_MAX)
        return false;
    *out = (size_t)number;
    return true;
}

static mot_status fail_tensor(const mot__safetensors *file, const char *name, const char *what)
{
    return mot__fail(MOT_FORMAT, "%s: tensor %s: %s", file->path, name, what);
}

/* Dimensions go to dim (rank), which has room for them. */
static mot_status read_shape(const mot__safetensors *file, const char *name, const json_t *shape,
                             size_t *dim, struct mot__tensor_in *out)
{
    if (!json_is_array(shape))
        return fail_tensor(file, name, "its shape is missing or no list");
    out->rank = json_array_size(shape);
    out->dim = dim;
    out->count = 1;
    for (size_t i = 0; i < out->rank; i++) {
        if (!get_size(json_array_get(shape, i), &dim[i]))
            return fail_tensor(file, name, "a dimension is not a whole number of 0 or more");
        if (!mot__size_mul(out->count, dim[i], &out->count))
            return fail_tensor(file, name, "its shape is too large");
    }
    return MOT_OK;
}

static mot_status read_offsets(const mot__safetensors *file, const char *name,
                               const json_t *offsets, size_t bits, struct mot__tensor_in *out)
{
    const uint64_t space = file->bytes - file->start;
    size_t begin, end, want;

    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !get_size(json_array_get(offsets, 0), &begin) ||
        !get_size(json_array_get(offsets, 1), &end))
        return fail_tensor(file, name, "its data_offsets are missing or not two whole numbers");
    if (begin > end)
        return fail_tensor(file, name, "its data ends before it begins");
    if (end > space)
        return mot__fail(MOT_FORMAT,
                         "%s: tensor %s: its data ends at %zu, but the file holds %llu bytes of "
                         "data",
                         file->path, name, end, (unsigned long long)space);
    if (!mot__size_mul(out->count, bits, &want))
        return fail_tensor(file, name, "its shape is too large");
    if (want % 8 != 0)
        return fail_tensor(file, name, "its shape ends inside a byte");
    if (want / 8 != end - begin)
        return mot__fail(MOT_FORMAT,
                         "%s: tensor %s: its shape and type need %zu bytes, its data_offsets span "
                         "%zu",
                         file->path, name, want / 8, end - begin);
    out->bytes = end - begin;
    out->offset = file->start + begin;
    return MOT_OK;
}

static mot_status read_entry(const mot__safetensors *file, const char *name, const json_t *entry,
                             size_t *dim, struct mot__tensor_in *out)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const size_t bits = dtype ? mot__safetensors_bits(dtype) : 0;
    mot_status status = MOT_OK;

    if (!json_is_object(entry))
        return fail_tensor(file, name, "its entry is not an object");
    if (!dtype)
        return fail_tensor(file, name, "its dtype is missing or no text");
    if (bits == 0)
        return mot__fail(MOT_FORMAT, "%s: tensor %s: the dtype %s is unknown", file->path, name,
                         dtype);
    out->name = name;
    out->dtype = dtype;
    MOT_TRY(read_shape(file, name, json_object_get(entry, "shape"), dim, out));
    MOT_TRY(read_offsets(file, name, json_object_get(entry, "data_offsets"), bits, out));
done:
    return status;
}

static int by_offset(const void *a, const void *b)
{
    const struct mot__tensor_in *left = a, *right = b;

    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes; /* empty ones first */
}

/* One after another from the start to the end of the file. */
static mot_status check_cover(const mot__safetensors *file)
{
    uint64_t at = file->start;

    for (size_t i = 0; i < file->count; i++) {
        const struct mot__tensor_in *tensor = &file->tensor[i];

        if (tensor->offset < at)
            return fail_tensor(file, tensor->name, "its data overlaps another's");
        if (tensor->offset > at)
            return fail_tensor(file, tensor->name, "a hole lies before its data");
        at += tensor->bytes;
    }
    if (at != file->bytes)
        return mot__fail(MOT_FORMAT, "%s: %llu bytes at its end belong to no tensor", file->path,
                         (unsigned long long)(file->bytes - at));
    return MOT_OK;
}

static mot_status read_notes(mot__safetensors *file, json_t *pairs)
{
    const char *key;
    json_t *value;

    if (!json_is_object(pairs))
        return mot__fail(MOT_FORMAT, "%s: its __metadata__ is not an object", file->path);
    file->note = calloc(json_object_size(pairs) + 1, sizeof *file->note);
    if (!file->note)
        return mot__fail(MOT_NO_MEMORY, "%s: no memory for its notes", file->path);
    json_object_foreach(pairs, key, value)
    {
        if (!json_is_string(value))
            return mot__fail(MOT_FORMAT, "%s: __metadata__ %s is not text", file->path, key);
        file->note[file->notes].key = key;
        file->note[file->notes++].value = json_string_value(value);
    }
    return MOT_OK;
}

/* How many dimensions all tensors have together; what is no list has none. */
static size_t count_dims(json_t *header)
{
    const char *key;
    json_t *entry;
    size_t count = 0;

    json_object_foreach(header, key, entry) count +=
        json_array_size(json_object_get(entry, "shape"));
    return count;
}

static mot_status read_entries(mot__safetensors *file)
{
    mot_status status = MOT_OK;
    const char *name;
    json_t *entry;
    size_t *dim;

    file->tensor = calloc(json_object_size(file->header) + 1, sizeof *file->tensor);
    file->dims = calloc(count_dims(file->header) + 1, sizeof *file->dims);
    if (!file->tensor || !file->dims)
        return mot__fail(MOT_NO_MEMORY, "%s: no memory for its list of tensors", file->path);
    dim = file->dims;
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            MOT_TRY(read_notes(file, entry));
            continue;
        }
        MOT_TRY(read_entry(file, name, entry, dim, &file->tensor[file->count]));
        dim += file->tensor[file->count++].rank;
    }
    if (file->count > 1)
        qsort(file->tensor, file->count, sizeof *file->tensor, by_offset);
    status = check_cover(file);
done:
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

mot_status mot__safetensors_open(const char *path, mot__safetensors **out)
{
    mot_status status = MOT_OK;
    mot__safetensors *file = calloc(1, sizeof *file);

    if (!file)
        return mot__fail(MOT_NO_MEMORY, "%s: no %zu bytes to read it", path, sizeof *file);
    file->descriptor = -1;
    file->path = strdup(path);
    if (!file->path)
        MOT_TRY(mot__fail(MOT_NO_MEMORY, "%s: no memory to read it", path));
    MOT_TRY(open_file(file));
    MOT_TRY(read_header(file));
    MOT_TRY(read_entries(file));

    *out = file;
    file = NULL; /* the caller's now */
done:
    mot__safetensors_close(file);
    return status;
}

void mot__safetensors_close(mot__safetensors *file)
{
    if (!file)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    json_decref(file->header);
    free(file->tensor);
    free(file->dims);
    free(file->note);
    free(file->path);
    free(file);
}

size_t mot__safetensors_count(const mot__safetensors *file)
{
    return file->count;
}

const struct mot__tensor_in *mot__safetensors_get(const mot__safetensors *file, size_t index)
{
    return index < file->count ? &file->tensor[index] : NULL;
}

const struct mot__tensor_in *mot__safetensors_find(const mot__safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensor[i].name, name) == 0)
            return &file->tensor[i];
    return NULL;
}

size_t mot__safetensors_notes(const mot__safetensors *file)
{
    return file->notes;
}

struct mot__note mot__safetensors_note(const mot__safetensors *file, size_t index)
{
    return index < file->notes ? file->note[index] : (struct mot__note){0};
}

/* Little-endian to the machine's, in place; nothing to do where they are the same. */
static void to_host(float *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char byte[4];
        uint32_t word;

        memcpy(byte, &value[i], sizeof byte);
        word = (uint32_t)byte[3] << 24 | (uint32_t)byte[2] << 16 | (uint32_t)byte[1] << 8 | byte[0];
        memcpy(&value[i], &word, sizeof word);
    }
}

mot_status mot__safetensors_read(mot__safetensors *file, const struct mot__tensor_in *tensor,
                                 float *out, size_t count)
{
    mot_status status = MOT_OK;

    if (strcmp(tensor->dtype, "F32") != 0)
        return mot__fail(MOT_UNSUPPORTED, "%s: tensor %s has type %s; only F32 can be loaded",
                         file->path, tensor->name, tensor->dtype);
    if (count != tensor->count)
        return mot__fail(MOT_BAD_SHAPE, "%s: tensor %s has %zu elements where %zu are needed",
                         file->path, tensor->name, tensor->count, count);
    MOT_TRY(read_at(file, tensor->offset, out, (size_t)tensor->bytes));
    to_host(out, count);
done:
    return status;
}
