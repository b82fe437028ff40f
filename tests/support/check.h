/* check.h - cmocka, with what it wants included first. */
#ifndef MOT_TEST_CHECK_H
#define MOT_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <motley/motley.h>
#include <string.h>

/* The call failed with this status, and its story contains the words. */
#define assert_story(call, wanted, words)                                                          \
    do {                                                                                           \
        const mot_status seen_ = (call);                                                           \
        if (seen_ != (wanted) || mot_error_status() != (wanted) ||                                 \
            strstr(mot_error(), (words)) == NULL)                                                  \
            fail_msg("status %d, wanted %d; story \"%s\", wanted \"%s\"", (int)seen_,              \
                     (int)(wanted), mot_error(), (words));                                         \
    } while (0)

/* The call succeeded; if not, its story is in the message. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        const mot_status seen_ = (call);                                                           \
        if (seen_ != MOT_OK)                                                                       \
            fail_msg("status %d: %s", (int)seen_, mot_error());                                    \
    } while (0)

#endif
