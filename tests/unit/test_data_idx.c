/* test_data_idx.c - IDX files, sound and unsound: every bad one is built here and its sentence
 * looked at. */
#include "data/data.h"
#include "data/idx.h"
#include "support/check.h"
#include "support/folder.h"

#include <zlib.h>

static struct folder folder;

/* Not by mot__file_write, which waits for the disk: these are thousands. */
static void write_plainly(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* ---- making files ---------------------------------------------------------------------------- */

struct bytes {
    unsigned char at[1 << 16];
    size_t used;
};

static void add(struct bytes *bytes, const void *data, size_t count)
{
    assert_true(bytes->used + count <= sizeof bytes->at);
    if (count > 0)
        memcpy(bytes->at + bytes->used, data, count);
    bytes->used += count;
}

static void add_u32(struct bytes *bytes, uint32_t value)
{
    const unsigned char four[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                   (unsigned char)(value >> 8), (unsigned char)value};

    add(bytes, four, 4);
}

/* Images of h x w whose pixel j of image i is 7 i + j. */
static void make_images(struct bytes *out, uint32_t count, uint32_t h, uint32_t w)
{
    out->used = 0;
    add_u32(out, 0x803);
    add_u32(out, count);
    add_u32(out, h);
    add_u32(out, w);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < h * w; j++)
            add(out, &(unsigned char){(unsigned char)(7 * i + j)}, 1);
}

/* Labels 0, 1, 2 ... below classes. */
static void make_labels(struct bytes *out, uint32_t count, unsigned classes)
{
    out->used = 0;
    add_u32(out, 0x801);
    add_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        add(out, &(unsigned char){(unsigned char)(i % classes)}, 1);
}

static void pack(const struct bytes *in, struct bytes *out)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in->at;
    z.avail_in = (uInt)in->used;
    z.next_out = out->at;
    z.avail_out = sizeof out->at;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->used = (size_t)z.total_out;
    deflateEnd(&z);
}

static const char *put(const char *name, const struct bytes *bytes)
{
    const char *path = folder_path(&folder, name);

    write_plainly(path, bytes->at, bytes->used);
    return path;
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

/* ---- sound files ----------------------------------------------------------------------------- */

static void check_set(mot_data *data, size_t count)
{
    const struct mot__samples *samples = mot__data_samples(data);

    assert_int_equal(mot_data_count(data), count);
    assert_int_equal(mot_data_shape(data).rank, 3);
    assert_int_equal(mot_data_shape(data).dim[0], 1);
    assert_int_equal(mot_data_shape(data).dim[1], 4);
    assert_int_equal(mot_data_shape(data).dim[2], 3);
    assert_int_equal(mot_data_classes(data), 5);
    assert_int_equal(samples->width, 12);
    assert_int_equal(samples->dtype, MOT_DTYPE_U8);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(samples->labels[i], i % 5);
        for (size_t j = 0; j < 12; j++)
            assert_int_equal(((const unsigned char *)samples->x)[i * 12 + j],
                             (unsigned char)(7 * i + j));
    }
}

static void reads_plain_and_packed_files_under_both_names(void **state)
{
    struct bytes plain, packed;

    (void)state;
    for (int f = 0; f < 4; f++) {
        mot_data *train = NULL, *test = NULL;
        char name[4][64];

        for (int k = 0; k < 4; k++) {
            const uint32_t count = k < 2 ? 11 : 6;

            snprintf(name[k], sizeof name[k], "%s-%s%sidx%d-ubyte%s", k < 2 ? "train" : "t10k",
                     k % 2 ? "labels" : "images", f / 2 ? "." : "-", k % 2 ? 1 : 3,
                     f % 2 ? ".gz" : "");
            if (k % 2)
                make_labels(&plain, count, 5);
            else
                make_images(&plain, count, 4, 3);
            pack(&plain, &packed);
            put(name[k], f % 2 ? &packed : &plain);
        }
        assert_ok(mot_data_idx(folder.path, &train, &test));
        check_set(train, 11);
        check_set(test, 6);
        assert_int_not_equal(mot__data_samples(train)->id, mot__data_samples(test)->id);
        mot_data_close(train);
        mot_data_close(test);
        for (int k = 0; k < 4; k++)
            unlink(folder_path(&folder, name[k]));
    }
}

static void one_set_may_be_left_out_and_its_labels_still_count_as_classes(void **state)
{
    struct bytes bytes;
    mot_data *data = NULL;

    (void)state;
    make_images(&bytes, 6, 4, 3);
    put("t10k-images-idx3-ubyte", &bytes);
    make_labels(&bytes, 6, 3);
    put("t10k-labels-idx1-ubyte", &bytes);
    assert_ok(mot_data_idx(folder.path, NULL, &data)); /* no train files at all */
    assert_int_equal(mot_data_classes(data), 3);
    mot_data_close(data);
    make_labels(&bytes, 20, 9);
    put("train-labels-idx1-ubyte", &bytes);
    assert_ok(mot_data_idx(folder.path, NULL, &data));
    assert_int_equal(mot_data_classes(data), 9);
    mot_data_close(data);
    bytes.used = 5; /* a damaged file that was not asked for is no error */
    put("train-labels-idx1-ubyte", &bytes);
    assert_ok(mot_data_idx(folder.path, NULL, &data));
    assert_int_equal(mot_data_classes(data), 3);
    mot_data_close(data);
}

static void one_kind_of_label_still_makes_two_classes(void **state)
{
    struct bytes bytes;
    mot_data *data = NULL;

    (void)state;
    make_images(&bytes, 2, 1, 1);
    put("train-images-idx3-ubyte", &bytes);
    make_labels(&bytes, 2, 1);
    put("train-labels-idx1-ubyte", &bytes);
    assert_ok(mot_data_idx(folder.path, &data, NULL));
    assert_int_equal(mot_data_classes(data), 2);
    mot_data_close(data);
}

static void two_gzip_members_are_one_file(void **state)
{
    struct bytes plain, first, second, both = {.used = 0};
    struct bytes half = {.used = 0};
    struct mot__idx idx = {0};

    (void)state;
    make_images(&plain, 5, 4, 3);
    add(&half, plain.at, 30);
    pack(&half, &first);
    half.used = 0;
    add(&half, plain.at + 30, plain.used - 30);
    pack(&half, &second);
    add(&both, first.at, first.used);
    add(&both, second.at, second.used);
    assert_ok(mot__idx_read(put("a", &both), 3, &idx));
    assert_memory_equal(idx.data, plain.at + 16, 60);
    free(idx.data);
}

/* ---- unsound files --------------------------------------------------------------------------- */

static void each_unsound_header_gets_its_sentence(void **state)
{
    static const struct {
        uint32_t head[4];
        size_t bytes; /* of data */
        const char *words;
    } bad[] = {
        {{0x89504e47, 1, 1, 1}, 1, "not an IDX file (it begins with 89 50 4e 47)"},
        {{0x00000d03, 1, 1, 1}, 1, "holds IDX type 0x0d; only bytes (0x08) can be read"},
        {{0x00000801, 1, 1, 1}, 1, "has 1 dimensions where 3 are needed"},
        {{0x00000804, 1, 1, 1}, 1, "has 4 dimensions where 3 are needed"},
        {{0x00000803, 0, 2, 2}, 0, "dimension 0 is 0"},
        {{0x00000803, 2, 2, 0}, 0, "dimension 2 is 0"},
        {{0x00000803, 2, 16385, 2}, 9, "dimension 1 is 16385; at most 16384 can be read"},
        {{0x00000803, 2, 2, UINT32_MAX}, 9, "dimension 2 is 4294967295; at most 16384"},
        {{0x00000803, UINT32_MAX, 16384, 16384}, 9, "cut short: 9 bytes where its header promises"},
        {{0x00000803, 2, 2, 2}, 7, "cut short: 7 bytes where its header promises 8"},
        {{0x00000803, 2, 2, 2}, 10, "2 bytes follow the 8 its header promises"},
    };
    struct mot__idx idx = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes bytes = {.used = 0};

        for (int j = 0; j < 4; j++)
            add_u32(&bytes, bad[i].head[j]);
        add(&bytes, "0123456789", bad[i].bytes);
        assert_story(mot__idx_read(put("a", &bytes), 3, &idx), MOT_FORMAT, bad[i].words);
        assert_null(idx.data);
    }
}

static void each_unsound_gzip_gets_its_sentence(void **state)
{
    struct bytes plain, packed, changed;
    struct mot__idx idx = {0};

    (void)state;
    make_images(&plain, 5, 4, 3);
    pack(&plain, &packed);
    changed = packed;
    changed.used -= 9;
    assert_story(mot__idx_read(put("a", &changed), 3, &idx), MOT_FORMAT, "gzip data is cut short");
    changed = packed;
    add(&changed, "tail", 4);
    assert_story(mot__idx_read(put("a", &changed), 3, &idx), MOT_FORMAT,
                 "bytes follow the end of the gzip data");
    changed = packed;
    changed.at[packed.used - 6] ^= 1; /* in the checksum */
    assert_story(mot__idx_read(put("a", &changed), 3, &idx), MOT_FORMAT,
                 "the gzip data is damaged (incorrect data check)");
    plain.used--;
    pack(&plain, &packed);
    assert_story(mot__idx_read(put("a", &packed), 3, &idx), MOT_FORMAT,
                 "cut short: 59 bytes where its header promises 60");
    add(&plain, "12", 2);
    pack(&plain, &packed);
    assert_story(mot__idx_read(put("a", &packed), 3, &idx), MOT_FORMAT,
                 "more bytes follow the 60 its header promises");
}

/* A few packed bytes that promise, or unpack to, a thousand times more. */
static void a_bomb_is_not_unpacked(void **state)
{
    struct bytes plain = {.used = 0}, packed;
    struct mot__idx idx = {0};

    (void)state;
    add_u32(&plain, 0x803);
    add_u32(&plain, 60000);
    add_u32(&plain, 16384);
    add_u32(&plain, 16384);
    pack(&plain, &packed);
    assert_story(mot__idx_read(put("a", &packed), 3, &idx), MOT_FORMAT,
                 "its header promises 16106127360000 bytes, more than");
    make_images(&plain, 1, 1, 1);
    memset(plain.at + plain.used, 0, sizeof plain.at - plain.used);
    plain.used = sizeof plain.at;
    pack(&plain, &packed);
    assert_true(packed.used < 200);
    assert_story(mot__idx_read(put("a", &packed), 3, &idx), MOT_FORMAT,
                 "more bytes follow the 1 its header promises");
}

static void a_file_cut_at_any_byte_is_refused(void **state)
{
    struct bytes plain, packed;
    struct mot__idx idx = {0};

    (void)state;
    make_images(&plain, 3, 4, 3);
    pack(&plain, &packed);
    for (int k = 0; k < 2; k++) {
        struct bytes cut = k ? packed : plain;

        while (cut.used-- > 0) {
            const mot_status status = mot__idx_read(put("a", &cut), 3, &idx);

            if (status != MOT_FORMAT || idx.data)
                fail_msg("cut to %zu bytes: status %d", cut.used, (int)status);
        }
    }
}

static void a_gzip_with_any_byte_changed_is_refused_or_the_same(void **state)
{
    struct bytes plain, packed;
    size_t refused = 0;

    (void)state;
    make_images(&plain, 3, 4, 3);
    pack(&plain, &packed);
    for (size_t i = 0; i < packed.used; i++) {
        struct bytes changed = packed;
        struct mot__idx idx = {0};

        changed.at[i] ^= 0x55;
        if (mot__idx_read(put("a", &changed), 3, &idx) != MOT_OK) {
            refused++;
            assert_null(idx.data);
            continue;
        }
        assert_true(i < 10); /* time and system in the gzip header: nothing hangs on them */
        assert_memory_equal(idx.data, plain.at + 16, idx.bytes);
        free(idx.data);
    }
    assert_true(refused > packed.used - 10);
}

static void folders_that_contradict_themselves_are_refused(void **state)
{
    struct bytes bytes;
    mot_data *train = NULL, *test = NULL;

    (void)state;
    assert_story(mot_data_idx(NULL, &train, NULL), MOT_BAD_ARG, "mot_data_idx: NULL argument");
    assert_story(mot_data_idx(folder.path, NULL, NULL), MOT_BAD_ARG, "mot_data_idx: NULL");
    assert_story(mot_data_idx("/nowhere at all", &train, NULL), MOT_IO,
                 "/nowhere at all: no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz there");
    make_labels(&bytes, 6, 3);
    put("train-labels-idx1-ubyte", &bytes);
    assert_story(mot_data_idx(folder.path, &train, NULL), MOT_IO, "no train-images-idx3-ubyte");
    make_images(&bytes, 7, 4, 3);
    put("train-images-idx3-ubyte", &bytes);
    assert_story(mot_data_idx(folder.path, &train, NULL), MOT_FORMAT,
                 "train-images-idx3-ubyte: 7 images, but 6 labels beside it");
    make_images(&bytes, 6, 4, 3);
    put("train-images-idx3-ubyte", &bytes);
    put("t10k-labels-idx1-ubyte", &bytes);
    assert_story(mot_data_idx(folder.path, &train, &test), MOT_FORMAT,
                 "t10k-labels-idx1-ubyte: has 3 dimensions where 1 are needed");
    make_labels(&bytes, 2, 2);
    put("t10k-labels-idx1-ubyte", &bytes);
    make_images(&bytes, 2, 3, 4);
    put("t10k-images-idx3-ubyte", &bytes);
    assert_story(mot_data_idx(folder.path, &train, &test), MOT_FORMAT,
                 "train images are 4 x 3, test images 3 x 4");
    unlink(folder_path(&folder, "t10k-images-idx3-ubyte"));
    assert_int_equal(mkdir(folder_path(&folder, "t10k-images-idx3-ubyte"), 0777), 0);
    assert_story(mot_data_idx(folder.path, &train, &test), MOT_IO,
                 "t10k-images-idx3-ubyte: not a plain file");
    assert_null(train);
    assert_null(test);
}

/* Where the real files are at hand. */
static void the_real_mnist_is_read(void **state)
{
    const char *dir = getenv("MOTLEY_TEST_MNIST");
    mot_data *train = NULL, *test = NULL;

    (void)state;
    if (!dir)
        skip();
    assert_ok(mot_data_idx(dir, &train, &test));
    assert_int_equal(mot_data_count(train), 60000);
    assert_int_equal(mot_data_count(test), 10000);
    assert_int_equal(mot_data_classes(train), 10);
    assert_int_equal(mot_data_classes(test), 10);
    assert_int_equal(mot_data_shape(train).dim[1], 28);
    mot_data_close(train);
    mot_data_close(test);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reads_plain_and_packed_files_under_both_names),
        CASE(one_set_may_be_left_out_and_its_labels_still_count_as_classes),
        CASE(one_kind_of_label_still_makes_two_classes),
        CASE(two_gzip_members_are_one_file),
        CASE(each_unsound_header_gets_its_sentence),
        CASE(each_unsound_gzip_gets_its_sentence),
        CASE(a_bomb_is_not_unpacked),
        CASE(a_file_cut_at_any_byte_is_refused),
        CASE(a_gzip_with_any_byte_changed_is_refused_or_the_same),
        CASE(folders_that_contradict_themselves_are_refused),
        CASE(the_real_mnist_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
