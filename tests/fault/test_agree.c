/* test_agree.c - one number of one replica is changed behind the trainer's back: it is found, named
 * and mended, or the trainer stops, as asked. */
#include "support/train.h"

#include "strategy/copies.h"
#include "strategy/engine_inside.h"
#include "train/trainer.h"

#define NET "input 12, dense 9 relu, dense 4"
enum { SAMPLES = 64, WIDTH = 12, CLASSES = 4, BATCH = 16 };

/* ---- changing ---- */

struct change {
    int which; /* -1: parameters; 0, 1: state */
    size_t at;
    unsigned bit;
};

static mot_status flip(mot__lane *lane, void *user, void *payload)
{
    const struct change *change = payload;
    const mot_replica *replica = user;
    mot__flat *flat = change->which < 0 ? replica->parameters : replica->slot[change->which];
    mot_status status = MOT_OK;
    uint32_t bits;
    float value;

    (void)lane;
    MOT_TRY(mot__flat_read(flat, change->at, &value, 1));
    memcpy(&bits, &value, sizeof bits);
    bits ^= 1u << change->bit;
    memcpy(&value, &bits, sizeof bits);
    MOT_TRY(mot__flat_write(flat, change->at, &value, 1));
done:
    return status;
}

static void change_one(const struct train_run *run, size_t replica, struct change change)
{
    const mot_replica *one = mot__engine_replica(run->trainer->engine, replica);

    assert_ok(mot__lane_call(one->lane, flip, (void *)(uintptr_t)one, &change, sizeof change));
}

static struct mot_note take(const struct train_run *run, const char *words)
{
    struct mot_note note, more;

    if (!mot_trainer_note(run->trainer, &note))
        fail_msg("no note, but \"%s\" was due", words);
    assert_int_equal(note.kind, MOT_NOTE_DIFFER);
    if (!strstr(note.text, words))
        fail_msg("\"%s\" says nothing of \"%s\"", note.text, words);
    assert_false(mot_trainer_note(run->trainer, &more));
    return note;
}

static size_t offset_of(const struct train_run *run, const char *name)
{
    size_t p;

    assert_ok(mot__parameter_find(&mot__engine_common(run->trainer->engine)->net->table, name, &p));
    return mot__engine_common(run->trainer->engine)->net->table.row[p].offset;
}

/* ---- tests ---- */

static void one_bit_anywhere_is_found_named_and_mended(void **state)
{
    static const struct {
        const char *devices, *parameter, *words;
        size_t replica;
        int which;
        unsigned bit;
    } rows[] = {
        {"0,0", "dense1.weight", "dense1.weight on device 0 differs from device 0's", 1, -1, 0},
        {"0,0", "dense2.bias", "dense2.bias on device 0 differs from device 0's", 1, -1, 31},
        {"0,0", "dense2.weight", "the first state of dense2.weight on device 0", 1, 0, 3},
        {"0,0,0", "dense1.bias", "the second state of dense1.bias on device 0", 0, 1, 20},
        {"0,0,0", "dense2.weight", "dense2.weight on device 0 differs from device 0's", 2, -1, 12},
    };
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.verify = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_run run =
            train_open(rows[i].devices, NET, &config, train_data(&set, false, BATCH));
        struct train_run same =
            train_open(rows[i].devices, NET, &config, train_data(&set, false, BATCH));
        struct mot_note note;
        size_t differing = 7;
        float *a, *b;

        snprintf(check_where(), CHECK_WHERE_BYTES, "row %zu", i);
        train_steps(&run, 3);
        train_steps(&same, 6);
        assert_ok(mot_trainer_verify(run.trainer, &differing));
        assert_int_equal(differing, 0);
        assert_false(mot_trainer_note(run.trainer, &note));
        change_one(
            &run, rows[i].replica,
            (struct change){rows[i].which, offset_of(&run, rows[i].parameter) + 2, rows[i].bit});
        assert_ok(mot_trainer_verify(run.trainer, &differing));
        assert_int_equal(differing, 1);
        note = take(&run, rows[i].words);
        assert_string_equal(note.parameter, rows[i].parameter);
        assert_int_equal(note.replica, rows[i].replica); /* of three the one that is alone */
        assert_int_equal(note.step, 2);
        assert_ok(mot_trainer_verify(run.trainer, &differing));
        assert_int_equal(differing, 0);
        train_steps(&run, 3);
        train_copies_agree(&run);
        a = train_get(&run, 0);
        b = train_get(&same, 0);
        check_bits("as if nothing had been", a, b, train_numbers(&run));
        free(a);
        free(b);
        train_close(&run);
        train_close(&same);
    }
    train_set_clear(&set);
}

static void steps_verify_by_themselves(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();

    (void)state;
    config.verify = 4;
    for (size_t s = 0; s < 2; s++) {
        struct train_run run;
        struct mot_note note;

        config.strategy = s ? MOT_STRATEGY_CENTRAL : MOT_STRATEGY_MIRRORED;
        run = train_open("0,0", NET, &config, train_data(&set, false, BATCH));
        snprintf(check_where(), CHECK_WHERE_BYTES, "strategy %zu", s);
        train_steps(&run, 9);
        train_metrics(&run);
        assert_false(mot_trainer_note(run.trainer, &note));
        if (s == 0) { /* central storage sends all weights after every step */
            change_one(&run, 1, (struct change){-1, offset_of(&run, "dense1.bias"), 5});
            train_steps(&run, 4);
            train_metrics(&run);
            note = take(&run, "step 11: ");
            train_copies_agree(&run);
        } else {
            size_t differing;

            change_one(&run, 1, (struct change){-1, offset_of(&run, "dense1.bias"), 5});
            assert_ok(mot_trainer_verify(run.trainer, &differing));
            assert_int_equal(differing, 1);
            note = take(&run, "dense1.bias on device 0 differs from the host's copy");
            train_copies_agree(&run);
        }
        assert_int_equal(note.replica, 1);
        train_close(&run);
    }
    train_set_clear(&set);
}

/* Where the host side is the device's memory they are mapped until somebody takes them; a device
 * that copies behind the map (the layer's "shadow") shows what is written meanwhile. */
static void sums_on_their_way_do_not_spoil_the_next(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();
    size_t differing = 7;
    struct train_run run;

    (void)state;
    config.verify = 1;
    run = train_open("0,0", NET, &config, train_data(&set, false, BATCH));
    train_steps(&run, 3);
    change_one(&run, 1, (struct change){-1, 5, 4});
    assert_ok(mot_trainer_verify(run.trainer, &differing));
    assert_int_equal(differing, 1);
    take(&run, "dense1.weight on device 0 differs from device 0's");
    train_copies_agree(&run);
    train_close(&run);
    train_set_clear(&set);
}

/* As the engine does it where a device slows the whole. */
static void seat_two(mot__engine *engine)
{
    assert_ok(mot__engine_wait_all(engine));
    engine->replica[2].seat = MOT__NO_SEAT;
    engine->weight[2] = 0;
    assert_ok(mot__engine_join(engine, 2));
    engine->prepared_rows[true] = 0;
}

static void seat_three(mot__engine *engine)
{
    assert_ok(mot__copies_send(engine, 0, (const bool[]){false, false, true}));
    mot__replica_reseat(&engine->replica[2], 2, &engine->replica[0]);
    engine->weight[2] = 1;
    assert_ok(mot__engine_join(engine, 3));
    engine->prepared_rows[true] = 0;
}

static void a_lane_that_comes_back_is_not_held_to_what_it_had(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();
    struct train_run run;
    mot__engine *engine;
    struct mot_note note;
    size_t differing = 7;

    (void)state;
    config.strategy = MOT_STRATEGY_MIRRORED;
    config.verify = 4;
    run = train_open("0,0,0", NET, &config, train_data(&set, false, BATCH));
    engine = run.trainer->engine;
    train_steps(&run, 4); /* its sums are on their way */
    seat_two(engine);
    train_steps(&run, 2);
    train_metrics(&run);
    train_steps(&run, 2);
    engine->replica[2].looked = true;
    seat_three(engine);
    assert_int_equal(engine->replica[2].seat, 2);
    assert_false(engine->replica[2].looked);
    assert_int_equal(engine->replica[2].read_at, engine->replica[0].read_at);
    train_steps(&run, 5);
    train_metrics(&run);
    if (mot_trainer_note(run.trainer, &note))
        fail_msg("a note: %s", note.text);
    train_copies_agree(&run);
    change_one(&run, 0, (struct change){-1, 5, 4});
    assert_ok(mot_trainer_verify(run.trainer, &differing));
    assert_int_equal(differing, 1);
    assert_int_equal(take(&run, "dense1.weight").replica, 0);
    train_close(&run);
    train_set_clear(&set);
}

/* Sums and updates count a piece's floats in 32 bits, whatever a card would allocate at once (the
 * layer's rx7900: 20 GB). */
static void no_piece_is_more_than_a_kernel_counts(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    const struct mot_trainer_config config = train_config();
    struct train_run run = train_open("0", NET, &config, train_data(&set, false, BATCH));

    (void)state;
    assert_true(mot__engine_common(run.trainer->engine)->piece_floats <= UINT32_MAX / 2);
    train_close(&run);
    train_set_clear(&set);
}

static void a_trainer_may_stop_instead(void **state)
{
    struct train_set set = train_set_make(SAMPLES, WIDTH, CLASSES, 3);
    struct mot_trainer_config config = train_config();
    struct mot_metrics metrics;
    struct train_run run;

    (void)state;
    config.on_differ = MOT_ON_DIFFER_STOP;
    run = train_open("0,0", NET, &config, train_data(&set, false, BATCH));
    train_steps(&run, 2);
    change_one(&run, 1, (struct change){-1, 0, 7});
    assert_story(mot_trainer_verify(run.trainer, NULL), MOT_DEVICE_FAILED,
                 "step 1: dense1.weight on device 0 differs from device 0's");
    assert_story(mot_trainer_metrics(run.trainer, &metrics), MOT_DEVICE_FAILED, "differs");
    train_close(&run);
    config.on_differ = (enum mot_on_differ)9;
    run = (struct train_run){train_fleet("0"), train_net(NET), NULL, NULL};
    assert_story(mot_trainer_open(run.fleet, run.net, &config, &run.trainer), MOT_BAD_ARG,
                 "on_differ 9: there are resend and stop");
    train_close(&run);
    train_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit_anywhere_is_found_named_and_mended),
        cmocka_unit_test(steps_verify_by_themselves),
        cmocka_unit_test(sums_on_their_way_do_not_spoil_the_next),
        cmocka_unit_test(a_lane_that_comes_back_is_not_held_to_what_it_had),
        cmocka_unit_test(no_piece_is_more_than_a_kernel_counts),
        cmocka_unit_test(a_trainer_may_stop_instead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
