/* Donefiles of online training (online_done.h has the forms). A file is read as a whole, a line is
 * added, and the file is replaced atomically: a reader never sees half a line of ours. An
 * incomplete last line, which another program may have left, is dropped with a warning; any other
 * unreadable line is an error, because models would be lost from the list. */
#include "train/online_done.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/day.h"
#include "base/mem.h"
#include "train/online_plan.h"
#include "fs/fs.h"
#include "store/file.h"

#define PASS_MAX 100000

static const char *const file_names[] = {"donefile.txt", "base_donefile.txt", "patch_donefile.txt"};

static void file_path(const char *folder, enum done_kind kind, struct buf *out)
{
    buf_printf(out, "%s/%s", folder, file_names[kind]);
}

void done_path(const char *folder, enum done_kind kind, int day, int pass, struct buf *out)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    buf_reset(out);
    buf_printf(out, "%.*s/%08d/", (int)n, folder, day);
    if (kind == DONE_BASE)
        buf_str(out, "base");
    else
        buf_printf(out, "%s%d", kind == DONE_PATCH ? "delta-" : "",
                   pass == DONE_DAY_BEGINS ? 0 : pass);
}

/* ---- reading ---- */

static bool take_number(const char **s, int64_t *out, char end)
{
    char *stop;
    *out = strtoll(*s, &stop, 10);
    if (stop == *s || *stop != end)
        return false;
    *s = stop + (end != 0);
    return true;
}

static bool is_day(int64_t day)
{
    return day >= 0 && day <= INT_MAX && day_is_valid((int)day);
}

static bool parse_model(const char *s, struct done_line *out)
{
    int64_t day, pass, zero;
    if (!take_number(&s, &day, '\t') || !take_number(&s, &out->key, '\t'))
        return false;
    const char *tab = strchr(s, '\t');
    if (!tab || tab == s)
        return false;
    const char *rest = tab + 1;
    if (!take_number(&rest, &pass, '\t') || !take_number(&rest, &zero, 0))
        return false;
    if (!is_day(day) || pass < DONE_DAY_BEGINS || pass > PASS_MAX)
        return false;
    out->day = (int)day;
    out->pass = (int)pass;
    out->path = mem_strdup_or_die(s);
    out->path[tab - s] = 0;
    return true;
}

/* The value of a name in the JSON that PaddleRec and done_list_add write: texts only. NULL: it is
 * not there. Caller's. */
static char *json_text(const char *line, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *s = strstr(line, quoted);
    if (!s)
        return NULL;
    s += strlen(quoted);
    s += strspn(s, " ");
    if (*s++ != '"')
        return NULL;
    struct buf out = BUF_INIT;
    for (; *s && *s != '"'; s++) {
        if (*s == '\\' && s[1])
            s++;
        buf_char(&out, *s);
    }
    if (*s != '"') {
        buf_deinit(&out);
        return NULL;
    }
    return out.data ? out.data : mem_strdup_or_die("");
}

/* ".../<day>/base/000", ".../<day>/delta-<pass>/000" */
static bool parse_input(char *input, struct done_line *out)
{
    char *last = strrchr(input, '/');
    if (!last)
        return false;
    *last = 0;
    char *name = strrchr(input, '/');
    if (!name)
        return false;
    *name = 0;
    const char *slash = strrchr(input, '/'), *at = slash ? slash + 1 : input;
    int64_t day, pass = DONE_DAY_BEGINS;
    bool fine = take_number(&at, &day, 0) && is_day(day);
    *name = '/';
    at = name + 7;
    if (strcmp(name, "/base") != 0)
        fine = fine && !strncmp(name, "/delta-", 7) && take_number(&at, &pass, 0) && pass >= 0 &&
               pass <= PASS_MAX;
    if (fine) {
        out->day = (int)day;
        out->pass = (int)pass;
    }
    return fine;
}

static bool parse_json(const char *line, struct done_line *out)
{
    size_t n = strlen(line);
    char *key = json_text(line, "key"), *input = json_text(line, "input");
    bool fine = key && input && n > 2 && line[0] == '{' && line[n - 1] == '}';
    fine = fine && parse_input(input, out);
    if (fine) {
        out->key = strtoll(key, NULL, 10);
        out->path = input;
        input = NULL;
    }
    free(key);
    free(input);
    return fine;
}

static bool parse_line(enum done_kind kind, const char *line, struct done_line *out)
{
    *out = (struct done_line){0};
    return kind == DONE_MODEL ? parse_model(line, out) : parse_json(line, out);
}

static void keep_line(struct done_list *l, const struct done_line *one, const char *line)
{
    l->at = mem_grow_or_die(l->at, (size_t)(l->n + 1) * sizeof *l->at);
    l->at[l->n++] = *one;
    buf_printf(&l->text, "%s\n", line);
}

static enum skiff_status take_lines(struct done_list *l, const char *path, enum done_kind kind,
                                    char *text, struct skiff_error *err)
{
    int number = 0;
    for (char *line = text, *stop; *line; line = stop) {
        stop = line + strcspn(line, "\n");
        bool last = !*stop || !stop[1];
        if (*stop)
            *stop++ = 0;
        number++;
        struct done_line one;
        if (parse_line(kind, line, &one))
            keep_line(l, &one, line);
        else if (last && *line) {
            l->dropped = true;
            snprintf(l->warning, sizeof l->warning,
                     "%s:%d: the last line is incomplete and is ignored: \"%.80s\"", path, number,
                     line);
        } else if (*line)
            return error_set(err, SKIFF_FORMAT,
                             "%s:%d: expected %s, found \"%.80s\"; correct or remove the line",
                             path, number,
                             kind == DONE_MODEL ? "day, key, folder, pass and 0, separated by tabs"
                                                : "a JSON object with id, key and input",
                             line);
    }
    return SKIFF_OK;
}

enum skiff_status done_list_read(struct done_list *l, const char *folder, enum done_kind kind,
                                 struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    *l = (struct done_list){0};
    file_path(folder, kind, &path);
    status = file_read(path.data, &text, err);
    if (status == SKIFF_NOT_FOUND && fs_is_remote(folder)) { /* killed while it was replaced? */
        buf_str(&path, FS_ASIDE);
        status = file_read(path.data, &text, err);
    }
    if (status == SKIFF_NOT_FOUND)
        status = SKIFF_OK;
    if (status == SKIFF_OK && text.len)
        status = take_lines(l, path.data, kind, text.data, err);
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

bool done_newest(const char *folder, struct buf *path, int *day)
{
    struct done_list list;
    const struct done_line *last = NULL;
    if (done_list_read(&list, folder, DONE_MODEL, NULL) == SKIFF_OK)
        last = done_list_last(&list);
    if (last) {
        done_path(folder, DONE_MODEL, last->day, last->pass, path);
        *day = last->day;
    }
    done_list_deinit(&list);
    return last;
}

enum skiff_status done_list_repair(struct done_list *l, const char *folder, enum done_kind kind,
                                   struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    if (!l->dropped)
        return SKIFF_OK;
    file_path(folder, kind, &path);
    enum skiff_status status =
        file_write(path.data, l->text.data ? l->text.data : "", l->text.len, err);
    l->dropped = status < 0;
    buf_deinit(&path);
    return status;
}

void done_list_deinit(struct done_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->at[i].path);
    free(l->at);
    buf_deinit(&l->text);
    *l = (struct done_list){0};
}

const struct done_line *done_list_last(const struct done_list *l)
{
    return l->n ? &l->at[l->n - 1] : NULL;
}

bool done_list_has(const struct done_list *l, int day, int pass)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i].day == day && l->at[i].pass == pass)
            return true;
    return false;
}

/* ---- writing ---- */

static void put_json(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_char(out, '\\');
        if ((unsigned char)*text >= ' ')
            buf_char(out, *text);
    }
    buf_char(out, '"');
}

static void print_line(enum done_kind kind, const char *path, const struct done_add *what,
                       struct buf *out)
{
    if (kind == DONE_MODEL) {
        buf_printf(out, "%08d\t%" PRId64 "\t%s/\t%d\t0", what->day, what->key, path, what->pass);
        return;
    }
    struct buf input = BUF_INIT;
    buf_printf(&input, "%s/000", path);
    buf_printf(out, "{\"id\": \"%" PRId64 "\", \"key\": \"%" PRId64 "\", \"input\": ", what->id,
               what->key);
    put_json(out, input.data);
    buf_str(out, ", \"monitor_data\": ");
    put_json(out, what->monitor ? what->monitor : "");
    buf_char(out, '}');
    buf_deinit(&input);
}

enum skiff_status done_list_add(struct done_list *l, const char *folder, enum done_kind kind,
                                const struct done_add *what, struct skiff_error *err)
{
    struct buf file = BUF_INIT, path = BUF_INIT, line = BUF_INIT, all = BUF_INIT;
    struct done_line one;
    file_path(folder, kind, &file);
    done_path(folder, kind, what->day, what->pass, &path);
    print_line(kind, path.data, what, &line);
    buf_printf(&all, "%s%s\n", l->text.len ? l->text.data : "", line.data);
    enum skiff_status status = file_write(file.data, all.data, all.len, err);
    if (status == SKIFF_OK && parse_line(kind, line.data, &one))
        keep_line(l, &one, line.data);
    buf_deinit(&file);
    buf_deinit(&path);
    buf_deinit(&line);
    buf_deinit(&all);
    return status;
}

/* ---- removing ---- */

static void remove_empty(const char *folder)
{
    struct fs_list in = {0};
    if (!fs_is_remote(folder))
        rmdir(folder);
    else if (fs_list(NULL, folder, &in, NULL) == SKIFF_OK && !in.count)
        (void)fs_remove(NULL, folder, NULL);
    fs_list_deinit(&in);
}

static int remove_listed(const char *folder, enum done_kind kind)
{
    struct done_list l;
    struct buf path = BUF_INIT;
    int n = 0;
    (void)done_list_read(&l, folder, kind, NULL);
    for (int i = 0; i < l.n; i++) {
        done_path(folder, kind, l.at[i].day, l.at[i].pass, &path);
        bool there = file_exists(path.data);
        file_remove_tree(path.data);
        n += there && !file_exists(path.data);
        *strrchr(path.data, '/') = 0;
        remove_empty(path.data); /* when it was the last of its day */
    }
    buf_reset(&path);
    file_path(folder, kind, &path);
    file_remove_tree(path.data);
    buf_deinit(&path);
    done_list_deinit(&l);
    return n;
}

int done_remove(const char *folder)
{
    return remove_listed(folder, DONE_PATCH) + remove_listed(folder, DONE_BASE) +
           remove_listed(folder, DONE_MODEL);
}
