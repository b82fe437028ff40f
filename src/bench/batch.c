/* batch.c - the batch that suits devices and network: doubled until it no longer helps. */
#include "base/size.h"
#include "data/data.h"

#include <motley/bench.h>
#include <stdlib.h>

#define FIRST 32
#define TABLE 24    /* rows: 32 << 23 samples are more than there are */
#define NEAR 0.95   /* of the best rate is good enough */
#define NO_BETTER 2 /* doublings in a row that do not help end it */
#define BETTER 1.02 /* less is noise */

struct table {
    struct mot_tune_batch row[TABLE];
    size_t rows;
    size_t vain; /* doublings since the best rate */
    double best;
};

static void add(struct table *table, struct mot_tune_batch row)
{
    row.bytes = NULL;
    table->row[table->rows++] = row;
    table->vain = row.samples_per_s > BETTER * table->best ? 0 : table->vain + 1;
    if (row.samples_per_s > table->best)
        table->best = row.samples_per_s;
}

static struct mot_tune_batch smallest_near_best(const struct table *table)
{
    size_t i = 0;

    while (table->row[i].samples_per_s < NEAR * table->best)
        i++;
    return table->row[i];
}

static mot_status measure(mot_fleet *fleet, const mot_model *net,
                          const struct mot_trainer_config *config, mot_data *data,
                          const struct mot_bench_config *bench, struct mot_tune_batch *row)
{
    struct mot_bench_train seen;
    mot_status status = MOT_OK;

    MOT_TRY(mot_data_rewind(data, 0));
    MOT_TRY(mot_data_batch(data, row->batch));
    MOT_TRY(mot_bench_train(fleet, net, config, data, bench, &seen, NULL));
    row->samples_per_s = seen.samples_per_s;
    row->replicas = seen.replicas;
    row->bytes = bench->bytes;
done:
    return status;
}

/* Memory ends the table, unless there is nothing in it. */
static mot_status fill(mot_fleet *fleet, const mot_model *net,
                       const struct mot_trainer_config *config, mot_data *data,
                       const struct mot_bench_config *bench, mot_tune_fn fn, void *user,
                       struct table *table)
{
    struct mot_tune_batch row = {.batch = mot__size_min(FIRST, mot_data_count(data))};
    mot_status status = MOT_OK;

    while (table->rows < TABLE && table->vain < NO_BETTER && row.batch <= mot_data_count(data)) {
        status = measure(fleet, net, config, data, bench, &row);
        if (status == MOT_NO_MEMORY && table->rows > 0)
            return MOT_OK;
        if (status != MOT_OK)
            return status;
        if (fn && fn(&row, user) != 0)
            return mot__fail(MOT_STOPPED, "stopped by the callback at batch %zu", row.batch);
        add(table, row);
        row.batch *= 2;
    }
    return MOT_OK;
}

mot_status mot_tune_batch(mot_fleet *fleet, const mot_model *net,
                          const struct mot_trainer_config *config, mot_data *data, double seconds,
                          mot_tune_fn fn, void *user, struct mot_tune_batch *pick)
{
    struct mot_bench_config bench = mot_bench_config_default();
    struct table table = {.rows = 0};
    mot_status status = MOT_OK;

    bench.resident = true; /* as mot_fit does by default */
    bench.seconds = seconds;
    bench.bytes = calloc(mot_fleet_count(fleet), sizeof *bench.bytes);
    if (!bench.bytes)
        return mot__fail(MOT_NO_MEMORY, "%zu devices", mot_fleet_count(fleet));
    MOT_TRY(fill(fleet, net, config, data, &bench, fn, user, &table));
    MOT_TRY(mot_data_rewind(data, 0));
    *pick = smallest_near_best(&table);
done:
    free(bench.bytes);
    return status;
}
