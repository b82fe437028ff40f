/* check.h - cmocka, with what it wants included first, and comparisons for tests. Every one fails
 * on NaN and says where: the device, what was compared, and the first index that is wrong. */
#ifndef MOT_TEST_CHECK_H
#define MOT_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <motley/motley.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So that another thread gets its turn; a signal does not shorten it. */
static inline void test_sleep(double s)
{
    struct timespec left = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* What is being tested right now, put in front of every failure: the device, sizes. */
static inline char *check_where(void)
{
    static char where[192] = "host";

    return where;
}
#define CHECK_WHERE_BYTES 192

/* The call failed with this status, and its story contains the words. */
#define assert_story(call, wanted, words)                                                          \
    do {                                                                                           \
        const mot_status seen_ = (call);                                                           \
        if (seen_ != (wanted) || mot_error_status() != (wanted) ||                                 \
            strstr(mot_error(), (words)) == NULL)                                                  \
            fail_msg("[%s] status %d, wanted %d; story \"%s\", wanted \"%s\"", check_where(),      \
                     (int)seen_, (int)(wanted), mot_error(), (words));                             \
    } while (0)

/* The call succeeded; if not, its story is in the message. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        const mot_status seen_ = (call);                                                           \
        if (seen_ != MOT_OK)                                                                       \
            fail_msg("[%s] status %d: %s", check_where(), (int)seen_, mot_error());                \
    } while (0)

/* |got - want| <= absolute + relative * |want|, for each of n; infinities must be equal. */
static inline void check_close(const char *what, const float *got, const float *want, size_t n,
                               double relative, double absolute)
{
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - (double)want[i]);

        if (isinf(want[i]) && got[i] == want[i])
            continue;
        if (!(error <= absolute + relative * fabs((double)want[i])))
            fail_msg("[%s] %s[%zu of %zu]: got %.9g, wanted %.9g", check_where(), what, i, n,
                     (double)got[i], (double)want[i]);
    }
}

/* Equal to the bit; works for any array of 32-bit words. */
static inline void check_bits(const char *what, const void *got, const void *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;

        memcpy(&a, (const char *)got + 4 * i, 4);
        memcpy(&b, (const char *)want + 4 * i, 4);
        if (a != b)
            fail_msg("[%s] %s[%zu of %zu]: got bits %08x, wanted %08x", check_where(), what, i, n,
                     (unsigned)a, (unsigned)b);
    }
}

/* An all-zero gradient proves nothing: some of n must be neither zero nor NaN. */
static inline void check_seen(const char *what, const float *got, size_t n)
{
    size_t seen = 0;

    for (size_t i = 0; i < n; i++)
        seen += fabsf(got[i]) > 0;
    if (n > 0 && seen == 0)
        fail_msg("[%s] %s: all %zu values are zero", check_where(), what, n);
}

/* ---- inputs ---- */

/* With MOTLEY_TEST_STRATEGY=central a test runs once more, with its variables on the host. */
static inline enum mot_strategy test_strategy(void)
{
    const char *strategy = getenv("MOTLEY_TEST_STRATEGY");

    return strategy && strcmp(strategy, "central") == 0 ? MOT_STRATEGY_CENTRAL : MOT_STRATEGY_AUTO;
}

/* $MOTLEY_TEST_SMALL=1: a simulator runs the tests; leave out what is large. */
static inline bool test_small(void)
{
    const char *text = getenv("MOTLEY_TEST_SMALL");

    return text && text[0] == '1';
}

/* A generator of the tests' own, so that a fault in base/rng.c cannot hide itself. */
static inline uint32_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

/* Evenly spread over [low, high), from the seed alone. */
static inline void test_fill(float *out, size_t n, uint64_t seed, double low, double high)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(low + (high - low) * (test_random(&seed) / 4294967296.0));
}

/* The same with nothing nearer to zero than gap: away from the kink of a rectifier. */
static inline void test_fill_away(float *out, size_t n, uint64_t seed, double size, double gap)
{
    for (size_t i = 0; i < n; i++) {
        double value = gap + (size - gap) * (test_random(&seed) / 4294967296.0);

        out[i] = (float)(test_random(&seed) & 1 ? value : -value);
    }
}

/* n zeroed elements or the test ends; n = 0 gives memory too. Freed by the caller. */
static inline void *test_alloc(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);

    assert_non_null(memory);
    return memory;
}
static inline float *test_floats(size_t n)
{
    return test_alloc(n, sizeof(float));
}

static inline void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) /* so that NaN fails */
        fail_msg("%g, wanted %g", value, wanted);
}

#endif
