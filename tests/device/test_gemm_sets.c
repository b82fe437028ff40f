/* test_gemm_sets.c - CLBlast with parameters of ours: each set computes what OpenBLAS does (plain C
 * where that is not installed), by both of its kernels; a set that is refused or wrong leaves what
 * there was. CLBlast keeps a set as long as the process lives, so the order of the tests matters.
 */
#include "support/device.h"
#include "support/folder.h"

#include "device/gemm_parts.h"
#include "device/tuned.h"

#include <dlfcn.h>

#if MOTLEY_OPENBLAS
#include <cblas.h>
#endif

/* ---- CLBlast's call, behind one of ours ---- */

static bool refuse;
static size_t told; /* sets of one kernel that CLBlast took */

int CLBlastOverrideParameters(const cl_device_id device, const char *kernel, int precision,
                              size_t count, const char **name, const size_t *value);

int CLBlastOverrideParameters(const cl_device_id device, const char *kernel, int precision,
                              size_t count, const char **name, const size_t *value)
{
    static void *library;
    int (*real)(cl_device_id, const char *, int, size_t, const char **, const size_t *);
    int code;

    if (refuse)
        return -2047; /* it misses a parameter */
    if (!library)
        library = dlopen("libclblast.so.1", RTLD_NOW);
    assert_non_null(library);
    *(void **)&real = dlsym(library, "CLBlastOverrideParameters");
    assert_non_null(real);
    code = real(device, kernel, precision, count, name, value);
    told += code == 0;
    return code;
}

/* ---- products ---- */

static mot__device *open_device(enum mot__gemm_kind wish, const char *cache)
{
    struct mot__device_options options = test_device_options(MOT_CLASS_GPU);
    struct mot__pick *pick = NULL;
    mot__device *device = NULL;
    size_t picks;

    options.gemm = wish;
    options.cache_dir = cache ? cache : options.cache_dir;
    assert_ok(
        mot__pick_parse(test_devices()->inventory, getenv("MOTLEY_TEST_DEVICES"), &pick, &picks));
    assert_ok(mot__device_open(test_devices()->inventory, &pick[0], &options, &device));
    free(pick);
    return device;
}

/* C = op(A) op(B) by someone else's arithmetic. */
static void oracle(const struct mot__gemm *g, const float *a, const float *b, float *c)
{
#if MOTLEY_OPENBLAS
    cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
                g->trans_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, g->alpha,
                a, (int)(g->trans_a ? g->m : g->k), b, (int)(g->trans_b ? g->k : g->n), 0.0f, c,
                (int)g->n);
#else
    mot__gemm_reference(g, a, b, NULL, c);
#endif
}

/* kind AUTO: by whatever the device takes. */
static void compare(mot__device *device, enum mot__gemm_kind kind, size_t m, size_t n, size_t k,
                    int way)
{
    struct mot__gemm gemm = {
        .trans_a = way & 2, .trans_b = way & 1, .m = m, .n = n, .k = k, .alpha = 1};
    float *a = test_floats(m * k), *b = test_floats(k * n);
    float *want = test_floats(m * n), *got = test_floats(m * n);
    struct test_array da, db, dc;
    char what[96];

    snprintf(what, sizeof what, "set %zu, %zu x %zu x %zu way %d", mot__gemm_set(device), m, n, k,
             way);
    test_fill(a, m * k, 1 + m, -1, 1);
    test_fill(b, k * n, 2 + n, -1, 1);
    da = test_put(device, a, m * k);
    db = test_put(device, b, k * n);
    dc = test_put(device, NULL, m * n);
    gemm.a = da.mem, gemm.b = db.mem, gemm.c = dc.mem;
    assert_ok(kind == MOT__GEMM_AUTO ? mot__gemm(device, &gemm)
                                     : mot__gemm_by(device, kind, &gemm));
    oracle(&gemm, a, b, want);
    test_get(&dc, got);
    check_close(what, got, want, m * n, 2e-6, 4e-7 * (double)(k + 8));
    check_seen(what, got, m * n);
    test_drop(&da), test_drop(&db), test_drop(&dc);
    free(a), free(b), free(want), free(got);
}

/* ---- tests ---- */

static void a_refused_set_leaves_what_there_was(void **state)
{
    mot__device *device = open_device(MOT__GEMM_CLBLAST, NULL);

    (void)state;
    refuse = true;
    for (size_t set = 1; set <= mot__gemm_sets(); set++) {
        assert_story(mot__gemm_use_set(device, set), MOT_UNSUPPORTED,
                     "CLBlast refuses parameters with -2047");
        assert_int_equal(mot__gemm_set(device), 0);
    }
    refuse = false;
    assert_int_equal(told, 0);
    assert_story(mot__gemm_use_set(device, mot__gemm_sets() + 1), MOT_BAD_ARG, "set 5");
    compare(device, MOT__GEMM_CLBLAST, 19, 43, 18, 0);
    mot__device_close(device);
}

/* As tuning leaves it, before the first call on the device: where it is refused now, as by another
 * version of CLBlast, its own parameters serve. */
static void a_remembered_set_is_told_or_done_without(void **state)
{
    const struct mot__tuned tuned = {"clblast-3", 2, "clblast", 1, 1700000000};
    struct folder cache;

    (void)state;
    assert_true(folder_open(&cache));
    for (size_t i = 0; i < 2; i++) {
        mot__device *device = open_device(MOT__GEMM_AUTO, cache.path);

        assert_ok(mot__tuned_set(device, "clblast", &tuned));
        refuse = i == 0;
        compare(device, MOT__GEMM_AUTO, 19, 43, 18, 1);
        refuse = false;
        assert_int_equal(mot__gemm_set(device), i ? 3 : 0);
        assert_int_equal(told, i ? 2 : 0); /* of both kernels */
        mot__device_close(device);
    }
    folder_close(&cache);
}

/* The indirect kernel begins at 896 x 896 x 896. */
static void each_set_matches_openblas(void **state)
{
    mot__device *device = open_device(MOT__GEMM_CLBLAST, NULL);

    (void)state;
    for (size_t set = 1; set <= mot__gemm_sets(); set++) {
        const size_t before = told;
        const bool known = mot__gemm_set(device) == set;

        assert_ok(mot__gemm_use_set(device, set));
        assert_int_equal(mot__gemm_set(device), set);
        assert_int_equal(told - before, known ? 0 : 2);
        assert_ok(mot__gemm_use_set(device, set)); /* what it has is not told again */
        assert_int_equal(told - before, known ? 0 : 2);
        for (int way = 0; way < 3; way++) { /* a network has no product of two transposed */
            compare(device, MOT__GEMM_CLBLAST, 19, 43, 18, way);
            compare(device, MOT__GEMM_CLBLAST, 130, 69, 33, way);
        }
        compare(device, MOT__GEMM_CLBLAST, 900, 905, 910, (int)(set % 3));
    }
    mot__device_close(device);
}

static mot_status wrong(mot__device *device, const struct mot__gemm *gemm)
{
    struct mot__gemm bent = *gemm;

    bent.alpha *= 1.01f;
    return mot__gemm_tile_gpu(device, &bent);
}

/* A verdict is about one set: that of another, which was right, says nothing. */
static void a_set_that_computes_wrongly_is_not_trusted(void **state)
{
    mot__device *device = open_device(MOT__GEMM_CLBLAST, "");
    struct mot__gemm_state *gemm = NULL;
    bool good = false;

    (void)state;
    assert_ok(mot__gemm_state(device, &gemm));
    gemm->run[MOT__GEMM_CLBLAST] = mot__gemm_tile_gpu;
    assert_ok(mot__gemm_use_set(device, 1));
    assert_ok(mot__gemm_trusted(device, MOT__GEMM_CLBLAST, false, false, &good));
    assert_true(good);
    gemm->run[MOT__GEMM_CLBLAST] = wrong;
    assert_ok(mot__gemm_use_set(device, 2));
    assert_ok(mot__gemm_trusted(device, MOT__GEMM_CLBLAST, false, false, &good));
    assert_false(good);
    mot__device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_set_leaves_what_there_was),
        cmocka_unit_test(a_remembered_set_is_told_or_done_without),
        cmocka_unit_test(each_set_matches_openblas),
        cmocka_unit_test(a_set_that_computes_wrongly_is_not_trusted),
    };

    return MOTLEY_CLBLAST ? cmocka_run_group_tests(tests, test_devices_open, test_devices_close)
                          : 0;
}
