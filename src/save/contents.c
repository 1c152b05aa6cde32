/* What is in a folder (contents.h). A folder is listed once and its manifest read once. The layout
 * follows from names, on disk or in the manifest: a model with missing files is still known for
 * what it is. A file is opened only to tell variables from other files, when no name says it. */
#include "save/contents.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/folder_save.h"
#include "store/stale_file.h"
#include "store/tensor_source.h"

#define PROGRAM "__model__"
#define COMBINED "__params__"
#define EPOCH_MAX 1000000
#define LOOKED_INTO 8 /* files that are opened to find one of a variable */

static bool ends_with(const char *s, const char *ending)
{
    size_t n = strlen(s), e = strlen(ending);
    return n > e && !strcmp(s + n - e, ending);
}

/* ---- parts ---- */

static const struct {
    const char *ending;
    enum save_part_kind kind;
} endings[] = {{".pdparams", SAVE_PART_STATE},
               {".pdopt", SAVE_PART_OPTIMIZER},
               {".pdmodel", SAVE_PART_PROGRAM},
               {".pdiparams", SAVE_PART_COMBINED}};

static enum save_part_kind kind_of_file(const char *name)
{
    if (!strcmp(name, PROGRAM))
        return SAVE_PART_PROGRAM;
    if (!strcmp(name, COMBINED))
        return SAVE_PART_COMBINED;
    if (!strncmp(name, "part-", 5))
        return SAVE_PART_SHARD;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(name, endings[i].ending))
            return endings[i].kind;
    return SAVE_PART_FILE;
}

static bool all_digits(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* False: a folder that is no part. */
static bool kind_of_folder(const char *name, enum save_part_kind *out)
{
    bool digits = all_digits(name);
    *out = !strcmp(name, SAVE_NETWORK)                     ? SAVE_PART_NETWORK
           : digits && strlen(name) == 3 && name[0] == '0' ? SAVE_PART_TABLE
                                                           : SAVE_PART_EPOCH;
    return *out != SAVE_PART_EPOCH || (digits && strlen(name) <= 7 && atol(name) <= EPOCH_MAX);
}

static bool is_of_prefix(const char *name, const char *stem)
{
    char *own = model_prefix_of(name);
    bool same = !strcmp(own, stem);
    free(own);
    return same;
}

static void add_part(struct save_contents *c, const struct fs_entry *e)
{
    const char *name = strrchr(e->path, '/') + 1;
    struct save_part part = {.kind = SAVE_PART_FILE, .name = name, .bytes = e->stat.size};
    if (name[0] == '.' || manifest_named(name) || stale_file_named(name))
        return;
    if (e->stat.folder && !kind_of_folder(name, &part.kind))
        return;
    if (!e->stat.folder)
        part.kind = kind_of_file(name);
    if (c->prefix && (e->stat.folder || !is_of_prefix(name, c->stem)))
        return;
    c->parts[c->nparts++] = part;
}

const struct save_part *save_part(const struct save_contents *c, enum save_part_kind kind)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->parts[i].kind == kind)
            return &c->parts[i];
    return NULL;
}

int save_part_count(const struct save_contents *c, enum save_part_kind kind)
{
    int n = 0;
    for (int i = 0; i < c->nparts; i++)
        n += c->parts[i].kind == kind;
    return n;
}

const struct save_part *save_part_only(const struct save_contents *c, enum save_part_kind kind)
{
    return save_part_count(c, kind) == 1 ? save_part(c, kind) : NULL;
}

bool save_names(const struct save_contents *c, const char *file)
{
    for (int i = 0; i < c->nparts; i++)
        if (!strcmp(c->parts[i].name, file))
            return true;
    return manifest_find(&c->files, file) != NULL;
}

/* ---- the layout ---- */

static bool has_shards(const struct save_contents *c, const char *table)
{
    struct fs_list in = {0};
    char *folder = path_join(c->dir, table);
    bool found = false;
    if (fs_list(NULL, folder, &in, NULL) == SKIFF_OK)
        for (int i = 0; i < in.count && !found; i++)
            found = !strncmp(strrchr(in.entries[i].path, '/'), "/part-", 6);
    fs_list_deinit(&in);
    free(folder);
    return found;
}

/* Does a local file begin as a stream of tensors does: with its version, which is 0, and the number
 * of LoD levels? No program, pickle or text begins so. */
static bool begins_like_tensors(const char *path)
{
    struct tensor_source s;
    uint8_t head[12];
    uint64_t levels = 0;
    if (tensor_source_open(&s, path, NULL) < 0)
        return false;
    enum skiff_status status = s.size < sizeof head
                                   ? SKIFF_FORMAT
                                   : tensor_source_read(&s, head, sizeof head, "the start", NULL);
    close(s.fd);
    memcpy(&levels, head + 4, sizeof levels);
    return status == SKIFF_OK && !memcmp(head, "\0\0\0", 4) && levels < 64;
}

const struct save_part *save_part_combined(const struct save_contents *c)
{
    const struct save_part *named = NULL, *only = NULL;
    int nnamed = 0, ntensors = 0;
    for (int i = 0; i < c->nparts; i++) {
        const struct save_part *p = &c->parts[i];
        if (p->kind != SAVE_PART_FILE && p->kind != SAVE_PART_COMBINED)
            continue;
        char *path = path_join(c->dir, p->name);
        bool tensors = begins_like_tensors(path);
        free(path);
        if (tensors && p->kind == SAVE_PART_COMBINED) {
            named = p;
            nnamed++;
        }
        if (tensors)
            only = p;
        ntensors += tensors;
    }
    return nnamed == 1 ? named : ntensors == 1 ? only : NULL;
}

/* On remote storage, names must do: a look at a file is a download. */
static bool has_variables(const struct save_contents *c)
{
    bool found = c->listed;
    for (int i = 0, looked = 0; i < c->nparts && !found && looked < LOOKED_INTO; i++) {
        if (c->parts[i].kind != SAVE_PART_FILE && c->parts[i].kind != SAVE_PART_COMBINED)
            continue;
        looked++;
        char *path = path_join(c->dir, c->parts[i].name);
        found = !fs_is_remote(path) && begins_like_tensors(path);
        free(path);
    }
    return found;
}

/* The stem of a folder's files x.pdparams and so on, if there is only one. */
static char *stem_of_only(const struct save_contents *c, enum save_part_kind kind)
{
    const struct save_part *p = save_part_only(c, kind);
    return p ? model_prefix_of(p->name) : NULL;
}

static bool is_pair(const struct save_contents *c)
{
    char *program = stem_of_only(c, SAVE_PART_PROGRAM),
         *params = stem_of_only(c, SAVE_PART_COMBINED);
    bool pair = program && params && !strcmp(program, params);
    free(program);
    free(params);
    return pair;
}

static enum save_layout layout_of_folder(struct save_contents *c)
{
    const struct save_part *table = save_part(c, SAVE_PART_TABLE);
    if (table && !strcmp(table->name, "000") && has_shards(c, "000"))
        return SAVE_LAYOUT_TABLES;
    if (save_part(c, SAVE_PART_SHARD))
        return SAVE_LAYOUT_TABLE;
    if (save_names(c, SAVE_EPOCH_STEM ".pdparams"))
        c->stem = mem_strdup_or_die(SAVE_EPOCH_STEM);
    else if (!save_names(c, PROGRAM))
        c->stem = stem_of_only(c, SAVE_PART_STATE);
    if (c->stem)
        return SAVE_LAYOUT_STATE;
    if (save_names(c, PROGRAM))
        return SAVE_LAYOUT_FOLDER;
    if (is_pair(c)) {
        c->stem = stem_of_only(c, SAVE_PART_PROGRAM);
        return SAVE_LAYOUT_PREFIX;
    }
    if (save_names(c, SAVE_DONEFILE))
        return SAVE_LAYOUT_PASSES;
    if (has_variables(c))
        return SAVE_LAYOUT_VARIABLES;
    return save_part(c, SAVE_PART_EPOCH) ? SAVE_LAYOUT_EPOCHS : SAVE_LAYOUT_NONE;
}

/* Of the parts, and of what the manifest lists: a missing one does not change the kind. */
static enum save_layout layout_of_prefix(const struct save_contents *c, const char *path)
{
    struct buf name = BUF_INIT;
    enum save_layout layout = SAVE_LAYOUT_NONE;
    buf_printf(&name, "%s.pdiparams", c->stem);
    if (save_names(c, name.data))
        layout = SAVE_LAYOUT_PREFIX;
    buf_reset(&name);
    buf_printf(&name, "%s.pdparams", c->stem);
    if (layout == SAVE_LAYOUT_NONE && save_names(c, name.data))
        layout = SAVE_LAYOUT_STATE;
    buf_deinit(&name);
    if (layout == SAVE_LAYOUT_NONE && !fs_is_remote(path) && begins_like_tensors(path))
        layout = SAVE_LAYOUT_COMBINED;
    return layout;
}

/* ---- opening ---- */

/* A manifest that cannot be read is a fault of the model, not of the question. */
static void read_manifest(struct save_contents *c, const char *name)
{
    c->listed = folder_view_has(&c->view, name);
    if (c->listed && folder_view_read(&c->view, name, &c->files, &c->damage) == SKIFF_OK)
        c->damage.code = SKIFF_OK;
}

/* Files of a prefix are listed by a manifest of their own, or by that of a whole folder. */
static void read_manifests(struct save_contents *c)
{
    struct buf own = BUF_INIT;
    if (c->prefix) {
        buf_printf(&own, "%s" MANIFEST_ENDING, c->stem);
        read_manifest(c, own.data);
    }
    if (!c->listed)
        read_manifest(c, folder_view_manifest(&c->view));
    buf_deinit(&own);
}

static enum skiff_status list_parts(struct save_contents *c, const struct fs_list *in,
                                    struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    if (!in) {
        status = fs_list(NULL, c->dir, &c->in, err);
        in = &c->in;
    }
    if (status < 0 && status != SKIFF_NOT_FOUND)
        return status;
    c->parts = mem_alloc_or_die((size_t)(in->count + 1) * sizeof *c->parts);
    for (int i = 0; i < in->count; i++)
        add_part(c, &in->entries[i]);
    return SKIFF_OK;
}

static enum skiff_status look(struct save_contents *c, const char *path, struct skiff_error *err)
{
    TRY(list_parts(c, c->view.listed ? &c->view.in : NULL, err));
    if (c->borrowed)
        c->listed = folder_view_has(&c->view, folder_view_manifest(&c->view));
    else
        read_manifests(c);
    c->layout = c->prefix ? layout_of_prefix(c, path) : layout_of_folder(c);
    return SKIFF_OK;
}

static char *without_slashes(const char *path)
{
    char *s = mem_strdup_or_die(*path ? path : ".");
    for (size_t n = strlen(s); n > 1 && s[n - 1] == '/' && s[n - 2] != ':'; n--)
        s[n - 1] = 0;
    return s;
}

enum skiff_status save_open_prefix(struct save_contents *c, const char *path,
                                   struct skiff_error *err)
{
    *c = (struct save_contents){0};
    char *stem = model_prefix_of(path);
    const char *slash = strrchr(stem, '/');
    c->prefix = true;
    c->dir = path_parent(stem);
    c->stem = mem_strdup_or_die(slash ? slash + 1 : stem);
    free(stem);
    TRY(model_view_open(c->dir, &c->view, err));
    return look(c, path, err);
}

/* Without sparse tables, bases and deltas of online training have their model in 000/. */
static bool is_around_model(const struct save_contents *c)
{
    return c->layout == SAVE_LAYOUT_NONE && !c->prefix && c->nparts == 1 &&
           c->parts[0].kind == SAVE_PART_TABLE && !strcmp(c->parts[0].name, "000");
}

enum skiff_status save_open(struct save_contents *c, const char *path, struct skiff_error *err)
{
    *c = (struct save_contents){0};
    char *dir = without_slashes(path);
    enum skiff_status status = model_view_open(dir, &c->view, err);
    bool folder = status == SKIFF_OK && (c->view.listed ? c->view.in.count > 0 : file_is_dir(dir));
    if (folder) {
        c->dir = mem_strdup_or_die(dir);
        status = look(c, dir, err);
    } else if (status == SKIFF_OK) {
        folder_view_deinit(&c->view);
        status = save_open_prefix(c, dir, err);
    }
    if (status == SKIFF_OK && is_around_model(c)) {
        char *within = path_join(dir, "000");
        save_close(c);
        status = save_open(c, within, err);
        free(within);
    }
    free(dir);
    return status;
}

enum skiff_status save_open_reader(struct save_contents *c, const struct model_reader *r,
                                   struct skiff_error *err)
{
    *c = (struct save_contents){
        .dir = mem_strdup_or_die(r->dir), .view = r->view, .files = r->files, .borrowed = true};
    return look(c, r->dir, err);
}

void save_close(struct save_contents *c)
{
    if (!c->borrowed) {
        folder_view_deinit(&c->view);
        manifest_deinit(&c->files);
    }
    fs_list_deinit(&c->in);
    free(c->parts);
    free(c->stem);
    free(c->dir);
    *c = (struct save_contents){0};
}

/* ---- answers ---- */

const char *save_layout_text(enum save_layout layout)
{
    static const char *const texts[] = {[SAVE_LAYOUT_NONE] = "no saved model",
                                        [SAVE_LAYOUT_TABLES] = "a model with sparse tables",
                                        [SAVE_LAYOUT_TABLE] = "a sparse table",
                                        [SAVE_LAYOUT_STATE] = "parameters and optimizer state",
                                        [SAVE_LAYOUT_FOLDER] = "a model of Paddle 1.x",
                                        [SAVE_LAYOUT_PREFIX] = "an inference model of Paddle 2.x",
                                        [SAVE_LAYOUT_PASSES] = "days and passes of online training",
                                        [SAVE_LAYOUT_EPOCHS] = "epochs of skiff train",
                                        [SAVE_LAYOUT_VARIABLES] = "variables, one file each",
                                        [SAVE_LAYOUT_COMBINED] = "variables, all in one file"};
    return texts[layout];
}

/* No manifest lists the shards; the network behind them has one of its own. */
static enum skiff_status check_tables(const struct save_contents *c, bool sums,
                                      struct skiff_error *err)
{
    struct model_info info;
    TRY(folder_save_check(c->dir, err));
    if (!save_part(c, SAVE_PART_NETWORK))
        return SKIFF_OK;
    char *network = path_join(c->dir, SAVE_NETWORK);
    enum skiff_status status =
        sums ? model_check(network, &info, err) : model_check_sizes(network, &info, err);
    free(network);
    return status;
}

const char *save_part_name(enum save_part_kind kind)
{
    static const char *const names[] = {
        [SAVE_PART_STATE] = "state",     [SAVE_PART_OPTIMIZER] = "optimizer",
        [SAVE_PART_PROGRAM] = "program", [SAVE_PART_COMBINED] = "combined",
        [SAVE_PART_TABLE] = "table",     [SAVE_PART_NETWORK] = "network",
        [SAVE_PART_EPOCH] = "epoch",     [SAVE_PART_SHARD] = "shard",
        [SAVE_PART_FILE] = "file"};
    return names[kind];
}

enum skiff_status save_check(const struct save_contents *c, bool sums, struct skiff_error *err)
{
    if (c->damage.code < 0) {
        if (err)
            *err = c->damage;
        return c->damage.code;
    }
    TRY(model_view_check(&c->view, &c->files, sums, err));
    return c->layout == SAVE_LAYOUT_TABLES ? check_tables(c, sums, err) : SKIFF_OK;
}
