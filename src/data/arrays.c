/* arrays.c - samples that are in the caller's memory already, looked at before they are believed.
 */
#include "base/config.h"
#include "data/store.h"

#include <string.h>

struct mot_arrays mot_arrays_default(void)
{
    return (struct mot_arrays){.size = sizeof(struct mot_arrays)};
}

static mot_status check_arrays(const struct mot_arrays *arrays)
{
    if (!arrays->x)
        return mot__fail(MOT_BAD_ARG, "mot_data_arrays: x is NULL");
    if ((arrays->labels != NULL) != (arrays->classes != 0))
        return mot__fail(MOT_BAD_ARG, "mot_data_arrays: labels are %s but classes = %zu",
                         arrays->labels ? "given" : "NULL", arrays->classes);
    if ((arrays->targets != NULL) != (arrays->target_width != 0))
        return mot__fail(MOT_BAD_ARG, "mot_data_arrays: targets are %s but target_width = %zu",
                         arrays->targets ? "given" : "NULL", arrays->target_width);
    return MOT_OK;
}

static void copy_in(struct mot__store *store, const struct mot_arrays *arrays)
{
    const struct mot__samples *like = &store->samples;

    memcpy(store->x, arrays->x, like->count * mot__samples_bytes(like));
    if (store->labels)
        memcpy(store->labels, arrays->labels, like->count * sizeof *store->labels);
    if (store->targets)
        memcpy(store->targets, arrays->targets,
               like->count * like->target_width * sizeof *store->targets);
}

mot_status mot_data_arrays(const struct mot_arrays *arrays, mot_data **out)
{
    mot_status status = MOT_OK;
    struct mot__samples like = {0};
    struct mot__store *store = NULL;

    if (!arrays || !out)
        return mot__fail(MOT_BAD_ARG, "mot_data_arrays: NULL argument");
    MOT_TRY(mot__config_check(arrays, sizeof *arrays, "mot_arrays"));
    MOT_TRY(check_arrays(arrays));
    like.count = arrays->count;
    like.shape = arrays->shape;
    like.dtype = arrays->dtype;
    like.classes = arrays->classes;
    like.target_width = arrays->target_width;
    MOT_TRY(mot__samples_check("mot_data_arrays", &like));
    status = mot__samples_judge(&like, NULL, like.count, arrays->labels, arrays->targets);
    if (status != MOT_OK)
        return mot__fail_in(status, "mot_data_arrays");
    if (arrays->copy) {
        MOT_TRY(mot__store_open_own(&like, &store));
        copy_in(store, arrays);
    } else {
        like.x = arrays->x;
        like.labels = arrays->labels;
        like.targets = arrays->targets;
        MOT_TRY(mot__store_open(&like, &store));
    }
    MOT_TRY(mot__data_of(store, out));
done:
    return status;
}
