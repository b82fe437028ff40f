/* test_parts.c - sub-devices: the two halves of a device opened and used at the same time by two
 * threads, each with its own context, cache folder shared. */
#include "support/room.h"

#include "base/thread.h"

#define N 20000
#define ROUNDS 200

struct half {
    const struct mot__pick *pick;
    const char *dir;
    float start;
    size_t units;
    struct mot__story story;
    char wrong[128];
};

/* x = start; ROUNDS times x = x + one, through a stage up and down. */
static mot_status work(struct half *half, mot__device *device, mot__stage *stage)
{
    float *host = mot__stage_host(stage);
    struct mot__mem x = {mot__stage_buffer(stage), 0}, one = {x.buffer, N};
    mot_status status = MOT_OK;
    size_t i;

    for (i = 0; i < N; i++) {
        host[i] = half->start;
        host[N + i] = 1;
    }
    MOT_TRY(mot__stage_up(stage, 0, 2 * N * sizeof(float)));
    for (i = 0; i < ROUNDS; i++) {
        MOT_TRY(room_add(device, N, x, one, x));
        if (i % 16 == 0)
            MOT_TRY(mot__device_flush(device));
    }
    MOT_TRY(mot__stage_down(stage, 0, 0, 2 * N * sizeof(float)));
    MOT_TRY(mot__stage_wait(stage, 0));
    for (i = 0; i < N; i++)
        if (host[i] != half->start + ROUNDS && !half->wrong[0])
            snprintf(half->wrong, sizeof half->wrong, "x[%zu] = %g", i, (double)host[i]);
done:
    return status;
}

static void run_half(void *user)
{
    struct half *half = user;
    const struct mot__device_options options = {.cache_dir = half->dir,
                                                .device_class = room()->device_class};
    mot__device *device = NULL;
    mot__stage *stage = NULL;
    mot_status status = MOT_OK;

    MOT_TRY(mot__device_open(room()->inventory, half->pick, &options, &device));
    half->units = mot__device_facts(device)->units;
    MOT_TRY(mot__stage_open(device, 2 * N * sizeof(float), &stage));
    MOT_TRY(work(half, device, stage));
done:
    mot__story_take(status, &half->story);
    mot__stage_close(stage);
    mot__device_close(device);
}

/* A card has no parts, and says so; the rest is skipped there. */
static bool cannot_be_cut(void)
{
    struct mot__pick *pick = NULL;
    size_t picks = 0;

    if (mot_inventory_get(room()->inventory, 0)->max_sub >= 2)
        return false;
    assert_story(mot__pick_parse(room()->inventory, "0/2", &pick, &picks), MOT_UNSUPPORTED,
                 "device 0 cannot be cut");
    assert_null(pick);
    return true;
}

static void both_halves_work_at_the_same_time(void **state)
{
    struct mot__pick *pick = NULL;
    size_t picks = 0;

    (void)state;
    if (cannot_be_cut())
        return;
    assert_ok(mot__pick_parse(room()->inventory, "0/2", &pick, &picks));
    assert_int_equal(picks, 2);
    assert_string_equal(pick[1].label, "0/2.1");
    for (size_t round = 0; round < 4; round++) {
        const char *dir = folder_path(&room()->folder, round % 2 ? "warm" : "cold");
        struct half half[2] = {{&pick[0], dir, 1000, 0, {MOT_OK, ""}, ""},
                               {&pick[1], dir, 5000, 0, {MOT_OK, ""}, ""}};
        mot__thread *thread[2];

        for (size_t h = 0; h < 2; h++)
            assert_ok(mot__thread_open("half", run_half, &half[h], &thread[h]));
        for (size_t h = 0; h < 2; h++) {
            mot__thread_join(thread[h]);
            if (half[h].story.status != MOT_OK || half[h].wrong[0])
                fail_msg("half %zu: %s%s", h, half[h].story.text, half[h].wrong);
            assert_int_equal(half[h].units, mot_inventory_get(room()->inventory, 0)->units / 2);
        }
    }
    free(pick);
}

static void one_half_has_half_the_memory(void **state)
{
    struct mot__pick *pick = NULL;
    size_t picks = 0;
    const struct mot__device_options options = {.cache_dir = ""};
    mot__device *whole, *part;

    (void)state;
    if (cannot_be_cut())
        return;
    whole = room_device(room()->pick, &options);
    assert_ok(mot__pick_parse(room()->inventory, "0/2.1", &pick, &picks));
    assert_int_equal(picks, 1);
    part = room_device(pick, &options);
    assert_int_equal(mot__device_facts(part)->memory_limit,
                     mot__device_facts(whole)->memory_limit / 2);
    /* as fast as its share, so nothing measured on the whole is believed of the half */
    assert_string_not_equal(mot__device_facts(part)->key, mot__device_facts(whole)->key);
    mot__device_close(part);
    mot__device_close(whole);
    free(pick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_halves_work_at_the_same_time),
        cmocka_unit_test(one_half_has_half_the_memory),
    };

    return ROOM_RUN(tests);
}
