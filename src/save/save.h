/* Writing a save: begin, parts, commit.
 *
 * Every part is written beside what is there; the manifest comes last; then all of it takes its
 * place at one instant: one rename, one exchange of folders, or one put. Whatever process is killed
 * whenever: who reads finds all of the old save or all of the new one, and the next save removes
 * what is left over. A layout (contents.h) is a writer behind these calls; a part is a provider,
 * which may write files itself or have servers write below the folder.
 *
 *     save_write(&(struct save_plan){.path = ..., .layout = ..., .parts = ..., .nparts = ...}, err)
 *
 * does it all, and tries again while the cause may pass (retry.h). Threads: one user. */
#ifndef SAVE_SAVE_H
#define SAVE_SAVE_H

#include "save/contents.h"
#include "save/retry.h"
#include "store/folder_save.h"

struct layout_writer;
struct logger;

struct save {
    const struct layout_writer *writer;
    char *path;                /* owned */
    struct model_writer files; /* of this process */
    struct folder_save folder; /* with tables: what all processes write below */
    bool opened;               /* files are */
    struct manifest small;     /* parts without a file */
    const struct model_info *info;
};

/* path: a folder, or for SAVE_LAYOUT_STATE and SAVE_LAYOUT_PREFIX a prefix. After a failure nothing
 * is open. */
enum skiff_status save_begin(struct save *s, const char *path, enum save_layout layout,
                             struct skiff_error *err);
/* The model is an epoch: the manifest says which one, and files of earlier saves go. Borrowed until
 * the commit. */
void save_describe(struct save *s, const struct model_info *info);
/* A small part, such as the position in the data: a line of the manifest (manifest_note). */
void save_add_note(struct save *s, const char *name, const char *text);
/* Removes what was written; of a save that has not begun: nothing. */
void save_abort(struct save *s);
/* Commits when status is OK, else removes what was written; returns the resulting status. The save
 * is closed in any case. */
enum skiff_status save_end(struct save *s, enum skiff_status status, struct skiff_error *err);

/* Part of a save that somebody provides. */
struct save_source {
    enum skiff_status (*write)(void *user, struct save *s, struct skiff_error *err);
    void *user;
};

/* Attempts: as long as the cause may pass, and a few at most. */
struct save_attempts {
    enum skiff_status (*check)(void *user, struct skiff_error *err); /* before each; NULL: none */
    bool (*wants_stop)(void *user);                                  /* NULL: never */
    void *user;
    const struct logger *log; /* gets a line before each pause; NULL: none */
};

struct save_plan {
    const char *path;
    enum save_layout layout;
    const struct model_info *info; /* NULL: no epoch */
    const struct save_source *sources;
    int nsources;
    const struct save_attempts *attempts; /* NULL: one */
};

enum skiff_status save_write(const struct save_plan *plan, struct skiff_error *err);

#endif
