/* test_safetensors.c - what is written comes back; every rule of the format is broken once, and the
 * sentence looked at. */
#include "base/file.h"
#include "io/safetensors.h"
#include "support/check.h"
#include "support/folder.h"

static struct folder folder;

/* Not by mot__file_write, which waits for the disk: these are thousands. */
static void write_plainly(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static int open_folder(void **state)
{
    (void)state;
    return folder_open(&folder) ? 0 : -1;
}

static int close_folder(void **state)
{
    (void)state;
    folder_close(&folder);
    return 0;
}

static const float weight[2][3] = {{1, -2.5f, 0}, {3e-30f, 7, -0.0f}};
static const float bias[3] = {0.1f, 0.2f, 0.3f};
static const unsigned char mask[3] = {1, 0, 1};
static const uint64_t step = 77;

static const struct mot__tensor_out tensors[] = {
    {"mask", "U8", {1, {3}}, mask},
    {"dense1.weight", "F32", {2, {2, 3}}, weight},
    {"empty", "F32", {2, {0, 5}}, NULL},
    {"dense1.bias", "F32", {1, {3}}, bias},
    {"step \"\xc3\xa9\"", "U64", {0, {0}}, &step},
};
#define TENSORS (sizeof tensors / sizeof *tensors)
static const struct mot__note notes[] = {{"format", "motley"}, {"net", "input 3, \"dense\" 2\n"}};

static const char *write_all(void)
{
    const char *path = folder_path(&folder, "a.safetensors");

    assert_ok(mot__safetensors_write(path, tensors, TENSORS, notes, 2));
    return path;
}

/* ---- there and back -------------------------------------------------------------------------- */

static void what_is_written_comes_back(void **state)
{
    static const char *const order[TENSORS] = {"step \"\xc3\xa9\"", "dense1.bias", "dense1.weight",
                                               "empty", "mask"};
    mot__safetensors *file = NULL;
    const struct mot__tensor_in *found;
    float back[6] = {0};

    (void)state;
    assert_ok(mot__safetensors_open(write_all(), &file));
    assert_int_equal(mot__safetensors_count(file), TENSORS);
    for (size_t i = 0; i < TENSORS; i++) { /* by alignment, then by name */
        const struct mot__tensor_in *tensor = mot__safetensors_get(file, i);

        found = mot__safetensors_find(file, order[i]);
        assert_non_null(found);
        if (tensor->bytes > 0)
            assert_ptr_equal(tensor, found);
        if (strcmp(tensor->dtype, "F32") == 0)
            assert_int_equal(tensor->offset % 4, 0);
    }
    found = mot__safetensors_find(file, "dense1.weight");
    assert_string_equal(found->dtype, "F32");
    assert_int_equal(found->rank, 2);
    assert_int_equal(found->dim[0], 2);
    assert_int_equal(found->dim[1], 3);
    assert_int_equal(found->count, 6);
    assert_int_equal(found->bytes, 24);
    assert_ok(mot__safetensors_read(file, found, back, 6));
    check_bits("weight", back, weight, 6);
    found = mot__safetensors_find(file, "dense1.bias");
    assert_ok(mot__safetensors_read(file, found, back, 3));
    check_bits("bias", back, bias, 3);
    found = mot__safetensors_find(file, "empty");
    assert_int_equal(found->dim[1], 5);
    assert_ok(mot__safetensors_read(file, found, NULL, 0));
    assert_int_equal(mot__safetensors_find(file, order[0])->rank, 0);
    assert_null(mot__safetensors_find(file, "dense2.bias"));
    assert_null(mot__safetensors_get(file, TENSORS));
    assert_int_equal(mot__safetensors_notes(file), 2);
    assert_string_equal(mot__safetensors_note(file, 1).key, "net");
    assert_string_equal(mot__safetensors_note(file, 1).value, "input 3, \"dense\" 2\n");
    mot__safetensors_close(file);
    mot__safetensors_close(NULL);
}

static void the_file_is_what_the_format_says(void **state)
{
    static const char want[] =
        "{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"F32\",\"shape\":[3],"
        "\"data_offsets\":[0,12]},\"a\":{\"dtype\":\"U8\",\"shape\":[3],"
        "\"data_offsets\":[12,15]}}";
    const struct mot__tensor_out two[] = {{"a", "U8", {1, {3}}, mask},
                                          {"b", "F32", {1, {3}}, bias}};
    const struct mot__note note = {"k", "v"};
    const char *path = folder_path(&folder, "b");
    unsigned char *data = NULL;
    size_t bytes, header = (sizeof want - 1 + 7) / 8 * 8;

    (void)state;
    assert_ok(mot__safetensors_write(path, two, 2, &note, 1));
    assert_ok(mot__file_read(path, 1 << 20, (void **)&data, &bytes));
    assert_int_equal(bytes, 8 + header + 15);
    assert_int_equal(data[0], header);
    for (int i = 1; i < 8; i++)
        assert_int_equal(data[i], 0);
    assert_memory_equal(data + 8, want, sizeof want - 1);
    for (size_t i = sizeof want - 1; i < header; i++)
        assert_int_equal(data[8 + i], ' ');
    assert_memory_equal(data + 8 + header, "\xcd\xcc\xcc\x3d", 4); /* 0.1, little-endian */
    assert_memory_equal(data + 8 + header + 12, mask, 3);
    free(data);
}

static void a_file_of_nothing_is_legal(void **state)
{
    const char *path = folder_path(&folder, "none");
    mot__safetensors *file = NULL;

    (void)state;
    assert_ok(mot__safetensors_write(path, NULL, 0, NULL, 0));
    assert_ok(mot__safetensors_open(path, &file));
    assert_int_equal(mot__safetensors_count(file), 0);
    assert_int_equal(mot__safetensors_notes(file), 0);
    mot__safetensors_close(file);
}

static void writing_refuses_what_could_not_be_read(void **state)
{
    static const struct {
        struct mot__tensor_out tensor[2];
        mot_status status;
        const char *words;
    } bad[] = {
        {{{NULL, "F32", {1, {3}}, bias}}, MOT_BAD_ARG, "NULL is no name for a tensor"},
        {{{"__metadata__", "F32", {1, {3}}, bias}}, MOT_BAD_ARG, "__metadata__ is no name"},
        {{{"a", "F33", {1, {3}}, bias}}, MOT_BAD_ARG, "tensor a has the unknown type F33"},
        {{{"a", NULL, {1, {3}}, bias}}, MOT_BAD_ARG, "tensor a has the unknown type NULL"},
        {{{"a", "F32", {7, {3}}, bias}}, MOT_BAD_SHAPE, "tensor a has 7 dimensions"},
        {{{"a", "F32", {2, {SIZE_MAX / 2, 3}}, bias}}, MOT_BAD_SHAPE, "tensor a is too large"},
        {{{"a", "F32", {1, {SIZE_MAX / 8}}, bias}}, MOT_BAD_SHAPE, "tensor a is too large"},
        {{{"a", "F4", {1, {3}}, bias}}, MOT_BAD_SHAPE, "or ends inside a byte"},
        {{{"a", "F32", {1, {3}}, NULL}}, MOT_BAD_ARG, "tensor a has no data"},
        {{{"a\xff", "F32", {1, {3}}, bias}}, MOT_BAD_ARG, "is not text in UTF-8"},
        {{{"a", "F32", {1, {3}}, bias}, {"a", "U8", {1, {3}}, mask}},
         MOT_BAD_ARG,
         "two entries are called a"},
    };
    const struct mot__note half = {"key", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_story(mot__safetensors_write(folder_path(&folder, "bad"), bad[i].tensor,
                                            bad[i].tensor[1].name ? 2 : 1, NULL, 0),
                     bad[i].status, bad[i].words);
    assert_story(mot__safetensors_write(folder_path(&folder, "bad"), NULL, 0, &half, 1),
                 MOT_BAD_ARG, "a note is NULL");
    assert_story(mot__safetensors_write(folder_path(&folder, "no/such/folder"), NULL, 0, NULL, 0),
                 MOT_IO, "cannot write");
    assert_int_equal(folder_count(folder.path), 0); /* nothing is left behind */
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    const char *path = write_all();
    const struct mot__tensor_out bad = {"a", "F33", {1, {3}}, bias};
    mot__safetensors *file = NULL;

    (void)state;
    assert_int_equal(mot__safetensors_write(path, &bad, 1, NULL, 0), MOT_BAD_ARG);
    assert_ok(mot__safetensors_open(path, &file));
    assert_int_equal(mot__safetensors_count(file), TENSORS);
    mot__safetensors_close(file);
    assert_int_equal(folder_count(folder.path), 1);
}

/* ---- each rule, broken ----------------------------------------------------------------------- */

static const char *put(const char *header, size_t length, size_t data)
{
    const char *path = folder_path(&folder, "x");
    unsigned char bytes[4096] = {0};

    assert_true(8 + length + data <= sizeof bytes);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    write_plainly(path, bytes, 8 + length + data);
    return path;
}

#define ENTRY(dtype, shape, begin, end)                                                            \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static const struct {
    const char *header;
    size_t data;
    const char *words;
} unsound[] = {
    {"", 0, "its header does not begin with {"},
    {" {}", 0, "its header does not begin with {"},
    {"[]", 0, "its header does not begin with {"},
    {"{\"a\":}", 0, "its header is not sound JSON"},
    {"{}{}", 0, "its header is not sound JSON"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 4,
     "its header is not sound JSON: duplicate object key"},
    {"{\"a\xff\":1}", 0, "its header is not sound JSON"},
    {"{\"a\\u0000b\":1}", 0, "its header is not sound JSON"},
    {"{\"a\":3}", 0, "tensor a: its entry is not an object"},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor a: its dtype is missing"},
    {"{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "its dtype is missing"},
    {"{\"a\":" ENTRY("F33", "[1]", "0", "4") "}", 4, "tensor a: the dtype F33 is unknown"},
    {"{\"a\":" ENTRY("f32", "[1]", "0", "4") "}", 4, "tensor a: the dtype f32 is unknown"},
    {"{\"a\":" ENTRY("F32", "4", "0", "4") "}", 4, "tensor a: its shape is missing or no list"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "its shape is missing or no list"},
    {"{\"a\":" ENTRY("F32", "[-1]", "0", "4") "}", 4, "a dimension is not a whole number"},
    {"{\"a\":" ENTRY("F32", "[1.0]", "0", "4") "}", 4, "a dimension is not a whole number"},
    {"{\"a\":" ENTRY("F32", "[\"1\"]", "0", "4") "}", 4, "a dimension is not a whole number"},
    {"{\"a\":" ENTRY("F32", "[99999999999999999999]", "0", "4") "}", 4, "not sound JSON"},
    {"{\"a\":" ENTRY("F32", "[4294967296,4294967296]", "0", "4") "}", 4, "shape is too large"},
    {"{\"a\":" ENTRY("F32", "[4611686018427387905]", "0", "4") "}", 4, "its shape is too large"},
    {"{\"a\":" ENTRY("F4", "[3]", "0", "1") "}", 1, "its shape ends inside a byte"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "its data_offsets are missing or not two"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "not two whole numbers"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4,4") "}", 4, "not two whole numbers"},
    {"{\"a\":" ENTRY("F32", "[1]", "-4", "0") "}", 4, "not two whole numbers"},
    {"{\"a\":" ENTRY("F32", "[1]", "4", "0") "}", 4, "its data ends before it begins"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 3,
     "its data ends at 4, but the file holds 3 bytes of data"},
    {"{\"a\":" ENTRY("F32", "[1]", "9223372036854775803", "9223372036854775807") "}", 4,
     "its data ends at 9223372036854775807"},
    {"{\"a\":" ENTRY("F32", "[2]", "0", "4") "}", 4,
     "tensor a: its shape and type need 8 bytes, its data_offsets span 4"},
    {"{\"a\":" ENTRY("F16", "[1]", "0", "4") "}", 4, "its shape and type need 2 bytes"},
    {"{\"a\":" ENTRY("F32", "[1]", "4", "8") "}", 8, "tensor a: a hole lies before its data"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "8", "12") "}", 12,
     "tensor b: a hole lies before its data"},
    {"{\"a\":" ENTRY("F32", "[2]", "0", "8") ",\"b\":" ENTRY("F32", "[1]", "4", "8") "}", 8,
     "tensor b: its data overlaps another's"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "0", "4") "}", 4,
     "its data overlaps another's"},
    {"{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 6, "2 bytes at its end belong to no tensor"},
    {"{}", 1, "1 bytes at its end belong to no tensor"},
    {"{\"__metadata__\":3}", 0, "its __metadata__ is not an object"},
    {"{\"__metadata__\":{\"k\":3}}", 0, "__metadata__ k is not text"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, "__metadata__ k is not text"},
};

static void each_broken_rule_gets_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++) {
        mot__safetensors *file = NULL;

        snprintf(check_where(), CHECK_WHERE_BYTES, "unsound %zu", i);
        assert_story(mot__safetensors_open(
                         put(unsound[i].header, strlen(unsound[i].header), unsound[i].data), &file),
                     MOT_FORMAT, unsound[i].words);
        assert_null(file);
    }
}

static void what_is_unusual_but_legal_is_read(void **state)
{
    static const struct {
        const char *header;
        size_t data;
    } sound[] = {
        {"{}    \n", 0},
        {"{\"b\":" ENTRY("F32", "[1]", "4", "8") ",\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 8},
        {"{\"a\":" ENTRY("F32", "[]", "0", "4") "}", 4},
        {"{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1]", "0", "4") "}", 4},
        {"{\"z\":" ENTRY("F32", "[0,9]", "4", "4") ",\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 4},
        {"{\"a\":" ENTRY("F4", "[2,2]", "0", "2") "}", 2},
        {"{\"a\":" ENTRY("BF16", "[2]", "0", "4") ",\"__metadata__\":{}}", 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        mot__safetensors *file = NULL;

        assert_ok(mot__safetensors_open(
            put(sound[i].header, strlen(sound[i].header), sound[i].data), &file));
        mot__safetensors_close(file);
    }
}

static void other_types_are_listed_but_not_loaded(void **state)
{
    static const char header[] = "{\"a\":" ENTRY("BF16", "[2]", "0", "4") "}";
    mot__safetensors *file = NULL;
    float out[2];

    (void)state;
    assert_ok(mot__safetensors_open(put(header, sizeof header - 1, 4), &file));
    assert_string_equal(mot__safetensors_get(file, 0)->dtype, "BF16");
    assert_story(mot__safetensors_read(file, mot__safetensors_get(file, 0), out, 2),
                 MOT_UNSUPPORTED, "tensor a has type BF16; only F32 can be loaded");
    mot__safetensors_close(file);
    assert_ok(mot__safetensors_open(write_all(), &file));
    assert_story(mot__safetensors_read(file, mot__safetensors_find(file, "dense1.bias"), out, 2),
                 MOT_BAD_SHAPE, "tensor dense1.bias has 3 elements where 2 are needed");
    mot__safetensors_close(file);
}

static void a_header_length_beyond_all_bounds_is_refused(void **state)
{
    const char *path = folder_path(&folder, "x");
    mot__safetensors *file = NULL;

    (void)state;
    write_plainly(path, "\x01\xe1\xf5\x05\0\0\0\0{}", 10); /* 100,000,001 */
    assert_story(mot__safetensors_open(path, &file), MOT_FORMAT,
                 "a header of 100000001 bytes (at most 100000000 are allowed)");
    write_plainly(path, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    assert_story(mot__safetensors_open(path, &file), MOT_FORMAT, "not a safetensors file");
    write_plainly(path, "\x00\xe1\xf5\x05\0\0\0\0{}", 10); /* 100,000,000 */
    assert_story(mot__safetensors_open(path, &file), MOT_FORMAT,
                 "cut short: a header of 100000000 bytes in a file of 10");
    write_plainly(path, "\x02\0\0", 3);
    assert_story(mot__safetensors_open(path, &file), MOT_FORMAT, "3 bytes are too few");
    assert_story(mot__safetensors_open(folder_path(&folder, "none"), &file), MOT_IO,
                 "No such file");
    assert_story(mot__safetensors_open(folder.path, &file), MOT_IO, "not a plain file");
    assert_null(file);
}

static void a_file_cut_at_any_byte_is_refused(void **state)
{
    mot__safetensors *file = NULL;
    void *data = NULL;
    size_t bytes;

    (void)state;
    assert_ok(mot__file_read(write_all(), 1 << 20, &data, &bytes));
    for (size_t i = 0; i < bytes; i++) {
        write_plainly(folder_path(&folder, "x"), data, i);
        if (mot__safetensors_open(folder_path(&folder, "x"), &file) != MOT_FORMAT || file)
            fail_msg("cut to %zu of %zu bytes: %s", i, bytes, mot_error());
    }
    free(data);
}

/* Nothing to judge but that it neither crashes nor reads beyond: sanitizers look on. */
static void a_header_with_any_byte_changed_is_survived(void **state)
{
    unsigned char *data = NULL;
    size_t bytes, refused = 0;

    (void)state;
    assert_ok(mot__file_read(write_all(), 1 << 20, (void **)&data, &bytes));
    for (size_t i = 0; i < bytes; i++) {
        mot__safetensors *file = NULL;
        const unsigned char was = data[i];

        data[i] ^= (unsigned char)(1 + i % 255);
        write_plainly(folder_path(&folder, "x"), data, bytes);
        refused += mot__safetensors_open(folder_path(&folder, "x"), &file) != MOT_OK;
        for (size_t k = 0; file && k < mot__safetensors_count(file); k++) {
            const struct mot__tensor_in *tensor = mot__safetensors_get(file, k);
            float *out = malloc((size_t)tensor->bytes + 1);

            mot__safetensors_read(file, tensor, out, tensor->count);
            free(out);
        }
        mot__safetensors_close(file);
        data[i] = was;
    }
    assert_true(refused > bytes / 3);
    free(data);
}

static void a_file_that_shrinks_while_open_is_told(void **state)
{
    const char *path = write_all();
    mot__safetensors *file = NULL;
    float out[6];

    (void)state;
    assert_ok(mot__safetensors_open(path, &file));
    assert_int_equal(truncate(path, 200), 0);
    assert_story(mot__safetensors_read(file, mot__safetensors_find(file, "dense1.weight"), out, 6),
                 MOT_FORMAT, "became shorter while it was read");
    mot__safetensors_close(file);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_comes_back),
        CASE(the_file_is_what_the_format_says),
        CASE(a_file_of_nothing_is_legal),
        CASE(writing_refuses_what_could_not_be_read),
        CASE(a_failed_write_leaves_the_old_file),
        CASE(each_broken_rule_gets_its_sentence),
        CASE(what_is_unusual_but_legal_is_read),
        CASE(other_types_are_listed_but_not_loaded),
        CASE(a_header_length_beyond_all_bounds_is_refused),
        CASE(a_file_cut_at_any_byte_is_refused),
        CASE(a_header_with_any_byte_changed_is_survived),
        CASE(a_file_that_shrinks_while_open_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
