/* What a program and a saved model contain, counted. Threads: plain functions. */
#ifndef INSPECT_PROGRAMS_H
#define INSPECT_PROGRAMS_H

#include "io/io.h"
#include "save/contents.h"

struct op_count {
    const char *type; /* borrowed from the program */
    int n;
    bool known; /* by Skiff */
};

struct op_counts { /* most used first */
    struct op_count *at;
    int n;
};

void op_counts_init(struct op_counts *out, const struct skiff_program *p);
void op_counts_deinit(struct op_counts *c);
/* UNSUPPORTED: the message lists the types that Skiff does not know. path: for the message. */
enum skiff_status op_counts_check(const struct op_counts *c, const char *path,
                                  struct skiff_error *err);

struct role_counts {
    int ops, forward, backward, optimize, learning_rate, other;
};
struct role_counts role_counts_of(const struct skiff_program *p);

struct group_size { /* elements and bytes: of variables of known shape */
    int variables;
    uint64_t elements, bytes;
};
struct group_size group_size_of(const struct skiff_program *p, enum io_group group);

/* The network of a saved model: program, inputs, outputs, and all its values in a new scope. */
struct network_values {
    struct skiff_model model;
    struct skiff_scope *scope;
};
/* Of what the contents are; values of training if there are no others. */
enum skiff_status network_values_open(struct network_values *m, const struct save_contents *c,
                                      struct skiff_error *err);
/* Of an inference model. model, params: names of files in its folder; NULL: the usual. */
enum skiff_status network_values_open_files(struct network_values *m, const char *path,
                                            const char *model, const char *params,
                                            struct skiff_error *err);
void network_values_close(struct network_values *m); /* also after a failure */

/* The program of a file, of a folder with an inference model; the caller destroys it. */
enum skiff_status saved_program_read(const char *path, struct skiff_program **out,
                                     struct skiff_error *err);

#endif
