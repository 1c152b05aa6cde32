/* The parts of `skiff inspect`. Each prints to stdout and returns the exit status. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct inspect_options {
    bool summary;         /* program: counts only */
    bool all;             /* tensor: every value */
    bool twice;           /* table: the accessor is CtrDoubleAccessor */
    const char *accessor; /* table: name of its accessor */
    const char *model;    /* model: file name of the program in a folder */
    const char *params;   /* model: file name of the combined parameters in a folder */
    const char *names;    /* tensor: program that names the tensors of a combined file */
    const char *servers, *secret_file; /* of a job that runs; NULL: folders */
    int pid, timeout;                  /* a process of that job, 0: none; seconds */
};

enum skiff_status inspect_program(const char *path, const struct inspect_options *o,
                                  struct skiff_error *err);
enum skiff_status inspect_model(const char *path, const struct inspect_options *o,
                                struct skiff_error *err);
/* Ops of a program file or a model. */
enum skiff_status inspect_used_ops(const char *path, struct skiff_error *err);
enum skiff_status inspect_tensor(const char *path, const struct inspect_options *o,
                                 struct skiff_error *err);
enum skiff_status inspect_table(const char *path, const struct inspect_options *o,
                                struct skiff_error *err);
/* Of a job that runs (o->servers, or those of process o->pid): its tables; what they have
 * counted. */
enum skiff_status inspect_servers(const struct inspect_options *o, struct skiff_error *err);
enum skiff_status inspect_metrics(const struct inspect_options *o, struct skiff_error *err);

/* "1.2 MB (1234567 bytes)" */
const char *inspect_bytes(uint64_t n, char out[static 64]);

#endif
