/* test_faults.c - a small training run over every OpenCL call that fails. Whatever fails and
 * when: no crash, no hang, success or a sentence, nothing of OpenCL left behind unless the device
 * was lost, and a lost device is not called again.
 *
 * The program starts itself anew for each entry point, with tests/fault/layer.c loaded, and that
 * child goes through the calls one by one. */
#include "support/check.h"
#include "support/folder.h"

#include "fault/layer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
static const char *self;
static struct folder folder;

/* ---- the child ---- */

enum { SAMPLES = 40, WIDTH = 6, CLASSES = 3 };

struct session {
    const struct fault_layer *layer;
    const char *cache, *devices, *out;
    float x[SAMPLES * WIDTH];
    uint32_t labels[SAMPLES];
};

static mot_status steps(mot_trainer *trainer, mot_data *data)
{
    mot_batch *batch = NULL;
    mot_status status = MOT_OK;

    for (size_t i = 0; i < 4 && status == MOT_OK; i++) { /* three of an epoch and its end */
        status = mot_data_next(data, &batch);
        if (status == MOT_OK && batch)
            status = mot_trainer_step(trainer, batch);
    }
    return status;
}

/* Open, step, evaluate, save, close: what comes back, with its story kept in told. */
static mot_status train(const struct session *session, char *told, size_t bytes)
{
    struct mot_fleet_config config = mot_fleet_config_default();
    struct mot_trainer_config how = mot_trainer_config_default();
    struct mot_arrays arrays = mot_arrays_default();
    struct mot_metrics metrics;
    mot_fleet *fleet = NULL;
    mot_model *net = NULL;
    mot_data *data = NULL;
    mot_trainer *trainer = NULL;
    int failed;

    config.devices = session->devices;
    config.cache_dir = session->cache;
    config.gemm = "tile";   /* CLBlast keeps what it compiled until the process ends */
    config.deadline_s = 40; /* a driver that compiles on a busy machine is no hang */
    how.shares = "even";
    how.strategy = test_strategy();
    arrays.count = SAMPLES;
    arrays.shape = MOT_SHAPE(WIDTH);
    arrays.x = session->x;
    arrays.labels = session->labels;
    arrays.classes = CLASSES;
    failed = mot_fleet_open(&config, &fleet) || mot_data_arrays(&arrays, &data) ||
             mot_data_batch(data, 16) || mot_model_open(&net) ||
             mot_model_text(net, "input 6, dense 5 relu, dense 3") ||
             mot_trainer_open(fleet, net, &how, &trainer) || steps(trainer, data) ||
             mot_trainer_metrics(trainer, &metrics) || mot_evaluate(trainer, data, &metrics) ||
             mot_weights_save(trainer, session->out);
    snprintf(told, bytes, "%s", failed ? mot_error() : "");
    mot_trainer_close(trainer);
    mot_data_close(data);
    mot_model_close(net);
    mot_fleet_close(fleet);
    return failed ? mot_error_status() : MOT_OK;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* By the table of quirks a driver is lost after CL_OUT_OF_RESOURCES, and PoCL is not. */
static bool loses(int error)
{
    return error == -2 || (error == -5 && getenv("MOTLEY_GUISE"));
}

/* What is wrong with a session's end; "" if nothing. */
static void judge(const struct session *session, mot_status status, const char *told, bool lossy,
                  char *wrong, size_t bytes)
{
    const struct fault_layer *layer = session->layer;

    wrong[0] = '\0';
    if (status != MOT_OK && !told[0])
        snprintf(wrong, bytes, "status %d without a sentence", (int)status);
    else if (strstr(told, "did not answer"))
        snprintf(wrong, bytes, "it hung: %s", told);
    else if (status != MOT_OK && !layer->fired())
        snprintf(wrong, bytes, "no fault, yet: %s", told);
    else if (lossy && layer->after_loss() > 0 && !strchr(session->devices, '/'))
        snprintf(wrong, bytes, "%u calls after the device was lost: %s", layer->after_loss(), told);
    for (int kind = 0; kind < FAULT_SUB_DEVICE && !lossy && !wrong[0]; kind++) /* PoCL's are kept */
        if (layer->alive((enum fault_kind)kind) != 0)
            snprintf(wrong, bytes, "%ld references of %s left: %s",
                     layer->alive((enum fault_kind)kind), layer->kind_name((enum fault_kind)kind),
                     told);
}

/* Calls 1 to 12, then further and further apart, until one is past the last call. */
static unsigned after(unsigned nth)
{
    return nth < 12 ? nth + 1 : nth + nth / 2;
}

static int sweep(struct session *session, const char *entry, enum fault_mode mode, int value,
                 double limit_s)
{
    const bool lossy = loses(value);
    const double begun_s = now_s();
    char told[1024], wrong[1200];
    unsigned nth, failures = 0;

    printf("%s, mode %d, %d: borne without a word:", entry, (int)mode, value);
    for (nth = 1; now_s() < begun_s + limit_s; nth = after(nth)) {
        mot_status status;

        session->layer->arm(entry, nth, mode, value);
        fprintf(stderr, "%s %u\n", entry, nth); /* a crash or a hang is the last line's */
        alarm(100);
        status = train(session, told, sizeof told);
        alarm(0);
        judge(session, status, told, lossy, wrong, sizeof wrong);
        if (mode == FAULT_DELAY && status != MOT_OK)
            snprintf(wrong, sizeof wrong, "late, and so: %.900s", told);
        if (status == MOT_OK && session->layer->fired())
            printf(" %u", nth);
        if (wrong[0]) {
            failures++;
            printf("\n%s, call %u, mode %d, %d: %s\n", entry, nth, (int)mode, value, wrong);
        }
        if (!session->layer->fired())
            break;
    }
    printf(" of calls up to %u, %.1f s\n", nth, now_s() - begun_s);
    return failures > 0;
}

static int child(char **argv)
{
    static struct session session;
    void *library = dlopen(FAULT_LAYER, RTLD_NOW);
    char told[1024], wrong[1200];
    mot_status status;

    if (!library || !(session.layer = dlsym(library, FAULT_LAYER_SYMBOL)))
        return 90;
    session.cache = argv[2];
    session.devices = argv[3];
    session.out = argv[4];
    test_fill(session.x, SAMPLES * WIDTH, 5, -1, 1);
    for (uint32_t i = 0; i < SAMPLES; i++)
        session.labels[i] = i % CLASSES;
    if (strcmp(argv[5], "none") != 0)
        return sweep(&session, argv[5], (enum fault_mode)atoi(argv[6]), atoi(argv[7]),
                     atof(argv[8]));
    session.layer->arm(NULL, 0, FAULT_NONE, 0);
    status = train(&session, told, sizeof told);
    judge(&session, status, told, false, wrong, sizeof wrong);
    printf("no fault: %u buffers, %u launches, %u waits%s%s\n",
           session.layer->calls("clCreateBuffer"), session.layer->calls("clEnqueueNDRangeKernel"),
           session.layer->calls("clWaitForEvents"), wrong[0] ? ", but " : "", wrong);
    return status != MOT_OK || wrong[0] != '\0' ||
           session.layer->calls("clEnqueueNDRangeKernel") == 0;
}

/* ---- the parent ---- */

static void show(const char *path, bool last_line_only)
{
    char line[1400], last[1400] = "";
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file)) {
        if (!last_line_only)
            print_message("%s", line);
        snprintf(last, sizeof last, "%s", line);
    }
    if (last_line_only)
        print_message("it ended at %s\n", last);
    if (file)
        fclose(file);
}

static void run(const char *devices, const char *entry, enum fault_mode mode, int value,
                const char *limit_s)
{
    char cache[512], out[512], log[512], last[512], mode_text[8], value_text[16];
    char *arguments[] = {(char *)self,  (char *)"--child", cache,      (char *)devices, out,
                         (char *)entry, mode_text,         value_text, (char *)limit_s, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int code = 0;

    snprintf(cache, sizeof cache, "%s", folder_path(&folder, "cache"));
    snprintf(out, sizeof out, "%s", folder_path(&folder, "weights"));
    snprintf(log, sizeof log, "%s", folder_path(&folder, "log"));
    snprintf(last, sizeof last, "%s", folder_path(&folder, "last"));
    snprintf(mode_text, sizeof mode_text, "%d", (int)mode);
    snprintf(value_text, sizeof value_text, "%d", value);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, last, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&pid, self, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    show(log, false);
    if (WIFSIGNALED(code)) {
        show(last, true);
        fail_msg("signal %d%s", WTERMSIG(code), WTERMSIG(code) == SIGALRM ? ": it hung" : "");
    }
    assert_int_equal(WEXITSTATUS(code), 0);
}

static void without_faults_nothing_is_left_behind(void **state)
{
    (void)state;
    run("0", "none", FAULT_NONE, 0, "0"); /* fills the cache too */
    run("0/2", "none", FAULT_NONE, 0, "0");
    assert_int_equal(setenv("MOTLEY_STAGING", "copy", 1), 0);
    run("0/2", "none", FAULT_NONE, 0, "0");
    assert_int_equal(unsetenv("MOTLEY_STAGING"), 0);
}

#define EACH_S "3" /* of one sweep; the first calls come first */

static const char *const swept[] = {
    "clCreateContext",
    "clCreateCommandQueue",
    "clCreateBuffer",
    "clCreateProgramWithBinary",
    "clBuildProgram",
    "clCreateKernel",
    "clSetKernelArg",
    "clGetKernelWorkGroupInfo",
    "clEnqueueNDRangeKernel",
    "clEnqueueReadBuffer",
    "clEnqueueWriteBuffer",
    "clEnqueueCopyBuffer",
    "clEnqueueFillBuffer",
    "clEnqueueMapBuffer",
    "clEnqueueUnmapMemObject",
    "clFlush",
    "clWaitForEvents",
    "clGetEventInfo",
    "clFinish",
};

static void sweep_all(const char *devices, enum fault_mode mode, int value)
{
    for (size_t i = 0; i < sizeof swept / sizeof *swept; i++)
        if (mode != FAULT_ASYNC || strncmp(swept[i], "clEnqueue", 9) == 0)
            run(devices, swept[i], mode, value, EACH_S);
}

static void a_call_that_runs_out_of_host_memory_leaves_nothing(void **state)
{
    (void)state;
    sweep_all("0", FAULT_RETURN, -6);
    run("0", "clCreateBuffer", FAULT_RETURN, -61, EACH_S); /* -6 makes the pool try once more */
}

static void a_lost_device_is_not_called_again(void **state)
{
    (void)state;
    sweep_all("0", FAULT_RETURN, -2);
}

/* The same device as a card whose driver may hang afterwards. */
static void a_card_out_of_resources_is_lost(void **state)
{
    (void)state;
    if (!FAULT_GUISE[0])
        skip();
    assert_int_equal(setenv("OPENCL_LAYERS", FAULT_LAYER ":" FAULT_GUISE, 1), 0);
    assert_int_equal(setenv("MOTLEY_GUISE", "a770", 1), 0);
    run("0", "none", FAULT_NONE, 0, "0");
    sweep_all("0", FAULT_RETURN, -5);
    assert_int_equal(unsetenv("MOTLEY_GUISE"), 0);
    assert_int_equal(setenv("OPENCL_LAYERS", FAULT_LAYER, 1), 0);
}

static void a_cpu_out_of_resources_is_not(void **state)
{
    static const char *const chosen[] = {"clCreateBuffer", "clEnqueueNDRangeKernel",
                                         "clEnqueueMapBuffer", "clWaitForEvents"};

    (void)state;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        run("0", chosen[i], FAULT_RETURN, -5, EACH_S);
}

static void a_command_that_fails_on_the_device_is_told(void **state)
{
    (void)state;
    sweep_all("0", FAULT_ASYNC, -9999);
}

static void a_late_answer_changes_nothing(void **state)
{
    (void)state;
    run("0/2", "clEnqueueNDRangeKernel", FAULT_DELAY, 40, EACH_S);
    run("0/2", "clWaitForEvents", FAULT_DELAY, 40, EACH_S);
    run("0/2", "clEnqueueMapBuffer", FAULT_DELAY, 40, EACH_S);
}

static void one_of_two_lanes_fails(void **state)
{
    static const char *const chosen[] = {"clCreateSubDevices",      "clCreateBuffer",
                                         "clEnqueueNDRangeKernel",  "clEnqueueMapBuffer",
                                         "clEnqueueUnmapMemObject", "clWaitForEvents"};

    (void)state;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        run("0/2", chosen[i], FAULT_RETURN, -6, EACH_S);
    run("0/2", "clEnqueueNDRangeKernel", FAULT_ASYNC, -9999, EACH_S);
    run("0/2", "clEnqueueNDRangeKernel", FAULT_RETURN, -2, EACH_S);
    assert_int_equal(setenv("MOTLEY_STAGING", "copy", 1), 0);
    run("0/2", "clEnqueueWriteBuffer", FAULT_RETURN, -6, EACH_S);
    run("0/2", "clEnqueueReadBuffer", FAULT_RETURN, -6, EACH_S);
    run("0/2", "clFlush", FAULT_RETURN, -6, EACH_S);
    run("0/2", "clEnqueueReadBuffer", FAULT_ASYNC, -9999, EACH_S);
    assert_int_equal(unsetenv("MOTLEY_STAGING"), 0);
}

/* Did the last run's log say this? */
static bool logged(const char *words)
{
    char line[1400];
    FILE *file = fopen(folder_path(&folder, "log"), "r");
    bool found = false;

    while (file && fgets(line, sizeof line, file))
        found |= strstr(line, words) != NULL;
    if (file)
        fclose(file);
    return found;
}

static void a_compiler_that_fails_is_told(void **state)
{
    char programs[512];

    (void)state;
    snprintf(programs, sizeof programs, "%s", folder_path(&folder, "cache/programs"));
    folder_remove(programs);
    run("0", "clCreateProgramWithSource", FAULT_RETURN, -6, EACH_S);
    folder_remove(programs);
    run("0", "clBuildProgram", FAULT_RETURN, -11, EACH_S);
    /* The first is the GEMM's, the second the files of a step: those are then built one by one. */
    assert_true(logged("clBuildProgram, mode 1, -11: borne without a word: 2 of"));
}

static int set_up(void **state)
{
    (void)state;
    return !folder_open(&folder) || setenv("OPENCL_LAYERS", FAULT_LAYER, 1) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_close(&folder);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_faults_nothing_is_left_behind),
        cmocka_unit_test(a_call_that_runs_out_of_host_memory_leaves_nothing),
        cmocka_unit_test(a_lost_device_is_not_called_again),
        cmocka_unit_test(a_card_out_of_resources_is_lost),
        cmocka_unit_test(a_cpu_out_of_resources_is_not),
        cmocka_unit_test(a_command_that_fails_on_the_device_is_told),
        cmocka_unit_test(a_late_answer_changes_nothing),
        cmocka_unit_test(one_of_two_lanes_fails),
        cmocka_unit_test(a_compiler_that_fails_is_told),
    };

    self = argv[0];
    if (argc > 8)
        return child(argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
