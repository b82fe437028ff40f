/* config.c - a struct from a header of another version is refused, not guessed at. */
#include "base/config.h"

#include <string.h>

mot_status mot__config_check(const void *given, size_t bytes, const char *name)
{
    size_t size;

    memcpy(&size, given, sizeof size); /* the first member of each */
    if (size != bytes)
        return mot__fail(
            MOT_BAD_ARG,
            "struct %s: size is %zu, not %zu: set it to sizeof, as a default does, and "
            "compile with the header of this library",
            name, size, bytes);
    return MOT_OK;
}

mot_status mot__config_take(const void *given, size_t bytes, const char *name, void *out)
{
    mot_status status = MOT_OK;

    if (!given)
        return MOT_OK;
    MOT_TRY(mot__config_check(given, bytes, name));
    memcpy(out, given, bytes);
done:
    return status;
}
