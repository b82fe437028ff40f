/* tune_gemm.c - each product of a training step by each candidate; the fastest that computes
 * rightly is remembered. */
#include "bench/tune.h"

#include "base/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHAPES 128
#define NEAR 4.0 /* CLBlast's own tuning gained 2.7 x where it was tried: more is not expected */

struct product {
    struct mot_bench_gemm shape;
    char what[MOT__GEMM_WHAT]; /* for the store */
    char said[64];
};

struct kind_of_device { /* lanes of one kind are tuned as one */
    size_t lane;
    bool wished;                          /* its opener named a candidate: nothing to choose */
    size_t set, usual_set;                /* of CLBlast's parameters */
    double rate[SHAPES][MOT__GEMM_KINDS]; /* GFLOP/s; 0: it does not run */
    enum mot__gemm_kind usual[SHAPES];
    double before[SHAPES];
};

struct mot__tune_products {
    struct mot__tuner *tuner;
    struct product product[SHAPES];
    size_t products;
    struct kind_of_device *device;
    size_t devices;
};

static double cost_of(const struct mot__tuner *tuner)
{
    return MOT__TUNE_PRODUCT * tuner->config.seconds;
}

/* Every product by every candidate, on one device. */
static double cost_of_all(const mot__tune_products *products)
{
    return (double)(products->products * mot_bench_gemm_kinds()) * cost_of(products->tuner);
}

/* ---- what there is to measure ---- */

static struct mot__gemm gemm_of(const struct mot_bench_gemm *shape)
{
    return (struct mot__gemm){.trans_a = shape->trans_a,
                              .trans_b = shape->trans_b,
                              .m = shape->m,
                              .n = shape->n,
                              .k = shape->k};
}

static void add_product(mot__tune_products *products, const struct mot_bench_gemm *shape)
{
    struct product *product = &products->product[products->products];
    const struct mot__gemm gemm = gemm_of(shape);
    size_t i;

    if (products->products == SHAPES)
        return;
    product->shape = *shape;
    mot__gemm_what(&gemm, product->what);
    snprintf(product->said, sizeof product->said, "gemm %c%c %zu x %zu x %zu",
             shape->trans_a ? 't' : 'n', shape->trans_b ? 't' : 'n', shape->m, shape->n, shape->k);
    for (i = 0; i < products->products; i++)
        if (strcmp(products->product[i].what, product->what) == 0)
            return;
    products->products++;
}

/* With the whole batch, and with an even share of it: shares by speed lie about there. */
static void find_products(mot__tune_products *products)
{
    const struct mot__tuner *tuner = products->tuner;
    const size_t lanes = mot_fleet_count(tuner->fleet);
    const size_t rows[] = {tuner->batch, (tuner->batch + lanes - 1) / lanes};
    struct mot_bench_gemm shape;
    const char *pass;
    size_t r, i;

    for (r = 0; r < MOT__COUNT(rows); r++)
        for (i = 0; mot_bench_gemm_of(tuner->net, rows[r], i, &shape, &pass); i++)
            add_product(products, &shape);
}

mot_status mot__tune_products_open(struct mot__tuner *tuner, mot__tune_products **out)
{
    const size_t lanes = mot_fleet_count(tuner->fleet);
    mot__tune_products *products = calloc(1, sizeof *products);
    size_t lane;

    if (products)
        products->device = calloc(lanes, sizeof *products->device);
    if (!products || !products->device) {
        mot__tune_products_close(products);
        return mot__fail(MOT_NO_MEMORY, "figures of %zu devices", lanes);
    }
    products->tuner = tuner;
    find_products(products);
    for (lane = 0; lane < lanes; lane++)
        if (mot__tune_first(tuner->fleet, lane))
            products->device[products->devices++].lane = lane;
    tuner->planned += (double)products->devices * cost_of_all(products);
    *out = products;
    return MOT_OK;
}

void mot__tune_products_close(mot__tune_products *products)
{
    if (products)
        free(products->device);
    free(products);
}

/* ---- figures ---- */

static mot_status measure(mot__tune_products *products, struct kind_of_device *device, size_t p,
                          enum mot__gemm_kind kind)
{
    struct mot__tuner *tuner = products->tuner;
    const struct product *product = &products->product[p];
    char label[MOT__GEMM_LABEL];
    double gflops = 0;
    mot_status status = mot_bench_gemm(tuner->fleet, device->lane, (size_t)kind - 1,
                                       &product->shape, cost_of(tuner), &gflops);

    if (status != MOT_OK && !mot__tune_out(status))
        return status;
    device->rate[p][kind] = status == MOT_OK ? gflops : 0;
    mot__gemm_label(kind, device->set, label);
    return mot__tune_tell(
        tuner,
        (struct mot_tune_trial){.device = mot_fleet_label(tuner->fleet, device->lane),
                                .what = product->said,
                                .choice = label,
                                .unit = "GFLOP/s",
                                .value = status == MOT_OK ? gflops : NAN},
        cost_of(tuner));
}

/* ---- decisions, on the device's own thread ---- */

struct deciding {
    mot__tune_products *products;
    struct kind_of_device *device;
};

static mot_status job_usual(mot__lane *lane, void *user, void *payload)
{
    const struct deciding *d = user;
    mot__device *device = mot__lane_device(lane);
    mot_status status = MOT_OK;
    size_t p;

    (void)payload;
    d->device->wished = mot__gemm_wished(device);
    for (p = 0; p < d->products->products && !d->device->wished; p++) {
        const struct mot_bench_gemm *shape = &d->products->product[p].shape;

        MOT_TRY(mot__gemm_choose(device, shape->trans_a, shape->trans_b, &d->device->usual[p]));
    }
    d->device->set = d->device->usual_set = mot__gemm_set(device);
done:
    return status;
}

/* The fastest that computes rightly; the usual one unless that is worth it. */
static mot_status pick(mot__device *device, const struct mot_bench_gemm *shape, double *rate,
                       enum mot__gemm_kind usual, enum mot__gemm_kind *out)
{
    mot_status status = MOT_OK;
    enum mot__gemm_kind kind, best;
    bool good = false;

    for (;;) {
        best = usual;
        for (kind = MOT__GEMM_AUTO + 1; kind < MOT__GEMM_KINDS; kind++)
            if (rate[kind] > rate[best] && rate[kind] > MOT__TUNE_BETTER * rate[usual])
                best = kind;
        *out = best;
        if (best == usual)
            return MOT_OK;
        MOT_TRY(mot__gemm_trusted(device, best, shape->trans_a, shape->trans_b, &good));
        if (good)
            return MOT_OK;
        rate[best] = 0;
    }
done:
    return status;
}

static mot_status job_decide(mot__lane *lane, void *user, void *payload)
{
    const struct deciding *d = user;
    struct kind_of_device *of = d->device;
    mot__device *device = mot__lane_device(lane);
    enum mot__gemm_kind best;
    mot_status status = MOT_OK;
    size_t p;

    (void)payload;
    for (p = 0; p < d->products->products; p++) {
        const struct product *product = &d->products->product[p];
        struct mot__tuned tuned = {.before = of->before[p]};

        MOT_TRY(pick(device, &product->shape, of->rate[p], of->usual[p], &best));
        mot__gemm_label(best, of->set, tuned.choice);
        mot__gemm_label(of->usual[p], of->usual_set, tuned.usual);
        tuned.value = of->rate[p][best];
        tuned.when = (uint64_t)time(NULL);
        if (tuned.value > 0 && tuned.before > 0)
            MOT_TRY(mot__tuned_set(device, product->what, &tuned));
    }
done:
    return status;
}

static double best_rate(const double *rate)
{
    enum mot__gemm_kind kind;
    double best = 0;

    for (kind = MOT__GEMM_AUTO + 1; kind < MOT__GEMM_KINDS; kind++)
        best = rate[kind] > best ? rate[kind] : best;
    return best;
}

static bool worth_trying(const mot__tune_products *products, const struct kind_of_device *device)
{
    size_t p;

    for (p = 0; p < products->products; p++)
        if (device->rate[p][MOT__GEMM_CLBLAST] > 0 &&
            (products->tuner->config.all ||
             NEAR * device->rate[p][MOT__GEMM_CLBLAST] > best_rate(device->rate[p])))
            return !device->wished;
    return false;
}

static size_t sets_to_try(const struct kind_of_device *device)
{
    return mot__gemm_sets() - (device->usual_set > 0);
}

static double cost_of_set(const mot__tune_products *products)
{
    return (double)products->products * cost_of(products->tuner);
}

mot_status mot__tune_products_run(mot__tune_products *products)
{
    mot_fleet *fleet = products->tuner->fleet;
    mot_status status = MOT_OK;
    enum mot__gemm_kind kind;
    size_t d, p;

    for (d = 0; d < products->devices; d++) {
        struct kind_of_device *device = &products->device[d];
        struct deciding deciding = {products, device};

        MOT_TRY(mot__fleet_call(fleet, device->lane, job_usual, &deciding, sizeof deciding));
        for (p = 0; p < products->products && !device->wished; p++) {
            for (kind = MOT__GEMM_AUTO + 1; kind < MOT__GEMM_KINDS; kind++)
                MOT_TRY(measure(products, device, p, kind));
            device->before[p] = device->rate[p][device->usual[p]];
        }
        if (device->wished)
            products->tuner->planned -= cost_of_all(products);
        else
            MOT_TRY(mot__fleet_call(fleet, device->lane, job_decide, &deciding, sizeof deciding));
        if (worth_trying(products, device))
            products->tuner->planned += (double)sets_to_try(device) * cost_of_set(products);
    }
done:
    return status;
}

/* ---- CLBlast with parameters of ours ---- */

/* Seconds of all products, each by its fastest candidate. */
static double seconds_of(const mot__tune_products *products, const struct kind_of_device *device)
{
    double seconds = 0, rate;
    size_t p;

    for (p = 0; p < products->products; p++) {
        const struct mot_bench_gemm *s = &products->product[p].shape;

        rate = best_rate(device->rate[p]);
        seconds += rate > 0 ? 2e-9 * (double)s->m * (double)s->n * (double)s->k / rate : 0;
    }
    return seconds;
}

static mot_status job_use_set(mot__lane *lane, void *user, void *payload)
{
    (void)payload;
    return mot__gemm_use_set(mot__lane_device(lane), *(const size_t *)user);
}

/* Wrong anywhere is out: a set serves every product. */
static mot_status job_trust_set(mot__lane *lane, void *user, void *payload)
{
    const struct deciding *d = user;
    mot_status status = MOT_OK;
    bool good = true;
    size_t p, q;

    (void)payload;
    for (p = 0; p < d->products->products && good; p++) {
        const struct mot_bench_gemm *shape = &d->products->product[p].shape;

        MOT_TRY(mot__gemm_trusted(mot__lane_device(lane), MOT__GEMM_CLBLAST, shape->trans_a,
                                  shape->trans_b, &good));
    }
    for (q = 0; q < d->products->products && !good; q++)
        d->device->rate[q][MOT__GEMM_CLBLAST] = 0;
done:
    return status;
}

/* Measure with one set; the copy of the figures it is worked on becomes the best if it is. */
static mot_status try_set(mot__tune_products *products, size_t set, struct kind_of_device *best)
{
    mot_fleet *fleet = products->tuner->fleet;
    struct kind_of_device *trial = malloc(sizeof *trial);
    struct deciding deciding = {products, trial};
    mot_status status = MOT_OK;
    size_t p;

    if (!trial)
        return mot__fail(MOT_NO_MEMORY, "figures of a device");
    *trial = *best;
    trial->set = set;
    status = mot__fleet_call(fleet, trial->lane, job_use_set, &set, sizeof set);
    if (mot__tune_out(status)) {
        products->tuner->spent += cost_of_set(products);
        status = MOT_OK;
        goto done;
    }
    MOT_TRY(status);
    for (p = 0; p < products->products; p++)
        MOT_TRY(measure(products, trial, p, MOT__GEMM_CLBLAST));
    if (seconds_of(products, best) < MOT__TUNE_BETTER * seconds_of(products, trial))
        goto done;
    MOT_TRY(mot__fleet_call(fleet, trial->lane, job_trust_set, &deciding, sizeof deciding));
    if (trial->rate[0][MOT__GEMM_CLBLAST] > 0)
        *best = *trial;
done:
    if (mot__fleet_idle(fleet))
        free(trial);
    return status;
}

static mot_status keep_set(mot__tune_products *products, struct kind_of_device *device, double gain)
{
    mot_fleet *fleet = products->tuner->fleet;
    struct deciding deciding = {products, device};
    struct mot__tuned tuned = {.value = gain, .before = 1};
    mot_status status =
        mot__fleet_call(fleet, device->lane, job_use_set, &device->set, sizeof device->set);

    if (device->set == device->usual_set)
        return MOT_OK; /* maybe its own, to which there is no way back before the process ends */
    if (status != MOT_OK)
        return status;
    mot__gemm_label(MOT__GEMM_CLBLAST, device->set, tuned.choice);
    mot__gemm_label(MOT__GEMM_CLBLAST, device->usual_set, tuned.usual);
    status = mot__tune_keep(fleet, device->lane, "clblast", tuned);
    return status == MOT_OK
               ? mot__fleet_call(fleet, device->lane, job_decide, &deciding, sizeof deciding)
               : status;
}

mot_status mot__tune_products_sets(mot__tune_products *products)
{
    mot_status status = MOT_OK;
    size_t d, set;

    for (d = 0; d < products->devices; d++) {
        struct kind_of_device *device = &products->device[d];
        const double before = seconds_of(products, device);

        if (!worth_trying(products, device))
            continue;
        for (set = 1; set <= mot__gemm_sets(); set++)
            if (set != device->usual_set)
                MOT_TRY(try_set(products, set, device));
        MOT_TRY(keep_set(products, device, before / seconds_of(products, device)));
    }
done:
    return status;
}
