/* test_limit.c - from a breakdown to the sentence: each cause, and what its cure would give by the
 * formula. */
#include "support/check.h"

#include "bench/explain.h"
#include "bench/predict.h"

#include <math.h>
#include <motley/bench.h>
#include <string.h>

static const char *const labels[] = {"0", "1"};

/* One device whose step of 128 rows takes 1 ms. */
static struct mot_reckoning one(const struct mot_breakdown *part)
{
    static const size_t share[] = {128};

    return (struct mot_reckoning){.replicas = 1,
                                  .batch = 128,
                                  .parameters = 1000,
                                  .samples_per_s = 128e3,
                                  .share = share,
                                  .part = part,
                                  .label = labels};
}

static struct mot_reckoning two(const struct mot_breakdown *part)
{
    static const size_t share[] = {64, 64};
    struct mot_reckoning r = one(part);

    r.replicas = 2;
    r.share = share;
    return r;
}

static const struct mot_cure *cure_of(const struct mot_cure *cure, size_t count,
                                      enum mot_limit_kind kind)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (cure[i].kind == kind)
            return &cure[i];
    fail_msg("kind %d is not told", (int)kind);
    return cure;
}

static void data_that_comes_late_is_told(void **state)
{
    const struct mot_breakdown part = {
        .input = 0.6, .forward = 0.2, .backward = 0.19, .update = 0.01};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_INPUT);
    assert_near(cure[0].gain, 2.5, 1e-9);
    assert_non_null(strstr(cure[0].sentence, "the data: 60 % of the time"));
}

/* Device 0 is idle least, but for want of data all the same: it waits for device 1, which waits for
 * the data. */
static void data_that_only_the_last_to_meet_waits_for_is_told(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.2, .backward = 0.3, .update = 0.2, .waiting = 0.3, .others = 0.3},
        {.input = 0.4, .forward = 0.2, .backward = 0.3, .update = 0.1}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_near(cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_INPUT)->gain, 1 / 0.7, 1e-9);
    assert_int_equal(mot_bench_limit(&r, cure), 2); /* no larger batch helps, nor fewer devices */
}

static void launches_are_told_where_they_are_most_of_what_is_fixed(void **state)
{
    const struct mot_breakdown part = {
        .forward = 0.1, .backward = 0.1, .update = 0.1, .waiting = 0.7};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_LAUNCH);
    assert_string_equal(cure[0].cure, "--batch 1024");
    assert_near(cure[0].share, 0.7, 1e-9);
    assert_near(cure[0].gain, 8 / (0.8 + 8 * 0.2), 1e-9); /* k (f + s) / (f + k s) */
    assert_non_null(strstr(cure[0].sentence, "launches: device 0 waits 70 % of the time"));
    assert_non_null(strstr(cure[0].sentence, "the rows of batch 128; --batch 1024 would give"));
}

static void a_small_batch_is_told_with_the_batch_that_helps(void **state)
{
    const struct mot_breakdown part = {.forward = 0.2,
                                       .backward = 0.3,
                                       .update = 0.3,
                                       .waiting = 0.2,
                                       .steady = 0.4,
                                       .steady_far = 0.4};
    struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_BATCH);
    assert_near(cure[0].share, 0.7, 1e-9);
    assert_string_equal(cure[0].cure, "--batch 1024");
    assert_near(cure[0].gain, 8 / (0.7 + 8 * 0.3), 1e-9);
    assert_non_null(strstr(cure[0].sentence, "batch 128 is small: 70 % of a step"));
    r.samples = 300; /* no batch is larger than the data */
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_string_equal(cure[0].cure, "--batch 256");
    r.samples = 200;
    assert_int_equal(mot_bench_limit(&r, cure), 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_COMPUTE);
}

static void a_device_the_others_wait_for_is_named(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.45, .backward = 0.5, .update = 0.05},
        {.forward = 0.1, .backward = 0.15, .update = 0.05, .waiting = 0.7, .others = 0.7}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const double rate = 64 / 0.95 + 64 / 0.25; /* rows a step */

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_DEVICE);
    assert_int_equal(cure[0].replica, 0);
    assert_near(cure[0].gain, 1 / (0.05 + 128 / rate), 1e-6);
    assert_string_equal(cure[0].cure, "--shares auto");
    assert_non_null(strstr(cure[0].sentence, "device 0 is slow for its share of 64 rows"));
}

/* What is done already is no advice; the next best is. */
static void shares_that_are_auto_are_not_advised_again(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.1, .backward = 0.1, .staging = 0.8},
        {.forward = 0.4, .backward = 0.4, .update = 0.05, .waiting = 0.15, .others = 0.15}};
    struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    size_t i, count;

    (void)state;
    r.shares_auto = true;
    count = mot_bench_limit(&r, cure);
    for (i = 0; i < count; i++)
        assert_null(strstr(cure[i].sentence, "--shares auto"));
}

/* Its link alone takes longer than the other device would need for all the rows. */
static void a_device_whose_link_only_costs_is_left_out(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.1, .backward = 0.1, .staging = 0.8},
        {.forward = 0.05, .backward = 0.05, .update = 0.05, .waiting = 0.85, .others = 0.85}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_LINK);
    assert_int_equal(cure[0].replica, 0);
    assert_string_equal(cure[0].cure, "--devices 1");
    assert_near(cure[0].gain, 1 / (0.05 + 0.2), 1e-6);
    assert_non_null(strstr(cure[0].sentence, "the link of device 0: gradients travel 80 %"));
    assert_non_null(strstr(cure[0].sentence, "; --devices 1 would give about 4.0 x, --accumulate 4 "
                                             "about 2.5 x, --batch 512 about 2.5 x"));
    for (size_t i = 0; i < mot_bench_limit(&r, cure); i++)
        assert_true(cure[i].kind != MOT_LIMIT_DEVICE && cure[i].kind != MOT_LIMIT_MANY);
}

static void a_link_is_told_with_its_rate_and_what_it_can(void **state)
{
    const struct mot_breakdown part[] = {{.forward = 0.3, .backward = 0.3, .staging = 0.4},
                                         {.forward = 0.3,
                                          .backward = 0.3,
                                          .staging = 0.35,
                                          .waiting = 0.05,
                                          .others = 0.05}}; /* both are slow */
    struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const struct mot_cure *link;

    (void)state;
    r.parameters = 1000000;
    r.samples_per_s = 4000; /* a step is 32 ms: 8 MB in 12.8 of them */
    link = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_LINK);
    assert_non_null(strstr(link->sentence, "device 0: gradients travel 40 %"));
    assert_non_null(strstr(link->sentence, "at 0.6 GB/s"));
    assert_string_equal(link->cure, "--accumulate 4");
    assert_near(link->gain, 1 / 0.7, 1e-9);
    r.up_gbps = 4, r.down_gbps = 12;
    r.accumulate = 2;
    link = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_LINK);
    assert_non_null(strstr(link->sentence, "at 0.3 of 6.0 GB/s")); /* half the reductions */
    assert_string_equal(link->cure, "--accumulate 8");
    r.samples_per_s = 100; /* a step is 1.28 s */
    r.up_gbps = 0.02, r.down_gbps = 0.02;
    link = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_LINK);
    assert_non_null(strstr(link->sentence, "at 0.008 of 0.020 GB/s"));
}

/* A larger batch would help most, but what limits are the links, and both alike. */
static void links_that_are_alike_limit_the_devices_together(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.05, .backward = 0.05, .update = 0.05, .staging = 0.85},
        {.forward = 0.05,
         .backward = 0.05,
         .update = 0.05,
         .staging = 0.8,
         .waiting = 0.05,
         .others = 0.05}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const size_t count = mot_bench_limit(&r, cure);

    (void)state;
    assert_int_equal(cure[0].kind, MOT_LIMIT_MANY);
    assert_non_null(strstr(cure[0].sentence, ", --batch 1024 about "));
    assert_string_equal(cure_of(cure, count, MOT_LIMIT_LINK)->cure, "--accumulate 4");
    for (size_t i = 0; i < count; i++)
        assert_true(cure[i].kind != MOT_LIMIT_BATCH);
}

static void host_memory_is_told_with_its_rate(void **state)
{
    const struct mot_breakdown part[] = {{.forward = 0.3, .backward = 0.3, .reduce = 0.4},
                                         {.forward = 0.3, .backward = 0.3, .reduce = 0.4}};
    struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const struct mot_cure *host;

    (void)state;
    r.parameters = 1000000;
    r.host_gbps = 50;
    host = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_HOST);
    assert_near(host->gain, 1 / 0.7, 1e-9);
    /* both lanes' 4 MB read and written in 0.4 ms */
    assert_non_null(
        strstr(host->sentence, "gradients are added 40 % of the time, at 40.0 of 50.0"));
}

static void waiting_for_each_other_is_told(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.3, .backward = 0.3, .waiting = 0.4, .others = 0.4},
        {.forward = 0.3, .backward = 0.3, .waiting = 0.4, .others = 0.39}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const struct mot_cure *waiting;

    (void)state;
    waiting = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_WAITING);
    assert_non_null(
        strstr(waiting->sentence, "wait for each other and to wake up 39 % of the time"));
    assert_string_equal(waiting->cure, "--accumulate 4");
    assert_near(waiting->gain, 1 / (0.61 + 0.39 / 2), 1e-9); /* chances make up for each other */
}

static void devices_that_only_slow_each_other_are_told(void **state)
{
    struct mot_breakdown part[] = {
        {.forward = 0.1, .backward = 0.1, .staging = 0.3, .reduce = 0.3, .waiting = 0.2},
        {.forward = 0.1, .backward = 0.1, .staging = 0.3, .reduce = 0.3, .waiting = 0.2}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const struct mot_cure *many;

    (void)state;
    many = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_MANY);
    assert_near(many->gain, 1 / (0.4 + 0.2), 1e-9);
    assert_string_equal(many->cure, "--devices 0");
    assert_non_null(
        strstr(many->sentence,
               "batch 128 is too small for 2 devices (1: 213k/s reckoned, 2: 128k/s measured)"));
}

/* Who is alone wakes up for no reduction; who reduces more rarely, more rarely. */
static void waking_up_to_reduce_goes_with_the_reductions(void **state)
{
    const struct mot_breakdown part[] = {
        {.forward = 0.2, .backward = 0.2, .reduce = 0.2, .waiting = 0.4, .woken = 0.3},
        {.forward = 0.2, .backward = 0.2, .reduce = 0.2, .waiting = 0.4, .woken = 0.3}};
    const struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    const size_t count = mot_bench_limit(&r, cure);

    (void)state;
    assert_near(cure_of(cure, count, MOT_LIMIT_HOST)->gain, 1 / (0.5 + 0.5 / 4), 1e-9);
    assert_near(cure_of(cure, count, MOT_LIMIT_MANY)->gain, 1 / (0.8 + 0.1), 1e-9);
}

/* The run itself left device 0 out: its idleness is nobody's fault. */
static void a_device_left_out_is_not_reckoned(void **state)
{
    const struct mot_breakdown part[] = {
        {.waiting = 1, .out = true},
        {.forward = 0.3, .backward = 0.6, .update = 0.05, .waiting = 0.05}};
    static const size_t share[] = {0, 128};
    struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    r.share = share;
    assert_true(mot_bench_limit(&r, cure) >= 1);
    for (size_t i = 0; i < mot_bench_limit(&r, cure); i++) {
        assert_true(cure[i].kind == MOT_LIMIT_LAUNCH || cure[i].kind == MOT_LIMIT_BATCH ||
                    cure[i].kind == MOT_LIMIT_COMPUTE);
        assert_true(cure[i].gain < 1.2);
    }
}

/* With central storage a device without rows adds and updates all the same: it is not left out. */
static void a_device_without_rows_is_there(void **state)
{
    const struct mot_breakdown part[] = {
        {.reduce = 0.3, .waiting = 0.7, .others = 0.7, .hosted = true},
        {.forward = 0.3, .backward = 0.4, .reduce = 0.3, .hosted = true}};
    static const size_t share[] = {0, 128};
    struct mot_reckoning r = two(part);
    struct mot_cure cure[MOT_CURES];
    size_t i, count;

    (void)state;
    r.share = share;
    count = mot_bench_limit(&r, cure);
    assert_near(cure_of(cure, count, MOT_LIMIT_HOST)->gain, 1 / (0.7 + 0.3 / 4), 1e-9);
    for (i = 0; i < count; i++) /* alone, one would have the work of both: 0.7 + 0.3 * 7 / 5 */
        assert_true(cure[i].kind != MOT_LIMIT_MANY);
}

/* With central storage, one of two alone: what it does for an update hangs on its room. */
static void who_is_left_alone_has_what_fits(void **state)
{
    struct mot_breakdown part[] = {{.forward = 0.3,
                                    .backward = 0.3,
                                    .staging = 0.1,
                                    .reduce = 0.2,
                                    .waiting = 0.1,
                                    .woken = 0.05,
                                    .hosted = true,
                                    .whole = true},
                                   {.forward = 0.6, .waiting = 0.4, .hosted = true}};
    const struct mot__change alone = {1, 1, false, MOT__ALL, 0};
    const double passes = 2 * 0.6, launching = 0.1 - 0.05; /* with the rows of both */
    struct mot_reckoning r = two(part);

    (void)state;
    assert_near(mot__gain(&r, &alone), 1 / (passes + launching), 1e-9); /* in a card's memory */
    r.state = 2; /* Adam's: 7 numbers move on a device, of two lanes 10 / 2 + 3, of one 13 */
    r.unified = true;
    assert_near(mot__gain(&r, &alone), 1 / (passes + launching + 0.2 * 7 / 8), 1e-9);
    part[0].whole = false; /* the state stays on the host: weights and gradients travel, too */
    assert_near(mot__gain(&r, &alone), 1 / (passes + launching + 0.15 + 0.2 * 13 / 8), 1e-9);
    part[0].streams = true;
    assert_near(mot__gain(&r, &alone), 1 / (passes + launching + 0.15 + 0.2 * 13 / 8), 1e-9);
    part[0].hosted = part[0].streams = false; /* mirrored */
    assert_near(mot__gain(&r, &alone), 1 / (passes + launching), 1e-9);
}

/* What does not fit travels in every step; rarer updates change nothing. */
static void weights_that_stream_are_told(void **state)
{
    struct mot_breakdown part = {.forward = 0.2,
                                 .backward = 0.2,
                                 .staging = 0.3,
                                 .reduce = 0.2,
                                 .waiting = 0.1,
                                 .hosted = true,
                                 .streams = true};
    struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];
    size_t i, count;

    (void)state;
    r.samples = 128 * 4;
    count = mot_bench_limit(&r, cure);
    assert_string_equal(cure_of(cure, count, MOT_LIMIT_LINK)->cure, "more memory");
    assert_near(cure_of(cure, count, MOT_LIMIT_LINK)->gain, 2, 1e-9);
    for (i = 0; i < count; i++)
        assert_null(strstr(cure[i].sentence, "--accumulate"));
    assert_near(cure_of(cure, count, MOT_LIMIT_BATCH)->gain, 4 / (4 * 0.4 + 0.6), 1e-9);
    part.cut = true; /* nor do rows fit: more of them travel more often */
    count = mot_bench_limit(&r, cure);
    assert_int_equal(count, 2);
    assert_int_equal(cure[0].kind, MOT_LIMIT_LINK);
    assert_null(strstr(cure[0].sentence, "--batch"));
}

/* Adam reads and writes seven numbers for each parameter; beside its own it fetches three more, and
 * a copy of the weights takes three: for two devices that is no gain. */
static void updates_of_all_for_each_are_told(void **state)
{
    enum { LANES = 4 };
    static const size_t share[LANES] = {32, 32, 32, 32};
    static const char *const four[LANES] = {"0/4.0", "0/4.1", "0/4.2", "0/4.3"};
    struct mot_breakdown part[LANES];
    struct mot_reckoning r = two(part);
    const struct mot_cure *update;
    struct mot_cure cure[MOT_CURES];
    size_t i, count;

    (void)state;
    for (i = 0; i < LANES; i++)
        part[i] = (struct mot_breakdown){.forward = 0.3, .backward = 0.3, .update = 0.4};
    r.state = 2;
    r.unified = true;
    count = mot_bench_limit(&r, cure);
    for (i = 0; i < count; i++)
        assert_true(cure[i].kind != MOT_LIMIT_UPDATE);
    r.replicas = LANES;
    r.share = share;
    r.label = four;
    update = cure_of(cure, mot_bench_limit(&r, cure), MOT_LIMIT_UPDATE);
    assert_string_equal(update->cure, "--strategy central");
    assert_near(update->gain, 1 / (0.6 + 0.4 * (10.0 / 4 + 3) / 7), 1e-9);
    assert_non_null(strstr(update->sentence, "updates all parameters, 40 % of the time"));
    r.unified = false; /* the host's memory is not the devices' */
    count = mot_bench_limit(&r, cure);
    for (i = 0; i < count; i++)
        assert_true(cure[i].kind != MOT_LIMIT_UPDATE);
}

/* A bend: up to twice the rows cost little more, up to eight times a line's part. */
static void more_rows_cost_as_was_tried(void **state)
{
    const struct mot_breakdown part = {
        .forward = 0.4, .backward = 0.6, .steady = 0.8, .steady_far = 0.4};
    static const double cost[] = {2 - 0.8, 1.2 + (8 - 7 * 0.4 - 1.2) / 3, 8 - 7 * 0.4};
    const struct mot_reckoning r = one(&part);
    struct mot__change change = {1, 1, false, MOT__ALL, MOT__ALL};
    size_t i;

    (void)state;
    assert_near(mot__gain(&r, &change), 1, 1e-9);
    for (i = 0; i < sizeof cost / sizeof *cost; i++) {
        change.times *= 2;
        assert_near(mot__gain(&r, &change), (double)change.times / cost[i], 1e-9);
    }
}

/* Half a list of devices would be another advice: there is the whole, or none. */
static void a_list_of_devices_is_whole(void **state)
{
    enum { LANES = 60 };
    static const char *names[LANES];
    static char text[LANES][32];
    struct mot_breakdown part[LANES];
    size_t share[LANES], lanes, i, commas, told = 0;
    struct mot_cure cure[MOT_CURES];

    (void)state;
    for (lanes = 2; lanes <= LANES; lanes++) {
        struct mot_reckoning r = two(part);
        size_t count;

        for (i = 0; i < lanes; i++) {
            snprintf(text[i], sizeof text[i], "0/60.%zu", i);
            names[i] = text[i];
            share[i] = 8;
            part[i] = (struct mot_breakdown){.forward = 0.05, .waiting = 0.95, .others = 0.95};
        }
        part[1] = (struct mot_breakdown){.forward = 0.1, .staging = 0.9};
        r.replicas = lanes;
        r.batch = 8 * lanes;
        r.share = share;
        r.label = names;
        count = mot_bench_limit(&r, cure);
        for (i = 0; i < count; i++) {
            const char *at = cure[i].cure;

            assert_true(strlen(cure[i].cure) + 1 < sizeof cure[i].cure);
            assert_non_null(strstr(cure[i].sentence, cure[i].cure));
            if (cure[i].kind != MOT_LIMIT_LINK || strncmp(at, "--devices ", 10) != 0)
                continue;
            for (commas = 0; (at = strchr(at + 1, ',')) != NULL;)
                commas++;
            assert_int_equal(commas, lanes - 2);
            told = lanes;
        }
    }
    assert_true(told >= 24 && told < LANES);
}

static struct mot__spent spent_of(double forward, double backward, double staging)
{
    struct mot__spent spent = {.copied_s = 0.25};

    spent.device.s[MOT__PHASE_FORWARD] = forward;
    spent.device.s[MOT__PHASE_BACKWARD] = backward;
    spent.device.s[MOT__PHASE_UPDATE] = 1;
    spent.device.s[MOT__PHASE_UPLOAD] = 0.5;
    spent.device.s[MOT__PHASE_OTHER] = 0.25;
    spent.device.s[MOT__PHASE_STAGING] = staging;
    spent.reduce_s = 0.75;
    spent.waited_s = 0.5;
    spent.starved_s = 1;
    spent.device.before_s[MOT__PHASE_STAGING] = 1.5;
    spent.device.before_s[MOT__PHASE_UPDATE] = 0.375;
    spent.device.before_s[MOT__PHASE_FORWARD] = 0.125;
    spent.device.before_s[MOT__PHASE_BACKWARD] = 0.25;
    spent.device.commands[MOT__PHASE_FORWARD] = 2;
    spent.device.commands[MOT__PHASE_BACKWARD] = 4;
    spent.device.commands[MOT__PHASE_UPDATE] = 2;
    return spent;
}

/* Each second is one part's: the device's clock first, then what the host did meanwhile. */
static void seconds_become_parts(void **state)
{
    struct mot__spent spent = spent_of(2, 3, 0.25);
    struct mot_breakdown b = mot__explain(&spent, 10);

    (void)state;
    assert_near(b.forward, 0.2, 1e-12);
    assert_near(b.backward, 0.3, 1e-12);
    assert_near(b.update, 0.1, 1e-12);
    assert_near(b.upload, 0.05, 1e-12);
    assert_near(b.staging, 0.05, 1e-12);
    assert_near(b.reduce, 0.075, 1e-12);
    assert_near(b.others, 0.05, 1e-12);
    assert_near(b.input, 0.1, 1e-12);
    assert_near(b.waiting, 0.05 + 0.025 + 0.05,
                1e-12); /* for others, no part of a step, the rest */
    assert_near(b.woken, (1.5 + 0.375 - 0.125 - 0.75 - 0.5 - 0.25) / 10, 1e-12);
    assert_near(b.updating, 0.125 / 10, 1e-12);
    spent.reduce_s = spent.waited_s = 0; /* alone */
    assert_near(mot__explain(&spent, 10).woken, 0, 1e-12);
    spent = spent_of(6, 3, 0.25); /* more than there is: the host's part hides behind the device */
    b = mot__explain(&spent, 10);
    assert_near(b.forward, 0.6, 1e-12);
    assert_near(b.backward, 0.3, 1e-12);
    assert_near(b.update, 0.1, 1e-12);
    assert_near(b.upload + b.staging + b.reduce + b.others + b.input + b.waiting, 0, 1e-12);
}

static void a_busy_device_has_no_cure(void **state)
{
    const struct mot_breakdown part = {
        .upload = 0.01, .forward = 0.33, .backward = 0.62, .update = 0.03, .waiting = 0.01};
    const struct mot_reckoning r = one(&part);
    struct mot_cure cure[MOT_CURES];

    (void)state;
    assert_int_equal(mot_bench_limit(&r, cure), 1);
    assert_int_equal(cure[0].kind, MOT_LIMIT_COMPUTE);
    assert_non_null(strstr(cure[0].sentence, "the network itself: device 0 computes 99 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_that_comes_late_is_told),
        cmocka_unit_test(data_that_only_the_last_to_meet_waits_for_is_told),
        cmocka_unit_test(launches_are_told_where_they_are_most_of_what_is_fixed),
        cmocka_unit_test(a_small_batch_is_told_with_the_batch_that_helps),
        cmocka_unit_test(a_device_the_others_wait_for_is_named),
        cmocka_unit_test(a_device_whose_link_only_costs_is_left_out),
        cmocka_unit_test(shares_that_are_auto_are_not_advised_again),
        cmocka_unit_test(a_link_is_told_with_its_rate_and_what_it_can),
        cmocka_unit_test(links_that_are_alike_limit_the_devices_together),
        cmocka_unit_test(host_memory_is_told_with_its_rate),
        cmocka_unit_test(waiting_for_each_other_is_told),
        cmocka_unit_test(devices_that_only_slow_each_other_are_told),
        cmocka_unit_test(waking_up_to_reduce_goes_with_the_reductions),
        cmocka_unit_test(a_device_left_out_is_not_reckoned),
        cmocka_unit_test(a_device_without_rows_is_there),
        cmocka_unit_test(who_is_left_alone_has_what_fits),
        cmocka_unit_test(weights_that_stream_are_told),
        cmocka_unit_test(updates_of_all_for_each_are_told),
        cmocka_unit_test(more_rows_cost_as_was_tried),
        cmocka_unit_test(a_list_of_devices_is_whole),
        cmocka_unit_test(seconds_become_parts),
        cmocka_unit_test(a_busy_device_has_no_cure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
