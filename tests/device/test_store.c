/* test_store.c - what a device remembers: keys, other device objects, writers at the same time,
 * damage, no folder at all. */
#include "support/room.h"

#include "base/thread.h"

static mot__device *open_cached(const char *dir)
{
    const struct mot__device_options options = {.cache_dir = dir};

    return room_device(room()->pick, &options);
}

static void check_value(mot__device *device, const char *key, const char *want)
{
    char value[128] = "untouched";
    bool found = false;

    assert_ok(mot__store_get(device, key, value, sizeof value, &found));
    if (found != (want != NULL) || strcmp(value, want ? want : "untouched") != 0)
        fail_msg("%s: %s \"%s\", wanted \"%s\"", key, found ? "found" : "missing", value,
                 want ? want : "(none)");
}

static void what_is_set_is_found_by_another_device_object(void **state)
{
    const char *dir = folder_path(&room()->folder, "store");
    mot__device *a = open_cached(dir), *b;

    (void)state;
    check_value(a, "gemm.tile_cpu", NULL);
    assert_ok(mot__store_set(a, "gemm.tile_cpu", "right, with spaces  and more"));
    assert_ok(mot__store_set(a, "gemm.tile", "another key, not a prefix"));
    assert_ok(mot__store_set(a, "none", ""));
    check_value(a, "gemm.tile_cpu", "right, with spaces  and more");
    b = open_cached(dir); /* while the first is open */
    check_value(b, "gemm.tile_cpu", "right, with spaces  and more");
    check_value(b, "gemm.tile", "another key, not a prefix");
    check_value(b, "gemm", NULL);
    check_value(b, "none", "");
    assert_ok(mot__store_set(b, "gemm.tile", "newer"));
    check_value(b, "gemm.tile", "newer");
    mot__device_close(a);
    mot__device_close(b);
    a = open_cached(dir);
    check_value(a, "gemm.tile", "newer");
    check_value(a, "gemm.tile_cpu", "right, with spaces  and more");
    mot__device_close(a);
}

static void a_short_buffer_gets_the_beginning(void **state)
{
    mot__device *device = open_cached("");
    char value[4] = "";
    bool found;

    (void)state;
    assert_ok(mot__store_set(device, "long", "0123456789"));
    assert_ok(mot__store_get(device, "long", value, sizeof value, &found));
    assert_true(found);
    assert_string_equal(value, "012");
    mot__device_close(device);
}

static void keys_and_values_that_cannot_be_kept_are_refused(void **state)
{
    mot__device *device = open_cached(folder_path(&room()->folder, "refused"));
    const char *const keys[] = {"", "a b", "a\nb", "../up", "a/b", ".hidden"};

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(keys); i++)
        assert_story(mot__store_set(device, keys[i], "x"), MOT_BAD_ARG, "a key is made of");
    assert_story(mot__store_set(device, "key", "two\nlines"), MOT_BAD_ARG, "one short line");
    check_value(device, "key", NULL);
    mot__device_close(device);
    assert_false(access(folder_path(&room()->folder, "refused"), F_OK) == 0);
}

struct writer {
    mot__device *device;
    unsigned id;
    bool failed;
};

#define EACH_WRITES 25

static void write_many(void *user)
{
    struct writer *writer = user;
    char key[32], value[32];

    for (unsigned i = 0; i < EACH_WRITES; i++) {
        snprintf(key, sizeof key, "key-%u-%u", writer->id, i);
        snprintf(value, sizeof value, "value %u", i * 10 + writer->id);
        if (mot__store_set(writer->device, key, value) != MOT_OK ||
            mot__store_set(writer->device, "shared", value) != MOT_OK)
            writer->failed = true;
    }
}

static void writers_at_the_same_time_lose_nothing(void **state)
{
    const char *dir = folder_path(&room()->folder, "merge");
    struct writer writer[3] = {{NULL, 0, false}, {NULL, 1, false}, {NULL, 2, false}};
    mot__thread *thread[3];
    mot__device *device;
    char key[32], value[32];
    bool found;

    (void)state;
    for (size_t w = 0; w < 3; w++) {
        writer[w].device = open_cached(dir);
        assert_ok(mot__thread_open("writer", write_many, &writer[w], &thread[w]));
    }
    for (size_t w = 0; w < 3; w++) {
        mot__thread_join(thread[w]);
        assert_false(writer[w].failed);
        mot__device_close(writer[w].device);
    }
    device = open_cached(dir);
    for (unsigned w = 0; w < 3; w++)
        for (unsigned i = 0; i < EACH_WRITES; i++) {
            snprintf(key, sizeof key, "key-%u-%u", w, i);
            snprintf(value, sizeof value, "value %u", i * 10 + w);
            check_value(device, key, value);
        }
    assert_ok(mot__store_get(device, "shared", value, sizeof value, &found));
    assert_true(found && strncmp(value, "value 24", 8) == 0); /* one writer's last */
    mot__device_close(device);
}

/* Overwrite the file of the key with that text. */
static void damage(const char *dir, const char *key, const char *text, size_t bytes)
{
    char path[1024], found[1024] = "";
    struct dirent *entry;
    DIR *open;
    FILE *file;

    snprintf(path, sizeof path, "%s/choices", dir);
    assert_int_equal(folder_count(path), 1);
    open = opendir(path);
    while ((entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(found, sizeof found, "%s/%.64s/%s", path, entry->d_name, key);
    closedir(open);
    assert_int_equal(access(found, F_OK), 0);
    file = fopen(found, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void a_damaged_file_says_nothing(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } row[] = {{"", 0}, {"torn", 4}, {"two\nlines\n", 10}, {"nul\0\n", 5}, {"\n\n", 2}};
    const char *dir = folder_path(&room()->folder, "damage");
    mot__device *device;

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(row); i++) {
        device = open_cached(dir);
        assert_ok(mot__store_set(device, "key", "good"));
        assert_ok(mot__store_set(device, "other", "good too"));
        mot__device_close(device);
        damage(dir, "key", row[i].text, row[i].bytes);
        device = open_cached(dir);
        check_value(device, "key", NULL);
        check_value(device, "other", "good too");
        assert_ok(mot__store_set(device, "key", "anew"));
        mot__device_close(device);
        device = open_cached(dir);
        check_value(device, "key", "anew");
        mot__device_close(device);
    }
}

static void without_a_folder_it_lasts_as_long_as_the_device(void **state)
{
    const char *dirs[] = {"", "/proc/motley", NULL};

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(dirs); i++) {
        mot__device *device = open_cached(dirs[i]);

        assert_ok(mot__store_set(device, "key", "kept"));
        check_value(device, "key", "kept");
        mot__device_close(device);
        device = open_cached(dirs[i]);
        check_value(device, "key", NULL);
        mot__device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_found_by_another_device_object),
        cmocka_unit_test(a_short_buffer_gets_the_beginning),
        cmocka_unit_test(keys_and_values_that_cannot_be_kept_are_refused),
        cmocka_unit_test(writers_at_the_same_time_lose_nothing),
        cmocka_unit_test(a_damaged_file_says_nothing),
        cmocka_unit_test(without_a_folder_it_lasts_as_long_as_the_device),
    };

    return cmocka_run_group_tests(tests, room_open, room_close);
}
