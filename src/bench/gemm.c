/* gemm.c - matrix products by each candidate, beside what the arithmetic units can do. */
#include "device/gemm.h"
#include "base/clock.h"
#include "base/median.h"
#include "model/model.h"
#include "strategy/fleet.h"

#include <motley/bench.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PEAK_ROUNDS 4096
#define PEAK_S 0.3
#define PEAK_CHAINS 12 /* CHAINS in the kernel */
#define PEAK_LANES_MOST 16

size_t mot_bench_gemm_kinds(void)
{
    return MOT__GEMM_KINDS - 1;
}

const char *mot_bench_gemm_name(size_t kind)
{
    return mot__gemm_name((enum mot__gemm_kind)(kind + 1));
}

struct product {
    enum mot__gemm_kind kind;
    struct mot_bench_gemm shape;
    double seconds, gflops;
};

#define ROUND_S 2e-3 /* or more, so that the wait at the end is a small part */
#define ROUNDS_LEAST 5
#define ROUNDS_MOST 256
#define PATIENCE_S 2.0 /* five rounds need take no longer: such a product is slow, and told so */

/* Lanes that are busy at the same time. */
struct together {
    mot__group *group;
    size_t lanes;
    double deadline_s;
    atomic_size_t told, ended; /* lanes that have counted a round; whose rounds are over */
    double gflops[];           /* (lanes) */
};

struct rounds {
    double gflops[ROUNDS_MOST]; /* sorted when all are there */
    size_t count, rank;
    double median;
    struct together *all; /* NULL: alone */
};

/* No round counts in which another lane had ended; a lane's first does, since nobody ends before
 * each has one, but who fails. */
static void count_round(struct rounds *rounds, double gflops)
{
    if (rounds->count == ROUNDS_MOST ||
        (rounds->count > 0 && rounds->all && atomic_load(&rounds->all->ended) > 0))
        return;
    rounds->gflops[rounds->count++] = gflops;
    if (rounds->all && rounds->count == 1)
        atomic_fetch_add(&rounds->all->told, 1);
}

static bool goes_on(const struct rounds *rounds, double spent, double seconds)
{
    if (rounds->count == 0)
        return true;
    if (rounds->all && atomic_load(&rounds->all->told) < rounds->all->lanes)
        return spent < rounds->all->deadline_s; /* somebody may be hanging */
    return rounds->count < ROUNDS_MOST &&
           (spent < seconds || (rounds->count < ROUNDS_LEAST && spent < PATIENCE_S));
}

/* Rounds of `work` flop each time until the time is up. */
static mot_status measure(mot__device *device, mot_status (*run)(mot__device *, void *), void *user,
                          double work, double seconds, struct rounds *rounds)
{
    mot_status status = MOT_OK;
    size_t i, repeat = 1;
    double first, began, now;

    MOT_TRY(run(device, user)); /* builds and warms */
    MOT_TRY(mot__device_finish(device));
    if (rounds->all)
        MOT_TRY(mot__group_barrier(rounds->all->group, rounds->rank));
    first = mot__clock_s();
    do {
        began = mot__clock_s();
        for (i = 0; i < repeat; i++)
            MOT_TRY(run(device, user));
        MOT_TRY(mot__device_finish(device));
        now = mot__clock_s();
        if (now - began < ROUND_S && repeat < 256)
            repeat *= 2;
        else
            count_round(rounds, (double)repeat * work / (now - began) * 1e-9);
    } while (goes_on(rounds, now - first, seconds));
    rounds->median = mot__median(rounds->gflops, rounds->count);
done:
    return status;
}

struct operands {
    struct mot__gemm gemm;
    enum mot__gemm_kind kind;
};

static mot_status run_product(mot__device *device, void *user)
{
    const struct operands *o = user;

    return mot__gemm_by(device, o->kind, &o->gemm);
}

static mot_status job_product(mot__lane *lane, void *user, void *payload)
{
    struct product *p = user;
    const struct mot_bench_gemm *s = &p->shape;
    mot__device *device = mot__lane_device(lane);
    const size_t bytes[3] = {s->m * s->k * 4, s->k * s->n * 4, s->m * s->n * 4};
    mot__buffer *buffer[3] = {NULL};
    struct operands o = {.kind = p->kind};
    struct rounds rounds = {.count = 0};
    mot_status status = MOT_OK;
    size_t i;

    (void)payload;
    for (i = 0; i < 3; i++) {
        MOT_TRY(mot__buffer_open(device, bytes[i], &buffer[i]));
        MOT_TRY(mot__buffer_zero(buffer[i], 0, bytes[i]));
    }
    o.gemm = (struct mot__gemm){.trans_a = s->trans_a,
                                .trans_b = s->trans_b,
                                .m = s->m,
                                .n = s->n,
                                .k = s->k,
                                .a = {buffer[0], 0},
                                .b = {buffer[1], 0},
                                .c = {buffer[2], 0},
                                .alpha = 1};
    MOT_TRY(measure(device, run_product, &o, 2.0 * (double)s->m * (double)s->n * (double)s->k,
                    p->seconds, &rounds));
    p->gflops = rounds.median;
done:
    for (i = 0; i < 3; i++)
        mot__buffer_close(buffer[i]);
    return status;
}

mot_status mot_bench_gemm(mot_fleet *fleet, size_t lane, size_t kind,
                          const struct mot_bench_gemm *shape, double seconds, double *gflops)
{
    struct product product = {(enum mot__gemm_kind)(kind + 1), *shape, seconds, 0};
    mot_status status;

    if (kind >= mot_bench_gemm_kinds() || !shape->m || !shape->n || !shape->k)
        return mot__fail(MOT_BAD_ARG, "mot_bench_gemm: no such candidate, or an empty product");
    status = mot__fleet_call(fleet, lane, job_product, &product, sizeof product);
    if (status == MOT_OK)
        *gflops = product.gflops;
    return status;
}

/* ---- the limit ---- */

struct peak {
    mot__buffer *in, *out;
    size_t items;
};

static mot_status run_peak(mot__device *device, void *user)
{
    const struct peak *peak = user;
    const struct mot__mem in = {peak->in, 0}, out = {peak->out, 0};
    const struct mot__arg args[] = {MOT__U32(PEAK_ROUNDS), MOT__MEM(in), MOT__MEM(out)};

    return mot__launch(device, &(struct mot__launch){.program = "peak",
                                                     .kernel = "peak",
                                                     .dims = 1,
                                                     .global = {peak->items},
                                                     .args = args,
                                                     .count = MOT__COUNT(args)});
}

/* What `rounds` says of others is the caller's. */
static mot_status measure_peak(mot__device *device, struct rounds *rounds, double *gflops)
{
    const struct mot__device_facts *facts = mot__device_facts(device);
    const bool cpu = facts->device_class == MOT_CLASS_CPU;
    struct peak peak = {NULL, NULL, cpu ? facts->units * 8 : facts->units * 2048};
    const size_t lanes = cpu ? PEAK_LANES_MOST : 4;
    float in[2 * PEAK_LANES_MOST];
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < 2 * lanes; i++)
        in[i] = i < lanes ? 0.999f : 0.001f; /* the chains stay near 1 */
    MOT_TRY(mot__buffer_open(device, sizeof in, &peak.in));
    MOT_TRY(mot__buffer_write(peak.in, 0, in, sizeof in));
    MOT_TRY(mot__buffer_open(device, peak.items * lanes * sizeof(float), &peak.out));
    MOT_TRY(measure(device, run_peak, &peak,
                    2.0 * (double)lanes * PEAK_CHAINS * PEAK_ROUNDS * (double)peak.items, PEAK_S,
                    rounds));
    *gflops = rounds->gflops[rounds->count - 1]; /* a limit: noise only slows */
done:
    mot__buffer_close(peak.in);
    mot__buffer_close(peak.out);
    return status;
}

static mot_status job_peak(mot__lane *lane, void *user, void *payload)
{
    struct rounds rounds = {.count = 0};

    (void)payload;
    return measure_peak(mot__lane_device(lane), &rounds, user);
}

static mot_status job_peak_all(mot__lane *lane, void *user, void *payload)
{
    struct together *all = user;
    const size_t rank = *(const size_t *)payload;
    struct rounds rounds = {.rank = rank, .all = all};
    const mot_status status = measure_peak(mot__lane_device(lane), &rounds, &all->gflops[rank]);

    atomic_fetch_add(&all->ended, 1);
    if (status != MOT_OK) {
        mot__group_abort(all->group, rank, status);
        atomic_fetch_add(&all->told, all->lanes); /* nobody waits for it */
    }
    return status;
}

mot_status mot_bench_peak(mot_fleet *fleet, size_t lane, double *gflops)
{
    return mot__fleet_call(fleet, lane, job_peak, gflops, sizeof *gflops);
}

mot_status mot_bench_peak_all(mot_fleet *fleet, double *gflops)
{
    const size_t lanes = mot_fleet_count(fleet);
    struct together *all = calloc(1, sizeof *all + lanes * sizeof *all->gflops);
    mot_status status = MOT_OK;
    double sum = 0;
    size_t i;

    if (!all)
        return mot__fail(MOT_NO_MEMORY, "%zu devices' peaks", lanes);
    atomic_init(&all->told, 0);
    atomic_init(&all->ended, 0);
    all->lanes = lanes;
    all->deadline_s = mot__fleet_deadline(fleet);
    MOT_TRY(
        mot__group_open(lanes, 0, MOT__ALGORITHM_AUTO, mot__fleet_deadline(fleet), &all->group));
    MOT_TRY(mot__fleet_meet(fleet, all->group, job_peak_all, all));
    for (i = 0; i < lanes; i++)
        sum += all->gflops[i];
    *gflops = sum;
done:
    if (mot__fleet_idle(fleet)) {
        mot__group_close(all->group);
        free(all);
    }
    return status;
}

/* ---- the shapes of a training step ---- */

/* Something before it, or it, has weights that want a gradient: the input has none. */
static bool learns(const mot_model *net, size_t n)
{
    const struct mot__node *node = &net->node[n];
    size_t i;

    if (node->kind == MOT__NODE_DENSE)
        return true;
    for (i = 0; i < node->inputs; i++)
        if (learns(net, node->input[i]))
            return true;
    return false;
}

bool mot_bench_gemm_of(const mot_model *net, size_t batch, size_t index, struct mot_bench_gemm *out,
                       const char **what)
{
    static const char *const name[] = {"forward", "weights", "inputs"};
    size_t n, in, seen = 0, pass;

    for (n = 0; n < net->count; n++) {
        if (net->node[n].kind != MOT__NODE_DENSE)
            continue;
        in = net->node[net->node[n].input[0]].width;
        for (pass = 0; pass < 3; pass++) {
            if (pass == 2 && !learns(net, net->node[n].input[0]))
                continue;
            if (seen++ != index)
                continue;
            *what = name[pass];
            *out = pass == 0 ? (struct mot_bench_gemm){false, true, batch, net->node[n].width, in}
                   : pass == 1
                       ? (struct mot_bench_gemm){true, false, net->node[n].width, in, batch}
                       : (struct mot_bench_gemm){false, false, batch, in, net->node[n].width};
            return true;
        }
    }
    return false;
}
