/* test_gemm.c - every GEMM candidate against OpenBLAS (plain C where it is not installed), over
 * transposes and sizes around every edge of the tiles; and how one of them is chosen. */
#include "support/device.h"
#include "support/folder.h"

#include "base/clock.h"
#include "device/gemm_parts.h"
#include "device/quirks.h"

#if MOTLEY_OPENBLAS
#include <cblas.h>
#endif

struct size {
    size_t m, n, k;
};

/* Tiles have 2, 4, 6, 8 or 64 rows, 4 to 64 columns; passes have 16 and 384 steps; blocks 256. */
static const size_t edges[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11,  12,  13,  15,
                               16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 129, 255, 257};
static const size_t depths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 127, 129, 383, 384, 385, 769};

/* The network's own: mlp512, mlp64, mlp10. */
static const struct size net[] = {{128, 512, 784}, {128, 10, 512}, {512, 784, 128}, {10, 512, 128},
                                  {128, 512, 10},  {128, 10, 784}, {10, 784, 128},  {128, 10, 10},
                                  {32, 64, 784},   {71, 512, 100}, {1, 1000, 50},   {1000, 1, 50}};

/* A simulator takes every third, without the long ones. */
static bool too_long(size_t index, size_t size)
{
    return test_small() && (index % 3 || size > 70);
}

/* C (m, n) by someone else's arithmetic. */
static void oracle(const struct mot__gemm *g, const float *a, const float *b, const float *bias,
                   float *c)
{
#if MOTLEY_OPENBLAS
    if (!bias && g->act == MOT_ACT_NONE) {
        cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
                    g->trans_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k,
                    g->alpha, a, (int)(g->trans_a ? g->m : g->k), b,
                    (int)(g->trans_b ? g->k : g->n), g->accumulate ? 1.0f : 0.0f, c, (int)g->n);
        return;
    }
#endif
    mot__gemm_reference(g, a, b, bias, c);
}

/* Run and compare one. gemm has everything but the memory. bias: use one. */
static void compare(mot__device *device, enum mot__gemm_kind kind, struct mot__gemm gemm, bool bias)
{
    const size_t m = gemm.m, n = gemm.n, k = gemm.k;
    float *a = test_floats(m * k), *b = test_floats(k * n), *v = test_floats(n);
    float *want = test_floats(m * n), *got = test_floats(m * n);
    struct test_array da, db, dv, dc;
    char what[96];

    snprintf(what, sizeof what, "%s %zu x %zu x %zu %c%c act %d%s", mot__gemm_name(kind), m, n, k,
             gemm.trans_a ? 'T' : 'N', gemm.trans_b ? 'T' : 'N', (int)gemm.act,
             gemm.accumulate ? " +=" : "");
    test_fill(a, m * k, 1 + m, -1, 1);
    test_fill(b, k * n, 2 + n, -1, 1);
    test_fill(v, n, 3, -1, 1);
    test_fill(want, m * n, 4, -1, 1);
    da = test_put(device, a, m * k);
    db = test_put(device, b, k * n);
    dv = test_put(device, v, n);
    dc = test_put(device, gemm.accumulate ? want : NULL, m * n);
    gemm.a = da.mem, gemm.b = db.mem, gemm.c = dc.mem;
    if (bias)
        gemm.bias = dv.mem;
    assert_ok(mot__gemm_by(device, kind, &gemm));
    oracle(&gemm, a, b, bias ? v : NULL, want);
    test_get(&dc, got);
    check_close(what, got, want, m * n, 2e-6, 4e-7 * (double)(k + 8));
    check_seen(what, got, m * n);
    test_drop(&da), test_drop(&db), test_drop(&dv), test_drop(&dc);
    free(a), free(b), free(v), free(want), free(got);
}

static void all_transposes(mot__device *device, enum mot__gemm_kind kind, size_t m, size_t n,
                           size_t k)
{
    for (int t = 0; t < 4; t++) {
        struct mot__gemm gemm = {
            .trans_a = t & 2, .trans_b = t & 1, .m = m, .n = n, .k = k, .alpha = 1};

        compare(device, kind, gemm, false);
    }
}

static void sweep(mot__device *device, enum mot__gemm_kind kind)
{
    for (size_t i = 0; i < MOT__COUNT(edges); i++) {
        if (too_long(i, edges[i]))
            continue;
        all_transposes(device, kind, edges[i], 21, 18);
        all_transposes(device, kind, 11, edges[i], 18);
        all_transposes(device, kind, edges[i], edges[i], 5);
    }
    for (size_t i = 0; i < MOT__COUNT(depths); i++)
        if (!too_long(i, depths[i]))
            all_transposes(device, kind, 10, 37, depths[i]);
    for (size_t i = 0; i < MOT__COUNT(net) && !test_small(); i++)
        all_transposes(device, kind, net[i].m, net[i].n, net[i].k);
}

static void cpu_tile_matches_openblas_at_every_edge(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    sweep(device, MOT__GEMM_TILE_CPU);
}

static void gpu_tile_matches_openblas_at_every_edge(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    sweep(device, MOT__GEMM_TILE_GPU);
}

/* Blocks, grids and passes that only large shapes have. */
static void tiles_match_openblas_on_large_shapes(void **state)
{
    (void)state;
    if (test_small())
        skip();
    TEST_EACH_DEVICE(device)
    for (int t = 0; t < 4; t++) {
        struct mot__gemm gemm = {.trans_a = t & 2, .trans_b = t & 1, .m = 515, .n = 530};

        gemm.k = 777;
        gemm.alpha = 1;
        compare(device, MOT__GEMM_TILE_CPU, gemm, false);
        compare(device, MOT__GEMM_TILE_GPU, gemm, false);
    }
}

/* Few columns and steps enough: the CPU tile then packs nothing. */
static void dot_products_match_openblas_at_every_edge(void **state)
{
    static const size_t steps[] = {64, 65, 79, 80, 100};

    (void)state;
    TEST_EACH_DEVICE(device)
    for (size_t i = 0; i < 6 * 7 * MOT__COUNT(steps); i += test_small() ? 11 : 1)
        compare(device, MOT__GEMM_TILE_CPU,
                (struct mot__gemm){.trans_b = true,
                                   .m = 1 + i % 6,
                                   .n = 1 + i / 6 % 7,
                                   .k = steps[i / 42],
                                   .alpha = 1},
                false);
}

/* What micro-batches rest on: they change no output. */
static void a_row_has_the_same_bits_however_many_are_computed(void **state)
{
    static const size_t rows[] = {130, 66, 64, 7, 1}, widths[] = {5, 64, 70};
    const size_t k = 100;

    (void)state;
    if (test_small())
        skip();
    TEST_EACH_DEVICE(device)
    for (size_t w = 0; w < MOT__COUNT(widths); w++) {
        const size_t n = widths[w];
        float *x = test_floats(130 * k), *b = test_floats(n * k), *whole = test_floats(130 * n);
        float *part = test_floats(130 * n);
        struct test_array dx, db, dy;

        test_fill(x, 130 * k, 3, -1, 1);
        test_fill(b, n * k, 4, -1, 1);
        dx = test_put(device, x, 130 * k);
        db = test_put(device, b, n * k);
        dy = test_put(device, NULL, 130 * n);
        for (size_t i = 0; i < MOT__COUNT(rows); i++) {
            const struct mot__gemm gemm = {.trans_b = true,
                                           .m = rows[i],
                                           .n = n,
                                           .k = k,
                                           .alpha = 1,
                                           .a = dx.mem,
                                           .b = db.mem,
                                           .c = dy.mem};

            assert_ok(mot__gemm_by(device, MOT__GEMM_TILE_CPU, &gemm));
            test_get(&dy, i ? part : whole);
            if (i)
                check_bits("rows", part, whole, rows[i] * n);
        }
        test_drop(&dx), test_drop(&db), test_drop(&dy);
        free(x), free(b), free(whole), free(part);
    }
}

static void finish_all_ways(mot__device *device, enum mot__gemm_kind kind, size_t m, size_t n)
{
    static const enum mot_act acts[] = {MOT_ACT_NONE, MOT_ACT_RELU, MOT_ACT_LEAKY_RELU,
                                        MOT_ACT_SIGMOID, MOT_ACT_TANH};
    struct mot__gemm gemm = {.trans_b = true, .m = m, .n = n, .k = 30, .alpha = -0.75f};

    for (size_t i = 0; i < 2 * MOT__COUNT(acts); i++) {
        gemm.act = acts[i / 2];
        gemm.k = i % 2 || test_small() ? 30 : 450; /* one pass over k, and more than one */
        compare(device, kind, gemm, true);
        compare(device, kind, gemm, false);
    }
    gemm.act = MOT_ACT_NONE;
    gemm.accumulate = true;
    compare(device, kind, gemm, false);
    gemm.k = 30;
    compare(device, kind, gemm, false);
}

static void bias_activation_alpha_and_accumulation_are_fused_rightly(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        finish_all_ways(device, MOT__GEMM_TILE_CPU, 19, 43);
        finish_all_ways(device, MOT__GEMM_TILE_CPU, 66, 67); /* not by dot products */
        finish_all_ways(device, MOT__GEMM_TILE_GPU, 19, 43);
    }
}

static void clblast_matches_openblas(void **state)
{
    struct mot__gemm gemm = {.m = 900, .n = 905, .k = 910, .alpha = 1};

    (void)state;
#if !MOTLEY_CLBLAST
    skip();
#endif
    if (test_small())
        skip();
    TEST_EACH_DEVICE(device)
    {
        if (mot__device_facts(device)->device_class != MOT_CLASS_GPU)
            continue; /* it compiles for seconds for each context; one will do */
        for (size_t i = 0; i < MOT__COUNT(edges); i += 4)
            all_transposes(device, MOT__GEMM_CLBLAST, edges[i], 21, 18);
        finish_all_ways(device, MOT__GEMM_CLBLAST, 19, 43);
        compare(device, MOT__GEMM_CLBLAST, gemm, false); /* the indirect kernel */
        gemm.trans_a = true;
        compare(device, MOT__GEMM_CLBLAST, gemm, false);
    }
}

static void empty_sizes_do_nothing_or_give_the_bias(void **state)
{
    float bias[3] = {1, -2, 3}, c[6], want[6] = {1, 0, 3, 1, 0, 3}, before[6];

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array v = test_put(device, bias, 3), out = test_put(device, NULL, 6);
        struct mot__gemm gemm = {.m = 0, .n = 3, .k = 4, .alpha = 1, .a = v.mem, .b = v.mem};

        gemm.c = out.mem;
        test_get(&out, before);
        assert_ok(mot__gemm(device, &gemm));
        gemm.m = 2, gemm.n = 0;
        assert_ok(mot__gemm(device, &gemm));
        gemm.n = 3, gemm.k = 0, gemm.accumulate = true;
        assert_ok(mot__gemm(device, &gemm));
        test_get(&out, c);
        check_bits("C of no size", c, before, 6);
        gemm.accumulate = false, gemm.act = MOT_ACT_RELU, gemm.bias = v.mem;
        assert_ok(mot__gemm(device, &gemm));
        test_get(&out, c);
        check_bits("C of no products", c, want, 6);
        gemm.bias.buffer = NULL;
        assert_ok(mot__gemm(device, &gemm));
        test_get(&out, c);
        check_bits("C of nothing", c, (float[6]){0}, 6);
        test_drop(&v), test_drop(&out);
    }
}

static void nonsense_is_refused_with_a_sentence(void **state)
{
    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array v = test_put(device, NULL, 64);
        struct mot__gemm gemm = {.m = 2, .n = 2, .k = 2, .alpha = 1, .act = MOT_ACT_SOFTMAX};

        gemm.a = gemm.b = gemm.c = v.mem;
        assert_story(mot__gemm_by(device, MOT__GEMM_TILE_GPU, &gemm), MOT_BAD_ARG,
                     "cannot be fused");
        gemm.act = MOT_ACT_RELU, gemm.accumulate = true;
        assert_story(mot__gemm_by(device, MOT__GEMM_TILE_GPU, &gemm), MOT_BAD_ARG, "no bias");
        gemm.act = MOT_ACT_NONE;
        assert_story(mot__gemm_by(device, MOT__GEMM_KINDS, &gemm), MOT_BAD_ARG, "no candidate");
        test_drop(&v);
    }
}

static void the_same_shape_gives_the_same_bits(void **state)
{
    const size_t m = 70, n = test_small() ? 20 : 90, k = test_small() ? 20 : 400;
    float *a = test_floats(m * k), *b = test_floats(k * n);
    float *c[2] = {test_floats(m * n), test_floats(m * n)};

    (void)state;
    test_fill(a, m * k, 5, -1, 1);
    test_fill(b, k * n, 6, -1, 1);
    TEST_EACH_DEVICE(device)
    for (int kind = MOT__GEMM_TILE_CPU; kind <= MOT__GEMM_TILE_GPU; kind++) {
        struct mot__gemm gemm = {.m = m, .n = n, .k = k, .alpha = 1};
        struct test_array da = test_put(device, a, m * k), db = test_put(device, b, k * n);
        struct test_array dc = test_put(device, NULL, m * n);

        gemm.a = da.mem, gemm.b = db.mem, gemm.c = dc.mem;
        for (int i = 0; i < 2; i++) {
            assert_ok(mot__gemm_by(device, (enum mot__gemm_kind)kind, &gemm));
            test_get(&dc, c[i]);
        }
        check_bits("C twice", c[1], c[0], m * n);
        test_drop(&da), test_drop(&db), test_drop(&dc);
    }
    free(a), free(b), free(c[0]), free(c[1]);
}

/* ---- the choice ---- */

static mot__device *open_limited(enum mot_device_class class, enum mot__gemm_kind gemm,
                                 const char *cache, size_t memory_bytes)
{
    struct mot__device_options options = test_device_options(class);
    struct mot__pick *pick = NULL;
    mot__device *device = NULL;
    size_t picks;

    options.gemm = gemm;
    options.cache_dir = cache;
    options.memory_bytes = memory_bytes;
    options.profile = true;
    assert_ok(
        mot__pick_parse(test_devices()->inventory, getenv("MOTLEY_TEST_DEVICES"), &pick, &picks));
    assert_ok(mot__device_open(test_devices()->inventory, &pick[0], &options, &device));
    free(pick);
    return device;
}

static mot__device *open_one(enum mot_device_class class, enum mot__gemm_kind gemm,
                             const char *cache)
{
    return open_limited(class, gemm, cache, 0);
}

/* 1 x 1 x 1, so that a choice is made; gives C. */
static float use(mot__device *device)
{
    const float three = 3;
    struct test_array a = test_put(device, &three, 1), c = test_put(device, NULL, 1);
    struct mot__gemm gemm = {.m = 1, .n = 1, .k = 1, .alpha = 1, .a = a.mem, .b = a.mem};
    float out = 0;

    gemm.c = c.mem;
    assert_ok(mot__gemm(device, &gemm));
    test_get(&c, &out);
    test_drop(&a), test_drop(&c);
    return out;
}

static size_t calls; /* of counting() */

static mot_status counting(mot__device *device, const struct mot__gemm *gemm)
{
    calls++;
    return mot__gemm_tile_gpu(device, gemm);
}

/* Right, but for one column more than a tile has. */
static mot_status wrong(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm bent = *gemm;

    bent.alpha *= gemm->n > 64 ? 1.01f : 1.0f;
    return mot__gemm_tile_gpu(device, &bent);
}

static mot_status refusing(mot__device *device, const struct mot__gemm *gemm)
{
    (void)gemm;
    return mot__fail(MOT_DEVICE_FAILED, "%s: will not build", mot__device_facts(device)->info.name);
}

static mot__device *open_with(mot__gemm_run *cpu, mot__gemm_run *gpu, const char *cache)
{
    mot__device *device = open_one(MOT_CLASS_CPU, MOT__GEMM_TILE_CPU, cache);
    struct mot__gemm_state *state = NULL;

    assert_ok(mot__gemm_state(device, &state));
    state->run[MOT__GEMM_TILE_CPU] = cpu;
    state->run[MOT__GEMM_TILE_GPU] = gpu;
    state->run[MOT__GEMM_CLBLAST] = NULL;
    return device;
}

static void a_wrong_candidate_is_dropped_and_the_next_takes_over(void **state)
{
    mot__gemm_run *const bad[] = {wrong, refusing};

    (void)state;
    for (size_t i = 0; i < MOT__COUNT(bad); i++) {
        mot__device *device = open_with(bad[i], mot__gemm_tile_gpu, "");
        char why[256];
        bool good = true;

        assert_ok(mot__gemm_test(device, MOT__GEMM_TILE_CPU, false, false, &good, why, sizeof why));
        assert_false(good);
        assert_non_null(strstr(why, bad[i] == wrong ? "is wrong at" : "will not build"));
        assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_AUTO);
        assert_true(use(device) == 9);
        assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_GPU);
        mot__device_close(device);
    }
}

/* Right as long as A lies as it is. */
static mot_status wrong_turned(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm bent = *gemm;

    calls++;
    bent.alpha *= gemm->trans_a ? 1.01f : 1.0f;
    return mot__gemm_tile_gpu(device, &bent);
}

static void an_orientation_is_tested_and_dropped_for_itself(void **state)
{
    mot__device *device = open_with(wrong_turned, mot__gemm_tile_gpu, "");
    const float three = 3;
    struct test_array a = test_put(device, &three, 1), c = test_put(device, NULL, 1);
    struct mot__gemm gemm = {.m = 1, .n = 1, .k = 1, .alpha = 1, .a = a.mem, .b = a.mem};

    (void)state;
    gemm.c = c.mem;
    calls = 0;
    assert_ok(mot__gemm(device, &gemm));
    assert_int_equal(calls, 6 + 1); /* the shapes of one orientation, and the product */
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_CPU);
    assert_int_equal(mot__gemm_chosen(device, true, false), MOT__GEMM_AUTO);
    gemm.trans_a = true;
    assert_ok(mot__gemm(device, &gemm));
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_CPU);
    assert_int_equal(mot__gemm_chosen(device, true, false), MOT__GEMM_TILE_GPU);
    test_drop(&a), test_drop(&c);
    mot__device_close(device);
}

static void a_device_with_no_right_candidate_says_so(void **state)
{
    mot__device *device = open_with(wrong, refusing, "");
    struct mot__gemm gemm = {.m = 1, .n = 1, .k = 1, .alpha = 1};

    (void)state;
    assert_story(mot__gemm(device, &gemm), MOT_DEVICE_FAILED, "will not build");
    assert_story(mot__gemm(device, &gemm), MOT_DEVICE_FAILED, "no GEMM computes rightly");
    mot__device_close(device);
}

static void a_verdict_is_remembered_on_disk(void **state)
{
    struct folder folder;
    mot__device *device;

    (void)state;
    assert_true(folder_open(&folder));
    for (int round = 0; round < 2; round++) {
        calls = 0;
        device = open_with(counting, mot__gemm_tile_gpu, folder.path);
        assert_true(use(device) == 9);
        assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_CPU);
        if (round == 0)
            assert_true(calls > 5);
        else
            assert_int_equal(calls, 1);
        mot__device_close(device);
    }
    folder_close(&folder);
}

static void a_wrong_verdict_is_remembered_too(void **state)
{
    struct folder folder;
    mot__device *device;

    (void)state;
    assert_true(folder_open(&folder));
    device = open_with(wrong, mot__gemm_tile_gpu, folder.path);
    use(device);
    mot__device_close(device);
    device = open_with(mot__gemm_tile_cpu, mot__gemm_tile_gpu, folder.path);
    use(device);
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_GPU);
    mot__device_close(device);
    folder_close(&folder);
}

static void a_wish_goes_first(void **state)
{
    mot__device *device;

    (void)state;
    device = open_one(MOT_CLASS_GPU, MOT__GEMM_TILE, "");
    use(device);
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_GPU);
    assert_false(device->gemm->warm); /* CLBlast was not touched */
    mot__device_close(device);

    device = open_one(MOT_CLASS_CPU, MOT__GEMM_AUTO, "");
    use(device);
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_CPU);
    assert_false(device->gemm->warm);
    mot__device_close(device);
}

/* As CLBlast was on the A770: right below the sizes of its indirect kernel. */
static mot_status wrong_when_large(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm bent = *gemm;

    bent.alpha *= gemm->m >= 896 ? 1.01f : 1.0f;
    return mot__gemm_tile_gpu(device, &bent);
}

/* Which candidate a GPU takes when CLBlast is this function. */
static enum mot__gemm_kind chosen_with(mot__gemm_run *clblast, enum mot__gemm_kind wish,
                                       size_t memory_bytes)
{
    mot__device *device = open_limited(MOT_CLASS_GPU, wish, "", memory_bytes);
    struct mot__gemm_state *state = NULL;
    enum mot__gemm_kind kind;

    assert_ok(mot__gemm_state(device, &state));
    state->run[MOT__GEMM_CLBLAST] = clblast;
    assert_true(use(device) == 9);
    kind = mot__gemm_chosen(device, false, false);
    mot__device_close(device);
    return kind;
}

static void a_suspect_clblast_is_taken_only_by_wish_and_after_its_test(void **state)
{
    const struct mot_device_info *info = &mot__device_facts(test_device_at(0))->info;
    const bool suspect = mot__quirk_has(info, MOT__QUIRK_CLBLAST_SUSPECT, NULL);
    const char *const wish = getenv("MOTLEY_GEMM");
    char kept[32];

    (void)state;
    if (!MOTLEY_CLBLAST || info->simulator)
        skip();
    snprintf(kept, sizeof kept, "%s", wish ? wish : "");
    unsetenv("MOTLEY_GEMM");
    if (suspect || !test_small()) /* whoever passes computes a large one */
        assert_int_equal(chosen_with(counting, MOT__GEMM_AUTO, 0),
                         suspect ? MOT__GEMM_TILE_GPU : MOT__GEMM_CLBLAST);
    if (!test_small())
        assert_int_equal(chosen_with(counting, MOT__GEMM_CLBLAST, 0), MOT__GEMM_CLBLAST);
    assert_int_equal(chosen_with(wrong_when_large, MOT__GEMM_CLBLAST, 0), MOT__GEMM_TILE_GPU);
    assert_int_equal(chosen_with(counting, MOT__GEMM_CLBLAST, 8 << 20), MOT__GEMM_TILE_GPU);
    if (wish)
        setenv("MOTLEY_GEMM", kept, 1);
}

static void gpus_get_clblast_where_it_is_built_in(void **state)
{
    mot__device *device;

    (void)state;
    if (test_small())
        skip();
    device = open_one(MOT_CLASS_GPU, MOT__GEMM_AUTO, "");
    assert_true(use(device) == 9);
#if MOTLEY_CLBLAST
    if (!mot__device_facts(device)->info.simulator)
        assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_CLBLAST);
#else
    assert_int_equal(mot__gemm_chosen(device, false, false), MOT__GEMM_TILE_GPU);
#endif
    mot__device_close(device);
}

/* ---- packed operands ---- */

struct large { /* a product that CLBlast packs for, on a device that wishes for CLBlast */
    mot__device *device;
    struct mot__gemm gemm;
    struct test_array array[3];
    float *host[2], *want, *got;
};

static void large_open(struct large *large)
{
    const size_t m = 897, n = 901, k = 899, floats[3] = {m * k, k * n, m * n};

    large->device = open_one(MOT_CLASS_GPU, MOT__GEMM_CLBLAST, "");
    large->want = test_floats(m * n);
    large->got = test_floats(m * n);
    for (size_t i = 0; i < 3; i++) {
        if (i < 2) {
            large->host[i] = test_floats(floats[i]);
            test_fill(large->host[i], floats[i], 1 + i, -1, 1);
        }
        large->array[i] = test_put(large->device, i < 2 ? large->host[i] : NULL, floats[i]);
    }
    large->gemm = (struct mot__gemm){.m = m,
                                     .n = n,
                                     .k = k,
                                     .a = large->array[0].mem,
                                     .b = large->array[1].mem,
                                     .c = large->array[2].mem,
                                     .alpha = 1};
    oracle(&large->gemm, large->host[0], large->host[1], NULL, large->want);
}

/* By whatever candidate the device takes. */
static void large_run(struct large *large, const char *what)
{
    const struct mot__gemm *g = &large->gemm;

    assert_ok(
        mot__buffer_zero(g->c.buffer, g->c.offset * sizeof(float), g->m * g->n * sizeof(float)));
    assert_ok(mot__gemm(large->device, g));
    test_get(&large->array[2], large->got);
    check_close(what, large->got, large->want, g->m * g->n, 2e-6, 4e-7 * (double)(g->k + 8));
    check_seen(what, large->got, g->m * g->n);
}

static void large_close(struct large *large)
{
    for (size_t i = 0; i < 3; i++)
        test_drop(&large->array[i]);
    mot__device_close(large->device);
    free(large->host[0]), free(large->host[1]), free(large->want), free(large->got);
}

static void packs_come_from_the_pool_and_go_with_their_user(void **state)
{
    struct large large;
    size_t packs, used;

    (void)state;
    if (!MOTLEY_CLBLAST || test_small())
        skip();
    large_open(&large);
    assert_ok(mot__gemm_packs(large.device, &large.gemm, &packs));
    assert_true(packs >= large.gemm.m * large.gemm.n * sizeof(float));
    used = mot__device_used(large.device);
    mot__gemm_packs_enter(large.device);
    large_run(&large, "with packs");
    assert_int_equal(mot__gemm_packs_held(large.device), mot__buffer_bytes(packs));
    assert_int_equal(mot__device_used(large.device), used + mot__buffer_bytes(packs));
    large.device->counts.allocations = 0;
    large_run(&large, "with the same packs");
    assert_int_equal(large.device->counts.allocations, 0);
    mot__gemm_packs_leave(large.device);
    assert_int_equal(mot__gemm_packs_held(large.device), 0);
    assert_int_equal(mot__device_used(large.device), used);
    large_close(&large);
}

static void a_product_without_room_for_packs_goes_to_another(void **state)
{
    struct large large;

    (void)state;
    if (!MOTLEY_CLBLAST || test_small())
        skip();
    large_open(&large);
    mot__gemm_packs_allow(large.device, 4096);
    large_run(&large, "without packs");
    assert_int_equal(mot__gemm_packs_held(large.device), 0);
    assert_int_equal(mot__gemm_chosen(large.device, false, false), MOT__GEMM_CLBLAST);
    assert_int_equal(large.device->gemm->spare[0], MOT__GEMM_TILE_GPU);
    large.gemm.m = 5; /* a small one wants none: CLBlast computes it as before */
    large_run(&large, "small");
    mot__gemm_packs_allow(large.device, SIZE_MAX);
    large.gemm.m = 897;
    large_run(&large, "with packs");
    assert_true(mot__gemm_packs_held(large.device) > 0);
    large_close(&large);
}

/* The event of a large product is that of its last kernel alone, which takes a small part of the
 * time on a CPU: most of what the product took must be in the profile all the same. */
static void a_product_of_several_kernels_is_timed_as_one(void **state)
{
    struct mot_kernel_time row[8];
    struct large large;
    double took, told = 0;
    size_t count, i;

    (void)state;
    if (!MOTLEY_CLBLAST || test_small() ||
        mot__device_facts(test_device_at(0))->info.type != MOT_DEVICE_CPU)
        skip();
    large_open(&large);
    large_run(&large, "compiled");
    assert_ok(mot__device_profile(large.device, row, 8, &count));
    took = mot__clock_s();
    for (i = 0; i < 3; i++)
        assert_ok(mot__gemm(large.device, &large.gemm));
    assert_ok(mot__device_finish(large.device));
    took = mot__clock_s() - took;
    assert_ok(mot__device_profile(large.device, row, 8, &count));
    for (i = 0; i < count; i++)
        told += strcmp(row[i].name, "clblast") == 0 ? row[i].seconds : 0;
    if (!(told > 0.5 * took && told <= took))
        fail_msg("the profile tells of %g s of %g", told, took);
    large_close(&large);
}

static void rehearsing_queues_nothing(void **state)
{
    const enum mot__gemm_kind kinds[] = {MOT__GEMM_TILE_CPU, MOT__GEMM_TILE_GPU, MOT__GEMM_CLBLAST};
    const size_t tried = MOTLEY_CLBLAST && !test_small() ? 3 : 2;
    float before[4], after[4];

    (void)state;
    TEST_EACH_DEVICE(device)
    {
        struct test_array in = test_put(device, NULL, 4), out = test_put(device, NULL, 4);
        struct mot__gemm gemm = {.m = 2, .n = 2, .k = 2, .alpha = 1, .a = in.mem, .b = in.mem};

        gemm.c = out.mem, gemm.act = MOT_ACT_SIGMOID;
        test_get(&out, before);
        mot__device_rehearse(device, true);
        for (size_t i = 0; i < tried; i++)
            if (kinds[i] != MOT__GEMM_CLBLAST ||
                mot__device_facts(device)->device_class == MOT_CLASS_GPU)
                assert_ok(mot__gemm_by(device, kinds[i], &gemm));
        mot__device_rehearse(device, false);
        test_get(&out, after);
        check_bits("C", after, before, 4);
        test_drop(&in), test_drop(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_tile_matches_openblas_at_every_edge),
        cmocka_unit_test(gpu_tile_matches_openblas_at_every_edge),
        cmocka_unit_test(tiles_match_openblas_on_large_shapes),
        cmocka_unit_test(dot_products_match_openblas_at_every_edge),
        cmocka_unit_test(a_row_has_the_same_bits_however_many_are_computed),
        cmocka_unit_test(bias_activation_alpha_and_accumulation_are_fused_rightly),
        cmocka_unit_test(clblast_matches_openblas),
        cmocka_unit_test(empty_sizes_do_nothing_or_give_the_bias),
        cmocka_unit_test(nonsense_is_refused_with_a_sentence),
        cmocka_unit_test(the_same_shape_gives_the_same_bits),
        cmocka_unit_test(a_wrong_candidate_is_dropped_and_the_next_takes_over),
        cmocka_unit_test(an_orientation_is_tested_and_dropped_for_itself),
        cmocka_unit_test(a_device_with_no_right_candidate_says_so),
        cmocka_unit_test(a_verdict_is_remembered_on_disk),
        cmocka_unit_test(a_wrong_verdict_is_remembered_too),
        cmocka_unit_test(a_wish_goes_first),
        cmocka_unit_test(a_suspect_clblast_is_taken_only_by_wish_and_after_its_test),
        cmocka_unit_test(gpus_get_clblast_where_it_is_built_in),
        cmocka_unit_test(packs_come_from_the_pool_and_go_with_their_user),
        cmocka_unit_test(a_product_without_room_for_packs_goes_to_another),
        cmocka_unit_test(a_product_of_several_kernels_is_timed_as_one),
        cmocka_unit_test(rehearsing_queues_nothing),
    };

    return cmocka_run_group_tests(tests, test_devices_open, test_devices_close);
}
