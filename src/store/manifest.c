/* Writing and parsing the manifest's text (manifest.h). The last line is a checksum of the lines
 * before it, checked before anything else is believed. Lines without a meaning here are kept as
 * notes: small parts of a save, to which a newer Skiff may add some. */
#include "store/manifest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fs/fs.h"
#include "store/model_dir.h"

#define WHOLE "\nwhole: \""

void manifest_deinit(struct manifest *m)
{
    for (int i = 0; i < m->n; i++) {
        free(m->files[i]->name);
        free(m->files[i]);
    }
    free(m->files);
    buf_deinit(&m->notes);
    str_map_deinit(&m->by_name);
    *m = (struct manifest)MANIFEST_INIT;
}

struct manifest_file *manifest_add(struct manifest *m, const char *name)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 32;
        m->files = mem_grow_or_die(m->files, sizeof *m->files * (size_t)m->cap);
    }
    struct manifest_file *f = mem_alloc_or_die(sizeof *f);
    f->name = mem_strdup_or_die(name);
    f->sum = FILE_SUM_UNKNOWN;
    if (!str_map_has(&m->by_name, f->name))
        str_map_put(&m->by_name, f->name, f);
    return m->files[m->n++] = f;
}

struct manifest_file *manifest_find(const struct manifest *m, const char *name)
{
    return str_map_get(&m->by_name, name);
}

void manifest_drop(struct manifest *m, const char *name)
{
    int kept = 0;
    if (!str_map_remove(&m->by_name, name))
        return;
    for (int i = 0; i < m->n; i++) {
        if (strcmp(m->files[i]->name, name)) {
            m->files[kept++] = m->files[i];
        } else {
            free(m->files[i]->name);
            free(m->files[i]);
        }
    }
    m->n = kept;
}

/* The line of a name in the notes; NULL: none. */
static char *note_line(const struct manifest *m, const char *name)
{
    size_t n = strlen(name);
    for (char *line = m->notes.data; line && *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, name, n) && !strncmp(line + n, ": ", 2))
            return line;
    return NULL;
}

void manifest_note(struct manifest *m, const char *name, const char *text)
{
    char *line = note_line(m, name);
    if (line) {
        size_t n = strcspn(line, "\n") + 1;
        memmove(line, line + n, strlen(line + n) + 1);
        m->notes.len -= n;
    }
    buf_printf(&m->notes, "%s: %s\n", name, text);
}

char *manifest_note_find(const struct manifest *m, const char *name)
{
    const char *line = note_line(m, name);
    if (!line)
        return NULL;
    line += strlen(name) + 2;
    size_t n = strcspn(line, "\n");
    char *text = mem_alloc_or_die(n + 1);
    memcpy(text, line, n);
    return text;
}

bool manifest_named(const char *name)
{
    size_t n = strlen(name), end = strlen(MANIFEST_ENDING);
    return !strcmp(name, MANIFEST_FILE) || !strcmp(name, MANIFEST_OLD) ||
           (n > end && !strcmp(name + n - end, MANIFEST_ENDING));
}

static bool has_file(const char *dir, const char *name)
{
    char *path = path_join(dir, name);
    bool has = file_exists(path);
    free(path);
    return has;
}

const char *manifest_in(const char *dir)
{
    return !has_file(dir, MANIFEST_FILE) && has_file(dir, MANIFEST_OLD) ? MANIFEST_OLD
                                                                        : MANIFEST_FILE;
}

enum skiff_status manifest_remove(const char *dir, struct skiff_error *err)
{
    char *old = path_join(dir, MANIFEST_OLD), *now = path_join(dir, MANIFEST_FILE);
    enum skiff_status status = fs_remove(NULL, old, err);
    if (status == SKIFF_OK)
        status = fs_remove(NULL, now, err);
    free(old);
    free(now);
    return status;
}

enum skiff_status manifest_remove_prefix(const char *prefix, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s" MANIFEST_ENDING, prefix);
    enum skiff_status status = fs_remove(NULL, path.data, err);
    buf_deinit(&path);
    return status;
}

/* ------------------------------------------------------------------ writing */

/* Quoted as in YAML; bytes that are not ASCII stay as they are. */
static void quoted_print(struct buf *out, const char *s)
{
    buf_char(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_char(out, '\\');
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned char)*s);
        else
            buf_char(out, *s);
    }
    buf_char(out, '"');
}

static void record_print(struct buf *out, const struct model_info *note)
{
    if (!note->known)
        return;
    buf_printf(out, "run: %s\nepoch: %d\ncomplete: %s\nsteps: %lld\nsamples: %lld\n", note->run,
               note->epoch, note->complete ? "True" : "False", (long long)note->steps,
               (long long)note->samples);
}

void manifest_encode(const struct manifest *m, struct buf *out)
{
    char when[40];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    buf_reset(out);
    buf_printf(out,
               "# Loading compares these files with what was saved. Changed on purpose? Remove "
               "this file.\nskiff_manifest: 1\ntime: %s.%03dZ\nsave: %016llx\n",
               when, (int)(now.tv_nsec / 1000000), (unsigned long long)rng_entropy());
    record_print(out, &m->note);
    if (m->notes.len)
        buf_str(out, m->notes.data);
    buf_str(out, "files:\n");
    for (int i = 0; i < m->n; i++) {
        buf_str(out, "  ");
        quoted_print(out, m->files[i]->name);
        buf_printf(out, ": {bytes: %lld, xxh3: \"%016llx\"}\n", (long long)m->files[i]->sum.bytes,
                   (unsigned long long)m->files[i]->sum.xxh3);
    }
    buf_printf(out, "whole: \"%016llx\"\n", (unsigned long long)hash_xxh3(out->data, out->len, 0));
}

/* ------------------------------------------------------------------ reading */

/* *body: the text without its last line, when the checksum fits. */
static bool is_whole(const char *text, size_t n, size_t *body)
{
    char want[40];
    size_t tail = sizeof WHOLE - 1 + 16 + 2; /* "\nwhole: \"", the digits, a quote, the line end */
    if (n < tail)
        return false;
    *body = n - tail + 1;
    snprintf(want, sizeof want, WHOLE "%016llx\"\n", (unsigned long long)hash_xxh3(text, *body, 0));
    return !memcmp(text + n - tail, want, tail);
}

/* Parses a quoted string at *p and moves *p behind it. */
static bool quoted_take(const char **p, struct buf *out)
{
    buf_reset(out);
    buf_reserve(out, 1);
    if (*(*p)++ != '"')
        return false;
    for (; **p && **p != '"' && **p != '\n'; ++*p) {
        char c = **p;
        if (c == '\\' && (*p)[1] == 'x' && isxdigit((unsigned char)(*p)[2]) &&
            isxdigit((unsigned char)(*p)[3])) {
            c = (char)strtol((char[]){(*p)[2], (*p)[3], 0}, NULL, 16);
            *p += 3;
        } else if (c == '\\') {
            c = *++*p;
        }
        if (!c)
            return false;
        buf_char(out, c);
    }
    return *(*p)++ == '"';
}

static bool word_take(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n))
        return false;
    *p += n;
    return true;
}

/* `  "name": {bytes: 1, xxh3: "..."}` */
static bool file_take(const char *line, struct manifest *m, struct buf *name)
{
    struct file_sum sum;
    char *end;
    const char *p = line;
    if (!word_take(&p, "  ") || !quoted_take(&p, name) || !word_take(&p, ": {bytes: "))
        return false;
    errno = 0;
    sum.bytes = strtoll(p, &end, 10);
    if (end == p || errno || sum.bytes < 0)
        return false;
    p = end;
    if (!word_take(&p, ", xxh3: \""))
        return false;
    sum.xxh3 = strtoull(p, &end, 16);
    if (end != p + 16 || strncmp(end, "\"}\n", 3))
        return false;
    manifest_add(m, name->data)->sum = sum;
    return true;
}

/* The rest of the line, truncated to the size of the field. */
static void text_take(const char *p, char *out, size_t cap)
{
    size_t n = strcspn(p, "\n");
    n = n < cap ? n : cap - 1;
    memcpy(out, p, n);
    out[n] = 0;
}

static void record_take(const char *line, struct manifest *m)
{
    const char *p = line;
    struct model_info *note = &m->note;
    if (word_take(&p, "save: ")) {
        m->save = strtoull(p, NULL, 16);
    } else if (word_take(&p, "run: ")) {
        text_take(p, note->run, sizeof note->run);
    } else if (word_take(&p, "time: ")) {
        text_take(p, note->time, sizeof note->time);
    } else if (word_take(&p, "epoch: ")) {
        note->epoch = (int)strtol(p, NULL, 10);
        note->known = true;
    } else if (word_take(&p, "complete: ")) {
        note->complete = !strncmp(p, "True\n", 5);
    } else if (word_take(&p, "steps: ")) {
        note->steps = strtoll(p, NULL, 10);
    } else if (word_take(&p, "samples: ")) {
        note->samples = strtoll(p, NULL, 10);
    } else if (isalpha((unsigned char)*p) && strncmp(p, "files:", 6) != 0 &&
               strncmp(p, "skiff_manifest:", 15) != 0) {
        buf_printf(&m->notes, "%.*s\n", (int)strcspn(p, "\n"), p);
    }
}

/* Parses text[0..n), line by line; it ends with a line end and a 0. */
static enum skiff_status lines_take(const char *text, size_t n, const char *what,
                                    struct manifest *m, struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    bool files = false;
    int number = 1;
    for (const char *line = text; line < text + n && status == SKIFF_OK; number++) {
        if (files && !file_take(line, m, &name))
            status = error_set(err, SKIFF_FORMAT,
                               "%s:%d: expected   \"name\": {bytes: N, xxh3: \"16 digits\"}, found "
                               "%.*s",
                               what, number, (int)strcspn(line, "\n"), line);
        else if (files && model_name_check(m->files[m->n - 1]->name, err) < 0)
            status = error_prefix(err, SKIFF_INVALID, "%s:%d", what, number);
        else if (!files)
            record_take(line, m);
        files |= !strncmp(line, "files:\n", 7);
        line += strcspn(line, "\n") + 1;
    }
    buf_deinit(&name);
    return status;
}

enum skiff_status manifest_decode(const char *text, size_t n, const char *what,
                                  struct manifest *out, struct skiff_error *err)
{
    size_t body;
    if (memchr(text, 0, n) || !is_whole(text, n, &body))
        return error_set(err, SKIFF_FORMAT,
                         "%s: it is damaged or was changed after it was saved (its last line, a "
                         "checksum of the others, does not match): use an older model or, if it "
                         "was changed on purpose, remove it",
                         what);
    struct manifest m = MANIFEST_INIT;
    char *copy = mem_alloc_or_die(body + 1);
    memcpy(copy, text, body);
    enum skiff_status status = lines_take(copy, body, what, &m, err);
    free(copy);
    if (status < 0) {
        manifest_deinit(&m);
        return status;
    }
    manifest_deinit(out);
    *out = m;
    return SKIFF_OK;
}

enum skiff_status manifest_read(const char *path, struct manifest *out, bool *there,
                                struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    manifest_deinit(out);
    *there = fs_is_remote(path) || file_exists(path);
    if (!*there)
        return SKIFF_OK;
    enum skiff_status status = file_read_checked(path, NULL, &text, err);
    *there = status != SKIFF_NOT_FOUND;
    if (status < 0)
        return *there ? status : SKIFF_OK;
    status = manifest_decode(text.data, text.len, path, out, err);
    buf_deinit(&text);
    return status;
}
