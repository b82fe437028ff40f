/* train.h - small training runs through the public interface alone: a fleet, a network from text,
 * generated samples, a trainer, and its parameters as one row of numbers. */
#ifndef MOT_TEST_TRAIN_H
#define MOT_TEST_TRAIN_H

#include "support/check.h"

/* ---- samples ---- */

struct train_set {
    size_t count, width, classes;
    float *x;         /* (count, width) */
    uint32_t *labels; /* (count) */
    float *rows;      /* (count, classes): the labels as one-hot rows */
};

/* Classes lie around centres of their own, near enough to each other that a net has to learn. */
static inline struct train_set train_set_make(size_t count, size_t width, size_t classes,
                                              uint64_t seed)
{
    struct train_set set = {count,
                            width,
                            classes,
                            test_floats(count * width),
                            test_alloc(count, sizeof(uint32_t)),
                            test_floats(count * classes)};
    float *centre = test_floats(classes * width);

    test_fill(centre, classes * width, 77, -1, 1); /* the same for every seed */
    test_fill(set.x, count * width, seed, -1, 1);
    for (size_t i = 0; i < count; i++) {
        set.labels[i] = (uint32_t)((i * 7 + seed) % classes);
        set.rows[i * classes + set.labels[i]] = 1;
        for (size_t k = 0; k < width; k++)
            set.x[i * width + k] += centre[set.labels[i] * width + k];
    }
    free(centre);
    return set;
}

static inline void train_set_clear(struct train_set *set)
{
    free(set->x);
    free(set->labels);
    free(set->rows);
    memset(set, 0, sizeof *set);
}

/* With labels, or with rows; batches of so many. */
static inline mot_data *train_data(const struct train_set *set, bool rows, size_t batch)
{
    struct mot_arrays arrays = mot_arrays_default();
    mot_data *data = NULL;

    arrays.count = set->count;
    arrays.shape = MOT_SHAPE(set->width);
    arrays.x = set->x;
    if (rows) {
        arrays.targets = set->rows;
        arrays.target_width = set->classes;
    } else {
        arrays.labels = set->labels;
        arrays.classes = set->classes;
    }
    assert_ok(mot_data_arrays(&arrays, &data));
    assert_ok(mot_data_batch(data, batch));
    return data;
}

/* ---- a run ---- */

struct train_run {
    mot_fleet *fleet;
    mot_model *net;
    mot_trainer *trainer;
    mot_data *data;
};

static inline mot_fleet *train_fleet(const char *devices)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = devices;
    config.deadline_s = 120;
    assert_ok(mot_fleet_open(&config, &fleet));
    assert_string_equal(mot_fleet_notes(fleet), "");
    return fleet;
}

/* Whether this machine has what the device text asks for: a GPU cannot be cut into "0/2". */
static inline bool train_can(const char *devices)
{
    mot_inventory *inventory = NULL;
    bool can;

    assert_ok(mot_inventory_open(NULL, &inventory));
    can = !strchr(devices, '/') || mot_inventory_get(inventory, 0)->max_sub >= 2;
    mot_inventory_close(inventory);
    return can;
}

static inline mot_model *train_net(const char *text)
{
    mot_model *net = NULL;

    assert_ok(mot_model_open(&net));
    assert_ok(mot_model_text(net, text));
    return net;
}

/* Even shares unless told: shares by measured speed would differ from machine to machine. */
static inline struct mot_trainer_config train_config(void)
{
    struct mot_trainer_config config = mot_trainer_config_default();

    config.strategy = test_strategy();
    config.shares = "even";
    config.seed = 5;
    config.optimizer.lr = 0.01;
    return config;
}

static inline struct train_run train_open(const char *devices, const char *net,
                                          const struct mot_trainer_config *config, mot_data *data)
{
    struct train_run run = {train_fleet(devices), train_net(net), NULL, data};

    assert_ok(mot_trainer_open(run.fleet, run.net, config, &run.trainer));
    return run;
}

/* Closes the data too. */
static inline void train_close(struct train_run *run)
{
    mot_trainer_close(run->trainer);
    mot_data_close(run->data);
    mot_model_close(run->net);
    mot_fleet_close(run->fleet);
    memset(run, 0, sizeof *run);
}

static inline mot_batch *train_batch(mot_data *data)
{
    mot_batch *batch = NULL;

    assert_ok(mot_data_next(data, &batch));
    if (!batch) /* the epoch's end: the next one begins */
        assert_ok(mot_data_next(data, &batch));
    assert_non_null(batch);
    return batch;
}

static inline void train_steps(struct train_run *run, size_t steps)
{
    for (size_t i = 0; i < steps; i++)
        assert_ok(mot_trainer_step(run->trainer, train_batch(run->data)));
}

static inline struct mot_metrics train_metrics(struct train_run *run)
{
    struct mot_metrics metrics;

    assert_ok(mot_trainer_metrics(run->trainer, &metrics));
    return metrics;
}

/* What mot_fit would take of one replica's device, without a test and resident data. */
static inline struct mot_plan train_plan(struct train_run *run, size_t replica)
{
    struct mot_plan plan[4];
    struct mot_fit_config fit = mot_fit_config_default();

    fit.batch = 0; /* what the data says */
    fit.resident = false;
    assert_ok(mot_fit_plan(run->trainer, run->data, NULL, &fit, plan));
    return plan[replica];
}

static inline size_t train_devices(void) /* that this machine has */
{
    mot_inventory *inventory = NULL;
    size_t count;

    assert_ok(mot_inventory_open(NULL, &inventory));
    count = mot_inventory_count(inventory);
    mot_inventory_close(inventory);
    return count;
}

/* ---- parameters as one row ---- */

static inline size_t train_numbers(const struct train_run *run)
{
    return mot_model_parameters(run->net);
}

/* Of one replica, in the order of the table; the caller frees it. */
static inline float *train_get(const struct train_run *run, size_t replica)
{
    float *all = test_floats(train_numbers(run));
    size_t at = 0;

    for (size_t p = 0; p < mot_trainer_parameters(run->trainer); p++) {
        struct mot_shape shape;
        const char *name;

        assert_ok(mot_trainer_parameter(run->trainer, p, &name, &shape));
        assert_ok(
            mot_trainer_get_from(run->trainer, replica, name, all + at, mot_shape_count(shape)));
        at += mot_shape_count(shape);
    }
    assert_int_equal(at, train_numbers(run));
    return all;
}

static inline void train_set_all(const struct train_run *run, const float *all)
{
    for (size_t p = 0; p < mot_trainer_parameters(run->trainer); p++) {
        struct mot_shape shape;
        const char *name;

        assert_ok(mot_trainer_parameter(run->trainer, p, &name, &shape));
        assert_ok(mot_trainer_set(run->trainer, name, all, mot_shape_count(shape)));
        all += mot_shape_count(shape);
    }
}

/* The copies of the variables are one: equal to the bit. */
static inline void train_copies_agree(const struct train_run *run)
{
    float *first = train_get(run, 0);

    for (size_t r = 1; r < mot_trainer_replicas(run->trainer); r++) {
        float *other = train_get(run, r);

        check_bits("a replica's parameters", other, first, train_numbers(run));
        free(other);
    }
    free(first);
}

#endif
