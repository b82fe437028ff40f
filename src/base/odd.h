/* odd.h - floats that are no finite number, found by their bits. */
#ifndef MOT_BASE_ODD_H
#define MOT_BASE_ODD_H

#include <stdbool.h>
#include <stddef.h>

bool mot__odd(float x);                         /* NaN or infinite */
bool mot__odd_any(const float *x, size_t n);    /* one pass that the compiler widens */
size_t mot__odd_last(const float *x, size_t n); /* the index of the last one; n: there is none */

#endif
