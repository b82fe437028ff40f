/* bench_gemm.c - motley bench gemm: matrix products beside the peak of the arithmetic units. */
#include "cli/bench.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>

static mot_status gemm_row(struct bench *bench, size_t lane, const char *what,
                           const struct mot_bench_gemm *shape, double peak)
{
    mot_status status = MOT_OK;
    size_t kind;
    double gflops;

    if (bench_people(bench))
        printf("%-18s %5zu %5zu %5zu %c%c", what, shape->m, shape->n, shape->k,
               shape->trans_a ? 'T' : 'N', shape->trans_b ? 'T' : 'N');
    put_object(&bench->json, NULL);
    put_text(&bench->json, "what", what);
    put_count(&bench->json, "m", shape->m);
    put_count(&bench->json, "n", shape->n);
    put_count(&bench->json, "k", shape->k);
    put_bool(&bench->json, "trans_a", shape->trans_a);
    put_bool(&bench->json, "trans_b", shape->trans_b);
    for (kind = 0; kind < mot_bench_gemm_kinds() && status == MOT_OK; kind++) {
        status = mot_bench_gemm(bench->session.fleet, lane, kind, shape,
                                bench->options->seconds / 25, &gflops);
        if (status != MOT_OK)
            gflops = NAN;
        if (bench_goes_on(status))
            status = MOT_OK;
        put_number(&bench->json, mot_bench_gemm_name(kind), gflops);
        if (bench_people(bench) && isnan(gflops))
            printf("  %9s", "-");
        else if (bench_people(bench))
            printf("  %9.1f", gflops);
    }
    put_end(&bench->json);
    if (bench_people(bench))
        printf("   (peak %.0f)\n", peak);
    fflush(stdout);
    return status;
}

static mot_status gemm_net(struct bench *bench, size_t lane, const char *name, size_t batch,
                           double peak)
{
    struct mot_bench_gemm shape;
    mot_model *net = NULL;
    mot_status status = session_open_net(name, MOT_SHAPE(784), &net);
    const char *pass;
    char what[48];
    size_t i;

    for (i = 0; mot_preset(i, NULL) && strcmp(mot_preset(i, NULL), name) != 0; i++)
        ;
    name = mot_preset(i, NULL) ? name : "net"; /* a text would be too long for a column */

    for (i = 0; status == MOT_OK && mot_bench_gemm_of(net, batch, i, &shape, &pass); i++) {
        snprintf(what, sizeof what, "%s %s", name, pass);
        status = gemm_row(bench, lane, what, &shape, peak);
    }
    mot_model_close(net);
    return status;
}

/* Of the network and the batch that were asked for; without either, of every preset, and squares.
 */
static mot_status gemm_rows(struct bench *bench, size_t lane, double peak)
{
    static const size_t side[] = {256, 512, 1024, 2048};
    const struct options *options = bench->options;
    mot_status status = MOT_OK;
    const char *name;
    size_t i;

    if (option_given(options, "net"))
        return gemm_net(bench, lane, options->net, bench_batch(bench, options->net), peak);
    for (i = 0; status == MOT_OK && (name = mot_preset(i, NULL)) != NULL; i++)
        status = gemm_net(bench, lane, name, bench_batch(bench, name), peak);
    for (i = 0; status == MOT_OK && i < sizeof side / sizeof *side; i++)
        status = gemm_row(bench, lane, "square",
                          &(struct mot_bench_gemm){false, false, side[i], side[i], side[i]}, peak);
    return status;
}

static mot_status gemm_lane(struct bench *bench, size_t lane)
{
    mot_status status;
    double peak = NAN;
    size_t kind;

    status = mot_bench_peak(bench->session.fleet, lane, &peak);
    put_object(&bench->json, NULL);
    put_text(&bench->json, "device", mot_fleet_label(bench->session.fleet, lane));
    put_number(&bench->json, "peak_gflops", peak);
    put_array(&bench->json, "rows");
    if (bench_people(bench)) {
        printf("device %s: %s, GFLOP/s\n%-18s %5s %5s %5s   ",
               mot_fleet_label(bench->session.fleet, lane),
               mot_fleet_get(bench->session.fleet, lane)->name, "product", "m", "n", "k");
        for (kind = 0; kind < mot_bench_gemm_kinds(); kind++)
            printf("  %9s", mot_bench_gemm_name(kind));
        printf("\n");
    }
    if (status == MOT_OK)
        status = gemm_rows(bench, lane, peak);
    put_end(&bench->json);
    put_end(&bench->json);
    return status;
}

int bench_gemm(struct bench *bench)
{
    mot_status status = bench_open_fleet(bench, NULL, &bench->session.fleet);
    size_t lane;

    put_array(&bench->json, "devices");
    for (lane = 0; status == MOT_OK && lane < mot_fleet_count(bench->session.fleet); lane++)
        status = gemm_lane(bench, lane);
    put_end(&bench->json);
    return status == MOT_OK ? EXIT_FINE : fail_library(status);
}
