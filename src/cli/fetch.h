/* fetch.h - files from the network into a folder, each whole and with the right checksum. */
#ifndef MOT_CLI_FETCH_H
#define MOT_CLI_FETCH_H

#include <stdbool.h>
#include <stddef.h>

struct fetch_file {
    const char *name, *sha256;
};

enum { FETCH_REASON = 512 };

bool fetch_possible(void); /* built with libcurl */
/* Get what is missing, each file from the first mirror (a URL with a slash at its end) that serves
 * it. False: reason tells why; files that did arrive stay. Stops when interrupt_seen(). */
bool fetch_files(const char *const *mirror, size_t mirrors, const struct fetch_file *file,
                 size_t files, const char *dir, char reason[FETCH_REASON]);

#endif
