/* Finds out which form a saved model has from the files that exist (saved.h lists the forms): users
 * name a folder, a file or a prefix, and rarely know which program wrote it.
 *
 * In a folder, a single .pdparams wins over other files, because local training leaves the
 * optimizer's state there and a model for inference in the same folder. Otherwise files with the
 * names of wanted variables mean one file each. Otherwise the only file that begins like tensors
 * (version 0, a small number of levels: no program, pickle or text does) holds all of them.
 *
 * Only headers are read when a model is opened; a server then reads its own slices directly from
 * the files (saved_read). Pickles are the exception: they are read completely. */
#include "server/saved.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/io.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle.h"
#include "store/tensor_source.h"

#define PROGRAM_MOST ((uint64_t)256 << 20)

static char *join(const char *a, const char *between, const char *b)
{
    struct buf s = BUF_INIT;
    buf_printf(&s, "%s%s%s", a, between, b);
    return s.data;
}

static bool ends_with(const char *s, const char *ending)
{
    size_t n = strlen(s), e = strlen(ending);
    return n > e && !strcmp(s + n - e, ending);
}

static char *stem_of(const char *path)
{
    static const char *const endings[] = {".pdparams", ".pdopt", ".pdiparams", ".pdmodel"};
    char *s = mem_strdup_or_die(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(s, endings[i])) {
            s[strlen(s) - strlen(endings[i])] = '\0';
            break;
        }
    return s;
}

static bool is_file(const char *path)
{
    return file_exists(path) && !file_is_dir(path);
}

/* ---- the files of a folder ---- */

struct file_listing {
    char **paths; /* regular files, by name */
    int n, cap;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void listing_open(struct file_listing *l, const char *folder)
{
    DIR *d = opendir(folder);
    *l = (struct file_listing){0};
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        char *path = join(folder, "/", e->d_name);
        if (!is_file(path)) {
            free(path);
            continue;
        }
        if (l->n == l->cap) {
            l->cap = l->cap ? 2 * l->cap : 32;
            l->paths = mem_grow_or_die(l->paths, (size_t)l->cap * sizeof *l->paths);
        }
        l->paths[l->n++] = path;
    }
    if (d)
        closedir(d);
    if (l->n)
        qsort(l->paths, (size_t)l->n, sizeof *l->paths, by_name);
}

static void listing_close(struct file_listing *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->paths[i]);
    free(l->paths);
}

/* The first bytes; fewer when the file is shorter. */
static size_t first_bytes(const char *path, uint8_t *to, size_t most, uint64_t *size)
{
    struct tensor_source s;
    if (tensor_source_open(&s, path, NULL) < 0)
        return 0;
    size_t n = s.size < most ? (size_t)s.size : most;
    enum skiff_status status = tensor_source_read(&s, to, n, "the start", NULL);
    close(s.fd);
    *size = s.size;
    return status == SKIFF_OK ? n : 0;
}

/* A stream of tensors begins with its version, which is 0, and the number of LoD levels: no
 * program, pickle or text does. */
static bool begins_like_tensors(const char *path)
{
    uint8_t head[12];
    uint64_t size, levels;
    if (first_bytes(path, head, sizeof head, &size) < sizeof head)
        return false;
    memcpy(&levels, head + 4, sizeof levels);
    return !memcmp(head, "\0\0\0", 4) && levels < 64;
}

static bool begins_like_program(const char *path)
{
    uint8_t head[8];
    uint64_t size;
    size_t n = first_bytes(path, head, sizeof head, &size);
    return n == sizeof head && size < PROGRAM_MOST &&
           (head[0] == 0x0a || !memcmp(head, "program ", 8));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file of all variables: the one with that name, or the only one that holds tensors. NULL:
 * none. */
static const char *listing_combined(const struct file_listing *l)
{
    const char *called = NULL, *only = NULL;
    int ncalled = 0, ntensors = 0;
    for (int i = 0; i < l->n; i++) {
        if (!begins_like_tensors(l->paths[i]))
            continue;
        only = l->paths[i];
        ntensors++;
        if (!strcmp(base_name(only), "__params__") || ends_with(only, ".pdiparams")) {
            called = only;
            ncalled++;
        }
    }
    return ncalled == 1 ? called : ntensors == 1 ? only : NULL;
}

static const char *listing_only(const struct file_listing *l, const char *ending)
{
    const char *found = NULL;
    for (int i = 0; i < l->n; i++)
        if (ends_with(l->paths[i], ending)) {
            if (found)
                return NULL;
            found = l->paths[i];
        }
    return found;
}

/* ---- forms ---- */

static enum skiff_status open_pickles(struct saved_model *m, const char *stem,
                                      struct skiff_error *err)
{
    char *optimizer = join(stem, ".", "pdopt");
    m->form = SAVED_PICKLES;
    m->path = join(stem, ".", "pdparams");
    m->folder = path_parent(m->path);
    enum skiff_status status = pickle_file_read(m->path, &m->params, err);
    if (status == SKIFF_OK && file_exists(optimizer))
        status = pickle_file_read(optimizer, &m->optimizer, err);
    free(optimizer);
    return status;
}

/* x.pdmodel next to x.pdiparams, __model__, or else the first program in the folder. */
static struct skiff_program *program_beside(const char *path, const char *folder)
{
    struct skiff_program *p = NULL;
    struct file_listing l;
    char *stem = stem_of(path), *pair = join(stem, ".", "pdmodel");
    char *model = join(folder, "/", "__model__");
    if (is_file(pair) && io_program_read(pair, &p, NULL) < 0)
        p = NULL;
    if (!p && is_file(model) && io_program_read(model, &p, NULL) < 0)
        p = NULL;
    listing_open(&l, folder);
    for (int i = 0; !p && i < l.n; i++)
        if (begins_like_program(l.paths[i]) && io_program_read(l.paths[i], &p, NULL) < 0)
            p = NULL;
    listing_close(&l);
    free(stem);
    free(pair);
    free(model);
    return p;
}

static enum skiff_status open_combined(struct saved_model *m, const char *path,
                                       const struct skiff_program *whole, struct skiff_error *err)
{
    struct io_source sources[2];
    int n, nsources = 0;
    m->form = SAVED_COMBINED;
    m->path = mem_strdup_or_die(path);
    m->folder = path_parent(path);
    TRY(combined_file_scan(path, &m->locations, &n, err));
    m->program = program_beside(path, m->folder);
    if (m->program)
        sources[nsources++] = (struct io_source){m->program, "the program next to it"};
    if (whole)
        sources[nsources++] = (struct io_source){whole, "the job's program"};
    const char **names = mem_alloc_or_die((size_t)n * sizeof *names);
    enum skiff_status status =
        io_combined_names(path, m->locations, n, sources, nsources, names, err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        str_map_put(&m->by_name, names[i], &m->locations[i]);
    free(names);
    return status;
}

static bool has_one_of(const char *folder, const char *const *wanted, int n)
{
    bool found = false;
    for (int i = 0; i < n && !found; i++) {
        char *path = join(folder, "/", wanted[i]);
        found = is_file(path);
        free(path);
    }
    return found;
}

/* Servers read parts of files, which have no checksums of their own. So all files that the
 * manifests of the folder and of the prefix list are verified first. */
static enum skiff_status check_whole(const char *path, struct skiff_error *err)
{
    struct model_info note;
    if (file_is_dir(path))
        return model_check(path, &note, err);
    char *stem = stem_of(path), *folder = path_parent(path);
    enum skiff_status status = model_check(stem, &note, err);
    if (status == SKIFF_OK && file_is_dir(folder))
        status = model_check(folder, &note, err);
    free(stem);
    free(folder);
    return status;
}

static enum skiff_status open_folder(struct saved_model *m, const char *folder,
                                     const char *const *wanted, int nwanted,
                                     const struct skiff_program *whole, struct skiff_error *err)
{
    struct file_listing l;
    enum skiff_status status = SKIFF_OK;
    listing_open(&l, folder);
    /* local training leaves both pickles, which have the optimizer's state, and a model's files */
    const char *pickle = listing_only(&l, ".pdparams"), *combined = NULL;
    if (!pickle && !has_one_of(folder, wanted, nwanted))
        combined = listing_combined(&l);
    if (pickle) {
        char *stem = stem_of(pickle);
        status = check_whole(stem, err);
        if (status == SKIFF_OK)
            status = open_pickles(m, stem, err);
        free(stem);
    } else if (combined) {
        status = open_combined(m, combined, whole, err);
    } else {
        m->path = mem_strdup_or_die(folder);
        m->folder = mem_strdup_or_die(folder);
    }
    listing_close(&l);
    return status;
}

static enum skiff_status open_prefix(struct saved_model *m, const char *path,
                                     const struct skiff_program *whole, struct skiff_error *err)
{
    char *stem = stem_of(path), *params = join(stem, ".", "pdparams"),
         *combined = join(stem, ".", "pdiparams");
    bool reported = ends_with(path, ".pdiparams");
    enum skiff_status status;
    if (is_file(params) && !reported)
        status = open_pickles(m, stem, err);
    else if (is_file(combined))
        status = open_combined(m, combined, whole, err);
    else if (is_file(path))
        status = open_combined(m, path, whole, err);
    else
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s: neither a folder of a saved model, nor a file of one, nor the "
                           "start of a .pdparams or .pdiparams file",
                           path);
    free(stem);
    free(params);
    free(combined);
    return status;
}

enum skiff_status saved_open(struct saved_model *m, const char *path, const char *const *wanted,
                             int nwanted, const struct skiff_program *whole,
                             struct skiff_error *err)
{
    TRY(check_whole(path, err));
    *m = (struct saved_model){0};
    state_init(&m->params);
    state_init(&m->optimizer);
    str_map_init(&m->by_name);
    enum skiff_status status = file_is_dir(path) ? open_folder(m, path, wanted, nwanted, whole, err)
                                                 : open_prefix(m, path, whole, err);
    if (status < 0)
        saved_close(m);
    return status;
}

void saved_close(struct saved_model *m)
{
    free(m->path);
    free(m->folder);
    free(m->locations);
    str_map_deinit(&m->by_name);
    program_destroy(m->program);
    state_deinit(&m->params);
    state_deinit(&m->optimizer);
    *m = (struct saved_model){0};
}

/* ---- one variable ---- */

static enum skiff_status find_pickled(const struct saved_model *m, const char *name,
                                      struct saved_var *out, struct skiff_error *err)
{
    const struct state_entry *e = state_find_variable(&m->params, name);
    if (!e)
        e = state_find_variable(&m->optimizer, name);
    out->there = e != NULL;
    if (!e)
        return SKIFF_OK;
    if (e->text)
        return error_set(err, SKIFF_FORMAT, "%s: variable %s is %.60s, expected an array", m->path,
                         name, e->text);
    out->tensor = &e->tensor;
    out->location = (struct tensor_location){
        .dtype = e->tensor.dtype, .shape = e->tensor.shape, .bytes = tensor_bytes(&e->tensor)};
    return SKIFF_OK;
}

/* Reads up to the data of the first tensor of a file. (Paddle leaves one file of a single-element
 * variable per server.) */
static enum skiff_status find_file(const char *path, struct tensor_location *out,
                                   struct skiff_error *err)
{
    struct tensor_source s;
    struct tensor_head h;
    uint64_t levels = 0;
    enum skiff_status status;
    TRY(tensor_source_open(&s, path, err));
    TRY_OUT(tensor_source_version(&s, "the version", err));
    TRY_OUT(tensor_source_read(&s, &levels, 8, "the number of lod levels", err));
    if (levels) {
        status = error_set(err, SKIFF_FORMAT, "%s: a parameter has no lod", path);
        goto out;
    }
    TRY_OUT(tensor_source_head(&s, &h, err));
    *out = (struct tensor_location){
        .dtype = h.dtype, .shape = h.shape, .at = s.pos, .bytes = h.data_bytes};
out:
    close(s.fd);
    return status;
}

enum skiff_status saved_find(const struct saved_model *m, const char *name, struct saved_var *out,
                             struct skiff_error *err)
{
    out->tensor = NULL;
    if (m->form == SAVED_FILES) {
        snprintf(out->file, sizeof out->file, "%s/%s", m->path, name);
        out->there = model_name_check(name, NULL) == SKIFF_OK && is_file(out->file);
        return out->there ? find_file(out->file, &out->location, err) : SKIFF_OK;
    }
    snprintf(out->file, sizeof out->file, "%s", m->path);
    if (m->form == SAVED_PICKLES)
        return find_pickled(m, name, out, err);
    const struct tensor_location *location = str_map_get(&m->by_name, name);
    out->there = location != NULL;
    if (!location)
        return SKIFF_OK;
    if (location->has_lod)
        return error_set(err, SKIFF_FORMAT, "%s: variable %s has a lod; a parameter has none",
                         m->path, name);
    out->location = *location;
    return SKIFF_OK;
}

enum skiff_status saved_read(const struct saved_var *v, int64_t first, int64_t count, void *to,
                             struct skiff_error *err)
{
    size_t size = dtype_size(v->location.dtype);
    struct tensor_source s;
    if (v->tensor) {
        memcpy(to, (const char *)v->tensor->data + (size_t)first * size, (size_t)count * size);
        return SKIFF_OK;
    }
    TRY(tensor_source_open(&s, v->file, err));
    s.pos = v->location.at + (uint64_t)first * size;
    enum skiff_status status = tensor_source_read(&s, to, (size_t)count * size, "a slice", err);
    close(s.fd);
    return status;
}
