/* test_base_file.c - a file is the old one or the new one, and what cannot be written is told. */
#include "support/check.h"
#include "support/folder.h"

#include "base/file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct folder folder;

static void assert_holds(const char *path, const char *wanted)
{
    void *data = NULL;
    size_t bytes;

    assert_ok(mot__file_read(path, 1000, &data, &bytes));
    assert_int_equal(bytes, strlen(wanted));
    assert_string_equal(data, wanted); /* the zero byte after the data counts */
    free(data);
}

static void a_file_comes_back_as_written(void **state)
{
    const char *path = folder_path(&folder, "back");
    static char large[300000];
    void *data = NULL;
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    assert_ok(mot__file_write(path, large, sizeof large));
    assert_ok(mot__file_read(path, sizeof large, &data, &bytes));
    assert_int_equal(bytes, sizeof large);
    assert_memory_equal(data, large, sizeof large);
    free(data);
    assert_ok(mot__file_write(path, NULL, 0));
    assert_holds(path, "");
    assert_true(mot__file_exists(path));
    assert_int_equal(unlink(path), 0);
    assert_false(mot__file_exists(path));
}

static void a_file_without_a_size_is_read_to_its_end(void **state)
{
    void *data = NULL;
    size_t bytes;

    (void)state;
    if (!mot__file_exists("/proc/self/status"))
        skip();
    assert_ok(mot__file_read("/proc/self/status", 1 << 20, &data, &bytes));
    assert_true(bytes > 100 && strlen(data) == bytes);
    free(data);
}

static void what_cannot_be_read_is_told(void **state)
{
    const char *path = folder_path(&folder, "long");
    void *data = NULL;
    size_t bytes;

    (void)state;
    assert_story(mot__file_read(folder_path(&folder, "absent"), 10, &data, &bytes), MOT_IO,
                 "absent: No such file or directory");
    assert_story(mot__file_read(folder.path, 10, &data, &bytes), MOT_IO, "Is a directory");
    assert_ok(mot__file_write(path, "0123456789", 10));
    assert_story(mot__file_read(path, 9, &data, &bytes), MOT_FORMAT, "10 bytes, more than the 9");
    assert_null(data);
    assert_ok(mot__file_read(path, 10, &data, &bytes));
    free(data);
    unlink(path);
}

static void the_old_file_stands_until_commit(void **state)
{
    const char *path = folder_path(&folder, "kept");
    const size_t before = folder_count(folder.path);
    mot__writer *writer = NULL;

    (void)state;
    assert_ok(mot__file_write(path, "old", 3));
    assert_ok(mot__writer_open(path, &writer));
    assert_ok(mot__writer_add(writer, "new content", 11));
    assert_holds(path, "old");
    mot__writer_close(writer); /* not committed */
    assert_holds(path, "old");
    assert_int_equal(folder_count(folder.path), before + 1); /* nothing left behind */

    assert_ok(mot__writer_open(path, &writer));
    assert_ok(mot__writer_add(writer, "ne", 2));
    assert_ok(mot__writer_add(writer, "w", 1));
    assert_ok(mot__writer_commit(writer));
    assert_holds(path, "new");
    assert_story(mot__writer_commit(writer), MOT_BAD_STATE, "cannot commit");
    mot__writer_close(writer);
    assert_int_equal(folder_count(folder.path), before + 1);
    mot__writer_close(NULL);
    unlink(path);
}

static void two_writers_do_not_meet(void **state)
{
    const char *path = folder_path(&folder, "both");
    mot__writer *first = NULL, *second = NULL;

    (void)state;
    assert_ok(mot__writer_open(path, &first));
    assert_ok(mot__writer_open(path, &second));
    assert_ok(mot__writer_add(first, "first", 5));
    assert_ok(mot__writer_add(second, "second", 6));
    assert_ok(mot__writer_commit(first));
    assert_holds(path, "first");
    assert_ok(mot__writer_commit(second));
    assert_holds(path, "second");
    mot__writer_close(first);
    mot__writer_close(second);
    unlink(path);
}

static mode_t mode_of(const char *path)
{
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static void the_mode_is_kept_and_a_new_file_obeys_the_umask(void **state)
{
    const char *path = folder_path(&folder, "mode");
    const mode_t old = umask(027);

    (void)state;
    assert_ok(mot__file_write(path, "a", 1));
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_ok(mot__file_write(path, "b", 1));
    umask(old);
    assert_int_equal(mode_of(path), 0604);
    assert_holds(path, "b");
    unlink(path);
}

static void a_link_stays_a_link(void **state)
{
    const char *path = folder_path(&folder, "target"), *link = folder_path(&folder, "link");
    struct stat about;

    (void)state;
    assert_ok(mot__file_write(path, "old", 3));
    assert_int_equal(symlink("target", link), 0);
    assert_ok(mot__file_write(link, "new", 3));
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_holds(path, "new");
    unlink(link);
    unlink(path);
}

static void what_cannot_be_written_is_told(void **state)
{
    const char *pipe = folder_path(&folder, "pipe");
    struct stat about;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_story(mot__file_write(folder_path(&folder, "no/such/file"), "a", 1), MOT_IO,
                 "no/such/file: No such file or directory");
    assert_story(mot__file_write(folder.path, "a", 1), MOT_IO, "Is a directory");
    assert_story(mot__file_write(pipe, "a", 1), MOT_IO, "pipe: not a plain file");
    assert_story(mot__file_write("", "a", 1), MOT_BAD_ARG, "empty");
    assert_true(stat(pipe, &about) == 0 && S_ISFIFO(about.st_mode));
    unlink(pipe);
}

/* As a user who is not root: root may write anywhere. Returns the child's verdict. */
static int as_a_plain_user(int (*check)(void))
{
    const pid_t child = fork();
    int result = -1;

    if (child == 0)
        _exit(geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0) ? 100 : check());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static int write_where_forbidden(void)
{
    if (mot__file_write(folder_path(&folder, "locked/new"), "a", 1) != MOT_IO ||
        !strstr(mot_error(), "locked/new: Permission denied"))
        return 1;
    if (mot__file_write(folder_path(&folder, "readonly"), "a", 1) != MOT_IO ||
        !strstr(mot_error(), "readonly: Permission denied"))
        return 2;
    if (mot__dir_make(folder_path(&folder, "locked/sub/sub")) != MOT_IO ||
        !strstr(mot_error(), "cannot make the folder"))
        return 3;
    return 0;
}

static void a_read_only_folder_and_file_are_told(void **state)
{
    const char *locked = folder_path(&folder, "locked"), *file = folder_path(&folder, "readonly");

    (void)state;
    assert_int_equal(chmod(folder.path, 0777), 0);
    assert_ok(mot__dir_make(locked));
    assert_ok(mot__file_write(folder_path(&folder, "locked/old"), "old", 3));
    assert_ok(mot__file_write(file, "old", 3));
    assert_int_equal(chmod(locked, 0555), 0);
    assert_int_equal(chmod(file, 0444), 0);
    assert_int_equal(as_a_plain_user(write_where_forbidden), 0);
    assert_int_equal(chmod(locked, 0755), 0);
    assert_int_equal(folder_count(locked), 1);
    assert_holds(folder_path(&folder, "locked/old"), "old");
    assert_holds(file, "old");
    folder_remove(locked);
    unlink(file);
}

/* A limit on the size of files stands for the full disk. */
static void a_full_disk_loses_nothing(void **state)
{
    const char *path = folder_path(&folder, "disk");
    const size_t before = folder_count(folder.path);
    static char block[1 << 16];
    struct rlimit old, small;
    mot__writer *writer = NULL;
    mot_status status = MOT_OK;

    (void)state;
    assert_ok(mot__file_write(path, "old", 3));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_ok(mot__writer_open(path, &writer));
    for (int i = 0; i < 4 && status == MOT_OK; i++)
        status = mot__writer_add(writer, block, sizeof block);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, MOT_IO);
    assert_non_null(strstr(mot_error(), "disk: File too large"));
    assert_story(mot__writer_commit(writer), MOT_BAD_STATE, "earlier write failed");
    mot__writer_close(writer);
    assert_holds(path, "old");
    assert_int_equal(folder_count(folder.path), before + 1);
    unlink(path);
}

static void folders_are_made_with_their_parents(void **state)
{
    const char *deep = folder_path(&folder, "a/b//c/");

    (void)state;
    assert_ok(mot__dir_make(deep));
    assert_ok(mot__dir_make(deep)); /* there already */
    assert_ok(mot__dir_make("/"));
    assert_true(mot__file_exists(folder_path(&folder, "a/b/c")));
    assert_ok(mot__file_write(folder_path(&folder, "a/file"), "", 0));
    assert_story(mot__dir_make(folder_path(&folder, "a/file/x")), MOT_IO, "Not a directory");
    assert_story(mot__dir_make(folder_path(&folder, "a/file")), MOT_IO, "Not a directory");
    folder_remove(folder_path(&folder, "a"));
}

static void the_cache_is_where_it_should_be(void **state)
{
    char out[64];

    (void)state;
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    assert_ok(mot__path_cache(NULL, out, sizeof out));
    assert_string_equal(out, "/xdg/motley");
    assert_ok(mot__path_cache("/mine", out, sizeof out));
    assert_string_equal(out, "/mine");
    assert_ok(mot__path_cache("", out, sizeof out));
    assert_string_equal(out, "");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_ok(mot__path_cache(NULL, out, sizeof out));
    assert_string_equal(out, "/home/me/.cache/motley");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_ok(mot__path_cache(NULL, out, sizeof out));
    assert_string_equal(out, "");
    assert_story(mot__path_cache("/0123456789", out, 8), MOT_BAD_ARG, "/0123456789 is too long");
    assert_ok(mot__path_join(out, sizeof out, "a/", "b"));
    assert_string_equal(out, "a/b");
    assert_ok(mot__path_join(out, 4, "a", "b"));
    assert_string_equal(out, "a/b");
    assert_story(mot__path_join(out, 3, "a", "b"), MOT_BAD_ARG, "too long");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_as_written),
        cmocka_unit_test(a_file_without_a_size_is_read_to_its_end),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(the_old_file_stands_until_commit),
        cmocka_unit_test(two_writers_do_not_meet),
        cmocka_unit_test(the_mode_is_kept_and_a_new_file_obeys_the_umask),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(a_read_only_folder_and_file_are_told),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(the_cache_is_where_it_should_be),
    };

    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
