/* doctor.h - the parts of mot_diagnosis_*: what is wrong with each GPU, and the report. */
#ifndef MOT_TRAIN_DOCTOR_H
#define MOT_TRAIN_DOCTOR_H

#include "train/machine.h"

struct mot_diagnosis {
    struct mot_finding *finding;
    size_t count;
    char *report;
};

/* As mot_diagnosis_open, with an inventory of the caller's. */
mot_status mot__diagnose(const char *root, const mot_inventory *inventory, mot_diagnosis **out);

/* Text for an issue; names no user and no home. The caller frees it. */
mot_status mot__report(const struct mot__machine *machine, const mot_inventory *inventory,
                       const struct mot_finding *finding, size_t count, char **out);

#endif
