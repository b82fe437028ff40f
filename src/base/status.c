/* status.c - the texts of the status table and the one thread-local story. */
#include "base/status.h"

#include "base/text.h"

#include <stdarg.h>
#include <string.h>

static _Thread_local struct mot__story story;

const char *mot_version(void)
{
    return MOT_VERSION;
}

const char *mot_status_text(mot_status status)
{
#define STATUS_TEXT(name, text) text,
    static const char *const texts[] = {MOT_STATUS_TABLE(STATUS_TEXT)};
#undef STATUS_TEXT

    return (size_t)status < MOT_STATUS_COUNT ? texts[status] : "unknown status";
}

const char *mot_error(void)
{
    return story.text;
}

mot_status mot_error_status(void)
{
    return story.status;
}

mot_status mot__fail(mot_status status, const char *format, ...)
{
    char text[MOT__STORY_BYTES]; /* an argument may be the old story */
    va_list list;

    va_start(list, format);
    mot__text_format(text, sizeof text, format, list);
    va_end(list);
    memcpy(story.text, text, sizeof story.text);
    story.status = status;
    return status;
}

mot_status mot__fail_in(mot_status status, const char *format, ...)
{
    char text[MOT__STORY_BYTES];
    va_list list;

    va_start(list, format);
    mot__text_format(text, sizeof text, format, list);
    va_end(list);
    return mot__fail(status, "%s: %s", text, story.text);
}

void mot__story_take(mot_status status, struct mot__story *out)
{
    out->status = status;
    if (status != MOT_OK)
        memcpy(out->text, story.text, sizeof out->text);
}

mot_status mot__story_tell(const struct mot__story *other)
{
    if (other->status != MOT_OK)
        story = *other;
    return other->status;
}
