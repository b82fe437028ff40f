/* outfile.c - write beside, sync, rename. */
#include "cli/outfile.h"

#include "cli/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, const char *why)
{
    return fail(EXIT_FAILED, "cannot write \"%s\": %s", path, why);
}

int outfile_open(struct outfile *file, const char *path)
{
    struct stat info;
    mode_t mask;
    int handle;

    file->stream = NULL;
    if (!*path || strlen(path) >= sizeof file->path)
        return refuse(path, *path ? "the name is too long" : "the name is empty");
    if (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return refuse(path, "it is not a plain file"); /* a rename would replace /dev/null */
    snprintf(file->path, sizeof file->path, "%s", path);
    snprintf(file->temporary, sizeof file->temporary, "%s.XXXXXX", path);
    handle = mkstemp(file->temporary);
    if (handle < 0)
        return refuse(path, strerror(errno));
    mask = umask(0);
    umask(mask);
    fchmod(handle, 0666 & ~mask); /* mkstemp made it 0600 */
    file->stream = fdopen(handle, "w");
    if (file->stream)
        return 0;
    close(handle);
    unlink(file->temporary);
    return refuse(path, strerror(errno));
}

int outfile_commit(struct outfile *file)
{
    FILE *stream = file->stream;
    bool fine;
    int reason = 0;

    fine = fflush(stream) == 0 && !ferror(stream) && fsync(fileno(stream)) == 0;
    reason = fine ? 0 : errno;
    file->stream = NULL;
    if (fclose(stream) != 0 && fine) {
        fine = false;
        reason = errno;
    }
    if (fine && rename(file->temporary, file->path) == 0)
        return 0;
    reason = reason ? reason : errno;
    unlink(file->temporary);
    return refuse(file->path, strerror(reason));
}

void outfile_abandon(struct outfile *file)
{
    if (!file->stream)
        return;
    fclose(file->stream);
    unlink(file->temporary);
    file->stream = NULL;
}

int outfile_check(const char *path)
{
    struct outfile file;
    const int code = outfile_open(&file, path);

    outfile_abandon(&file);
    return code;
}
