/* weights.c - the parameters to a safetensors file and back. */
#include "io/safetensors.h"
#include "train/trainer.h"

#include <stdlib.h>

static mot_status read_all(mot_trainer *trainer, const struct mot__parameters *table, float **out)
{
    float *flat = calloc(table->floats, sizeof *flat);
    mot_status status;

    if (!flat)
        return mot__fail(MOT_NO_MEMORY, "%zu parameters", table->floats);
    status = mot__engine_read(trainer->engine, mot__engine_first(trainer->engine), 0, flat,
                              table->floats);
    if (status == MOT_OK)
        *out = flat;
    else
        free(flat);
    return status;
}

mot_status mot_weights_save(mot_trainer *trainer, const char *path)
{
    const struct mot__parameters *table = &mot__engine_common(trainer->engine)->net->table;
    const struct mot__note note = {"format", "motley"};
    struct mot__tensor_out *tensor = calloc(table->count, sizeof *tensor);
    mot_status status = MOT_OK;
    float *flat = NULL;
    size_t p;

    if (!tensor)
        return mot__fail(MOT_NO_MEMORY, "%zu tensors", table->count);
    MOT_TRY(read_all(trainer, table, &flat));
    for (p = 0; p < table->count; p++)
        tensor[p] = (struct mot__tensor_out){table->row[p].name, "F32", table->row[p].shape,
                                             flat + table->row[p].offset};
    MOT_TRY(mot__safetensors_write(path, tensor, table->count, &note, 1));
done:
    free(tensor);
    free(flat);
    return status;
}

static bool same_shape(const struct mot__tensor_in *tensor, struct mot_shape shape)
{
    size_t i;

    if (tensor->rank != shape.rank)
        return false;
    for (i = 0; i < shape.rank; i++)
        if (tensor->dim[i] != shape.dim[i])
            return false;
    return true;
}

static mot_status load_one(mot__safetensors *file, const char *path,
                           const struct mot__parameter *row, float *out)
{
    const struct mot__tensor_in *tensor = mot__safetensors_find(file, row->name);
    char shape[96];

    mot__shape_text(row->shape, shape, sizeof shape);
    if (!tensor)
        return mot__fail(MOT_FORMAT, "%s has no tensor \"%s\" %s", path, row->name, shape);
    if (!same_shape(tensor, row->shape))
        return mot__fail(MOT_BAD_SHAPE, "%s: \"%s\" has another shape than the network's %s", path,
                         row->name, shape);
    return mot__safetensors_read(file, tensor, out, row->count);
}

mot_status mot_weights_load(mot_trainer *trainer, const char *path)
{
    const struct mot__parameters *table = &mot__engine_common(trainer->engine)->net->table;
    mot__safetensors *file = NULL;
    mot_status status = MOT_OK;
    float *flat = NULL;
    size_t p;

    MOT_TRY(mot__safetensors_open(path, &file));
    if (mot__safetensors_count(file) != table->count) {
        status = mot__fail(MOT_FORMAT, "%s holds %zu tensors, the network %zu", path,
                           mot__safetensors_count(file), table->count);
        goto done;
    }
    flat = calloc(table->floats, sizeof *flat);
    if (!flat) {
        status = mot__fail(MOT_NO_MEMORY, "%zu parameters", table->floats);
        goto done;
    }
    for (p = 0; p < table->count; p++)
        MOT_TRY(load_one(file, path, &table->row[p], flat + table->row[p].offset));
    MOT_TRY(mot__engine_write(trainer->engine, 0, flat,
                              table->floats)); /* nothing before all is read */
done:
    mot__safetensors_close(file);
    free(flat);
    return status;
}
