/* comma.h - put the process under a locale whose decimal point is a comma. */
#ifndef MOT_TEST_COMMA_H
#define MOT_TEST_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/folder.h"

/* An installed one, else one compiled into folder. False: the machine has neither the locale nor
 * what localedef needs (Debian: package locales); a test then fails rather than proving nothing. */
static inline bool comma_locale(const char *folder)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    char command[1024];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0)
            return true;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", folder);
    if (system(command) != 0 || setenv("LOCPATH", folder, 1) != 0)
        return false;
    return setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
}

#endif
