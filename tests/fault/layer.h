/* layer.h - how a test steers tests/fault/layer.c, which it finds with dlsym(). */
#ifndef MOT_TEST_FAULT_LAYER_H
#define MOT_TEST_FAULT_LAYER_H

enum fault_mode {
    FAULT_NONE,
    FAULT_RETURN, /* the call itself returns the error and does nothing */
    FAULT_ASYNC,  /* the call returns 0 and its command fails later, on the device */
    FAULT_DELAY   /* the call comes late, by as many milliseconds */
};

enum fault_kind { /* what is counted alive: references that were made and not released */
                  FAULT_CONTEXT,
                  FAULT_QUEUE,
                  FAULT_MEMORY,
                  FAULT_PROGRAM,
                  FAULT_KERNEL,
                  FAULT_EVENT,
                  FAULT_SUB_DEVICE,
                  FAULT_KINDS
};

struct fault_layer {
    /* The nth call (from 1) of entry from now on; all counts start anew. NULL: no fault. False:
     * there is no such entry. */
    _Bool (*arm)(const char *entry, unsigned nth, enum fault_mode mode, int value);
    _Bool (*fired)(void);
    long (*alive)(enum fault_kind kind);
    const char *(*kind_name)(enum fault_kind kind);
    unsigned (*calls)(const char *entry);
    /* Calls that came for the device after one was answered "out of resources" or "not available".
     */
    unsigned (*after_loss)(void);
    const char *(*entry_name)(unsigned index); /* NULL past the last */
};

#define FAULT_LAYER_SYMBOL "motley_fault_layer"

#endif
