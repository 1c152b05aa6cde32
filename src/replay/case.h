/* A recorded case: a folder with case.txt (docs/guide/record.md has the form). */
#ifndef REPLAY_CASE_H
#define REPLAY_CASE_H

#include "base/arena.h"
#include "base/map.h"
#include "executor/executor.h"

struct replay_case {
    struct arena arena;
    const char *dir;
    struct str_map keys; /* of case.txt: key -> value (char *) */
    int steps, feed_steps;
    double rtol, atol;
    const char *kind, *quirk;
};

enum skiff_status replay_case_open(const char *dir, struct replay_case *out,
                                   struct skiff_error *err);
void replay_case_close(struct replay_case *c);
const char *replay_case_get(const struct replay_case *c, const char *key, const char *fallback);
enum skiff_status replay_case_count(const struct replay_case *c, const char *key, int least,
                                    int most, int *out, struct skiff_error *err);
/* Is `word` in the blank-separated list under `key`? */
bool replay_case_lists(const struct replay_case *c, const char *key, const char *word);
/* dir + "/" + relative, in the case's arena */
const char *replay_case_path(struct replay_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Files below a folder, by name relative to it (a '/' in a name is a sub-folder), sorted. Missing
 * folder: none. */
struct case_files {
    char **names;
    int n, cap;
};
enum skiff_status case_files_read(const char *dir, struct case_files *out, struct skiff_error *err);
void case_files_deinit(struct case_files *l);

#endif
