/* harm.h - how a test lets a device of the layer guise do harm once; it finds the layer's table
 * with dlsym(). */
#ifndef MOT_TESTS_HARM_H
#define MOT_TESTS_HARM_H

#include <stddef.h>

enum harm_kind {
    HARM_FLIP, /* after its next update one bit of the first parameter is another */
    HARM_NAN   /* its next loss leaves a NaN in the first number of the gradient */
};

struct harm_layer {
    void (*arm)(size_t device, enum harm_kind kind); /* by the loader's order */
    _Bool (*done)(void);
};

#define HARM_SYMBOL "motley_harm"

#endif
