/* kernels.h - the texts of cl/, put into the library by cmake/embed.cmake. */
#ifndef MOT_DEVICE_KERNELS_H
#define MOT_DEVICE_KERNELS_H

struct mot__kernel_text {
    const char *name; /* of the file, without .cl; NULL ends the table */
    const char *text;
};
extern const struct mot__kernel_text mot__kernel_texts[];

#endif
