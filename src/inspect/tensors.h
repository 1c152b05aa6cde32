/* Statistics of tensors, and every file that holds tensors: one tensor, selected rows, several
 * tensors one after the other, a pickle. Threads: plain functions. */
#ifndef INSPECT_TENSORS_H
#define INSPECT_TENSORS_H

#include "store/state.h"
#include "tensor/value.h"

/* Element i as a number; of complex numbers the real part. */
double tensor_element(const struct tensor *t, int64_t i);

struct tensor_stats {
    double least, most, mean;   /* of the finite values, if any */
    int64_t finite, not_finite; /* how many */
};
struct tensor_stats tensor_stats_of(const struct tensor *t);

/* Called for what is in a file, in its order. */
struct tensor_walk {
    void (*tensor)(void *arg, const char *name, const struct tensor *t); /* name: "" of one alone */
    void (*rows)(void *arg, const struct skiff_tensor *v);               /* selected rows */
    void (*pickle)(void *arg, const struct state *s);
    void (*combined)(void *arg, int n); /* after the last tensor of several */
    void *arg;
};

/* Tensors of a combined file have no names in it: those of the program in `program`, or numbers
 * ("0:") if it is NULL. FORMAT: none of these kinds, or broken. */
enum skiff_status tensors_walk(const char *path, const char *program, const struct tensor_walk *v,
                               struct skiff_error *err);

#endif
