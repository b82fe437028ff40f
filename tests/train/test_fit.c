/* test_fit.c - the loop: epochs, events, history, stopping; evaluation and prediction; parameters
 * by name and in files; what is told when something is wrong. */
#include "support/folder.h"
#include "support/train.h"

#include <motley/bench.h>

#define NET "input 12, dense 16 relu, dense 4 softmax"

static struct train_run open_run(const char *devices, const struct train_set *set, size_t batch)
{
    struct mot_trainer_config config = train_config();

    return train_open(devices, NET, &config, train_data(set, false, batch));
}

/* ---- plain C: what the network and the loss are ---- */

static void plain_forward(const struct train_run *run, const float *x, double *p)
{
    float *w = train_get(run, 0), *w1 = w, *b1 = w1 + 16 * 12, *w2 = b1 + 16, *b2 = w2 + 4 * 16;
    double hidden[16], most = -INFINITY, sum = 0;

    for (size_t o = 0; o < 16; o++) {
        hidden[o] = (double)b1[o];
        for (size_t i = 0; i < 12; i++)
            hidden[o] += (double)w1[o * 12 + i] * (double)x[i];
        hidden[o] = hidden[o] > 0 ? hidden[o] : 0;
    }
    for (size_t o = 0; o < 4; o++) {
        p[o] = (double)b2[o];
        for (size_t i = 0; i < 16; i++)
            p[o] += (double)w2[o * 16 + i] * hidden[i];
        most = p[o] > most ? p[o] : most;
    }
    for (size_t o = 0; o < 4; o++)
        sum += p[o] = exp(p[o] - most);
    for (size_t o = 0; o < 4; o++)
        p[o] /= sum;
    free(w);
}

static void evaluation_and_prediction_equal_plain_c(void **state)
{
    static const char *const fleets[] = {"0", "0,0,0"};
    struct train_set set = train_set_make(50, 12, 4, 3);

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct train_run run = open_run(fleets[f], &set, 8);
        float *out = test_floats(50 * 4);
        struct mot_metrics metrics;
        double loss = 0, right = 0;

        train_steps(&run, 10);
        assert_ok(mot_evaluate(run.trainer, run.data, &metrics));
        assert_ok(mot_data_shuffle(run.data, 9)); /* outputs come back in the samples' order */
        assert_ok(mot_predict(run.trainer, run.data, out, 50 * 4));
        for (size_t i = 0; i < 50; i++) {
            double p[4];
            size_t best = 0;

            plain_forward(&run, set.x + i * 12, p);
            loss -= log(p[set.labels[i]]) / 50;
            for (size_t k = 0; k < 4; k++) {
                best = p[k] > p[best] ? k : best;
                if (!(fabs(p[k] - (double)out[i * 4 + k]) < 1e-5))
                    fail_msg("sample %zu, output %zu: %g, wanted %g", i, k, (double)out[i * 4 + k],
                             p[k]);
            }
            right += best == set.labels[i];
        }
        assert_int_equal(metrics.count, 50);
        assert_true(fabs(metrics.loss - loss) < 1e-5);
        assert_true(metrics.accuracy * 50 == right && right > 0 && right < 50);
        assert_story(mot_predict(run.trainer, run.data, out, 50 * 4 - 1), MOT_BAD_ARG,
                     "room for 199 outputs, but there are 50 x 4");
        free(out);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* Evaluation in between changes nothing of the training: neither values nor the order of data. */
static void evaluation_in_between_leaves_training_as_it_was(void **state)
{
    struct train_set set = train_set_make(40, 12, 4, 3);
    struct train_run a = open_run("0", &set, 16), b = open_run("0", &set, 16);
    struct mot_metrics metrics;
    float *wa, *wb, out[160];

    (void)state;
    assert_ok(mot_data_shuffle(a.data, 5));
    assert_ok(mot_data_shuffle(b.data, 5));
    for (size_t epoch = 0; epoch < 4; epoch++) {
        train_steps(&a, 2);
        assert_ok(mot_evaluate(a.trainer, a.data, &metrics)); /* in the middle of an epoch */
        train_steps(&a, 1);
        assert_ok(mot_predict(a.trainer, a.data, out, 160));
        train_steps(&b, 3);
    }
    wa = train_get(&a, 0);
    wb = train_get(&b, 0);
    check_bits("parameters", wa, wb, train_numbers(&a));
    free(wa);
    free(wb);
    train_close(&a);
    train_close(&b);
    train_set_clear(&set);
}

/* ---- events and history ---- */

struct told {
    char order[64];
    size_t count;
    size_t stop_after; /* this many events; 0: never */
    struct mot_event last;
    size_t share[4];
};

static int listen(const struct mot_event *event, void *user)
{
    static const char letter[] = "spEent"; /* start, progress, epoch, end, note, step */
    struct told *told = user;

    if (told->count + 1 < sizeof told->order)
        told->order[told->count] = letter[event->kind];
    told->count++;
    told->last = *event;
    for (size_t i = 0; i < event->replicas; i++)
        told->share[i] = event->share[i];
    return told->count == told->stop_after;
}

static void events_come_in_order_and_history_has_a_row_for_each_epoch(void **state)
{
    struct train_set set = train_set_make(90, 12, 4, 3), test_set = train_set_make(30, 12, 4, 4);
    mot_data *test = train_data(&test_set, false, 7);
    struct train_run run = open_run("0,0", &set, 8);
    struct mot_fit_config fit = mot_fit_config_default();
    struct mot_history history = {0};
    struct mot_metrics metrics;
    struct told told = {.count = 0};

    (void)state;
    fit.epochs = 3;
    fit.batch = 20;
    fit.on_event = listen;
    fit.user = &told;
    assert_ok(mot_fit(run.trainer, run.data, test, &fit, &history));
    assert_string_equal(told.order, "sEEEe");
    assert_int_equal(history.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(history.row[i].loss > 0 && history.row[i].accuracy > 0);
        assert_true(history.row[i].test_loss > 0 && history.row[i].test_accuracy > 0);
        assert_true(history.row[i].samples_per_s > 0 && history.row[i].seconds > 0);
    }
    assert_true(history.row[2].loss < history.row[0].loss);
    assert_int_equal(told.last.epoch, 3);
    assert_int_equal(told.last.steps, 5);
    assert_int_equal(told.last.batch, 20);
    assert_int_equal(told.last.samples, 90);
    assert_int_equal(told.last.test_samples, 30);
    assert_int_equal(told.last.replicas, 2);
    assert_int_equal(told.last.parameters, train_numbers(&run));
    assert_true(told.share[0] == 10 && told.share[1] == 10);
    assert_ok(mot_evaluate(run.trainer, test, &metrics));
    assert_true(metrics.loss == history.row[2].test_loss);
    fit.epochs = 1;
    fit.steps = true;
    fit.progress_s = INFINITY; /* once, when all are done */
    told = (struct told){.count = 0};
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    assert_string_equal(told.order, "stttttpEe");
    fit.progress_s = 1e-9; /* as often as it may be: after the first, then every fourth step */
    fit.batch = 9;
    told = (struct told){.count = 0};
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    assert_string_equal(told.order, "stpttttpttttptpEe");
    fit.batch = 18; /* the last step is the fifth: told once */
    told = (struct told){.count = 0};
    assert_ok(mot_fit(run.trainer, run.data, NULL, &fit, NULL));
    assert_string_equal(told.order, "stpttttpEe");
    assert_true(isnan(told.last.test_loss));
    mot_history_clear(&history);
    mot_data_close(test);
    train_close(&run);
    train_set_clear(&set);
    train_set_clear(&test_set);
}

static void a_callback_can_stop_and_keeps_what_was_learned(void **state)
{
    struct train_set set = train_set_make(90, 12, 4, 3);
    struct train_run run = open_run("0", &set, 8);
    struct mot_fit_config fit = mot_fit_config_default();
    struct mot_history history = {0};
    float *start = train_get(&run, 0), *stopped, *later;
    struct told told = {.stop_after = 2};

    (void)state;
    fit.epochs = 5;
    fit.on_event = listen;
    fit.user = &told;
    assert_story(mot_fit(run.trainer, run.data, NULL, &fit, &history), MOT_STOPPED,
                 "stopped by the callback in epoch 1 of 5");
    assert_int_equal(history.count, 1);
    assert_string_equal(told.order, "sEe");
    stopped = train_get(&run, 0);
    assert_memory_not_equal(start, stopped, train_numbers(&run) * sizeof *start);
    told = (struct told){.stop_after = 1}; /* before the first step */
    assert_story(mot_fit(run.trainer, run.data, NULL, &fit, NULL), MOT_STOPPED, "stopped");
    later = train_get(&run, 0);
    check_bits("parameters", later, stopped, train_numbers(&run));
    told = (struct told){.stop_after = 3}; /* in the middle of an epoch, which then has no row */
    fit.steps = true;
    fit.batch = 20;
    assert_story(mot_fit(run.trainer, run.data, NULL, &fit, &history), MOT_STOPPED,
                 "stopped by the callback in epoch 1 of 5");
    assert_string_equal(told.order, "stte");
    assert_int_equal(told.last.step, 2);
    assert_int_equal(history.count, 1);
    free(start);
    free(stopped);
    free(later);
    mot_history_clear(&history);
    train_close(&run);
    train_set_clear(&set);
}

static uint64_t reads_of(struct train_run *run, const struct mot_fit_config *fit)
{
    struct mot_counts counts;

    assert_ok(mot_bench_counts(run->fleet, 0, &counts)); /* starts anew */
    assert_ok(mot_fit(run->trainer, run->data, NULL, fit, NULL));
    assert_ok(mot_bench_counts(run->fleet, 0, &counts));
    return counts.downloads;
}

/* Metrics are read when somebody asks, and then every fourth step at most; who only wants to be
 * able to stop costs one look at how long a step takes. */
static void events_do_not_empty_the_queue(void **state)
{
    struct train_set set = train_set_make(80, 12, 4, 3);
    struct train_run run = open_run("0", &set, 8);
    struct mot_fit_config fit = mot_fit_config_default();
    struct told told = {.count = 0};
    uint64_t alone, read;

    (void)state;
    fit.batch = 2;
    reads_of(&run, &fit); /* what is new is compiled here */
    alone = reads_of(&run, &fit);
    assert_true(alone > 0);
    fit.on_event = listen;
    fit.user = &told;
    fit.steps = true;
    read = reads_of(&run, &fit);
    assert_int_equal(told.count, 1 + 40 + 2);
    if (!(read <= 2 * alone)) /* one at the end, one after the first step */
        fail_msg("%llu reads for 40 steps, alone %llu", (unsigned long long)read,
                 (unsigned long long)alone);
    fit.progress_s = 1e-9;
    read = reads_of(&run, &fit);
    if (!(read > 2 * alone && read <= 11 * alone))
        fail_msg("%llu reads for 40 steps, alone %llu", (unsigned long long)read,
                 (unsigned long long)alone);
    train_close(&run);
    train_set_clear(&set);
}

/* fit is steps: the same seed and order give the same bits; resident or not, a callback or not. */
static void fit_is_the_steps_anyone_can_make(void **state)
{
    struct train_set set = train_set_make(50, 12, 4, 3);
    struct train_run a = open_run("0", &set, 16), b = open_run("0", &set, 16);
    struct train_run c = open_run("0", &set, 16);
    struct mot_fit_config fit = mot_fit_config_default();
    float *wa, *wb, *wc;

    (void)state;
    fit.epochs = 3;
    fit.batch = 16;
    assert_ok(mot_fit(a.trainer, a.data, NULL, &fit, NULL));
    fit.resident = false;
    assert_ok(mot_fit(b.trainer, b.data, NULL, &fit, NULL));
    assert_ok(mot_data_shuffle(c.data, 5));
    train_steps(&c, 12);
    wa = train_get(&a, 0);
    wb = train_get(&b, 0);
    wc = train_get(&c, 0);
    check_bits("resident or not", wb, wa, train_numbers(&a));
    check_bits("fit or steps", wc, wa, train_numbers(&a));
    free(wa);
    free(wb);
    free(wc);
    train_close(&a);
    train_close(&b);
    train_close(&c);
    train_set_clear(&set);
}

/* ---- parameters ---- */

static void parameters_are_read_and_set_by_name(void **state)
{
    struct train_set set = train_set_make(8, 12, 4, 3);
    struct train_run run = open_run("0,0", &set, 8);
    struct mot_shape shape;
    const char *name;
    float in[4] = {1, 2, 3, 4}, out[4] = {0};

    (void)state;
    assert_int_equal(mot_trainer_parameters(run.trainer), 4);
    assert_ok(mot_trainer_parameter(run.trainer, 2, &name, &shape));
    assert_string_equal(name, "dense2.weight");
    assert_true(shape.rank == 2 && shape.dim[0] == 4 && shape.dim[1] == 16);
    assert_ok(mot_trainer_set(run.trainer, "dense2.bias", in, 4));
    assert_ok(mot_trainer_get(run.trainer, "dense2.bias", out, 4));
    check_bits("bias", out, in, 4);
    train_copies_agree(&run); /* all copies were set */
    assert_story(mot_trainer_get(run.trainer, "dense3.bias", out, 4), MOT_BAD_ARG, "dense3.bias");
    assert_story(mot_trainer_set(run.trainer, "dense2.bias", in, 3), MOT_BAD_SHAPE,
                 "dense2.bias has 4 elements, not 3");
    assert_story(mot_trainer_get_from(run.trainer, 2, "dense2.bias", out, 4), MOT_BAD_ARG,
                 "replica 2 of 2");
    assert_story(mot_trainer_parameter(run.trainer, 4, &name, &shape), MOT_BAD_ARG,
                 "parameter 4 of 4");
    train_steps(&run, 1); /* none of it broke the trainer */
    assert_int_equal(train_metrics(&run).steps, 1);
    train_close(&run);
    train_set_clear(&set);
}

static void damage(const char *path, long at, int byte)
{
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

static void weights_go_to_a_file_and_back_whole_or_not_at_all(void **state)
{
    struct train_set set = train_set_make(8, 12, 4, 3);
    struct train_run run = open_run("0,0", &set, 8), other;
    struct mot_trainer_config config = train_config();
    struct folder folder;
    const char *path;
    float *saved, *now;

    (void)state;
    assert_true(folder_open(&folder));
    path = folder_path(&folder, "w.safetensors");
    train_steps(&run, 3);
    saved = train_get(&run, 0);
    assert_ok(mot_weights_save(run.trainer, path));
    assert_int_equal(folder_count(folder.path), 1);
    train_steps(&run, 3);
    assert_ok(mot_weights_load(run.trainer, path));
    now = train_get(&run, 0);
    check_bits("loaded", now, saved, train_numbers(&run));
    train_copies_agree(&run);
    free(saved);
    free(now);

    train_steps(&run, 1);
    saved = train_get(&run, 0);
    damage(path, 12, '!');
    assert_story(mot_weights_load(run.trainer, path), MOT_FORMAT, "w.safetensors");
    assert_ok(mot_weights_save(run.trainer, path));
    assert_int_equal(truncate(path, 400), 0);
    assert_story(mot_weights_load(run.trainer, path), MOT_FORMAT, "w.safetensors");
    assert_story(mot_weights_load(run.trainer, folder_path(&folder, "none")), MOT_IO, "none");
    other = train_open("0", "input 12, dense 15 relu, dense 4", &config, NULL);
    assert_ok(mot_weights_save(other.trainer, path));
    assert_story(mot_weights_load(run.trainer, path), MOT_BAD_SHAPE, "\"dense1.weight\"");
    train_close(&other);
    other = train_open("0", "input 12, dense 4", &config, NULL);
    assert_ok(mot_weights_save(other.trainer, path));
    assert_story(mot_weights_load(run.trainer, path), MOT_FORMAT, "holds 2 tensors, the network 4");
    now = train_get(&run, 0);
    check_bits("after files that do not fit", now, saved, train_numbers(&run));
    assert_story(mot_weights_save(run.trainer, folder_path(&folder, "no/where")), MOT_IO,
                 "no/where");
    free(saved);
    free(now);
    train_close(&other);
    train_close(&run);
    train_set_clear(&set);
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_and_prediction_equal_plain_c),
        cmocka_unit_test(evaluation_in_between_leaves_training_as_it_was),
        cmocka_unit_test(events_come_in_order_and_history_has_a_row_for_each_epoch),
        cmocka_unit_test(a_callback_can_stop_and_keeps_what_was_learned),
        cmocka_unit_test(events_do_not_empty_the_queue),
        cmocka_unit_test(fit_is_the_steps_anyone_can_make),
        cmocka_unit_test(parameters_are_read_and_set_by_name),
        cmocka_unit_test(weights_go_to_a_file_and_back_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
