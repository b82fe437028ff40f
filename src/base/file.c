/* file.c - reading whole files, and the writer that never leaves half of one. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include "base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mot_status fail_path(const char *what, const char *path, int error)
{
    char reason[128] = "unknown error";

    strerror_r(error, reason, sizeof reason);
    return mot__fail(error == ENOMEM ? MOT_NO_MEMORY : MOT_IO, "cannot %s %s: %s", what, path,
                     reason);
}

/* Grow the buffer for one more read; one byte is kept for the closing zero. */
static bool make_room(char **data, size_t *capacity, size_t used)
{
    char *larger;
    size_t wanted;

    if (used + 1 < *capacity)
        return true;
    if (!mot__size_mul(*capacity, 2, &wanted))
        return false;
    larger = realloc(*data, wanted);
    if (!larger)
        return false;
    *data = larger;
    *capacity = wanted;
    return true;
}

static mot_status read_all(int file, const char *path, size_t limit, char **data, size_t *bytes)
{
    struct stat about;
    size_t capacity = 4096, used = 0;

    if (fstat(file, &about) != 0)
        return fail_path("read", path, errno);
    if (S_ISDIR(about.st_mode))
        return fail_path("read", path, EISDIR);
    if (S_ISREG(about.st_mode) && (uintmax_t)about.st_size > limit)
        return mot__fail(MOT_FORMAT, "%s has %ju bytes, more than the %zu that are sensible", path,
                         (uintmax_t)about.st_size, limit);
    if (S_ISREG(about.st_mode)) /* its size, the zero, and one to see its end without growing */
        capacity = (size_t)about.st_size + 2;
    *data = malloc(capacity);
    for (;;) {
        ssize_t got;

        if (!*data || !make_room(data, &capacity, used))
            return fail_path("read", path, ENOMEM);
        got = read(file, *data + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_path("read", path, errno);
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit)
            return mot__fail(MOT_FORMAT, "%s has more than the %zu bytes that are sensible", path,
                             limit);
    }
    (*data)[used] = '\0';
    *bytes = used;
    return MOT_OK;
}

mot_status mot__file_read(const char *path, size_t limit, void **out, size_t *bytes)
{
    mot_status status;
    char *data = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return fail_path("read", path, errno);
    MOT_TRY(read_all(file, path, limit, &data, bytes));
    *out = data;
    data = NULL;
done:
    free(data);
    close(file);
    return status;
}

bool mot__file_exists(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0;
}

struct mot__writer {
    char *path; /* links followed, so that a link stays one */
    char *temporary;
    FILE *file;
    bool failed;
};

/* A name in the same folder, so that rename() is one step. O_EXCL: never another writer's file. */
static mot_status open_temporary(mot__writer *writer)
{
    const size_t bytes = strlen(writer->path) + 48;
    int file = -1;

    writer->temporary = malloc(bytes);
    if (!writer->temporary)
        return fail_path("write", writer->path, ENOMEM);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(writer->temporary, bytes, "%s.tmp-%ld-%u", writer->path, (long)getpid(), attempt);
        file = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            break;
    }
    if (file >= 0)
        writer->file = fdopen(file, "wb");
    if (!writer->file) {
        const int error = errno;

        if (file >= 0) {
            close(file);
            unlink(writer->temporary);
        }
        return fail_path("write", writer->path, error);
    }
    return MOT_OK;
}

/* What stands at path must be a plain file that may be written: rename() would not ask. */
static mot_status check_target(const char *path, mode_t *mode, bool *replaces)
{
    struct stat about;

    *replaces = stat(path, &about) == 0;
    if (!*replaces)
        return MOT_OK;
    if (S_ISDIR(about.st_mode))
        return fail_path("write", path, EISDIR);
    if (!S_ISREG(about.st_mode))
        return mot__fail(MOT_IO, "cannot write %s: not a plain file", path);
    if (access(path, W_OK) != 0)
        return fail_path("write", path, errno);
    *mode = about.st_mode & 07777;
    return MOT_OK;
}

mot_status mot__writer_open(const char *path, mot__writer **out)
{
    mot_status status;
    mot__writer *writer = NULL;
    mode_t mode = 0;
    bool replaces;

    if (*path == '\0')
        return mot__fail(MOT_BAD_ARG, "the name of a file to write is empty");
    MOT_TRY(check_target(path, &mode, &replaces));
    writer = calloc(1, sizeof *writer);
    if (writer)
        writer->path = replaces ? realpath(path, NULL) : strdup(path);
    if (!writer || !writer->path) {
        status = fail_path("write", path, writer ? errno : ENOMEM);
        goto done;
    }
    MOT_TRY(open_temporary(writer));
    if (replaces && fchmod(fileno(writer->file), mode) != 0) {
        status = fail_path("set the mode of", writer->temporary, errno);
        goto done;
    }
    *out = writer;
    writer = NULL;
done:
    mot__writer_close(writer);
    return status;
}

mot_status mot__writer_add(mot__writer *writer, const void *data, size_t bytes)
{
    if (bytes > 0 && fwrite(data, 1, bytes, writer->file) != bytes) {
        writer->failed = true;
        return fail_path("write", writer->path, errno);
    }
    return MOT_OK;
}

/* The new name must survive a power cut too. Folders that cannot be synced are no error. */
static mot_status sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strdup(path) : NULL;
    int file, error = 0;

    if (slash && !folder)
        return fail_path("write", path, ENOMEM);
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    file = open(folder ? folder : ".", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (fsync(file) != 0 && errno == EIO)
            error = errno;
        close(file);
    }
    free(folder);
    return error == 0 ? MOT_OK : fail_path("write", path, error);
}

mot_status mot__writer_commit(mot__writer *writer)
{
    int error = 0;

    if (!writer->file || writer->failed)
        return mot__fail(MOT_BAD_STATE, "cannot commit %s: an earlier write failed", writer->path);
    if (fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0)
        error = errno;
    if (fclose(writer->file) != 0 && error == 0)
        error = errno;
    writer->file = NULL;
    if (error == 0 && rename(writer->temporary, writer->path) != 0)
        error = errno;
    if (error != 0)
        return fail_path("write", writer->path, error); /* _close removes the new file */
    free(writer->temporary);
    writer->temporary = NULL;
    return sync_folder(writer->path);
}

void mot__writer_close(mot__writer *writer)
{
    if (!writer)
        return;
    if (writer->file)
        fclose(writer->file);
    if (writer->temporary)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

mot_status mot__file_write(const char *path, const void *data, size_t bytes)
{
    mot_status status;
    mot__writer *writer = NULL;

    MOT_TRY(mot__writer_open(path, &writer));
    MOT_TRY(mot__writer_add(writer, data, bytes));
    MOT_TRY(mot__writer_commit(writer));
done:
    mot__writer_close(writer);
    return status;
}
