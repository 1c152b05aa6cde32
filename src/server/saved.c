/* Finds out which form a saved model has (saved.h lists the forms) from its parts
 * (save/contents.h): users name a folder, a file or a prefix, and rarely know which program wrote
 * it.
 *
 * In a folder, a single .pdparams wins over other files, because local training leaves the
 * optimizer's state there and a model for inference in the same folder. Otherwise files with the
 * names of wanted variables mean one file each. Otherwise the only file that begins like tensors
 * (version 0, a small number of levels: no program, pickle or text does) holds all of them.
 *
 * Only headers are read when a model is opened; a server then reads its own slices directly from
 * the files (saved_read). Of pickles it holds one variable at a time. */
#include "server/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/io.h"
#include "save/contents.h"
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

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_file(const char *path)
{
    return file_exists(path) && !file_is_dir(path);
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

static bool begins_like_program(const char *path)
{
    uint8_t head[8];
    uint64_t size;
    size_t n = first_bytes(path, head, sizeof head, &size);
    return n == sizeof head && size < PROGRAM_MOST &&
           (head[0] == 0x0a || !memcmp(head, "program ", 8));
}

/* ---- forms ---- */

static enum skiff_status open_pickles(struct saved_model *m, const char *stem,
                                      struct skiff_error *err)
{
    char *optimizer = join(stem, ".", "pdopt");
    m->form = SAVED_PICKLES;
    m->path = join(stem, ".", "pdparams");
    m->folder = path_parent(m->path);
    enum skiff_status status = pickle_file_open(m->path, &m->params, err);
    if (status == SKIFF_OK && file_exists(optimizer))
        status = pickle_file_open(optimizer, &m->optimizer, err);
    free(optimizer);
    return status;
}

static void read_program(const struct save_contents *c, const char *file,
                         struct skiff_program **out)
{
    char *path = join(c->dir, "/", file);
    if (!*out && is_file(path) && io_program_read(path, out, NULL) < 0)
        *out = NULL;
    free(path);
}

/* x.pdmodel next to x.pdiparams, __model__, or else the first program in the folder. */
static struct skiff_program *program_beside(const char *path, const char *folder)
{
    struct skiff_program *p = NULL;
    struct save_contents c;
    char *stem = model_prefix_of(path), *pair = join(name_of(stem), ".", "pdmodel");
    if (save_open(&c, folder, NULL) == SKIFF_OK) {
        read_program(&c, pair, &p);
        read_program(&c, "__model__", &p);
    }
    for (int i = 0; !p && i < c.nparts; i++) {
        char *file = join(c.dir, "/", c.parts[i].name);
        if (begins_like_program(file))
            read_program(&c, c.parts[i].name, &p);
        free(file);
    }
    save_close(&c);
    free(stem);
    free(pair);
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

static bool has_one_of(const struct save_contents *c, const char *const *wanted, int n)
{
    for (int i = 0; i < n; i++)
        if (folder_view_has(&c->view, wanted[i]))
            return true;
    return false;
}

static enum skiff_status open_pickled_folder(struct saved_model *m, const char *folder,
                                             const char *file, struct skiff_error *err)
{
    struct save_contents c;
    char *path = join(folder, "/", file), *stem = model_prefix_of(path);
    enum skiff_status status = save_open(&c, stem, err);
    if (status == SKIFF_OK)
        status = save_check(&c, true, err);
    if (status == SKIFF_OK)
        status = open_pickles(m, stem, err);
    save_close(&c);
    free(path);
    free(stem);
    return status;
}

static enum skiff_status open_folder(struct saved_model *m, const struct save_contents *c,
                                     const char *const *wanted, int nwanted,
                                     const struct skiff_program *whole, struct skiff_error *err)
{
    /* local training leaves both pickles, which have the optimizer's state, and a model's files */
    const struct save_part *pickle = save_part_only(c, SAVE_PART_STATE), *combined = NULL;
    if (pickle)
        return open_pickled_folder(m, c->dir, pickle->name, err);
    if (!has_one_of(c, wanted, nwanted))
        combined = save_part_combined(c);
    if (!combined) {
        m->path = mem_strdup_or_die(c->dir);
        m->folder = mem_strdup_or_die(c->dir);
        return SKIFF_OK;
    }
    char *path = join(c->dir, "/", combined->name);
    enum skiff_status status = open_combined(m, path, whole, err);
    free(path);
    return status;
}

/* A prefix, or a file: pickles, unless the other one is named. */
static enum skiff_status open_prefix(struct saved_model *m, const struct save_contents *c,
                                     const char *path, const struct skiff_program *whole,
                                     struct skiff_error *err)
{
    const struct save_part *combined = save_part(c, SAVE_PART_COMBINED);
    char *stem = join(c->dir, "/", c->stem), *file = NULL;
    enum skiff_status status;
    if (combined)
        file = join(c->dir, "/", combined->name);
    if (save_part(c, SAVE_PART_STATE) && !(combined && !strcmp(combined->name, name_of(path))))
        status = open_pickles(m, stem, err);
    else if (file || is_file(path))
        status = open_combined(m, file ? file : path, whole, err);
    else
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s: neither a folder of a saved model, nor a file of one, nor the "
                           "start of a .pdparams or .pdiparams file",
                           path);
    free(stem);
    free(file);
    return status;
}

/* Servers read parts of files, which have no checksums of their own. So all files that the
 * manifest of the folder or of the prefix lists are verified first. */
enum skiff_status saved_open(struct saved_model *m, const char *path, const char *const *wanted,
                             int nwanted, const struct skiff_program *whole,
                             struct skiff_error *err)
{
    struct save_contents c;
    *m = (struct saved_model){0};
    str_map_init(&m->by_name);
    enum skiff_status status = save_open(&c, path, err);
    if (status == SKIFF_OK)
        status = save_check(&c, true, err);
    if (status == SKIFF_OK)
        status = c.prefix ? open_prefix(m, &c, path, whole, err)
                          : open_folder(m, &c, wanted, nwanted, whole, err);
    save_close(&c);
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
    pickle_file_close(m->params);
    pickle_file_close(m->optimizer);
    *m = (struct saved_model){0};
}

/* ---- one variable ---- */

static enum skiff_status find_pickled(const struct saved_model *m, const char *name,
                                      struct saved_var *out, struct skiff_error *err)
{
    const struct state_entry *e;
    TRY(pickle_file_find(m->params, name, &e, err));
    if (!e && m->optimizer)
        TRY(pickle_file_find(m->optimizer, name, &e, err));
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
