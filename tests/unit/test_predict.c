/* test_predict.c - what a cure is said to give against what it gives: on thousands of machines
 * that exist only here. A plain simulation runs steps on such a machine, event by event, and tells
 * where the time went, as a breakdown would; the cure is applied to the machine and it runs again.
 */
#include "support/check.h"

#include <math.h>
#include <motley/bench.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MOST 4
#define STEPS 96
#define WARM 32
#define AHEAD 4 /* batches read before they are asked for */

struct machine {
    size_t lanes, batch, accumulate, share[LANES_MOST];
    bool present[LANES_MOST], by_speed;
    /* seconds */
    double launch[LANES_MOST], kernel[LANES_MOST], row[LANES_MOST], update[LANES_MOST],
        staging[LANES_MOST], wake[LANES_MOST], cold[LANES_MOST], begin[LANES_MOST],
        send[LANES_MOST];
    double add, meet, source; /* source: a row */
    double fill;              /* rows: fewer take as long as so many */
    uint64_t seed;
};

struct ran {
    double samples_per_s;
    struct mot_breakdown part[LANES_MOST];
};

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* From low to high, each power of ten as likely. */
static double spread(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, uniform(seed));
}

static double jitter(uint64_t *seed)
{
    return 0.95 + 0.1 * uniform(seed);
}

static size_t lanes_present(const struct machine *m)
{
    size_t i, count = 0;

    for (i = 0; i < m->lanes; i++)
        count += m->present[i];
    return count;
}

/* Every lane down, added where all have come, up again; then somebody must launch anew. */
static void reduce(const struct machine *m, double *clock, struct mot_breakdown *part)
{
    double last = 0;
    size_t i;

    for (i = 0; i < m->lanes; i++)
        if (m->present[i]) {
            clock[i] += m->staging[i] / 2;
            last = fmax(last, clock[i]);
        }
    for (i = 0; i < m->lanes; i++)
        if (m->present[i]) {
            part[i].staging += m->staging[i];
            part[i].others += last + m->meet - clock[i];
            part[i].reduce += m->add;
            part[i].waiting += m->wake[i];
            part[i].woken += m->wake[i];
            clock[i] = last + m->meet + m->add + m->staging[i] / 2 + m->wake[i];
        }
}

/* Forward and backward, but for what is cold. */
static double pass_s(const struct machine *m, size_t i, double times)
{
    return m->kernel[i] + 0.9 * m->row[i] * fmax(times * (double)m->share[i], m->fill);
}

static void one_step(const struct machine *m, size_t step, double ready, uint64_t *seed,
                     double *clock, struct mot_breakdown *part)
{
    const bool commits = (step + 1) % m->accumulate == 0, updated = step % m->accumulate == 0;
    size_t i;

    for (i = 0; i < m->lanes; i++)
        if (m->present[i]) {
            const double start = fmax(clock[i], ready);
            const double launch = m->launch[i] * jitter(seed);
            const double upload = 0.1 * m->row[i] * (double)m->share[i];
            const double pass = pass_s(m, i, 1) * jitter(seed);
            const double cold = updated ? m->cold[i] : 0;

            part[i].input += start - clock[i];
            part[i].waiting += launch;
            part[i].upload += upload + m->send[i];
            part[i].steady_upload += m->send[i];
            part[i].forward += 0.3 * pass + cold;
            part[i].backward += 0.7 * pass;
            part[i].cold += cold;
            clock[i] = start + launch + m->send[i] + upload + pass + cold;
        }
    if (commits && lanes_present(m) > 1)
        reduce(m, clock, part);
    for (i = 0; i < m->lanes && commits; i++)
        if (m->present[i]) {
            part[i].update += m->update[i];
            part[i].waiting += m->begin[i];
            part[i].updating += m->begin[i];
            clock[i] += m->begin[i] + m->update[i];
        }
}

static double latest(const struct machine *m, const double *clock)
{
    double last = 0;
    size_t i;

    for (i = 0; i < m->lanes; i++)
        if (m->present[i])
            last = fmax(last, clock[i]);
    return last;
}

/* As trials would: seconds become parts of a pass. */
static void tell_passes(const struct machine *m, size_t i, struct mot_breakdown *b)
{
    const double whole = (b->forward + b->backward) / (STEPS - WARM), one = pass_s(m, i, 1);

    b->steady = 1 - (pass_s(m, i, 2) - one) / whole;
    b->steady_far = 1 - (pass_s(m, i, 8) - one) / (7 * whole);
    b->cold /= b->forward + b->backward;
}

static struct ran run(const struct machine *m)
{
    double clock[LANES_MOST] = {0}, begun[STEPS] = {0}, ready = 0, began = 0, seconds;
    uint64_t seed = m->seed;
    struct ran ran = {0};
    size_t step, i;

    for (step = 0; step < STEPS; step++) {
        if (step == WARM) {
            memset(ran.part, 0, sizeof ran.part);
            began = latest(m, clock);
        }
        ready = fmax(ready, step >= AHEAD ? begun[step - AHEAD] : 0) + m->source * (double)m->batch;
        begun[step] = fmax(ready, latest(m, clock));
        one_step(m, step, ready, &seed, clock, ran.part);
    }
    seconds = latest(m, clock) - began;
    ran.samples_per_s = (double)((STEPS - WARM) * m->batch) / seconds;
    for (i = 0; i < m->lanes; i++) {
        struct mot_breakdown *b = &ran.part[i];

        b->waiting += b->others;
        if (m->present[i] && m->share[i] > 0)
            tell_passes(m, i, b);
        b->out = !m->present[i];
        b->steady_upload = b->upload > 0 ? b->steady_upload / b->upload : 0;
        b->input /= seconds, b->upload /= seconds, b->forward /= seconds, b->backward /= seconds;
        b->staging /= seconds, b->reduce /= seconds, b->update /= seconds, b->waiting /= seconds;
        b->others /= seconds, b->woken /= seconds, b->updating /= seconds;
    }
    return ran;
}

static void split_evenly(struct machine *m)
{
    size_t i, left = m->batch, lanes = lanes_present(m);

    for (i = 0; i < m->lanes; i++) {
        m->share[i] = m->present[i] ? left / lanes : 0;
        left -= m->share[i];
        lanes -= m->present[i];
    }
}

/* A row at a time from the one that ends last to the one that ends first. */
static void split_by_speed(struct machine *m)
{
    size_t round, i, first, last;
    double end[LANES_MOST];

    split_evenly(m);
    for (round = 0; round < 4 * m->batch; round++) {
        for (i = 0, first = last = m->lanes; i < m->lanes; i++) {
            end[i] = m->launch[i] + m->send[i] + m->kernel[i] + m->row[i] * (double)m->share[i] +
                     (m->staging[i] + m->wake[i] + m->cold[i] + m->begin[i] + m->update[i]) /
                         (double)m->accumulate;
            if (m->present[i] && (last == m->lanes || end[i] > end[last]) && m->share[i] > 0)
                last = i;
            if (m->present[i] && (first == m->lanes || end[i] < end[first]))
                first = i;
        }
        if (first == last || last == m->lanes || end[last] - end[first] <= m->row[first])
            return;
        m->share[last]--, m->share[first]++;
    }
}

static void split(struct machine *m)
{
    if (m->by_speed)
        split_by_speed(m);
    else
        split_evenly(m);
}

static struct machine random_machine(uint64_t *seed)
{
    struct machine m = {.accumulate = uniform(seed) < 0.2 ? 2 : 1};
    size_t i;

    m.lanes = 1 + (size_t)(uniform(seed) * LANES_MOST);
    m.batch = (size_t)8 << (size_t)(uniform(seed) * 7);
    m.by_speed = uniform(seed) < 0.3;
    m.fill = m.lanes == 1 && uniform(seed) < 0.5 ? spread(seed, 1, 256) : 0;
    m.add = uniform(seed) < 0.7 ? spread(seed, 1e-6, 1e-3) : spread(seed, 1e-3, 1e-2);
    m.meet = spread(seed, 1e-6, 3e-4);
    for (i = 0; i < m.lanes; i++) {
        m.present[i] = true;
        m.launch[i] = spread(seed, 5e-6, 5e-4);
        m.kernel[i] = spread(seed, 5e-6, 5e-4);
        m.row[i] = spread(seed, 1e-6, 5e-5);
        m.update[i] = spread(seed, 1e-6, 5e-4);
        m.staging[i] = spread(seed, 1e-6, 5e-3);
        m.wake[i] = spread(seed, 1e-6, 1e-3);
        m.cold[i] = spread(seed, 1e-6, 1e-3);
        m.begin[i] = spread(seed, 1e-6, 1e-4);
        m.send[i] = spread(seed, 1e-6, 1e-4);
    }
    m.seed = *seed;
    split(&m);
    /* A source only just faster than the devices cannot be seen in a breakdown. */
    if (uniform(seed) < 0.2)
        m.source = spread(seed, 1.2, 10) / run(&m).samples_per_s;
    return m;
}

static bool idle(const struct machine *m)
{
    size_t i;

    for (i = 0; i < m->lanes; i++)
        if (m->share[i] == 0)
            return true;
    return false;
}

static const char *const labels[] = {"0", "1", "2", "3"};

/* The machine as the cure says it should be. */
static void apply(const char *cure, struct machine *m)
{
    char list[96];
    size_t i;

    if (strncmp(cure, "--batch ", 8) == 0)
        m->batch = (size_t)strtoul(cure + 8, NULL, 10);
    else if (strncmp(cure, "--accumulate ", 13) == 0)
        m->accumulate = (size_t)strtoul(cure + 13, NULL, 10);
    else if (strcmp(cure, "--shares auto") == 0)
        m->by_speed = true;
    else if (strcmp(cure, "faster data") == 0)
        m->source = 0;
    else if (strncmp(cure, "--devices ", 10) == 0) {
        snprintf(list, sizeof list, ",%s,", cure + 10);
        for (i = 0; i < m->lanes; i++)
            m->present[i] = strchr(list, labels[i][0]) != NULL;
    } else
        fail_msg("no such cure: %s", cure);
    split(m);
}

static size_t reckon(const struct machine *m, const struct ran *ran, struct mot_cure *cure)
{
    const struct mot_reckoning r = {.replicas = m->lanes,
                                    .batch = m->batch,
                                    .parameters = 1000,
                                    .samples_per_s = ran->samples_per_s,
                                    .share = m->share,
                                    .part = ran->part,
                                    .label = labels,
                                    .shares_auto = m->by_speed,
                                    .accumulate = m->accumulate};

    return mot_bench_limit(&r, cure);
}

static void every_predicted_gain_comes_true(void **state)
{
    uint64_t seed = 20260;
    size_t machines, judged, i, count, kinds[MOT_LIMIT_KINDS] = {0};
    struct mot_cure cure[MOT_CURES];

    (void)state;
    for (machines = judged = 0; judged < 10000; machines++) {
        const struct machine before = random_machine(&seed);
        const struct ran ran = run(&before);

        if (idle(&before)) /* nobody knows the speed of a device that was given nothing */
            continue;
        judged++;
        count = reckon(&before, &ran, cure);
        for (i = 0; i < count && cure[i].kind != MOT_LIMIT_COMPUTE; i++) {
            struct machine after = before;
            double gain;

            apply(cure[i].cure, &after);
            gain = run(&after).samples_per_s / ran.samples_per_s;
            if (!(cure[i].gain / gain > 0.75 && cure[i].gain / gain < 1.25))
                fail_msg("machine %zu: %s\npredicted %g, came %g", machines, cure[i].sentence,
                         cure[i].gain, gain);
            kinds[cure[i].kind]++;
        }
    }
    for (i = MOT_LIMIT_INPUT; i < MOT_LIMIT_KINDS; i++)
        if (kinds[i] < 3 && i != MOT_LIMIT_UPDATE) /* no memory here is the host's */
            fail_msg("kind %zu was told %zu times", i, kinds[i]);
}

/* A machine with nothing to gain is told so, not sent about. */
static void a_machine_that_only_computes_is_left_alone(void **state)
{
    struct machine m = {.lanes = 2, .batch = 512, .accumulate = 1, .add = 1e-6, .meet = 1e-6};
    struct mot_cure cure[MOT_CURES];
    struct ran ran;
    size_t i;

    (void)state;
    for (i = 0; i < m.lanes; i++) {
        m.present[i] = true;
        m.launch[i] = m.update[i] = m.staging[i] = 10e-6;
        m.row[i] = 20e-6;
    }
    split(&m);
    ran = run(&m);
    assert_int_equal(reckon(&m, &ran, cure), 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_COMPUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_predicted_gain_comes_true),
        cmocka_unit_test(a_machine_that_only_computes_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
