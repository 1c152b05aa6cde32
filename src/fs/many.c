/* Many files of one file system, several at a time: a request mostly waits for its response, and a
 * command for its Java machine. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "fs/fs.h"

#define THREADS_MAX 8

struct work {
    int n;
    atomic_int next; /* next index to be taken; n: no more */
    enum skiff_status (*run)(void *arg, int i, struct skiff_error *err);
    void *arg;
    pthread_mutex_t lock; /* for what follows */
    enum skiff_status status;
    struct skiff_error why;
};

static void *work(void *arg)
{
    struct work *w = arg;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->n;) {
        struct skiff_error why = {0};
        enum skiff_status status = w->run(w->arg, i, &why);
        if (status == SKIFF_OK)
            continue;
        atomic_store(&w->next, w->n);
        pthread_mutex_lock(&w->lock);
        if (w->status == SKIFF_OK) {
            w->status = status;
            w->why = why;
        }
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

enum skiff_status fs_each(int n, int threads,
                          enum skiff_status (*run)(void *arg, int i, struct skiff_error *err),
                          void *arg, struct skiff_error *err)
{
    struct work w = {.n = n, .run = run, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct thread others[THREADS_MAX - 1] = {0};
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (int i = 0; i + 1 < threads && i + 1 < n; i++)
        (void)thread_start(&others[i], "files", i, work, &w,
                           NULL); /* fewer threads can do it, too */
    work(&w);
    for (int i = 0; i < THREADS_MAX - 1; i++)
        thread_join(&others[i]);
    pthread_mutex_destroy(&w.lock);
    if (w.status < 0 && err)
        *err = w.why;
    return w.status;
}

enum skiff_status fs_send_folder(const struct fs_settings *s, const char *here, const char *to,
                                 struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, to, &f, err));
    return f.class->put_folder ? f.class->put_folder(&f, here, to, err)
                               : fs_copy(s, here, to, NULL, err);
}

struct many {
    const struct fs *f;
    const struct fs_move *moves;
    const char *const *paths;
};

static enum skiff_status replace_one(void *arg, int i, struct skiff_error *err)
{
    const struct many *m = arg;
    const struct fs_move *move = &m->moves[i];
    enum skiff_status status =
        m->f->class->rename(m->f, move->from, move->to, true, &move->stat, err);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

enum skiff_status fs_replace_all(const struct fs_settings *s, const struct fs_move *moves, int n,
                                 struct skiff_error *err)
{
    struct fs f;
    if (!n)
        return SKIFF_OK;
    TRY(fs_of(s, moves[0].from, &f, err));
    struct many m = {.f = &f, .moves = moves};
    return f.class->replace_all ? f.class->replace_all(&f, moves, n, err)
                                : fs_each(n, f.class->at_a_time, replace_one, &m, err);
}

/* Local files must exist to be removed; S3 and WebHDFS ignore missing ones. */
static enum skiff_status remove_one(void *arg, int i, struct skiff_error *err)
{
    const struct many *m = arg;
    if (m->f->class == &fs_local)
        return fs_remove(NULL, m->paths[i], err);
    return m->f->class->remove(m->f, m->paths[i], false, err);
}

enum skiff_status fs_remove_all(const struct fs_settings *s, const char *const *paths, int n,
                                struct skiff_error *err)
{
    struct fs f;
    if (!n)
        return SKIFF_OK;
    TRY(fs_of(s, paths[0], &f, err));
    struct many m = {.f = &f, .paths = paths};
    return f.class->remove_all ? f.class->remove_all(&f, paths, n, err)
                               : fs_each(n, f.class->at_a_time, remove_one, &m, err);
}
