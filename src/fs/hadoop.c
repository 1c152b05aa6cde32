/* HDFS or AFS by the user's own command: `hadoop fs -Dkey=value ... -ls path`. Only options of all
 * versions of hadoop are used: -ls, -cat, -put, -mkdir, -mv, -rm. (Not -test: it answers "no" with
 * status 1, and so does a command that cannot run.) Files are uploaded under a temporary name and
 * renamed. Every call starts a Java machine, so many files are passed to one call. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "fs/child.h"
#include "fs/fs.h"
#include "fs/http.h"

#define WORDS_MAX 64
#define SHOWN_BYTES 700     /* bytes of the command's standard error in a message */
#define COMMAND_SECONDS 600 /* a Java machine may take long to start, and a put is silent */

/* The arguments of a command; each is owned. */
struct hadoop_command {
    char *words[WORDS_MAX + 1];
    int count;
};

static void add_word(struct hadoop_command *c, const char *word)
{
    if (c->count < WORDS_MAX)
        c->words[c->count++] = mem_strdup_or_die(word);
}

static void add_option(struct hadoop_command *c, const char *key, size_t key_len, const char *value,
                       size_t value_len)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "-D%.*s=%.*s", (int)key_len, key, (int)value_len, value);
    add_word(c, b.data);
    buf_deinit(&b);
}

static void command_init(struct hadoop_command *c, const struct fs *f, const char *verb)
{
    const struct fs_settings *s = &f->settings;
    *c = (struct hadoop_command){0};
    add_word(c, s->hadoop_bin[0] ? s->hadoop_bin : "hadoop");
    add_word(c, "fs");
    if (s->uri[0])
        add_option(c, "fs.default.name", 15, s->uri, strlen(s->uri));
    if (s->user[0]) {
        struct buf ugi = BUF_INIT;
        buf_printf(&ugi, "%s,%s", s->user, s->passwd);
        add_option(c, "hadoop.job.ugi", 14, ugi.data, ugi.len);
        buf_deinit(&ugi);
    }
    for (const char *line = s->options; *line;) {
        size_t n = strcspn(line, "\n"), key = strcspn(line, "=");
        if (n > key)
            add_option(c, line, key, line + key + 1, n - key - 1);
        line += n + (line[n] == '\n');
    }
    add_word(c, verb);
}

static void command_deinit(struct hadoop_command *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->words[i]);
}

static enum skiff_status start(struct hadoop_command *c, struct child *child, const char *path,
                               struct skiff_error *err)
{
    enum skiff_status status = child_start(child, c->words, err);
    if (status == SKIFF_NOT_FOUND)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there is no command %s; set SKIFF_HADOOP_BIN (or hadoop_bin) to "
                         "hadoop's, or SKIFF_WEBHDFS_ENDPOINT=http://namenode:9870 to go without",
                         path, c->words[0]);
    return status < 0 ? error_prefix(err, status, "%s", path) : SKIFF_OK;
}

/* Runs it; what it prints is added to out (may be NULL), its standard error to errors. */
static enum skiff_status run(struct hadoop_command *c, const char *path, struct buf *out,
                             struct buf *errors, int *code, struct skiff_error *err)
{
    struct child child;
    char text[8192];
    size_t got = 1;
    int seconds = http_stall_seconds() > COMMAND_SECONDS ? http_stall_seconds() : COMMAND_SECONDS;
    enum skiff_status status = start(c, &child, path, err);
    while (status == SKIFF_OK && got) {
        status = child_read(&child, path, seconds, NULL, text, sizeof text, &got, err);
        if (status == SKIFF_OK && out && out->len < HTTP_BODY_MAX)
            buf_add(out, text, got);
    }
    if (status == SKIFF_OK)
        *code = child_end(&child, errors);
    else
        child_close(&child);
    command_deinit(c);
    return status;
}

/* "ls: `/a/b': No such file or directory", and its like of other versions. What a script that
 * starts Java says of a file of its own is no answer. */
static bool says_missing(const char *path, const char *verb, const struct buf *errors)
{
    struct buf start = BUF_INIT;
    buf_printf(&start, "%s: ", verb + 1);
    const char *at = errors->len ? strstr(errors->data, start.data) : NULL;
    bool missing = at && strstr(at, fs_path_of(path)) &&
                   (strstr(at, "No such file") || strstr(at, "does not exist"));
    buf_deinit(&start);
    return missing;
}

/* The end of it, for a message. */
static const char *last_errors(const struct buf *errors)
{
    if (!errors->len)
        return "(no error output)";
    return errors->len > SHOWN_BYTES ? errors->data + (errors->len - SHOWN_BYTES) : errors->data;
}

static enum skiff_status refused(const char *path, const char *verb, int code, const char *errors,
                                 struct skiff_error *err)
{
    bool cannot_run = code == 126 || code == 127;
    return error_set(err, SKIFF_IO, "%s: hadoop fs %s ended with status %d: %s%s", path, verb, code,
                     errors,
                     cannot_run ? "; the hadoop command cannot run here: try it by hand" : "");
}

static enum skiff_status failed(const char *path, const char *verb, int code,
                                const struct buf *errors, struct skiff_error *err)
{
    if (code != 126 && code != 127 && says_missing(path, verb, errors))
        return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder (%s)", path,
                         last_errors(errors));
    return refused(path, verb, code, last_errors(errors), err);
}

/* A command with one or two paths that must succeed. */
static enum skiff_status or_die(const struct fs *f, const char *path, const char *verb,
                                const char *flag, const char *first, const char *second,
                                struct buf *out, struct skiff_error *err)
{
    struct hadoop_command c;
    struct buf errors = BUF_INIT;
    int code = 0;
    command_init(&c, f, verb);
    if (flag)
        add_word(&c, flag);
    add_word(&c, first);
    if (second)
        add_word(&c, second);
    enum skiff_status status = run(&c, path, out, &errors, &code, err);
    if (status == SKIFF_OK && code)
        status = failed(path, verb, code, &errors, err);
    buf_deinit(&errors);
    return status;
}

/* "-rw-r--r--   3 me us  120 2026-01-31 10:00 hdfs://h/a/b c": false for other lines. */
static bool parse_line(const char *line, size_t n, struct fs_stat *st, const char **path,
                       size_t *path_len)
{
    const char *at = line, *end = line + n;
    const char *word[8];
    for (int i = 0; i < 8; i++) {
        while (at < end && *at == ' ')
            at++;
        if (at == end)
            return false;
        word[i] = at;
        while (i < 7 && at < end && *at != ' ')
            at++;
    }
    *st = (struct fs_stat){.folder = *line == 'd', .size = strtoll(word[4], NULL, 10)};
    *path = word[7];
    *path_len = (size_t)(end - *path);
    return strchr("-d", *line) != NULL;
}

/* Is it the same path? Each may have a scheme and a host, or none. */
static bool is_same(const char *at, size_t len, const char *path)
{
    struct buf line = BUF_INIT;
    buf_add(&line, at, len);
    bool same = !strcmp(fs_path_of(line.data), fs_path_of(path));
    buf_deinit(&line);
    return same;
}

/* *is_file: the only line is that of the path itself. */
static enum skiff_status list(const struct fs *f, const char *path, struct fs_list *out,
                              bool *is_file, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    *is_file = false;
    enum skiff_status status = or_die(f, path, "-ls", NULL, path, NULL, &text, err);
    const char *line = status == SKIFF_OK && text.len ? text.data : "";
    while (*line) {
        size_t n = strcspn(line, "\n"), len;
        struct fs_stat st;
        const char *at;
        if (parse_line(line, n, &st, &at, &len)) {
            const char *slash = memrchr(at, '/', len), *name = slash ? slash + 1 : at;
            *is_file = !st.folder && is_same(at, len, path);
            fs_list_add(out, *is_file ? NULL : path, name, (size_t)(at + len - name), &st);
        }
        line += n + (line[n] == '\n');
    }
    *is_file = *is_file && out->count == 1;
    buf_deinit(&text);
    return status;
}

static enum skiff_status hadoop_list(const struct fs *f, const char *path, struct fs_list *out,
                                     struct skiff_error *err)
{
    bool is_file;
    TRY(list(f, path, out, &is_file, err));
    return is_file ? error_set(err, SKIFF_INVALID, "%s: is a file, a folder was expected", path)
                   : SKIFF_OK;
}

static enum skiff_status hadoop_stat(const struct fs *f, const char *path, struct fs_stat *out,
                                     struct skiff_error *err)
{
    struct fs_list in = {0};
    bool is_file;
    enum skiff_status status = list(f, path, &in, &is_file, err);
    if (status == SKIFF_OK)
        *out = is_file ? in.entries[0].stat : (struct fs_stat){.folder = true};
    fs_list_deinit(&in);
    return status;
}

/* ---- reading ---- */

struct cat_reader {
    struct fs_reader base;
    struct child child;
    char *path;
    const atomic_bool *stop;
};

static enum skiff_status cat_read(struct fs_reader *base, void *buf, size_t n, size_t *got,
                                  struct skiff_error *err)
{
    struct cat_reader *r = (struct cat_reader *)base;
    struct buf errors = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    *got = 0;
    if (!r->child.pid)
        return SKIFF_OK;
    int seconds = http_stall_seconds();
    TRY(child_read(&r->child, r->path, seconds, r->stop, buf, n, got, err));
    if (*got == 0) {
        int code = child_end(&r->child, &errors);
        if (code)
            status = failed(r->path, "-cat", code, &errors, err);
        buf_deinit(&errors);
    }
    return status;
}

static void cat_close(struct fs_reader *base)
{
    struct cat_reader *r = (struct cat_reader *)base;
    child_close(&r->child);
    free(r->path);
    free(r);
}

static const struct fs_reader_class cat_class = {cat_read, cat_close};

static enum skiff_status hadoop_open(const struct fs *f, const char *path, const atomic_bool *stop,
                                     struct fs_reader **out, struct skiff_error *err)
{
    struct hadoop_command c;
    struct child child;
    command_init(&c, f, "-cat");
    add_word(&c, path);
    enum skiff_status status = start(&c, &child, path, err);
    command_deinit(&c);
    if (status < 0)
        return status;
    struct cat_reader *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct fs_reader){&cat_class, -1};
    r->child = child;
    r->path = mem_strdup_or_die(path);
    r->stop = stop;
    *out = &r->base;
    return SKIFF_OK;
}

/* ---- changing ---- */

static enum skiff_status hadoop_remove(const struct fs *f, const char *path, bool folder,
                                       struct skiff_error *err)
{
    return or_die(f, path, "-rm", folder ? "-r" : NULL, path, NULL, NULL, err);
}

static enum skiff_status move(const struct fs *f, const char *from, const char *to,
                              struct skiff_error *err)
{
    return or_die(f, from, "-mv", NULL, from, to, NULL, err);
}

/* The command does not replace files: rename the old file first. */
static enum skiff_status replace(const struct fs *f, const char *from, const char *to,
                                 struct skiff_error *err)
{
    struct buf aside = BUF_INIT;
    buf_printf(&aside, "%s" FS_ASIDE, to);
    enum skiff_status status = move(f, to, aside.data, err);
    if (status < 0 && hadoop_remove(f, aside.data, false, NULL) == SKIFF_OK) /* an older one */
        status = move(f, to, aside.data, err);
    if (status == SKIFF_OK) {
        status = move(f, from, to, err);
        if (status < 0)
            (void)move(f, aside.data, to, NULL);
        else
            (void)hadoop_remove(f, aside.data, false, NULL);
    }
    buf_deinit(&aside);
    return status;
}

/* Usually the target does not exist: one call. */
static enum skiff_status hadoop_rename(const struct fs *f, const char *from, const char *to,
                                       bool replaces, const struct fs_stat *known,
                                       struct skiff_error *err)
{
    struct skiff_error why = {0};
    enum skiff_status status = move(f, from, to, &why);
    if (status < 0 && replaces && strstr(why.message, "File exists"))
        return replace(f, from, to, err);
    if (status < 0 && err)
        *err = why;
    return status;
}

static enum skiff_status hadoop_mkdirs(const struct fs *f, const char *path,
                                       struct skiff_error *err)
{
    return or_die(f, path, "-mkdir", "-p", path, NULL, NULL, err);
}

/* -mv does not create folders: create them only after a failure, as every call takes a second. */
static enum skiff_status put_as(const struct fs *f, const char *from, const char *to,
                                struct skiff_error *err)
{
    const char *slash = strrchr(to, '/');
    enum skiff_status status = or_die(f, to, "-put", NULL, from, to, NULL, err);
    if (status == SKIFF_OK)
        return SKIFF_OK;
    char *folder = mem_strdup_or_die(to);
    struct fs_stat st;
    folder[slash > fs_path_of(to) ? slash - to : slash - to + 1] = 0;
    if (hadoop_stat(f, folder, &st, NULL) == SKIFF_NOT_FOUND) { /* else something else is wrong */
        status = hadoop_mkdirs(f, folder, err);
        if (status == SKIFF_OK)
            status = or_die(f, to, "-put", NULL, from, to, NULL, err);
    }
    free(folder);
    return status;
}

/* The command wants a name: that of the descriptor's file. */
static enum skiff_status hadoop_put(const struct fs *f, int fd, int64_t size, const char *path,
                                    struct skiff_error *err)
{
    struct buf temporary = BUF_INIT, link = BUF_INIT;
    char from[4096];
    uint64_t random;
    secret_random(&random, sizeof random);
    buf_printf(&temporary, "%s._skiff_%016llx", path, (unsigned long long)random);
    buf_printf(&link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link.data, from, sizeof from - 1);
    from[n < 0 ? 0 : n] = 0;
    enum skiff_status status = n < 0 ? error_set_sys(err, "%s: cannot name its file here", path)
                                     : put_as(f, from, temporary.data, err);
    if (status == SKIFF_OK)
        status = hadoop_rename(f, temporary.data, path, true, NULL, err);
    if (status < 0)
        (void)hadoop_remove(f, temporary.data, false, NULL);
    buf_deinit(&temporary);
    buf_deinit(&link);
    return status;
}

/* ---- many at once ---- */

#define BATCH 32 /* paths in one command */

static bool one_is_missing(const struct buf *line, const char *verb, const char *const *paths,
                           int n)
{
    for (int i = 0; i < n; i++)
        if (says_missing(paths[i], verb, line))
            return true;
    return false;
}

/* "rm: ..." or "-rm: ...": other lines are of the log. */
static bool is_complaint(const struct buf *line, const char *verb)
{
    const char *at = line->data + (*line->data == '-');
    size_t n = strlen(verb + 1);
    return !strncmp(at, verb + 1, n) && at[n] == ':';
}

/* Does it complain of missing paths alone? Else its first other complaint is added to `other`. */
static bool only_missing(const struct buf *errors, const char *verb, const char *const *paths,
                         int n, struct buf *other)
{
    bool any = false;
    for (const char *at = errors->len ? errors->data : "", *end; *at && !other->len; at = end) {
        struct buf line = BUF_INIT;
        const char *next = strstr(at, CHILD_LINE);
        end = next ? next + strlen(CHILD_LINE) : at + strlen(at);
        buf_add(&line, at, (size_t)((next ? next : end) - at));
        bool missing = one_is_missing(&line, verb, paths, n);
        any |= missing;
        if (!missing && is_complaint(&line, verb))
            buf_str(other, line.data);
        buf_deinit(&line);
    }
    return any && !other->len;
}

/* One command with many paths and one final argument (may be NULL). *missing: it failed only
 * because some of the paths do not exist; the others are done. */
static enum skiff_status batch(const struct fs *f, const char *verb, const char *const *paths,
                               int n, const char *target, bool *missing, struct skiff_error *err)
{
    struct hadoop_command c;
    struct buf errors = BUF_INIT, other = BUF_INIT;
    int code = 0;
    command_init(&c, f, verb);
    for (int i = 0; i < n; i++)
        add_word(&c, paths[i]);
    if (target)
        add_word(&c, target);
    enum skiff_status status = run(&c, paths[0], NULL, &errors, &code, err);
    *missing = status == SKIFF_OK && code && only_missing(&errors, verb, paths, n, &other);
    if (status == SKIFF_OK && *missing)
        status = error_set(err, SKIFF_NOT_FOUND, "%s: some files are not there (%s)", paths[0],
                           last_errors(&errors));
    else if (status == SKIFF_OK && code)
        status = refused(paths[0], verb, code, other.len ? other.data : last_errors(&errors), err);
    buf_deinit(&errors);
    buf_deinit(&other);
    return status;
}

/* The same with any number of paths. */
static enum skiff_status each_path(const struct fs *f, const char *verb, const char *const *paths,
                                   int n, const char *target, bool *missing,
                                   struct skiff_error *err)
{
    enum skiff_status first = SKIFF_OK;
    *missing = false;
    for (int from = 0; from < n; from += BATCH) {
        int count = n - from < BATCH ? n - from : BATCH;
        enum skiff_status status = batch(f, verb, paths + from, count, target, missing, err);
        if (status < 0 && !*missing)
            return status;
        first = first < 0 ? first : status;
    }
    *missing = first < 0;
    return first;
}

static enum skiff_status hadoop_remove_all(const struct fs *f, const char *const *paths, int n,
                                           struct skiff_error *err)
{
    bool missing;
    enum skiff_status status = each_path(f, "-rm", paths, n, NULL, &missing, err);
    return missing ? SKIFF_OK : status;
}

static enum skiff_status hadoop_put_folder(const struct fs *f, const char *here, const char *to,
                                           struct skiff_error *err)
{
    return put_as(f, here, to, err);
}

/* Is none of them there any more? */
static bool all_moved(const struct fs *f, const struct fs_move *moves, int n)
{
    struct fs_stat st;
    for (int i = 0; i < n; i++)
        if (hadoop_stat(f, moves[i].from, &st, NULL) != SKIFF_NOT_FOUND)
            return false;
    return true;
}

/* Moves files into one folder under the same names; existing targets are removed first. */
static enum skiff_status replace_in(const struct fs *f, const char *folder,
                                    const struct fs_move *moves, int n, struct skiff_error *err)
{
    const char **old = mem_alloc_or_die(sizeof *old * (size_t)n),
               **from = mem_alloc_or_die(sizeof *from * (size_t)n);
    struct fs_list in = {0};
    struct buf target = BUF_INIT;
    int olds = 0;
    bool is_file, missing;
    enum skiff_status status;
    buf_printf(&target, "%s/", folder);
    TRY_OUT(list(f, folder, &in, &is_file, err));
    fs_list_sort(&in);
    for (int i = 0; i < n; i++) {
        from[i] = moves[i].from;
        if (fs_list_find(&in, moves[i].to))
            old[olds++] = moves[i].to;
    }
    TRY_OUT(hadoop_remove_all(f, old, olds, err));
    status = each_path(f, "-mv", from, n, target.data, &missing, err);
    if (missing && all_moved(f, moves, n)) /* another process has */
        status = SKIFF_OK;
out:
    free(old);
    free(from);
    fs_list_deinit(&in);
    buf_deinit(&target);
    return status;
}

/* Runs of moves into the same folder. */
static enum skiff_status hadoop_replace_all(const struct fs *f, const struct fs_move *moves, int n,
                                            struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int at = 0, end; at < n && status == SKIFF_OK; at = end) {
        size_t len = (size_t)(strrchr(moves[at].to, '/') - moves[at].to);
        for (end = at + 1; end < n && !strncmp(moves[end].to, moves[at].to, len + 1) &&
                           !strchr(moves[end].to + len + 1, '/');)
            end++;
        char *folder = mem_strdup_or_die(moves[at].to);
        folder[len] = 0;
        status = replace_in(f, folder, moves + at, end - at, err);
        free(folder);
    }
    return status;
}

const struct fs_class fs_hadoop = {.name = "hadoop",
                                   .rename_is_atomic = true,
                                   .at_a_time = 2,
                                   .stat = hadoop_stat,
                                   .list = hadoop_list,
                                   .open = hadoop_open,
                                   .put = hadoop_put,
                                   .mkdirs = hadoop_mkdirs,
                                   .rename = hadoop_rename,
                                   .remove = hadoop_remove,
                                   .put_folder = hadoop_put_folder,
                                   .replace_all = hadoop_replace_all,
                                   .remove_all = hadoop_remove_all};
