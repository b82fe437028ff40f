/* config.h - the structs that callers fill in: the size that stands first in each is looked at
 * before anything else of it is read. */
#ifndef MOT_BASE_CONFIG_H
#define MOT_BASE_CONFIG_H

#include "base/status.h"

/* Whether the caller's struct is the one this library knows; name: "mot_fit_config". */
mot_status mot__config_check(const void *given, size_t bytes, const char *name);
/* The same, and a copy of it in out; given = NULL leaves in out what is there. */
mot_status mot__config_take(const void *given, size_t bytes, const char *name, void *out);

#endif
