/* common.cl - goes in front of every kernel file. Baseline OpenCL C 1.2: no fp64, no subgroups, no float atomics.
 * Storage type: kernels read and write through LOAD and STORE and compute in float.
 * A device place is (pointer, offset in elements): kernels take both. */
#ifndef STORED
#define STORED float
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#endif
#if !defined(LOAD) || !defined(STORE)
#error "STORED needs LOAD and STORE"
#endif
#ifndef CLASS_CPU
#error "CLASS_CPU must be 0 or 1"
#endif
