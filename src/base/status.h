/* status.h - how a call fails: a code, and a story kept for this thread. */
#ifndef MOT_BASE_STATUS_H
#define MOT_BASE_STATUS_H

#include <motley/motley.h>

#if defined(__GNUC__)
#define MOT__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MOT__PRINTF(text, first)
#endif

#define MOT__STORY_BYTES 1024

/* Store the story that mot_error() returns; gives back status, so that `return mot__fail(...)`
 * reads well. */
mot_status mot__fail(mot_status status, const char *format, ...) MOT__PRINTF(2, 3);
/* Put "where: " in front of the story that is there; status unchanged. */
mot_status mot__fail_in(mot_status status, const char *format, ...) MOT__PRINTF(2, 3);

/* A worker thread's failure, carried to the thread that asked. */
struct mot__story {
    mot_status status;
    char text[MOT__STORY_BYTES];
};
void mot__story_take(mot_status status,
                     struct mot__story *out); /* copy this thread's; OK copies nothing */
mot_status
mot__story_tell(const struct mot__story *story); /* make it this thread's; returns its status */

/* Sets status and jumps to done: the only control-flow macro. */
#define MOT_TRY(call)                                                                              \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != MOT_OK)                                                                      \
            goto done;                                                                             \
    } while (0)

#endif
