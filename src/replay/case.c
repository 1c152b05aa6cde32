/* Reads a recorded case: case.txt, a line `key: value` each, and the names of the folders with
 * programs, feeds and values. Numbers are checked here, so that run.c can rely on them.
 *
 * A case may come from somebody else's archive: counts are bounded, and links to folders are not
 * followed, because they may lead back up. */
#include "replay/case.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/file.h"

#define MOST_STEPS 1000000

static enum skiff_status read_number(const struct replay_case *c, const char *key, double fallback,
                                     double *out, struct skiff_error *err)
{
    const char *text = replay_case_get(c, key, NULL);
    *out = fallback;
    if (!text)
        return SKIFF_OK;
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end)
        return error_set(err, SKIFF_FORMAT, "%s/case.txt: %s must be a number, found \"%s\"",
                         c->dir, key, text);
    return SKIFF_OK;
}

/* A count: a whole number from `least` to `most`; a missing one is `least`. */
enum skiff_status replay_case_count(const struct replay_case *c, const char *key, int least,
                                    int most, int *out, struct skiff_error *err)
{
    double v;
    TRY(read_number(c, key, least, &v, err));
    if (!(v >= least && v <= most) || v != (double)(int)v)
        return error_set(err, SKIFF_FORMAT,
                         "%s/case.txt: %s must be a whole number from %d to %d, found %s", c->dir,
                         key, least, most, replay_case_get(c, key, ""));
    *out = (int)v;
    return SKIFF_OK;
}

/* Case files say at least how many steps there are, unless they only hold programs. */
static enum skiff_status read_values(struct replay_case *c, struct skiff_error *err)
{
    c->kind = replay_case_get(c, "kind", "");
    c->quirk = replay_case_get(c, "quirk", NULL);
    if (!replay_case_get(c, "steps", NULL) && strcmp(c->kind, "program"))
        return error_set(err, SKIFF_FORMAT,
                         "%s/case.txt: no line \"steps: N\" found; a recorded case has one",
                         c->dir);
    TRY(replay_case_count(c, "steps", 0, MOST_STEPS, &c->steps, err));
    TRY(replay_case_count(c, "feed_steps", 0, MOST_STEPS, &c->feed_steps, err));
    TRY(read_number(c, "rtol", 1e-5, &c->rtol, err));
    TRY(read_number(c, "atol", 1e-6, &c->atol, err));
    if (!(c->rtol >= 0) || !(c->atol >= 0))
        return error_set(err, SKIFF_FORMAT,
                         "%s/case.txt: rtol and atol must not be negative, found %g and %g", c->dir,
                         c->rtol, c->atol);
    return SKIFF_OK;
}

static void read_keys(struct replay_case *c, char *text)
{
    for (char *line = text; line && *line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *colon = strchr(line, ':');
        if (colon) {
            *colon = 0;
            char *value = colon + 1;
            while (*value == ' ')
                value++;
            size_t n = strlen(value);
            while (n && (value[n - 1] == '\r' || value[n - 1] == ' '))
                value[--n] = 0;
            str_map_put(&c->keys, line, value);
        }
        line = next;
    }
}

enum skiff_status replay_case_open(const char *dir, struct replay_case *out,
                                   struct skiff_error *err)
{
    struct replay_case *c = out;
    struct buf text = BUF_INIT;
    memset(c, 0, sizeof(*c));
    arena_init(&c->arena);
    str_map_init(&c->keys);
    c->dir = arena_strdup(&c->arena, dir);
    enum skiff_status status;
    TRY_OUT(file_read(replay_case_path(c, "case.txt"), &text, err));
    read_keys(c, arena_strndup(&c->arena, text.data ? text.data : "", text.len));
    TRY_OUT(read_values(c, err));
out:
    buf_deinit(&text);
    if (status < 0)
        replay_case_close(c);
    return status;
}

void replay_case_close(struct replay_case *c)
{
    str_map_deinit(&c->keys);
    arena_deinit(&c->arena);
}

const char *replay_case_get(const struct replay_case *c, const char *key, const char *fallback)
{
    const char *v = str_map_get(&c->keys, key);
    return v ? v : fallback;
}

bool replay_case_lists(const struct replay_case *c, const char *key, const char *word)
{
    const char *list = replay_case_get(c, key, "");
    size_t n = strlen(word);
    for (const char *p = strstr(list, word); p; p = strstr(p + 1, word))
        if ((p == list || p[-1] == ' ') && (p[n] == 0 || p[n] == ' '))
            return true;
    return false;
}

const char *replay_case_path(struct replay_case *c, const char *format, ...)
{
    char rest[4096];
    va_list ap;
    va_start(ap, format);
    vsnprintf(rest, sizeof(rest), format, ap);
    va_end(ap);
    return arena_printf(&c->arena, "%s/%s", c->dir, rest);
}

static void list_add(struct case_files *l, const char *name)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 32;
        l->names = mem_grow_or_die(l->names, (size_t)l->cap * sizeof(*l->names));
    }
    l->names[l->n++] = mem_strdup_or_die(name);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Links to folders below are not followed: they may lead back up. */
static enum skiff_status list_below(const char *dir, const char *prefix, struct case_files *out,
                                    struct skiff_error *err)
{
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT)
        return SKIFF_OK;
    if (!d)
        return error_set_sys(err, "cannot list %s", dir);
    enum skiff_status status = SKIFF_OK;
    for (struct dirent *e = readdir(d); e && status == SKIFF_OK; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        struct buf path = BUF_INIT, name = BUF_INIT;
        buf_printf(&path, "%s/%s", dir, e->d_name);
        buf_printf(&name, "%s%s", prefix, e->d_name);
        bool folder = file_is_dir(path.data);
        if (folder && !is_link(path.data)) {
            buf_char(&name, '/');
            status = list_below(path.data, name.data, out, err);
        } else if (!folder) {
            list_add(out, name.data);
        }
        buf_deinit(&path);
        buf_deinit(&name);
    }
    closedir(d);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum skiff_status case_files_read(const char *dir, struct case_files *out, struct skiff_error *err)
{
    *out = (struct case_files){0};
    TRY(list_below(dir, "", out, err));
    if (out->n)
        qsort(out->names, (size_t)out->n, sizeof(*out->names), by_name);
    return SKIFF_OK;
}

void case_files_deinit(struct case_files *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->names[i]);
    free(l->names);
    *l = (struct case_files){0};
}
