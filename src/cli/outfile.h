/* outfile.h - a file of the command's own is whole or is not there. */
#ifndef MOT_CLI_OUTFILE_H
#define MOT_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *stream; /* write here */
    char path[4096], temporary[4096 + 16];
};

/* Begin a file beside path; 0, or an exit code after the sentence. */
int outfile_open(struct outfile *file, const char *path);
int outfile_commit(struct outfile *file);   /* it takes path's place now; closes either way */
void outfile_abandon(struct outfile *file); /* as if it had never been; fine after commit */

/* Could a file be put at path? Asked before hours of work; leaves nothing behind. */
int outfile_check(const char *path);

#endif
