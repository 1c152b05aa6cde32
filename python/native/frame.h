/* Columns of a table from Python: numbers as float64, or texts by number. */
#ifndef PYTHON_FRAME_H
#define PYTHON_FRAME_H

#include <skiff/run.h>

#include "native.h"

struct frame_column {
    const char *name;      /* may be NULL */
    const double *numbers; /* NAN: missing; NULL: texts */
    const int32_t *codes;  /* of each row, -1: missing */
    const char **texts;    /* NULL: the numbers are whole and written so */
    size_t *sizes;
    int64_t ntexts;
};

struct data_frame {
    struct frame_column *columns;
    int n;
    int64_t rows;
};

/* A list of pairs (name, float64 array) or (name, (int32 codes, list of str)). False with an
 * exception. Memory is kept by k. */
bool data_frame_of(struct keep *k, PyObject *list, struct data_frame *out);

#endif
