/* Files: variables, parameters, whole models, in Paddle's own formats, both ways.
 *
 * Loading is all or nothing: everything is read and checked before the scope changes. Saving too:
 * files appear when all are written. Threads: one user of the scope at a time. */
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

struct skiff_model; /* a program with the names of what it takes and gives */

struct skiff_model_files {
    const char *model, *params; /* file names in the folder; NULL: the default */
    uint64_t reserved[4];
};

/* save_inference_model with file names of one's own: params NULL is one file per parameter. */
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
skiff_model_destroy(struct skiff_model *m); /* NULL is fine; the program goes with it */
SKIFF_API const struct skiff_program *skiff_model_program(const struct skiff_model *m);
SKIFF_API int skiff_model_feeds(const struct skiff_model *m);
SKIFF_API const char *skiff_model_feed(const struct skiff_model *m, int i); /* NULL past the last */
SKIFF_API int skiff_model_targets(const struct skiff_model *m);
SKIFF_API const char *skiff_model_target(const struct skiff_model *m, int i);

/* A program file (__model__, .pdmodel, ProgramDesc bytes), read and written. */
SKIFF_API enum skiff_status skiff_program_read(const char *path, struct skiff_program **out,
                                               struct skiff_error *err);
SKIFF_API enum skiff_status skiff_program_write(const struct skiff_program *p, const char *path,
                                                struct skiff_error *err);

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
SKIFF_API enum skiff_status skiff_state_write(const struct skiff_state *s, const char *path,
                                              struct skiff_error *err);
/* A copy of the tensor under that name, instead of one that is there. */
SKIFF_API enum skiff_status skiff_state_set(struct skiff_state *s, const char *name,
                                            const struct skiff_tensor *t, struct skiff_error *err);
SKIFF_API int skiff_state_count(const struct skiff_state *s);
SKIFF_API const char *skiff_state_name(const struct skiff_state *s, int i);
/* A copy of the i-th tensor; NULL and no error for an entry that is not an array. */
SKIFF_API enum skiff_status skiff_state_get(const struct skiff_state *s, int i,
                                            struct skiff_tensor **out, struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
