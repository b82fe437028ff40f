/* file.h - whole files in, whole files out: a file is either the old one or the new one. */
#ifndef MOT_BASE_FILE_H
#define MOT_BASE_FILE_H

#include "base/status.h"

#include <stdio.h>

/* Read a whole file of at most limit bytes; *out is the caller's to free, one zero byte follows the
 * data. */
mot_status mot__file_read(const char *path, size_t limit, void **out, size_t *bytes);

/* Write beside path, then fsync, rename, fsync the folder. Until _commit the old file stands;
 * _close without _commit removes the new one. Keeps the mode of a file that is replaced. */
typedef struct mot__writer mot__writer;
mot_status mot__writer_open(const char *path, mot__writer **out);
mot_status mot__writer_add(mot__writer *writer, const void *data, size_t bytes);
mot_status mot__writer_commit(mot__writer *writer);
void mot__writer_close(mot__writer *writer); /* accepts NULL */

mot_status mot__file_write(const char *path, const void *data,
                           size_t bytes); /* the above in one call */
mot_status
mot__dir_make(const char *path); /* with its parents, mode 0777 & ~umask; there already is fine */
bool mot__file_exists(const char *path);

/* Folder for caches: configured, else $XDG_CACHE_HOME/motley, else $HOME/.cache/motley. "" where
 * there is none (configured as "" or no home); the caller then keeps nothing. Makes no folder. */
mot_status mot__path_cache(const char *configured, char *out, size_t bytes);
mot_status mot__path_join(char *out, size_t bytes, const char *dir, const char *name);

#endif
