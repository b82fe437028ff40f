/* dataset.h - the data a run asked for, or the best there is, under a name that says which. */
#ifndef MOT_CLI_DATASET_H
#define MOT_CLI_DATASET_H

#include <motley/motley.h>

struct dataset {
    mot_data *train, *test; /* train is NULL where it was not wanted */
    char name[256];         /* "Fashion-MNIST" */
    char note[1024];        /* why it is not the data one would expect; "" if it is */
};

struct dataset_wish {
    const char *which; /* mnist, fashion, digits, a folder; NULL: the first of these that works */
    bool offline;      /* never touch the network */
    bool train;        /* the training part too */
    bool quiet;
};

/* 0, or an exit code after the sentence. */
int dataset_open(const struct dataset_wish *wish, struct dataset *out);
void dataset_close(struct dataset *dataset);

#endif
