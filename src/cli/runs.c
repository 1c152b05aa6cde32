#include "cli/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/checkpoint.h"
#include "fs/fs.h"
#include "store/leftover.h"

#define SHORT_ID 8 /* letters of an id that people see */

/* ---- epochs ---- */

static void read_epoch(struct listed_epoch *e, const char *folder, int epoch)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%d", folder, epoch);
    *e = (struct listed_epoch){.epoch = epoch};
    if (model_note_read(path.data, &e->note, NULL) < 0 || !e->note.known)
        e->note = (struct model_note){.epoch = epoch};
    buf_deinit(&path);
}

static void choose_newest(struct run_list *l)
{
    const char *newest = "";
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->epochs[i].note.time, newest) > 0) {
            newest = l->epochs[i].note.time;
            snprintf(l->run, sizeof l->run, "%s", l->epochs[i].note.run);
        }
}

/* The ids that begin so: how many; the last one goes to l->run. */
static int choose_wanted(struct run_list *l, const char *wanted)
{
    int found = 0;
    for (int i = 0; i < l->n; i++) {
        const char *run = l->epochs[i].note.run;
        if (!*run || strncmp(run, wanted, strlen(wanted)) != 0 || !strcmp(run, l->run))
            continue;
        snprintf(l->run, sizeof l->run, "%s", run);
        found++;
    }
    return found;
}

static enum skiff_status no_run(const struct run_list *l, const char *folder, const char *wanted,
                                int found, struct skiff_error *err)
{
    struct buf ids = BUF_INIT;
    for (int i = 0; i < l->n; i++) {
        const char *run = l->epochs[i].note.run;
        if (*run && (!ids.data || !strstr(ids.data, run)))
            buf_printf(&ids, "%s%s", ids.len ? ", " : "", run);
    }
    enum skiff_status status = error_set(
        err, SKIFF_NOT_FOUND, "--run %s: %s runs in %s have an id that begins so; there %s", wanted,
        found ? "several" : "no", folder, ids.len ? "are " : "is none");
    if (status < 0 && err && ids.len) {
        size_t n = strlen(err->message);
        snprintf(err->message + n, sizeof err->message - n, "%s", ids.data);
    }
    buf_deinit(&ids);
    return status;
}

enum skiff_status run_list_read(struct run_list *l, const char *folder, const char *wanted,
                                struct skiff_error *err)
{
    int *epochs, n;
    *l = (struct run_list){0};
    enum skiff_status listed = checkpoint_list(folder, &epochs, &n, err);
    l->epochs = mem_must((size_t)(n + 1) * sizeof *l->epochs);
    for (int i = n - 1; i >= 0; i--)
        if (checkpoint_exists(folder, epochs[i]))
            read_epoch(&l->epochs[l->n++], folder, epochs[i]);
    free(epochs);
    if (listed < 0)
        run_list_deinit(l);
    TRY(listed);
    if (!wanted) {
        choose_newest(l);
        return SKIFF_OK;
    }
    int found = choose_wanted(l, wanted);
    if (found == 1)
        return SKIFF_OK;
    enum skiff_status status = no_run(l, folder, wanted, found, err);
    run_list_deinit(l);
    return status;
}

void run_list_deinit(struct run_list *l)
{
    free(l->epochs);
    *l = (struct run_list){0};
}

static bool is_chosen(const struct run_list *l, const struct listed_epoch *e)
{
    return !e->note.run[0] || !strcmp(e->note.run, l->run);
}

const struct listed_epoch *run_list_find(const struct run_list *l, int epoch)
{
    for (int i = 0; i < l->n; i++)
        if (l->epochs[i].epoch == epoch && is_chosen(l, &l->epochs[i]))
            return &l->epochs[i];
    return NULL;
}

int run_list_before(const struct run_list *l, int epoch)
{
    for (int i = l->n - 1; i >= 0; i--)
        if (l->epochs[i].epoch < epoch && is_chosen(l, &l->epochs[i]))
            return l->epochs[i].epoch;
    return -1;
}

/* Epochs i up to `end` of the list, which are of one run. */
static void print_others(const struct run_list *l, int i, int end, struct buf *out)
{
    const struct model_note *note = &l->epochs[i].note;
    buf_printf(out, "%sepoch%s %d", out->len ? "; " : "", end - i > 1 ? "s" : "",
               l->epochs[i].epoch);
    if (end - i > 1)
        buf_printf(out, " to %d", l->epochs[end - 1].epoch);
    buf_printf(out, " %s of another run", end - i > 1 ? "are" : "is");
    buf_printf(out, " (%.*s, saved %s)", SHORT_ID, note->run, l->epochs[end - 1].note.time);
}

void run_list_others(const struct run_list *l, struct buf *out)
{
    for (int i = 0, end; i < l->n; i = end) {
        for (end = i + 1; end < l->n && !strcmp(l->epochs[end].note.run, l->epochs[i].note.run) &&
                          is_chosen(l, &l->epochs[end]) == is_chosen(l, &l->epochs[i]);)
            end++;
        if (!is_chosen(l, &l->epochs[i]))
            print_others(l, i, end, out);
    }
}

void run_list_warn(const struct run_list *l, const char *folder, const char *how)
{
    struct buf text = BUF_INIT;
    run_list_others(l, &text);
    if (text.len)
        log_warn("%s: %s: left out%s%s", folder, text.data, how ? "; " : "", how ? how : "");
    buf_deinit(&text);
}

int runs_remove(const char *folder)
{
    struct buf path = BUF_INIT;
    int n = 0;
    for (int epoch = INT_MAX; (epoch = checkpoint_before(folder, epoch)) >= 0;) {
        buf_reset(&path);
        buf_printf(&path, "%s/%d", folder, epoch);
        file_remove_tree(path.data);
        n += !file_exists(path.data);
    }
    buf_deinit(&path);
    return n;
}

/* ---- the lock ---- */

/* What whoever holds the lock has written, in one line. */
static void read_holder(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "re");
    snprintf(out, n, "somebody");
    if (f && fgets(out, (int)n, f))
        out[strcspn(out, "\n")] = '\0';
    if (f)
        fclose(f);
}

static enum skiff_status held(const char *folder, const char *path, struct skiff_error *err)
{
    char holder[512];
    read_holder(path, holder, sizeof holder);
    return error_set(err, SKIFF_STATE,
                     "runner.model_save_path: %s is being written to by another run: %s; wait for "
                     "it, end it, or save elsewhere (--name NAME, or -o "
                     "runner.model_save_path=FOLDER)",
                     folder, holder);
}

static bool is_named(const char *path, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void lock_tell(struct run_lock *l, const char *run)
{
    char host[256] = "?", text[512], when[32];
    struct tm tm;
    time_t now = time(NULL);
    if (!l->path)
        return;
    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    int n = snprintf(text, sizeof text, "process %d on %s, run %.*s, since %s\n", (int)getpid(),
                     host, SHORT_ID, run, when);
    /* what it says is for messages alone: a full disk does no harm */
    if (ftruncate(l->fd, 0) == 0 && pwrite(l->fd, text, (size_t)n, 0) != n)
        (void)ftruncate(l->fd, 0);
}

enum skiff_status run_lock_take(struct run_lock *l, const char *folder, const char *run,
                                struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/" RUN_LOCK_FILE, folder);
    enum skiff_status status = SKIFF_OK;
    *l = (struct run_lock){.fd = -1};
    if (fs_is_remote(folder)) { /* no locks there */
        buf_deinit(&path);
        return SKIFF_OK;
    }
    /* who ends removes the file: a lock on one that has no name any more is none */
    while (status == SKIFF_OK && !l->path) {
        l->fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (l->fd < 0 && (errno == ENOSPC || errno == EDQUOT))
            break;
        if (l->fd < 0)
            status = error_set_sys(err, "runner.model_save_path: %s cannot be opened", path.data);
        else if (flock(l->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
            status = held(folder, path.data, err);
        else if (is_named(path.data, l->fd))
            l->path = path.data;
        if (!l->path && l->fd >= 0)
            close(l->fd);
    }
    if (!l->path)
        buf_deinit(&path);
    lock_tell(l, run);
    return status;
}

void run_lock_release(struct run_lock *l)
{
    if (l->path) {
        unlink(l->path);
        lock_release(l->fd);
        free(l->path);
    }
    *l = (struct run_lock){.fd = -1};
}
