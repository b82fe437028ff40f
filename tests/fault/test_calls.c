/* test_calls.c - what a run asks of OpenCL, seen at the door: this program has entries of its own
 * in front of the library's, so whatever is called, by us or by CLBlast, passes here first. */
#define CL_TARGET_OPENCL_VERSION 120
#include "support/folder.h"
#include "support/train.h"

#include "device/device.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <motley/bench.h>
#include <pthread.h>

#define WIDE "input 20, dense 1024 relu, dense 1024 relu, dense 5"

static void *below(const char *entry)
{
    static void *library;
    void *found;

    if (!library)
        library = dlopen("libOpenCL.so.1", RTLD_NOW);
    found = library ? dlsym(library, entry) : NULL;
    if (!found)
        abort();
    return found;
}

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

/* ---- memory ---- */

#define HELD 4096
static struct {
    cl_mem mem;
    size_t bytes, users;
} held[HELD];
static size_t alive_bytes, most_bytes;

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                               void *host, cl_int *error)
{
    cl_mem(CL_API_CALL * real)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_mem made;
    size_t i;

    pthread_mutex_lock(&door);
    *(void **)&real = below("clCreateBuffer");
    made = real(context, flags, bytes, host, error);
    for (i = 0; i < HELD && held[i].users; i++)
        ;
    if (made && i < HELD && !(flags & CL_MEM_ALLOC_HOST_PTR)) { /* that is pinned memory */
        held[i].mem = made;
        held[i].bytes = bytes;
        held[i].users = 1;
        alive_bytes += bytes;
        most_bytes = alive_bytes > most_bytes ? alive_bytes : most_bytes;
    }
    pthread_mutex_unlock(&door);
    return made;
}

static void count_users(cl_mem mem, int change)
{
    for (size_t i = 0; i < HELD; i++)
        if (held[i].users && held[i].mem == mem) {
            held[i].users += (size_t)change;
            alive_bytes -= held[i].users ? 0 : held[i].bytes;
        }
}

static cl_int pass_mem(const char *entry, cl_mem mem, int change)
{
    cl_int(CL_API_CALL * real)(cl_mem);
    cl_int error;

    pthread_mutex_lock(&door);
    *(void **)&real = below(entry);
    count_users(mem, change);
    error = real(mem);
    pthread_mutex_unlock(&door);
    return error;
}

CL_API_ENTRY cl_int CL_API_CALL clRetainMemObject(cl_mem mem)
{
    return pass_mem("clRetainMemObject", mem, 1);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem mem)
{
    return pass_mem("clReleaseMemObject", mem, -1);
}

static mot_fleet *clblast_fleet(const char *cache, const char *memory)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    mot_fleet *fleet = NULL;

    config.devices = "0";
    config.device_class = MOT_CLASS_GPU;
    config.gemm = "clblast";
    config.cache_dir = cache;
    config.memory = memory;
    config.profile = true;
    assert_ok(mot_fleet_open(&config, &fleet));
    return fleet;
}

static bool ran(mot_fleet *fleet, const char *kernel)
{
    struct mot_kernel_time row[64];
    size_t count;

    assert_ok(mot_bench_profile(fleet, 0, row, 64, &count));
    for (size_t i = 0; i < count; i++)
        if (strcmp(row[i].name, kernel) == 0)
            return true;
    return false;
}

/* Once with plenty, which tests the kernels; then with just what the plan says. */
static void the_limit_holds_for_what_clblast_takes_too(void **state)
{
    struct train_set set = train_set_make(128, 20, 5, 1);
    struct mot_trainer_config config = train_config();
    struct folder cache;
    char memory[32] = "";
    size_t limit = 0;

    (void)state;
    if (!MOTLEY_CLBLAST)
        skip();
    assert_true(folder_open(&cache));
    config.strategy = MOT_STRATEGY_SINGLE;
    for (size_t i = 0; i < 2; i++) {
        struct train_run run = {clblast_fleet(cache.path, i ? memory : "256M"), train_net(WIDE),
                                NULL, train_data(&set, false, 64)};

        assert_int_equal(alive_bytes, 0);
        most_bytes = 0;
        assert_ok(mot_trainer_open(run.fleet, run.net, &config, &run.trainer));
        train_steps(&run, 3);
        (void)train_metrics(&run);
        assert_true(ran(run.fleet, "clblast"));
        if (i && !(most_bytes <= limit + MOT__ASIDE_BYTES))
            fail_msg("%zu bytes at once, the limit is %zu", most_bytes, limit);
        assert_true(most_bytes > 0);
        limit = (size_t)train_plan(&run, 0).bytes.total;
        snprintf(memory, sizeof memory, "%zu", limit);
        train_close(&run);
    }
    folder_close(&cache);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds_for_what_clblast_takes_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
