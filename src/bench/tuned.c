/* tuned.c - what tuning left behind: told, forgotten, and missed. */
#include "bench/tune.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is remembered ---- */

struct memory { /* lines of one device */
    struct {
        char what[100];
        struct mot__tuned tuned;
    } * row;
    size_t count;
};

static mot_status add_row(void *user, const char *key, const char *value)
{
    struct memory *memory = user;
    void *grown = realloc(memory->row, (memory->count + 1) * sizeof *memory->row);

    if (!grown)
        return mot__fail(MOT_NO_MEMORY, "%zu choices", memory->count + 1);
    memory->row = grown;
    snprintf(memory->row[memory->count].what, sizeof memory->row->what, "%s",
             key + strlen(MOT__TUNED));
    memory->count += mot__tuned_parse(value, &memory->row[memory->count].tuned);
    return MOT_OK;
}

static mot_status job_recall(mot__lane *lane, void *user, void *payload)
{
    (void)payload;
    return mot__store_each(mot__lane_device(lane), MOT__TUNED, add_row, user);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b); /* what comes first in a row */
}

/* "gemm.nt.128.512.1024" as "gemm nt 128 x 512 x 1024", "fleet.<sum>.100" as "reduce of 100
 * parameters"; false where it is of other devices together. */
static bool say_what(const mot_fleet *fleet, const char *what, char *out, size_t bytes)
{
    const char *last = strrchr(what, '.');
    char way[3], own[MOT__CHOICE_WHAT];
    size_t m, n, k;

    if (sscanf(what, "gemm.%2[nt].%zu.%zu.%zu", way, &m, &n, &k) == 4) {
        snprintf(out, bytes, "gemm %s %zu x %zu x %zu", way, m, n, k);
    } else if (strncmp(what, "fleet.", 6) == 0) {
        mot__choice_what(fleet, (size_t)strtoull(last + 1, NULL, 10), own);
        if (strcmp(own, what) != 0)
            return false;
        snprintf(out, bytes, "reduce of %s parameters", last + 1);
    } else {
        snprintf(out, bytes, "%s", what);
    }
    return true;
}

static const char *unit_of(const char *what)
{
    static const struct {
        const char *begin, *unit;
    } row[] = {{"gemm.", "GFLOP/s"}, {"clblast", "x"}, {"", "samples/s"}};
    size_t i = 0;

    while (strncmp(what, row[i].begin, strlen(row[i].begin)) != 0)
        i++;
    return row[i].unit;
}

static int tell_rows(const mot_fleet *fleet, size_t lane, const struct memory *memory,
                     int (*fn)(const struct mot_tuned *tuned, void *user), void *user)
{
    char said[120];
    size_t i;
    int enough = 0;

    for (i = 0; i < memory->count && !enough; i++) {
        const struct mot__tuned *tuned = &memory->row[i].tuned;
        const char *what = memory->row[i].what;
        const bool together = strncmp(what, "fleet.", 6) == 0;

        if ((together && lane != 0) || !say_what(fleet, what, said, sizeof said))
            continue;
        enough = fn(&(struct mot_tuned){.device = together ? NULL : mot_fleet_label(fleet, lane),
                                        .what = said,
                                        .choice = tuned->choice,
                                        .usual = tuned->usual,
                                        .value = tuned->value,
                                        .before = tuned->before,
                                        .unit = unit_of(what),
                                        .when = tuned->when},
                    user);
    }
    return enough;
}

mot_status mot_tuned_each(mot_fleet *fleet, int (*fn)(const struct mot_tuned *tuned, void *user),
                          void *user)
{
    mot_status status = MOT_OK;
    size_t lane;
    int enough = 0;

    for (lane = 0; lane < mot_fleet_count(fleet) && status == MOT_OK && !enough; lane++) {
        struct memory memory = {NULL, 0};

        if (!mot__tune_first(fleet, lane))
            continue;
        status = mot__fleet_call(fleet, lane, job_recall, &memory, sizeof memory);
        if (status == MOT_OK && memory.count > 0)
            qsort(memory.row, memory.count, sizeof *memory.row, by_name);
        if (status == MOT_OK)
            enough = tell_rows(fleet, lane, &memory, fn, user);
        free(memory.row);
    }
    return status;
}

static mot_status job_forget(mot__lane *lane, void *user, void *payload)
{
    mot__device *device = mot__lane_device(lane);

    (void)payload;
    mot__gemm_anew(device);
    return mot__store_forget(device, MOT__TUNED, user);
}

mot_status mot_tuned_forget(mot_fleet *fleet, size_t *count)
{
    mot_status status = MOT_OK;
    size_t lane, some;

    *count = 0;
    for (lane = 0; lane < mot_fleet_count(fleet) && status == MOT_OK; lane++) {
        some = 0;
        status = mot__fleet_call(fleet, lane, job_forget, &some, sizeof some);
        *count += mot__tune_first(fleet, lane) ? some : 0;
    }
    return status;
}

/* ---- what is missed ---- */

#define SIDE 512
#define GAIN 1.25     /* less is not worth a line: no product reaches the peak */
#define REACH "reach" /* in the store: "<GFLOP/s of the product> <of the units>" */

struct reach {
    double product, peak;
    bool tuned, known;
};

static mot_status job_reach(mot__lane *lane, void *user, void *payload)
{
    mot__device *device = mot__lane_device(lane);
    struct reach *reach = user;
    char line[80], word[2][32];
    bool found = false;
    mot_status status = MOT_OK;

    (void)payload;
    MOT_TRY(mot__tuned_any(device, &reach->tuned));
    reach->tuned = reach->tuned || mot__gemm_wished(device);
    MOT_TRY(mot__store_get(device, REACH, line, sizeof line, &found));
    reach->known = found && sscanf(line, "%31s %31s", word[0], word[1]) == 2 &&
                   mot__text_f64(word[0], &reach->product) &&
                   mot__text_f64(word[1], &reach->peak) && reach->product > 0 && reach->peak > 0;
done:
    return status;
}

static mot_status job_note_reach(mot__lane *lane, void *user, void *payload)
{
    mot__device *device = mot__lane_device(lane);
    const struct reach *reach = user;
    char line[80], word[2][32];

    (void)payload;
    mot__device_trim(device);
    mot__device_peak_set(device, 0); /* that was no part of the caller's work */
    mot__text_of_f64(reach->product, word[0]);
    mot__text_of_f64(reach->peak, word[1]);
    snprintf(line, sizeof line, "%s %s", word[0], word[1]);
    return mot__store_set(device, REACH, line);
}

static mot_status job_chosen(mot__lane *lane, void *user, void *payload)
{
    (void)payload;
    return mot__gemm_choose(mot__lane_device(lane), false, true, user);
}

static mot_status measure_reach(mot_fleet *fleet, size_t lane, struct reach *reach)
{
    const struct mot_bench_gemm square = {false, true, SIDE, SIDE, SIDE};
    enum mot__gemm_kind kind = MOT__GEMM_AUTO;
    mot_status status = MOT_OK;

    MOT_TRY(mot__fleet_call(fleet, lane, job_chosen, &kind, sizeof kind));
    MOT_TRY(mot_bench_gemm(fleet, lane, (size_t)kind - 1, &square, 0.05, &reach->product));
    MOT_TRY(mot_bench_peak(fleet, lane, &reach->peak));
    MOT_TRY(mot__fleet_call(fleet, lane, job_note_reach, reach, sizeof *reach));
done:
    return status;
}

mot_status mot_tune_hint(mot_fleet *fleet, char *out, size_t bytes)
{
    double most = GAIN;
    size_t lane;

    out[0] = '\0';
    for (lane = 0; lane < mot_fleet_count(fleet); lane++) {
        struct reach reach = {0};
        mot_status status = MOT_OK;

        if (!mot__tune_first(fleet, lane) || mot_fleet_get(fleet, lane)->simulator)
            continue;
        status = mot__fleet_call(fleet, lane, job_reach, &reach, sizeof reach);
        if (status == MOT_OK && !reach.tuned && !reach.known)
            status = measure_reach(fleet, lane, &reach);
        if (status == MOT_NO_MEMORY)
            continue; /* too full to try: nothing is claimed */
        if (status != MOT_OK)
            return status;
        if (reach.tuned || !(reach.peak > most * reach.product))
            continue;
        most = reach.peak / reach.product;
        mot__text_into(
            out, bytes,
            "device %s was never tuned: matrix products reach %.3g of %.3g GFLOP/s (%d x %d x "
            "%d, measured); motley tune could make them up to %.1f x as fast",
            mot_fleet_label(fleet, lane), reach.product, reach.peak, SIDE, SIDE, SIDE, most);
    }
    return MOT_OK;
}
