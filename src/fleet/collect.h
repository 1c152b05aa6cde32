/* Writes the variables of a job to Paddle's files: slices from all servers, concatenated, a few
 * megabytes at a time; variables that only this worker has come from its scope. */
#ifndef FLEET_COLLECT_H
#define FLEET_COLLECT_H

#include "comm/session.h"
#include "executor/scope.h"
#include "passes/split.h"
#include "store/file.h"
#include "store/model_dir.h"

struct collect {
    struct session *session;     /* NULL: alone, everything is in the scope */
    const char *tag;             /* of the snapshot that is read */
    const struct job_plan *plan; /* the split's, which must stay */
    const struct skiff_scope *scope;
    struct skiff_program *server0; /* what every server has besides its slices */
};

enum skiff_status collect_init(struct collect *c, struct session *session,
                               const struct skiff_split *split, const struct skiff_scope *scope,
                               const char *tag, struct skiff_error *err);
void collect_deinit(struct collect *c);

/* A sparse table: it has no tensor, servers save it by themselves (fleet_tables.c). */
bool collect_skips(const struct collect *c, const struct skiff_var *v);
/* Does any server, or this worker, have it? */
bool collect_has(const struct collect *c, const struct skiff_var *v);
/* Appends the variable as a LoDTensor stream. */
enum skiff_status collect_write(const struct collect *c, const struct skiff_var *v,
                                struct file_writer *w, struct skiff_error *err);
/* <base>.pdparams, .pdopt and .pdmodel of the program, as io_write_state writes them of a scope
 * (collect_state.c). Variables that have no value anywhere are left out. */
enum skiff_status collect_write_state(const struct collect *c, struct model_writer *w,
                                      const struct skiff_program *p, const char *base,
                                      struct skiff_error *err);
/* Does no server have it? Then its value is the worker's own; NULL: none. */
bool collect_is_own(const struct collect *c, const struct skiff_var *v);
const struct skiff_tensor *collect_own(const struct collect *c, const struct skiff_var *v);
/* Type and shape, by the program, of one that servers have; no data. */
enum skiff_status collect_head(const struct skiff_var *v, struct tensor *out,
                               struct skiff_error *err);
/* Its bytes, from the first to the last. */
enum skiff_status collect_pour(const struct collect *c, const struct skiff_var *v,
                               const struct byte_sink *to, struct skiff_error *err);

/* A plain table's rows by id, or a state of its optimizer that has a row for each of them. */
bool collect_is_keyed(const struct collect *c, const struct skiff_var *v);
/* All rows of such a variable in files of their own, if some have ids beyond its declared size. */
enum skiff_status collect_rows(const struct collect *c, const struct skiff_var *v,
                               struct model_writer *w, struct skiff_error *err);
/* The ids that wait for admission to sparse tables, as files of a save, which *written counts. */
enum skiff_status collect_waiting(const struct collect *c, struct model_writer *w, int *written,
                                  struct skiff_error *err);
/* All records of sparse tables, and those ids, as files of a save (collect_records.c). */
enum skiff_status collect_records(const struct collect *c, struct model_writer *w,
                                  struct skiff_error *err);

#endif
