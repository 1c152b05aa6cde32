#include "server/shard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/stream.h"
#include "store/file.h"

extern char **environ;

#define TEXT_BLOCK ((size_t)64 << 10) /* of a file, gathered before it is written */

void shard_files_open(struct shard_files *f, int n, bool gz, const char *converter)
{
    *f = (struct shard_files){.n = n, .gz = gz};
    f->converter = converter && *converter ? converter : NULL;
    f->files = mem_must((size_t)(n + 1) * sizeof *f->files);
}

void shard_files_name(struct shard_files *f, int i, const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s%s", dir, name, f->gz ? ".gz" : "");
    f->files[i].path = path.data;
}

void shard_files_close(struct shard_files *f)
{
    for (int i = 0; i < f->n; i++) {
        free(f->files[i].path);
        buf_deinit(&f->files[i].text);
    }
    buf_deinit(&f->packed);
    free(f->files);
    *f = (struct shard_files){0};
}

/* ---- bytes ---- */

static enum skiff_status append(struct shard_file *x, const char *bytes, size_t n,
                                struct skiff_error *err)
{
    int fd = open(x->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set_sys(err, "cannot write %s", x->path);
    x->begun = true;
    enum skiff_status status = SKIFF_OK;
    while (n && status == SKIFF_OK) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno != EINTR)
            status = error_set_sys(err, "cannot write %s", x->path);
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    close(fd);
    return status;
}

static enum skiff_status flush(struct shard_files *f, struct shard_file *x, struct skiff_error *err)
{
    if (!f->gz || f->converter) { /* a converter gets the text, and is followed by gzip */
        TRY(append(x, x->text.data, x->text.len, err));
    } else {
        buf_reset(&f->packed);
        TRY(stream_gzip_pack(x->text.data, x->text.len, &f->packed, err));
        TRY(append(x, f->packed.data, f->packed.len, err));
    }
    buf_reset(&x->text);
    return SKIFF_OK;
}

enum skiff_status shard_files_add(struct shard_files *f, int i, const char *line, size_t n,
                                  struct skiff_error *err)
{
    struct shard_file *x = &f->files[i];
    buf_add(&x->text, line, n);
    return x->text.len < TEXT_BLOCK ? SKIFF_OK : flush(f, x, err);
}

static enum skiff_status sync_file(const char *path, struct skiff_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum skiff_status status = SKIFF_OK;
    if (fd < 0 || fsync(fd) < 0)
        status = error_set_sys(err, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- converters ---- */

static enum skiff_status run_converter(const char *command, const char *from, const char *to,
                                       struct skiff_error *err)
{
    char *const argv[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, from, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    errno = posix_spawn(&pid, "/bin/sh", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (errno)
        return error_set_sys(err, "cannot start the converter \"%s\"", command);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_IO, "the converter \"%s\" of %s ended with status %d", command,
                     from, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static enum skiff_status pack_file(struct shard_files *f, const char *from, struct shard_file *x,
                                   struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(from, &text, err);
    for (size_t at = 0; status == SKIFF_OK && (at < text.len || !at); at += TEXT_BLOCK) {
        size_t n = text.len - at < TEXT_BLOCK ? text.len - at : TEXT_BLOCK;
        buf_reset(&f->packed);
        status = stream_gzip_pack(text.data + at, n, &f->packed, err);
        if (status == SKIFF_OK)
            status = append(x, f->packed.data, f->packed.len, err);
    }
    buf_deinit(&text);
    return status;
}

/* The file holds the text; afterwards what the converter makes of it. */
static enum skiff_status convert(struct shard_files *f, struct shard_file *x,
                                 struct skiff_error *err)
{
    struct buf raw = BUF_INIT, made = BUF_INIT;
    buf_printf(&raw, "%s.text", x->path);
    buf_printf(&made, "%s.made", x->path);
    enum skiff_status status = rename(x->path, raw.data) == 0
                                   ? run_converter(f->converter, raw.data, made.data, err)
                                   : error_set_sys(err, "cannot write %s", raw.data);
    if (status == SKIFF_OK && f->gz)
        status = pack_file(f, made.data, x, err);
    else if (status == SKIFF_OK && rename(made.data, x->path) < 0)
        status = error_set_sys(err, "cannot write %s", x->path);
    unlink(raw.data);
    unlink(made.data);
    buf_deinit(&raw);
    buf_deinit(&made);
    return status;
}

enum skiff_status shard_files_finish(struct shard_files *f, struct skiff_error *err)
{
    for (int i = 0; i < f->n; i++) {
        struct shard_file *x = &f->files[i];
        if (x->text.len || !x->begun)
            TRY(flush(f, x, err));
        if (f->converter)
            TRY(convert(f, x, err));
        TRY(sync_file(x->path, err));
    }
    return SKIFF_OK;
}
