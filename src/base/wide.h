/* wide.h - loops over floats, compiled for several widths of vector and chosen when the library is
 * loaded: a library for every x86-64 may not assume more than 16 bytes. Operations stay those that
 * are written, element by element, so the bits stay too. */
#ifndef MOT_BASE_WIDE_H
#define MOT_BASE_WIDE_H

#include <stddef.h>
#include <stdint.h> /* tells which C library */

/* It takes a loader that asks a resolver (glibc's), and resolvers run before a sanitizer is up. */
#if defined __GNUC__ && !defined __clang__ && defined __x86_64__ && defined __GLIBC__ &&           \
    !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define MOT__WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MOT__WIDE
#endif

#endif
