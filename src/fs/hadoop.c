/* HDFS or AFS by the user's own command: `hadoop fs -Dkey=value ... -ls path`. Only what all
 * versions of hadoop know is used: -test, -ls, -cat, -put, -mkdir, -mv, -rm. Files are put under a
 * name of their own and renamed. */
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
#define COMMAND_SECONDS 600 /* a Java machine may take long to start, and a put is silent */

/* The words of a command; each is owned. */
struct command {
    char *words[WORDS_MAX + 1];
    int count;
};

static void add_word(struct command *c, const char *word)
{
    if (c->count < WORDS_MAX)
        c->words[c->count++] = mem_must_strdup(word);
}

static void add_option(struct command *c, const char *key, size_t key_len, const char *value,
                       size_t value_len)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "-D%.*s=%.*s", (int)key_len, key, (int)value_len, value);
    add_word(c, b.data);
    buf_deinit(&b);
}

static void command_init(struct command *c, const struct fs *f, const char *verb)
{
    const struct fs_settings *s = &f->settings;
    *c = (struct command){0};
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

static void command_deinit(struct command *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->words[i]);
}

static enum skiff_status start(struct command *c, struct child *child, const char *path,
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

/* Runs it; what it prints is added to out (may be NULL), its last error line to said. */
static enum skiff_status run(struct command *c, const char *path, struct buf *out, struct buf *said,
                             int *code, struct skiff_error *err)
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
        *code = child_end(&child, said);
    else
        child_close(&child);
    command_deinit(c);
    return status;
}

static enum skiff_status failed(const char *path, const char *verb, int code,
                                const struct buf *said, struct skiff_error *err)
{
    bool missing = said->len && strstr(said->data, "No such file");
    return error_set(err, missing ? SKIFF_NOT_FOUND : SKIFF_IO,
                     "%s: hadoop fs %s ended with status %d: %s", path, verb, code,
                     said->len ? said->data : "(it said nothing)");
}

/* A command with one or two paths that must succeed. */
static enum skiff_status must(const struct fs *f, const char *path, const char *verb,
                              const char *flag, const char *first, const char *second,
                              struct buf *out, struct skiff_error *err)
{
    struct command c;
    struct buf said = BUF_INIT;
    int code = 0;
    command_init(&c, f, verb);
    if (flag)
        add_word(&c, flag);
    add_word(&c, first);
    if (second)
        add_word(&c, second);
    enum skiff_status status = run(&c, path, out, &said, &code, err);
    if (status == SKIFF_OK && code)
        status = failed(path, verb, code, &said, err);
    buf_deinit(&said);
    return status;
}

/* hadoop fs -test: 0 is yes, 1 is no. */
static enum skiff_status test(const struct fs *f, const char *path, const char *flag, bool *out,
                              struct skiff_error *err)
{
    struct command c;
    struct buf said = BUF_INIT;
    int code = 0;
    command_init(&c, f, "-test");
    add_word(&c, flag);
    add_word(&c, path);
    enum skiff_status status = run(&c, path, NULL, &said, &code, err);
    if (status == SKIFF_OK && code > 1)
        status = failed(path, "-test", code, &said, err);
    *out = code == 0;
    buf_deinit(&said);
    return status;
}

/* "-rw-r--r--   3 me us  120 2026-01-31 10:00 hdfs://h/a/b c": false for other lines. */
static bool parse_line(const char *line, size_t n, struct fs_stat *st, const char **name,
                       size_t *name_len)
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
    const char *slash = memrchr(word[7], '/', (size_t)(end - word[7]));
    *name = slash ? slash + 1 : word[7];
    *name_len = (size_t)(end - *name);
    return strchr("-d", *line) && *name_len > 0;
}

static enum skiff_status hadoop_list(const struct fs *f, const char *path, struct fs_list *out,
                                     struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = must(f, path, "-ls", NULL, path, NULL, &text, err);
    const char *line = status == SKIFF_OK && text.len ? text.data : "";
    while (*line) {
        size_t n = strcspn(line, "\n"), len;
        struct fs_stat st;
        const char *name;
        if (parse_line(line, n, &st, &name, &len))
            fs_list_add(out, path, name, len, &st);
        line += n + (line[n] == '\n');
    }
    buf_deinit(&text);
    return status;
}

static enum skiff_status hadoop_stat(const struct fs *f, const char *path, struct fs_stat *out,
                                     struct skiff_error *err)
{
    bool there, folder;
    struct fs_list self = {0};
    TRY(test(f, path, "-e", &there, err));
    if (!there)
        return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder", path);
    TRY(test(f, path, "-d", &folder, err));
    *out = (struct fs_stat){.folder = folder};
    if (folder)
        return SKIFF_OK;
    enum skiff_status status = hadoop_list(f, path, &self, err); /* a file: its own line */
    if (status == SKIFF_OK && self.count == 1)
        out->size = self.entries[0].stat.size;
    fs_list_deinit(&self);
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
    struct buf said = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    *got = 0;
    if (!r->child.pid)
        return SKIFF_OK;
    int seconds = http_stall_seconds();
    TRY(child_read(&r->child, r->path, seconds, r->stop, buf, n, got, err));
    if (*got == 0) {
        int code = child_end(&r->child, &said);
        if (code)
            status = failed(r->path, "-cat", code, &said, err);
        buf_deinit(&said);
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
    struct command c;
    struct child child;
    command_init(&c, f, "-cat");
    add_word(&c, path);
    enum skiff_status status = start(&c, &child, path, err);
    command_deinit(&c);
    if (status < 0)
        return status;
    struct cat_reader *r = mem_must(sizeof *r);
    r->base = (struct fs_reader){&cat_class, -1};
    r->child = child;
    r->path = mem_must_strdup(path);
    r->stop = stop;
    *out = &r->base;
    return SKIFF_OK;
}

/* ---- changing ---- */

static enum skiff_status hadoop_remove(const struct fs *f, const char *path, bool folder,
                                       struct skiff_error *err)
{
    return must(f, path, "-rm", folder ? "-r" : NULL, path, NULL, NULL, err);
}

static enum skiff_status move(const struct fs *f, const char *from, const char *to,
                              struct skiff_error *err)
{
    return must(f, from, "-mv", NULL, from, to, NULL, err);
}

/* The command does not replace: the old file goes aside first. */
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

static enum skiff_status hadoop_rename(const struct fs *f, const char *from, const char *to,
                                       bool replaces, struct skiff_error *err)
{
    bool there = false;
    if (replaces) {
        TRY(test(f, from, "-e", &there, err));
        if (!there)
            return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder", from);
        TRY(test(f, to, "-e", &there, err));
    }
    return there ? replace(f, from, to, err) : move(f, from, to, err);
}

static enum skiff_status hadoop_mkdirs(const struct fs *f, const char *path,
                                       struct skiff_error *err)
{
    return must(f, path, "-mkdir", "-p", path, NULL, NULL, err);
}

/* The command makes no folders: it is asked to when it fails, as every call takes a second. */
static enum skiff_status put_as(const struct fs *f, const char *from, const char *temporary,
                                const char *path, struct skiff_error *err)
{
    const char *slash = strrchr(path, '/');
    if (must(f, path, "-put", NULL, from, temporary, NULL, err) == SKIFF_OK)
        return SKIFF_OK;
    char *folder = mem_must_strdup(path);
    bool there = true;
    folder[slash > fs_path_of(path) ? slash - path : slash - path + 1] = 0;
    enum skiff_status status = test(f, folder, "-e", &there, NULL) < 0 || there
                                   ? SKIFF_IO /* something else was wrong */
                                   : hadoop_mkdirs(f, folder, err);
    if (status == SKIFF_OK)
        status = must(f, path, "-put", NULL, from, temporary, NULL, err);
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
                                     : put_as(f, from, temporary.data, path, err);
    if (status == SKIFF_OK)
        status = hadoop_rename(f, temporary.data, path, true, err);
    if (status < 0)
        (void)hadoop_remove(f, temporary.data, false, NULL);
    buf_deinit(&temporary);
    buf_deinit(&link);
    return status;
}

const struct fs_class fs_hadoop = {"hadoop",      true,          hadoop_stat,
                                   hadoop_list,   hadoop_open,   hadoop_put,
                                   hadoop_mkdirs, hadoop_rename, hadoop_remove};
