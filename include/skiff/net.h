/* A network being built: a main program, a startup program that fills its parameters, the counters
 * that give unique names, and the first error.
 *
 * Errors: a layer that fails returns NULL; NULL flows through later layers without further effect,
 * and the first error is reported once, by skiff_net_check, skiff_optimizer_minimize or the call
 * that runs the net. No check is needed after every line. Ownership: variables belong to their
 * program; programs made by skiff_net_create belong to the net; programs pushed by the caller stay
 * the caller's and must outlive their use. Threads: one net, one thread. */
#ifndef SKIFF_NET_H
#define SKIFF_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_net;
struct skiff_program;
struct skiff_var;

SKIFF_API struct skiff_net *skiff_net_create(void);
SKIFF_API void skiff_net_destroy(struct skiff_net *net); /* NULL is fine */

/* The programs that layers append to now. */
SKIFF_API struct skiff_program *skiff_net_main(const struct skiff_net *net);
SKIFF_API struct skiff_program *skiff_net_startup(const struct skiff_net *net);

/* OK, or the first error of any call on this net since the last skiff_net_forget. */
SKIFF_API enum skiff_status skiff_net_check(const struct skiff_net *net, struct skiff_error *err);
SKIFF_API void skiff_net_forget(struct skiff_net *net); /* drops the error; building continues */

/* program_guard: layers append to these programs until the pop. startup NULL: as before. */
SKIFF_API void skiff_net_push_programs(struct skiff_net *net, struct skiff_program *main,
                                       struct skiff_program *startup);
SKIFF_API void skiff_net_pop_programs(struct skiff_net *net);
/* unique_name.guard: fresh counters until the pop; prefix NULL: none. */
SKIFF_API void skiff_net_push_names(struct skiff_net *net, const char *prefix);
SKIFF_API void skiff_net_pop_names(struct skiff_net *net);
/* name_scope: only names the ops' attribute op_namescope, "/a/b/"; used twice, a becomes a_1. */
SKIFF_API void skiff_net_push_scope(struct skiff_net *net, const char *name);
SKIFF_API void skiff_net_pop_scope(struct skiff_net *net);
/* unique_name.generate: key_0, key_1, ... The text lives as long as the net
 * (or the names guard). */
SKIFF_API const char *skiff_net_name(struct skiff_net *net, const char *key);

SKIFF_API struct skiff_program *skiff_program_create(void);
SKIFF_API void skiff_program_destroy(struct skiff_program *p); /* NULL is fine */
SKIFF_API struct skiff_program *skiff_program_clone(const struct skiff_program *p);
/* clone(for_test=True): without backward and optimizer ops, with is_test set. */
SKIFF_API enum skiff_status skiff_program_clone_for_test(const struct skiff_program *p,
                                                         struct skiff_program **out,
                                                         struct skiff_error *err);
/* From now on running or cloning p runs or clones `as`, which must not lead back to p and must live
 * as long as p uses it. NULL: p itself again. */
SKIFF_API void skiff_program_run_as(struct skiff_program *p, struct skiff_program *as);
/* The program of save_inference_model: the ops that compute the targets from the feeds. */
SKIFF_API enum skiff_status skiff_program_prune(const struct skiff_program *p,
                                                const char *const *feeds, int nfeeds,
                                                const char *const *targets, int ntargets,
                                                struct skiff_program **out,
                                                struct skiff_error *err);
/* The ops that the targets need, unchanged: no feed and fetch ops, is_test as it was. A feed ends
 * the search for inputs; an unused one is ignored. */
SKIFF_API enum skiff_status skiff_program_cut(const struct skiff_program *p,
                                              const char *const *feeds, int nfeeds,
                                              const char *const *targets, int ntargets,
                                              struct skiff_program **out, struct skiff_error *err);
/* The same for training: the optimizer ops at these positions of block 0 (updates NULL: all of the
 * program) are kept with all ops that they need. targets may be empty. */
SKIFF_API enum skiff_status
skiff_program_cut_training(const struct skiff_program *p, const char *const *feeds, int nfeeds,
                           const char *const *targets, int ntargets, const int64_t *updates,
                           int nupdates, struct skiff_program **out, struct skiff_error *err);
/* Data parallelism: one joint program with the forward and backward ops of every device, and one
 * update with the average of their gradients (scale_one: their sum). */
SKIFF_API enum skiff_status skiff_program_replicate(const struct skiff_program *p, int devices,
                                                    bool scale_one, struct skiff_program **out,
                                                    struct skiff_error *err);
/* The name that the joint program gives to a variable of that device; free() it. */
SKIFF_API char *skiff_program_replica_name(const struct skiff_program *joint, const char *name,
                                           int device);
SKIFF_API void skiff_program_set_seed(struct skiff_program *p, int seed); /* random_seed */
SKIFF_API int skiff_program_seed(const struct skiff_program *p);
SKIFF_API char *skiff_program_text(const struct skiff_program *p); /* readable; free() it */

/* Variables: for NULL these return NULL, 0 or false. */
SKIFF_API struct skiff_var *skiff_program_var(const struct skiff_program *p, const char *name);
SKIFF_API const char *skiff_var_name(const struct skiff_var *v);
SKIFF_API const char *skiff_var_dtype(const struct skiff_var *v); /* "float32", ... */
SKIFF_API int skiff_var_ndim(const struct skiff_var *v);
SKIFF_API int64_t skiff_var_dim(const struct skiff_var *v, int i); /* -1: known at run time only */
SKIFF_API int skiff_var_lod_level(const struct skiff_var *v);
SKIFF_API bool skiff_var_persistable(const struct skiff_var *v);
SKIFF_API void skiff_var_set_persistable(struct skiff_var *v, bool on);
SKIFF_API bool skiff_var_stop_gradient(const struct skiff_var *v);
SKIFF_API void skiff_var_set_stop_gradient(struct skiff_var *v, bool on);
/* minimize clips its gradient to [min, max] before it flows on (Fluid's ErrorClipByValue); INFINITY
 * for both: no clipping. */
SKIFF_API void skiff_var_set_error_clip(struct skiff_var *v, double min, double max);

#ifdef __cplusplus
}
#endif
#endif
