/* test_guise.c - the layer `guise` bites: limits are enforced, and a program that takes a liberty
 * which OpenCL does not give is caught by each of its manners. tests/illwill.cmake runs it with two
 * devices that play one RX 7900 behind two platforms. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "support/check.h"

#include <time.h>

#define N 64

static const char text[] =
    "kernel void copy(global const float *from, global float *to)\n"
    "{ size_t i = get_global_id(0); to[i] = from[i]; }\n"
    "kernel void scratch(local float *room, global float *to)\n"
    "{ room[get_local_id(0)] = 1.0f; to[get_global_id(0)] = room[get_local_id(0)]; }\n"
    "kernel void sums(global const float *from, global float *to)\n"
    "{ size_t i = get_global_id(0); to[i] = from[i] * 3.0f + (float)(i / (i + 1) + 7 / 2); }\n"
    "kernel void roots(global const float *from, global float *to)\n"
    "{ size_t i = get_global_id(0); to[i] = sqrt(from[i]); }\n"
    "kernel void quotients(global const float *from, global float *to)\n"
    "{ size_t i = get_global_id(0); to[i] = 1.0f / (from[i] + 1.0f); /* 1 / 2 */ }\n"
    "kernel void work(global const float *from, global float *to)\n"
    "{ size_t i = get_global_id(0); float x = from[i];\n"
    "  for (int k = 0; k < 200000; k++) x = x * 0.999f + 0.5f;\n"
    "  to[i] = x; }\n";

static struct {
    cl_device_id device[2];
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} cl;

static void manners(const char *value)
{
    assert_int_equal(setenv("MOTLEY_ILL_WILL", value, 1), 0);
}

static void build(void)
{
    const char *texts[] = {text};
    cl_int error;

    if (cl.program)
        clReleaseProgram(cl.program);
    cl.program = clCreateProgramWithSource(cl.context, 1, texts, NULL, &error);
    assert_int_equal(error, 0);
    assert_int_equal(clBuildProgram(cl.program, 1, cl.device, "-cl-std=CL1.2", NULL, NULL), 0);
}

static int open_all(void **state)
{
    cl_platform_id platform[8];
    cl_uint count = 0, devices = 0;
    cl_int error;

    (void)state;
    manners("");
    assert_int_equal(clGetPlatformIDs(8, platform, &count), 0);
    assert_int_equal(count, 2);
    for (cl_uint p = 0; p < 2; p++) {
        assert_int_equal(
            clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_GPU, 1, &cl.device[p], &devices), 0);
        assert_int_equal(devices, 1);
    }
    cl.context = clCreateContext(
        (cl_context_properties[]){CL_CONTEXT_PLATFORM, (cl_context_properties)platform[0], 0}, 1,
        cl.device, NULL, NULL, &error);
    assert_int_equal(error, 0);
    cl.queue = clCreateCommandQueue(cl.context, cl.device[0], CL_QUEUE_PROFILING_ENABLE, &error);
    assert_int_equal(error, 0);
    build();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    clReleaseProgram(cl.program);
    clReleaseCommandQueue(cl.queue);
    clReleaseContext(cl.context);
    return 0;
}

static cl_mem buffer(size_t bytes)
{
    cl_int error;
    cl_mem mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, bytes, NULL, &error);

    assert_int_equal(error, 0);
    return mem;
}

static cl_kernel kernel(const char *name)
{
    cl_int error;
    cl_kernel found = clCreateKernel(cl.program, name, &error);

    assert_int_equal(error, 0);
    return found;
}

static void read_back(cl_mem mem, float *out)
{
    assert_int_equal(
        clEnqueueReadBuffer(cl.queue, mem, CL_TRUE, 0, N * sizeof *out, out, 0, NULL, NULL), 0);
}

/* to = name(from), over N items in groups of `local`; the status of the enqueue. */
static cl_int run(const char *name, cl_mem from, cl_mem to, size_t items, size_t local)
{
    cl_kernel k = kernel(name);
    cl_int error;

    assert_int_equal(clSetKernelArg(k, 0, sizeof from, &from), 0);
    assert_int_equal(clSetKernelArg(k, 1, sizeof to, &to), 0);
    error = clEnqueueNDRangeKernel(cl.queue, k, 1, NULL, &items, &local, 0, NULL, NULL);
    assert_int_equal(clFinish(cl.queue), 0);
    clReleaseKernel(k);
    return error;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the card ---- */

static void one_card_stands_behind_two_platforms(void **state)
{
    const struct mot_device_info *first, *second;
    mot_inventory *inventory = NULL;

    (void)state;
    assert_ok(mot_inventory_open(NULL, &inventory));
    assert_int_equal(mot_inventory_count(inventory), 2);
    first = mot_inventory_get(inventory, 0);
    second = mot_inventory_get(inventory, 1);
    assert_string_equal(first->name, "AMD Radeon RX 7900 XTX (gfx1100)");
    assert_string_equal(first->platform, "AMD Accelerated Parallel Processing");
    assert_string_equal(second->platform, "rusticl");
    assert_string_equal(first->pci, "03:00.0");
    assert_string_equal(second->pci, "03:00.0");
    assert_int_equal(first->type, MOT_DEVICE_GPU);
    assert_int_equal(first->max_sub, 0);
    assert_true(first->chosen && !second->chosen);
    assert_string_equal(second->reason, "same card as 0");
    mot_inventory_close(inventory);
}

static void a_group_above_the_limit_is_refused(void **state)
{
    cl_mem a = buffer(4096), b = buffer(4096);

    (void)state;
    assert_int_equal(run("copy", a, b, 256, 256), CL_SUCCESS);
    assert_int_equal(run("copy", a, b, 512, 512), CL_INVALID_WORK_GROUP_SIZE);
    assert_int_equal(run("copy", a, b, 2048, 2048), CL_INVALID_WORK_ITEM_SIZE);
    assert_int_equal(run("copy", a, b, 65, 64), CL_INVALID_WORK_GROUP_SIZE);
    clReleaseMemObject(a), clReleaseMemObject(b);
}

static cl_int with_local(size_t bytes)
{
    const size_t items = 8;
    cl_kernel k = kernel("scratch");
    cl_mem to = buffer(4096);
    cl_int error;

    assert_int_equal(clSetKernelArg(k, 0, bytes, NULL), 0);
    assert_int_equal(clSetKernelArg(k, 1, sizeof to, &to), 0);
    error = clEnqueueNDRangeKernel(cl.queue, k, 1, NULL, &items, &items, 0, NULL, NULL);
    clFinish(cl.queue);
    clReleaseKernel(k);
    clReleaseMemObject(to);
    return error;
}

static void local_memory_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    assert_int_equal(with_local(65536), CL_SUCCESS);
    assert_int_equal(with_local(65537), CL_OUT_OF_RESOURCES);
}

static void memory_ends_where_it_says(void **state)
{
    cl_mem piece[4];
    cl_int error;

    (void)state;
    assert_null(clCreateBuffer(cl.context, 0, 21890072577, NULL, &error));
    assert_int_equal(error, CL_INVALID_BUFFER_SIZE);
    manners("memory_mb=4");
    assert_null(clCreateBuffer(cl.context, 0, (1 << 20) + 1, NULL, &error));
    assert_int_equal(error, CL_INVALID_BUFFER_SIZE);
    for (int i = 0; i < 4; i++)
        piece[i] = buffer(1 << 20);
    assert_null(clCreateBuffer(cl.context, 0, 1, NULL, &error));
    assert_int_equal(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clReleaseMemObject(piece[3]);
    piece[3] = buffer(1 << 20); /* what was given back can be had again */
    for (int i = 0; i < 4; i++)
        clReleaseMemObject(piece[i]);
    manners("");
}

static void it_cannot_be_cut(void **state)
{
    const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    const cl_buffer_region odd = {64, 64}, even = {128, 64};
    cl_mem whole = buffer(4096), part;
    cl_device_id id[8];
    cl_int error;

    (void)state;
    assert_int_not_equal(clCreateSubDevices(cl.device[0], how, 8, id, NULL), CL_SUCCESS);
    assert_null(clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &odd, &error));
    assert_int_equal(error, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &even, &error);
    assert_int_equal(error, CL_SUCCESS);
    clReleaseMemObject(part);
    clReleaseMemObject(whole);
}

/* ---- the manners ---- */

static void a_new_buffer_is_full_of_nan(void **state)
{
    float seen[N];
    cl_mem mem;

    (void)state;
    manners("nan");
    mem = buffer(sizeof seen);
    read_back(mem, seen);
    for (size_t i = 0; i < N; i++)
        assert_true(isnan(seen[i]));
    clReleaseMemObject(mem);
}

/* The wrong program: it takes its source back before the transfer has ended. */
static float first_after_early_change(void)
{
    float host[N] = {1}, seen[N];
    cl_mem mem = buffer(sizeof host);

    assert_int_equal(
        clEnqueueWriteBuffer(cl.queue, mem, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL), 0);
    host[0] = 2;
    assert_int_equal(clFinish(cl.queue), 0);
    read_back(mem, seen);
    clReleaseMemObject(mem);
    return seen[0];
}

static void a_source_that_changes_too_early_is_caught(void **state)
{
    (void)state;
    manners("late=50");
    assert_true(first_after_early_change() == 2);
    manners("late=50,blocks"); /* and a driver that blocks hides it */
    assert_true(first_after_early_change() == 1);
}

/* As on NVIDIA: a transfer from memory of the driver's own does not block. */
static void ordinary_memory_blocks_and_the_drivers_does_not(void **state)
{
    cl_int error;
    cl_mem pinned = clCreateBuffer(cl.context, CL_MEM_ALLOC_HOST_PTR, 4096, NULL, &error);
    cl_mem mem = buffer(N * sizeof(float));
    float *host, seen[N];

    (void)state;
    manners("late=50,ordinary");
    assert_true(first_after_early_change() == 1);
    host =
        clEnqueueMapBuffer(cl.queue, pinned, CL_TRUE, CL_MAP_WRITE, 0, 4096, 0, NULL, NULL, &error);
    assert_int_equal(error, 0);
    host[N] = 1;
    assert_int_equal(
        clEnqueueWriteBuffer(cl.queue, mem, CL_FALSE, 0, sizeof seen, host + N, 0, NULL, NULL), 0);
    host[N] = 2;
    assert_int_equal(clFinish(cl.queue), 0);
    read_back(mem, seen);
    assert_true(seen[0] == 2);
    assert_int_equal(clEnqueueUnmapMemObject(cl.queue, pinned, host, 0, NULL, NULL), 0);
    assert_int_equal(clFinish(cl.queue), 0);
    clReleaseMemObject(mem), clReleaseMemObject(pinned);
}

static void a_target_is_written_late(void **state)
{
    float host[N] = {5}, seen[N] = {0};
    cl_mem mem = buffer(sizeof host);

    (void)state;
    manners("late=50");
    assert_int_equal(
        clEnqueueWriteBuffer(cl.queue, mem, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), 0);
    assert_int_equal(
        clEnqueueReadBuffer(cl.queue, mem, CL_FALSE, 0, sizeof seen, seen, 0, NULL, NULL), 0);
    assert_true(seen[0] == 0);
    clFinish(cl.queue);
    assert_true(seen[0] == 5);
    clReleaseMemObject(mem);
}

static void a_call_that_does_not_block_returns_late(void **state)
{
    float host[N] = {5};
    cl_mem mem = buffer(sizeof host);
    double start;

    (void)state;
    manners("return_us=30000");
    start = now();
    assert_int_equal(
        clEnqueueWriteBuffer(cl.queue, mem, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL), 0);
    assert_true(now() - start >= 0.03);
    manners("");
    clFinish(cl.queue);
    clReleaseMemObject(mem);
}

static void shared_memory_is_seen_only_through_map_and_unmap(void **state)
{
    float *host = NULL, seen[N];
    cl_int error;
    cl_mem mem;

    (void)state;
    manners("shadow");
    assert_int_equal(posix_memalign((void **)&host, 4096, 4096), 0);
    memset(host, 0, 4096);
    mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096, host, &error);
    assert_int_equal(error, 0);
    host[0] = 3; /* the wrong program: not mapped */
    read_back(mem, seen);
    assert_true(seen[0] == 0);
    assert_ptr_equal(clEnqueueMapBuffer(cl.queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 64,
                                        1024, 0, NULL, NULL, &error),
                     host + 16);
    host[16] = 4;
    read_back(mem, seen);
    assert_true(seen[16] == 0); /* still the host's */
    assert_int_equal(clEnqueueUnmapMemObject(cl.queue, mem, host + 16, 0, NULL, NULL), 0);
    read_back(mem, seen);
    assert_true(seen[16] == 4 && seen[0] == 0);
    clReleaseMemObject(mem);
    free(host);
}

static void results(const char *name, float *out)
{
    float in[N];
    cl_mem a = buffer(sizeof in), b = buffer(sizeof in);

    test_fill(in, N, 1, 1, 100);
    assert_int_equal(clEnqueueWriteBuffer(cl.queue, a, CL_TRUE, 0, sizeof in, in, 0, NULL, NULL),
                     0);
    assert_int_equal(run(name, a, b, N, 8), 0);
    read_back(b, out);
    clReleaseMemObject(a), clReleaseMemObject(b);
}

static int32_t bits(float x)
{
    int32_t b;

    memcpy(&b, &x, sizeof b);
    return b;
}

static void roots_and_quotients_are_one_unit_off(void **state)
{
    static const char *const name[] = {"sums", "roots", "quotients"};
    float right[3][N], off[3][N];
    size_t differ[3] = {0};

    (void)state;
    manners("");
    for (size_t k = 0; k < 3; k++)
        results(name[k], right[k]);
    manners("ulp");
    build();
    for (size_t k = 0; k < 3; k++) {
        results(name[k], off[k]);
        for (size_t i = 0; i < N; i++) {
            assert_in_range(abs(bits(off[k][i]) - bits(right[k][i])), 0, k == 2 ? 2 : 1);
            differ[k] += bits(off[k][i]) != bits(right[k][i]);
        }
    }
    assert_int_equal(differ[0], 0); /* sums, products and integers stay */
    assert_int_equal(differ[1], N);
    assert_true(differ[2] > N / 2);
    manners("");
    build();
}

static void a_slow_link_takes_its_time_and_says_so(void **state)
{
    float data[N] = {0};
    cl_mem a = buffer(sizeof data);
    cl_ulong begin, end;
    const double wanted = (double)sizeof data * 1e-9 / 1e-5; /* at 10 KB/s */
    cl_event event;
    double start;

    (void)state;
    manners("link=0.00001");
    start = now();
    assert_int_equal(
        clEnqueueReadBuffer(cl.queue, a, CL_FALSE, 0, sizeof data, data, 0, NULL, &event), 0);
    assert_int_equal(clFinish(cl.queue), 0);
    assert_true(now() - start >= wanted);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    assert_true(1e-9 * (double)(end - begin) >= wanted);
    clReleaseEvent(event);
    manners("");
    clReleaseMemObject(a);
}

/* One kernel so: what it took by its event, and that this time was spent. */
static double event_time(cl_kernel k, const char *how)
{
    const size_t items = N, local = 8;
    cl_ulong begin, end;
    cl_event event;
    double start;

    manners(how);
    start = now();
    assert_int_equal(clEnqueueNDRangeKernel(cl.queue, k, 1, NULL, &items, &local, 0, NULL, &event),
                     0);
    assert_int_equal(clFinish(cl.queue), 0);
    start = now() - start;
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    assert_true(start >= 0.97e-9 * (double)(end - begin));
    clReleaseEvent(event);
    return 1e-9 * (double)(end - begin);
}

static void a_slow_device_takes_as_long_as_it_says(void **state)
{
    const size_t items = N, local = 8;
    float in[N] = {0};
    cl_mem a = buffer(sizeof in), b = buffer(sizeof in);
    cl_kernel k = kernel("work");
    double start, least;

    (void)state;
    assert_int_equal(clSetKernelArg(k, 0, sizeof a, &a), 0);
    assert_int_equal(clSetKernelArg(k, 1, sizeof b, &b), 0);
    least = fmin(event_time(k, ""), fmin(event_time(k, ""), event_time(k, "")));
    assert_true(event_time(k, "slow=40") > 20 * least);
    assert_true(event_time(k, "start_us=30000") >= 0.03);
    manners("launch_us=30000");
    start = now();
    assert_int_equal(clEnqueueNDRangeKernel(cl.queue, k, 1, NULL, &items, &local, 0, NULL, NULL),
                     0);
    assert_true(now() - start >= 0.03);
    clFinish(cl.queue);
    clReleaseKernel(k);
    clReleaseMemObject(a), clReleaseMemObject(b);
    manners("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_card_stands_behind_two_platforms),
        cmocka_unit_test(a_group_above_the_limit_is_refused),
        cmocka_unit_test(local_memory_beyond_the_limit_is_refused),
        cmocka_unit_test(memory_ends_where_it_says),
        cmocka_unit_test(it_cannot_be_cut),
        cmocka_unit_test(a_new_buffer_is_full_of_nan),
        cmocka_unit_test(a_source_that_changes_too_early_is_caught),
        cmocka_unit_test(ordinary_memory_blocks_and_the_drivers_does_not),
        cmocka_unit_test(a_target_is_written_late),
        cmocka_unit_test(a_call_that_does_not_block_returns_late),
        cmocka_unit_test(shared_memory_is_seen_only_through_map_and_unmap),
        cmocka_unit_test(roots_and_quotients_are_one_unit_off),
        cmocka_unit_test(a_slow_link_takes_its_time_and_says_so),
        cmocka_unit_test(a_slow_device_takes_as_long_as_it_says),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
