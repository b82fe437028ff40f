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

/* ---- commands ---- */

#define SEEN 2048
#define WAITS 16
static struct seen {
    pthread_t thread; /* a lane's */
    enum { LAUNCH, READ, WRITE } what;
    char name[64]; /* of a kernel */
    size_t bytes;
    cl_event event, wait[WAITS]; /* of a write; of a launch */
    cl_uint waits;
} seen[SEEN];
static size_t seen_count;
static bool watching;

/* The next row, with the door held; NULL: nobody looks. */
static struct seen *see(int what)
{
    struct seen *row = watching && seen_count < SEEN ? &seen[seen_count++] : NULL;

    if (row) {
        memset(row, 0, sizeof *row);
        row->thread = pthread_self();
        row->what = what;
    }
    return row;
}

/* Events are kept until the next begins: a handle that was given anew would be taken for another.
 */
static void watch(bool on)
{
    pthread_mutex_lock(&door);
    watching = on;
    for (size_t i = 0; on && i < seen_count; i++)
        if (seen[i].event)
            clReleaseEvent(seen[i].event);
    seen_count = on ? 0 : seen_count;
    pthread_mutex_unlock(&door);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                       cl_uint dims, const size_t *offset,
                                                       const size_t *global, const size_t *local,
                                                       cl_uint waits, const cl_event *wait,
                                                       cl_event *event)
{
    cl_int(CL_API_CALL * real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                               const size_t *, cl_uint, const cl_event *, cl_event *);
    struct seen *row;

    pthread_mutex_lock(&door);
    *(void **)&real = below("clEnqueueNDRangeKernel");
    row = see(LAUNCH);
    if (row) {
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof row->name - 1, row->name, NULL);
        row->waits = waits < WAITS ? waits : WAITS;
        if (waits)
            memcpy(row->wait, wait, row->waits * sizeof *wait);
    }
    pthread_mutex_unlock(&door);
    return real(queue, kernel, dims, offset, global, local, waits, wait, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem,
                                                    cl_bool blocking, size_t begin, size_t bytes,
                                                    void *host, cl_uint waits, const cl_event *wait,
                                                    cl_event *event)
{
    cl_int(CL_API_CALL * real)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                               const cl_event *, cl_event *);
    struct seen *row;

    pthread_mutex_lock(&door);
    *(void **)&real = below("clEnqueueReadBuffer");
    row = see(READ);
    if (row)
        row->bytes = bytes;
    pthread_mutex_unlock(&door);
    return real(queue, mem, blocking, begin, bytes, host, waits, wait, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem,
                                                     cl_bool blocking, size_t begin, size_t bytes,
                                                     const void *host, cl_uint waits,
                                                     const cl_event *wait, cl_event *event)
{
    cl_int(CL_API_CALL * real)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *,
                               cl_uint, const cl_event *, cl_event *);
    struct seen *row;
    cl_int error;

    *(void **)&real = below("clEnqueueWriteBuffer");
    error = real(queue, mem, blocking, begin, bytes, host, waits, wait, event);
    pthread_mutex_lock(&door);
    row = !error && event ? see(WRITE) : NULL;
    if (row) {
        row->bytes = bytes;
        row->event = *event;
        clRetainEvent(*event);
    }
    pthread_mutex_unlock(&door);
    return error;
}

/* ---- the limit ---- */

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

/* ---- buckets ---- */

#define MLP512 "input 784, dense 512 relu, dense 512 relu, dense 10"
#define RECORD 16 /* floats */
/* What leaves first and arrives last, the two last layers (parameters begin at multiples of 16
 * floats); and the first layer. */
#define LATE ((513 * 512 + 512 * 10 + 16) * sizeof(float))
#define EARLY (785 * 512 * sizeof(float))

static void watch_steps(enum mot_strategy strategy, size_t steps)
{
    struct train_set set = train_set_make(128, 784, 10, 1);
    struct mot_trainer_config config = train_config();
    struct train_run run;

    config.strategy = strategy;
    config.verify = 0;
    assert_int_equal(setenv("MOTLEY_STAGING", "copy", 1), 0);
    run = train_open("0,0", MLP512, &config, train_data(&set, false, 32));
    unsetenv("MOTLEY_STAGING");
    train_steps(&run, 3);
    (void)train_metrics(&run);
    watch(true);
    train_steps(&run, steps);
    (void)train_metrics(&run);
    watch(false);
    train_close(&run);
    train_set_clear(&set);
}

/* The lanes: threads that launched something. */
static size_t lanes_seen(pthread_t lane[2])
{
    size_t lanes = 0;

    for (size_t i = 0; i < seen_count; i++) {
        bool known = seen[i].what != LAUNCH;

        for (size_t l = 0; l < lanes && !known; l++)
            known = pthread_equal(lane[l], seen[i].thread);
        if (!known && lanes < 2)
            lane[lanes++] = seen[i].thread;
    }
    return lanes;
}

static bool is_gemm(const struct seen *row)
{
    return row->what == LAUNCH && strncmp(row->name, "gemm_", 5) == 0;
}

/* The last product of a step is the gradient of the first layer's weights. */
static void a_bucket_leaves_before_the_last_backward_launch(void **state)
{
    pthread_t lane[2];

    (void)state;
    watch_steps(MOT_STRATEGY_MIRRORED, 1);
    assert_int_equal(lanes_seen(lane), 2);
    for (size_t l = 0; l < 2; l++) {
        const size_t want[2] = {LATE + RECORD * sizeof(float), EARLY};
        size_t at[2] = {0}, reads = 0, last = 0;

        for (size_t i = 0; i < seen_count; i++) {
            if (!pthread_equal(lane[l], seen[i].thread))
                continue;
            last = is_gemm(&seen[i]) ? i : last;
            if (seen[i].what != READ || seen[i].bytes < 4096) /* metrics are smaller */
                continue;
            assert_true(reads < 2);
            assert_int_equal(seen[i].bytes, want[reads]);
            at[reads++] = i;
        }
        assert_int_equal(reads, 2);
        assert_true(at[0] < last && last < at[1]);
    }
}

/* Of the weights that the launch waits for. Only a write before it can be meant: a handle that was
 * let go before we looked may since have been given to another. */
static size_t waited_bytes(const struct seen *launch)
{
    size_t bytes = 0;

    for (size_t i = 0; &seen[i] < launch; i++)
        for (cl_uint w = 0; w < launch->waits && seen[i].what == WRITE; w++)
            if (seen[i].event == launch->wait[w] &&
                (seen[i].bytes == LATE || seen[i].bytes == EARLY))
                bytes += seen[i].bytes;
    return bytes;
}

/* With the variables on the host: the first product waits for its layer's weights alone, the next
 * for the others. */
static void a_forward_pass_starts_as_its_first_weights_arrive(void **state)
{
    pthread_t lane[2];

    (void)state;
    watch_steps(MOT_STRATEGY_CENTRAL, 2);
    assert_int_equal(lanes_seen(lane), 2);
    for (size_t l = 0; l < 2; l++) {
        const size_t want[2] = {EARLY, LATE};
        size_t waiting = 0, products = 0, first = 0;

        for (size_t i = 0; i < seen_count; i++) {
            if (!pthread_equal(lane[l], seen[i].thread) || seen[i].what != LAUNCH)
                continue;
            products += is_gemm(&seen[i]);
            if (waited_bytes(&seen[i]) == 0)
                continue;
            assert_true(waiting < 2);
            assert_true(is_gemm(&seen[i]));
            assert_int_equal(waited_bytes(&seen[i]), want[waiting]);
            first = waiting++ == 0 ? products : first;
            assert_int_equal(products, first + waiting - 1); /* the next one */
        }
        assert_int_equal(waiting, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds_for_what_clblast_takes_too),
        cmocka_unit_test(a_bucket_leaves_before_the_last_backward_launch),
        cmocka_unit_test(a_forward_pass_starts_as_its_first_weights_arrive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
