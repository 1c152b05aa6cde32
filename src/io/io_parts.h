/* What the files of io share; nobody else includes this. */
#ifndef IO_IO_PARTS_H
#define IO_IO_PARTS_H

#include "io/io.h"
#include "store/model_dir.h"

/* Names and values of a list of variables, as the store wants them. */
struct io_batch {
    int n;
    const char **names;
    const struct skiff_tensor **saved; /* borrowed from the scope */
    struct skiff_tensor *loaded;       /* owned */
};

void io_batch_init(struct io_batch *b, const struct io_vars *vars);
void io_batch_deinit(struct io_batch *b);
/* Finds all values to be saved; deferred updates are applied. */
enum skiff_status io_batch_collect(struct io_batch *b, const struct skiff_scope *s,
                                   struct skiff_error *err);
/* Is this what the program wants? `file` is for the message. */
enum skiff_status io_value_check(const struct skiff_program *p, const struct skiff_var *v,
                                 bool param, const struct skiff_tensor *value, const char *file,
                                 struct skiff_error *err);
/* Checks all loaded values, then hands them to the scope. place: the file, or the folder when there
 * is one file each. */
enum skiff_status io_batch_give(struct io_batch *b, const struct io_vars *vars,
                                const struct skiff_program *p, struct skiff_scope *s,
                                const char *target, bool one_file, struct skiff_error *err);

/* What io_load_vars does, as a part of a larger load. */
enum skiff_status io_read_vars(const struct model_reader *r, struct skiff_scope *s,
                               const struct skiff_program *p, const struct io_vars *vars,
                               const char *filename, struct skiff_error *err);
/* What io_program_read does, as a part of a larger load. */
enum skiff_status io_read_program(const struct model_reader *r, const char *file,
                                  struct skiff_program **out, struct skiff_error *err);

enum skiff_status io_writer_vars(struct model_writer *w, const struct io_batch *b,
                                 const char *filename, struct skiff_error *err);
enum skiff_status io_writer_program(struct model_writer *w, const char *file,
                                    const struct skiff_program *p, struct skiff_error *err);
/* Version fields as Paddle sets them before it writes a program. */
void io_program_stamp(struct skiff_program *p);

/* Paths. Results that are not const are the caller's. */
char *io_join(const char *a, const char *between, const char *b);
const char *io_base_name(const char *path); /* the part after the last '/' */
enum skiff_status io_prefix_check(const char *prefix, struct skiff_error *err);

#endif
