/* Layouts as writers, and the order of a save (save.h). How a folder or the files of a prefix take
 * their place at one instant is known to store/: model_dir.h for files of this process,
 * folder_save.h for a folder that several processes write. */
#include "save/save.h"

#include <stdlib.h>
#include <string.h>

#include "base/logger.h"
#include "base/mem.h"
#include "save/epochs.h"

struct layout_writer {
    enum save_layout layout;
    enum skiff_status (*open)(struct save *s, struct skiff_error *err);
    enum skiff_status (*commit)(struct save *s, struct skiff_error *err);
};

/* ---- files of this process ---- */

/* A writer that fails to open, or commits, is closed. */
static enum skiff_status open_folder(struct save *s, struct skiff_error *err)
{
    TRY(model_writer_open(&s->files, s->path, err));
    s->opened = true;
    return SKIFF_OK;
}

static enum skiff_status open_prefix(struct save *s, struct skiff_error *err)
{
    TRY(model_writer_open_prefix(&s->files, s->path, err));
    s->opened = true;
    return SKIFF_OK;
}

static void add_notes(struct save *s)
{
    struct buf *to = &s->files.contents.notes;
    if (s->small.notes.len)
        buf_add(to, s->small.notes.data, s->small.notes.len);
}

static enum skiff_status commit_files(struct save *s, struct skiff_error *err)
{
    if (s->info) {
        model_writer_describe(&s->files, s->info);
        model_writer_replace(&s->files, SAVE_OLD_STATE); /* the manifest says it now */
    }
    add_notes(s);
    s->opened = false;
    return model_writer_commit(&s->files, err);
}

/* ---- a folder that servers write, too ---- */

/* Files of this process go through the writer of the folder that is being written. */
static enum skiff_status open_tables(struct save *s, struct skiff_error *err)
{
    return folder_save_open(&s->folder, s->path, err);
}

static enum skiff_status place(void *folder, struct skiff_error *err)
{
    return folder_save_commit(folder, err);
}

/* Tables that were written count as saved: placing them is tried again by itself. */
static enum skiff_status commit_tables(struct save *s, struct skiff_error *err)
{
    struct save_retry placing = {.save = place, .user = &s->folder};
    if (s->info) {
        TRY(model_writer_open(&s->files, s->folder.path, err));
        model_writer_describe(&s->files, s->info);
        add_notes(s);
        TRY(model_writer_commit(&s->files, err));
    }
    return save_retry(&placing, err);
}

/* ---- layouts ---- */

static const struct layout_writer writers[] = {
    {SAVE_LAYOUT_STATE, open_prefix, commit_files},
    {SAVE_LAYOUT_PREFIX, open_prefix, commit_files},
    {SAVE_LAYOUT_FOLDER, open_folder, commit_files},
    {SAVE_LAYOUT_VARIABLES, open_folder, commit_files},
    {SAVE_LAYOUT_TABLES, open_tables, commit_tables},
};

static const struct layout_writer *writer_of(enum save_layout layout)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (writers[i].layout == layout)
            return &writers[i];
    return NULL;
}

/* ---- a save ---- */

void save_add_note(struct save *s, const char *name, const char *text)
{
    manifest_note(&s->small, name, text);
}

void save_abort(struct save *s)
{
    manifest_deinit(&s->small);
    if (s->opened)
        model_writer_close(&s->files);
    folder_save_close(&s->folder);
    free(s->path);
    *s = (struct save){.folder.lock = -1};
}

enum skiff_status save_begin(struct save *s, const char *path, enum save_layout layout,
                             struct skiff_error *err)
{
    *s = (struct save){.writer = writer_of(layout), .path = mem_strdup_or_die(path)};
    s->folder.lock = -1;
    enum skiff_status status =
        s->writer ? s->writer->open(s, err)
                  : error_set(err, SKIFF_UNSUPPORTED, "%s cannot be saved: nothing writes %s", path,
                              save_layout_text(layout));
    if (status < 0)
        save_abort(s);
    return status;
}

void save_describe(struct save *s, const struct model_info *info)
{
    s->info = info;
}

enum skiff_status save_end(struct save *s, enum skiff_status status, struct skiff_error *err)
{
    if (status == SKIFF_OK)
        status = s->writer->commit(s, err);
    save_abort(s);
    return status;
}

/* ---- a plan ---- */

static enum skiff_status write_once(void *user, struct skiff_error *err)
{
    const struct save_plan *p = user;
    const struct save_attempts *a = p->attempts;
    struct save s;
    enum skiff_status status = SKIFF_OK;
    if (a && a->check)
        TRY(a->check(a->user, err));
    TRY(save_begin(&s, p->path, p->layout, err));
    save_describe(&s, p->info);
    for (int i = 0; i < p->nsources && status == SKIFF_OK; i++)
        status = p->sources[i].write(p->sources[i].user, &s, err);
    return save_end(&s, status, err);
}

static bool pausing(void *user, const struct skiff_error *why, double seconds)
{
    const struct save_attempts *a = ((const struct save_plan *)user)->attempts;
    if (a->log)
        logger_warn(a->log, "saving failed, retrying in %g s: %s", seconds, why->message);
    return !a->wants_stop || !a->wants_stop(a->user);
}

enum skiff_status save_write(const struct save_plan *plan, struct skiff_error *err)
{
    struct save_plan own = *plan;
    struct save_retry attempts = {
        .save = write_once, .pausing = pausing, .user = &own, .tries = plan->attempts ? 0 : 1};
    return save_retry(&attempts, err);
}
