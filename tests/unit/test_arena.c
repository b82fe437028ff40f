/* test_arena.c - values that are alive together never share bytes, and the arena is not much larger
 * than the most that is alive at one moment. */
#include "model/arena.h"
#include "support/check.h"

static bool lives_at(const struct mot__life *life, size_t moment)
{
    return (life->first <= moment && moment <= life->last) ||
           (life->again_last > 0 && life->again_first <= moment && moment <= life->again_last);
}

static bool together(const struct mot__life *a, const struct mot__life *b)
{
    for (size_t moment = 0; moment < 64; moment++)
        if (lives_at(a, moment) && lives_at(b, moment))
            return true;
    return false;
}

static void check_places(const struct mot__life *life, size_t count, size_t floats)
{
    for (size_t i = 0; i < count; i++) {
        if (life[i].offset % 16 != 0 || life[i].offset + life[i].floats > floats)
            fail_msg("value %zu at %zu + %zu of %zu", i, life[i].offset, life[i].floats, floats);
        for (size_t j = 0; j < i; j++)
            if (together(&life[i], &life[j]) && life[i].floats && life[j].floats &&
                life[i].offset < life[j].offset + life[j].floats &&
                life[j].offset < life[i].offset + life[i].floats)
                fail_msg("values %zu and %zu meet", i, j);
    }
}

static void no_two_living_values_meet(void **state)
{
    struct mot__life life[24];
    uint64_t random = 9;
    size_t floats, live, worst = 0;

    (void)state;
    for (size_t turn = 0; turn < 500; turn++) {
        const size_t count = 1 + test_random(&random) % 24;

        for (size_t i = 0; i < count; i++) {
            const size_t first = test_random(&random) % 20;

            life[i] = (struct mot__life){.floats = test_random(&random) % 5000,
                                         .first = first,
                                         .last = first + test_random(&random) % 6};
            if (turn % 2 && test_random(&random) % 2) {
                life[i].again_first = life[i].last + 2 + test_random(&random) % 10;
                life[i].again_last = life[i].again_first + test_random(&random) % 4;
            }
        }
        assert_ok(mot__arena_place(life, count, &floats, &live));
        check_places(life, count, floats);
        assert_true(floats >= live);
        worst = live && 100 * floats / live > worst ? 100 * floats / live : worst;
    }
    if (worst > 160) /* first fit, largest first: bad luck costs half, never more here */
        fail_msg("an arena of %zu %% of what is alive", worst);
}

static void values_that_follow_each_other_share_a_place(void **state)
{
    struct mot__life chain[] = {{.floats = 1000, .first = 0, .last = 1},
                                {.floats = 1000, .first = 1, .last = 2},
                                {.floats = 1000, .first = 2, .last = 3},
                                {.floats = 990, .first = 3, .last = 4}};
    size_t floats, live;

    (void)state;
    assert_ok(mot__arena_place(chain, 4, &floats, &live));
    check_places(chain, 4, floats);
    assert_int_equal(floats, 2 * 1008);
    assert_int_equal(live, 2 * 1008);
}

static void nothing_needs_nothing(void **state)
{
    size_t floats = 7, live = 7;

    (void)state;
    assert_ok(mot__arena_place(NULL, 0, &floats, &live));
    assert_int_equal(floats, 0);
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_living_values_meet),
        cmocka_unit_test(values_that_follow_each_other_share_a_place),
        cmocka_unit_test(nothing_needs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
