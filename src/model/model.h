/* model.h - a network as a list of nodes, the parameters it learns, and the text it can be written
 * in. Knows no device. */
#ifndef MOT_MODEL_MODEL_H
#define MOT_MODEL_MODEL_H

#include "tensor/tensor.h"

enum mot__node_kind {
    MOT__NODE_INPUT,
    MOT__NODE_DENSE,
    MOT__NODE_ACTIVATION,
    MOT__NODE_DROPOUT,
    MOT__NODE_FLATTEN,
    MOT__NODE_ADD
};

struct mot__node {
    enum mot__node_kind kind;
    char name[32];   /* "dense1": kind and a count from 1 */
    size_t input[2]; /* earlier nodes; ADD has two, INPUT none */
    size_t inputs;
    struct mot_shape shape; /* of its output, one sample */
    size_t width;           /* elements of it */
    enum mot_act act;       /* DENSE and ACTIVATION; softmax too */
    double rate;            /* DROPOUT */
    size_t weight, bias;    /* DENSE: rows of the parameter table */
};

struct mot_model {
    struct mot__node *node; /* in order: inputs come before what uses them */
    size_t count, capacity;
    size_t here; /* the node the next layer follows */
    struct mot__parameters table;
    enum mot_init init;
    struct mot__mark {
        char name[32];
        size_t node;
    } * mark;
    size_t marks;
};

mot_status mot__model_copy(const mot_model *net, mot_model **out); /* what a trainer keeps */
/* A last look before training: there is an input, a layer with parameters, and `here` is the last
 * node. */
mot_status mot__model_check(const mot_model *net);

#endif
