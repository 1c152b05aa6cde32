/* Files: variables, parameters, whole models, in Paddle's own formats, both ways.
 *
 * Loading is all or nothing: everything is read and checked before the scope changes. Saving is all
 * or nothing, too: whenever the process is killed, a load finds all of the old files or all of the
 * new ones. A save also writes __skiff_manifest__ (of a prefix: PREFIX.skiff_manifest.yaml) with
 * sizes and checksums. Every load compares with it; without it nothing is compared. Threads: one
 * user of the scope at a time. */
#ifndef SKIFF_IO_H
#define SKIFF_IO_H

#include <skiff/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* save_params, save_persistables and their counterparts. filename NULL: one file per variable in
 * dir. */
SKIFF_API enum skiff_status skiff_save_params(struct skiff_scope *s, const struct skiff_program *p,
                                              const char *dir, const char *filename,
                                              struct skiff_error *err);
SKIFF_API enum skiff_status skiff_load_params(struct skiff_scope *s, const struct skiff_program *p,
                                              const char *dir, const char *filename,
                                              struct skiff_error *err);
SKIFF_API enum skiff_status skiff_save_persistables(struct skiff_scope *s,
                                                    const struct skiff_program *p, const char *dir,
                                                    const char *filename, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_load_persistables(struct skiff_scope *s,
                                                    const struct skiff_program *p, const char *dir,
                                                    const char *filename, struct skiff_error *err);
/* save_vars, load_vars: the named persistable variables. */
SKIFF_API enum skiff_status skiff_save_vars(struct skiff_scope *s, const struct skiff_program *p,
                                            const char *const *names, int n, const char *dir,
                                            const char *filename, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_load_vars(struct skiff_scope *s, const struct skiff_program *p,
                                            const char *const *names, int n, const char *dir,
                                            const char *filename, struct skiff_error *err);
/* fluid.save, fluid.load: PREFIX.pdparams, .pdopt, .pdmodel. */
SKIFF_API enum skiff_status skiff_save(struct skiff_scope *s, const struct skiff_program *p,
                                       const char *prefix, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_load(struct skiff_scope *s, const struct skiff_program *p,
                                       const char *prefix, struct skiff_error *err);

/* save_inference_model of 1.x: a folder with __model__ and one file per parameter. */
SKIFF_API enum skiff_status skiff_save_inference_model(struct skiff_scope *s,
                                                       const struct skiff_program *p,
                                                       const char *const *feeds, int nfeeds,
                                                       const char *const *targets, int ntargets,
                                                       const char *dir, struct skiff_error *err);
/* That of 2.x: PREFIX.pdmodel and PREFIX.pdiparams. */
SKIFF_API enum skiff_status
skiff_save_inference_prefix(struct skiff_scope *s, const struct skiff_program *p,
                            const char *const *feeds, int nfeeds, const char *const *targets,
                            int ntargets, const char *prefix, struct skiff_error *err);

struct skiff_model; /* a program with the names of its inputs and outputs */

struct skiff_model_files {
    const char *model, *params; /* file names in the folder; NULL: the default */
    uint64_t reserved[4];
};

/* save_inference_model with given file names; params NULL: one file per parameter. */
SKIFF_API enum skiff_status
skiff_save_inference_files(struct skiff_scope *s, const struct skiff_program *p,
                           const char *const *feeds, int nfeeds, const char *const *targets,
                           int ntargets, const char *dir, const struct skiff_model_files *files,
                           struct skiff_error *err);

/* path: a folder, or a 2.x prefix. The parameters go into the scope (NULL: only the program is
 * read). */
SKIFF_API enum skiff_status skiff_load_inference_model(struct skiff_scope *s, const char *path,
                                                       const struct skiff_model_files *files,
                                                       struct skiff_model **out,
                                                       struct skiff_error *err);
SKIFF_API void
skiff_model_destroy(struct skiff_model *m); /* NULL is fine; also destroys the program */
SKIFF_API const struct skiff_program *skiff_model_program(const struct skiff_model *m);
SKIFF_API int skiff_model_feeds(const struct skiff_model *m);
SKIFF_API const char *skiff_model_feed(const struct skiff_model *m, int i); /* NULL past the last */
SKIFF_API int skiff_model_targets(const struct skiff_model *m);
SKIFF_API const char *skiff_model_target(const struct skiff_model *m, int i);

/* For callers that list or read files of a saved folder themselves: completes a save that was
 * interrupted after its commit. All calls that load do this first. */
SKIFF_API enum skiff_status skiff_model_recover(const char *folder, struct skiff_error *err);

/* A program file (__model__, .pdmodel, ProgramDesc bytes), read and written. */
SKIFF_API enum skiff_status skiff_program_read(const char *path, struct skiff_program **out,
                                               struct skiff_error *err);
SKIFF_API enum skiff_status skiff_program_write(const struct skiff_program *p, const char *path,
                                                struct skiff_error *err);

/* A program that was read (a file, a model, bytes) is not trusted. Its ops that act outside of it
 * (save, save_combine, load, load_combine, send, recv, ...) are refused when it runs, with name and
 * position, unless they are allowed here. ops "save,load" replaces what was allowed before. Their
 * files must be below dir, an existing folder, also through links; NULL when none of the ops has
 * files. Programs that were built by calls are not restricted. */
SKIFF_API enum skiff_status skiff_program_allow(struct skiff_program *p, const char *ops,
                                                const char *dir, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_model_allow(struct skiff_model *m, const char *ops,
                                              const char *dir, struct skiff_error *err);

/* One variable's file, as save_vars writes it. */
SKIFF_API enum skiff_status skiff_tensor_read(const char *path, struct skiff_tensor **out,
                                              struct skiff_error *err);
SKIFF_API enum skiff_status skiff_tensor_write(const struct skiff_tensor *t, const char *path,
                                               struct skiff_error *err);

/* A .pdparams or .pdopt file: names and tensors in order. */
struct skiff_state;
SKIFF_API struct skiff_state *skiff_state_create(void);
SKIFF_API void skiff_state_destroy(struct skiff_state *s); /* NULL is fine */
SKIFF_API enum skiff_status skiff_state_read(const char *path, struct skiff_state **out,
                                             struct skiff_error *err);
/* PREFIX.pdparams and, when it is there, PREFIX.pdopt; or one file per name in dir (save_vars). All
 * files are of one save, even if another process saves there meanwhile. */
SKIFF_API enum skiff_status skiff_state_read_prefix(const char *prefix, struct skiff_state **out,
                                                    struct skiff_error *err);
SKIFF_API enum skiff_status skiff_state_read_files(const char *dir, const char *const *names, int n,
                                                   struct skiff_state **out,
                                                   struct skiff_error *err);
SKIFF_API enum skiff_status skiff_state_write(const struct skiff_state *s, const char *path,
                                              struct skiff_error *err);
/* Stores a copy of the tensor under that name; replaces an existing one. */
SKIFF_API enum skiff_status skiff_state_set(struct skiff_state *s, const char *name,
                                            const struct skiff_tensor *t, struct skiff_error *err);
SKIFF_API int skiff_state_count(const struct skiff_state *s);
SKIFF_API const char *skiff_state_name(const struct skiff_state *s, int i);
/* A copy of the i-th tensor; NULL and no error for an entry that is not an array. */
SKIFF_API enum skiff_status skiff_state_get(const struct skiff_state *s, int i,
                                            struct skiff_tensor **out, struct skiff_error *err);

/* ---- objects ---- */

/* What paddle.save writes beyond states: numbers, texts, arrays, and tuples, lists and dicts of
 * them, as a pickle. Reading executes nothing: a pickle that needs execution is refused, with the
 * name of the call. */
struct skiff_pickle;
struct skiff_object; /* of a pickle, and as long as it */
enum skiff_object_kind {
    SKIFF_OBJECT_NONE,
    SKIFF_OBJECT_BOOL,
    SKIFF_OBJECT_INT,
    SKIFF_OBJECT_FLOAT,
    SKIFF_OBJECT_TEXT,
    SKIFF_OBJECT_BYTES,
    SKIFF_OBJECT_TUPLE,
    SKIFF_OBJECT_LIST,
    SKIFF_OBJECT_DICT,
    SKIFF_OBJECT_ARRAY,
    SKIFF_OBJECT_OTHER, /* a type, not a value */
};
SKIFF_API enum skiff_status skiff_pickle_open(const char *path, struct skiff_pickle **out,
                                              struct skiff_error *err);
SKIFF_API enum skiff_status skiff_pickle_parse(const void *bytes, size_t n, const char *what,
                                               struct skiff_pickle **out, struct skiff_error *err);
SKIFF_API void skiff_pickle_close(struct skiff_pickle *p); /* NULL is fine */
SKIFF_API const struct skiff_object *skiff_pickle_root(const struct skiff_pickle *p);
SKIFF_API enum skiff_object_kind skiff_object_kind(const struct skiff_object *o);
SKIFF_API int64_t skiff_object_int(const struct skiff_object *o); /* also of a bool */
SKIFF_API double skiff_object_float(const struct skiff_object *o);
/* Of a text (UTF-8) or bytes; not ended by 0. */
SKIFF_API const char *skiff_object_text(struct skiff_pickle *p, const struct skiff_object *o,
                                        size_t *out_n);
/* Of a tuple or list; of a dict: keys and values alternate. The same object may occur several
 * times, also inside itself. */
SKIFF_API size_t skiff_object_count(const struct skiff_object *o);
SKIFF_API const struct skiff_object *skiff_object_item(const struct skiff_object *o, size_t i);
/* A copy of the array; bfloat16 is numpy's uint16, as in Paddle. */
SKIFF_API enum skiff_status skiff_object_array(struct skiff_pickle *p, const struct skiff_object *o,
                                               struct skiff_tensor **out, struct skiff_error *err);

/* Writing: open, the pieces of one object in order, end. path NULL: into memory. end makes the
 * complete file appear; close instead of end leaves the old file, if any. */
struct skiff_pickler;
SKIFF_API enum skiff_status skiff_pickler_open(const char *path, int protocol,
                                               struct skiff_pickler **out, struct skiff_error *err);
SKIFF_API void skiff_pickler_none(struct skiff_pickler *p);
SKIFF_API void skiff_pickler_bool(struct skiff_pickler *p, bool v);
SKIFF_API void skiff_pickler_int(struct skiff_pickler *p, int64_t v);
SKIFF_API void skiff_pickler_float(struct skiff_pickler *p, double v);
SKIFF_API enum skiff_status skiff_pickler_text(struct skiff_pickler *p, const char *text, size_t n,
                                               struct skiff_error *err);
SKIFF_API enum skiff_status skiff_pickler_bytes(struct skiff_pickler *p, const void *bytes,
                                                size_t n, struct skiff_error *err);
SKIFF_API enum skiff_status
skiff_pickler_array(struct skiff_pickler *p, const struct skiff_tensor *t, struct skiff_error *err);
/* A tuple, list or dict: begin, its items (keys and values alternate), finish. */
SKIFF_API void skiff_pickler_begin(struct skiff_pickler *p, enum skiff_object_kind kind);
SKIFF_API void skiff_pickler_finish(struct skiff_pickler *p, enum skiff_object_kind kind);
/* Both end the pickler. In memory, *out_bytes gets the bytes; free() them. */
SKIFF_API enum skiff_status skiff_pickler_end(struct skiff_pickler *p, void **out_bytes,
                                              size_t *out_n, struct skiff_error *err);
SKIFF_API void skiff_pickler_close(struct skiff_pickler *p); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
