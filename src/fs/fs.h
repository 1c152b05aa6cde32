/* File systems: local, S3, WebHDFS, and HDFS or AFS through the user's hadoop command.
 *
 * The scheme of a path selects the file system: s3://bucket/key, hdfs://host:port/path, webhdfs://,
 * swebhdfs://, afs://, file:///path; any other path is local. Settings of a call take precedence
 * over those of the process (fs_configure), and these over the environment (docs/guide/storage.md).
 *
 * Transient errors (refused or broken connections, timeouts, 5xx, 408, 429) are retried with
 * growing pauses; other errors are not. Every wait is limited: connecting, and a transfer without a
 * byte. Any thread may call any function; a reader or writer has one user at a time. All functions
 * may block. */
#ifndef FS_FS_H
#define FS_FS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Empty text: not set. */
struct fs_settings {
    char uri[512];         /* hdfs://host:port, for paths without a host; or an http:// endpoint */
    char user[128];        /* of HDFS; the access key of S3 */
    char passwd[256];      /* of hadoop's ugi; the secret key of S3 */
    char hadoop_bin[1024]; /* the hadoop command: HDFS and AFS then go through it */
    char options[2048];    /* for it, as "key=value" lines: -Dkey=value each */
};

/* Sets the defaults for calls without settings of their own; kind: "hdfs" (also for afs) or "s3".
 */
enum skiff_status fs_configure(const char *kind, const struct fs_settings *s,
                               struct skiff_error *err);
/* Paddle's parameters: fs_name is the uri, fs_ugi is "user,password". */
enum skiff_status fs_settings_parse(struct fs_settings *out, const char *fs_name,
                                    const char *fs_ugi, struct skiff_error *err);

/* The hadoop command, a path or a name in PATH. A command that does not exist is ignored: scripts
 * set $HADOOP_HOME/bin/hadoop wherever they run. */
enum skiff_status fs_settings_hadoop(struct fs_settings *s, const char *bin,
                                     struct skiff_error *err);

struct fs_stat {
    bool folder;
    int64_t size;  /* of a file */
    int64_t mtime; /* seconds since 1970; 0: not known */
};

struct fs_entry {
    char *path;
    struct fs_stat stat;
};

struct fs_list {
    struct fs_entry *entries; /* owned; sorted by path */
    int count;
};
void fs_list_deinit(struct fs_list *l);
void fs_list_add(struct fs_list *l, const char *folder, const char *name, size_t name_len,
                 const struct fs_stat *st);
void fs_list_sort(struct fs_list *l);
/* In a sorted list, by its whole path; or NULL. */
const struct fs_entry *fs_list_find(const struct fs_list *l, const char *path);

/* A file that replaces another in the same file system. */
struct fs_move {
    const char *from, *to;
    struct fs_stat stat; /* of `from`, as listed */
};

struct fs;
struct fs_reader;

/* One kind of file system. Paths are complete, with their scheme. */
struct fs_class {
    const char *name;
    bool rename_is_atomic;
    bool no_folders; /* object storage: a folder exists while it contains a file */
    int at_a_time;   /* parallel transfers of many files */
    /* NOT_FOUND when the path does not exist. */
    enum skiff_status (*stat)(const struct fs *f, const char *path, struct fs_stat *out,
                              struct skiff_error *err);
    /* The entries directly in a folder, in any order. */
    enum skiff_status (*list)(const struct fs *f, const char *path, struct fs_list *out,
                              struct skiff_error *err);
    enum skiff_status (*open)(const struct fs *f, const char *path, const atomic_bool *stop,
                              struct fs_reader **out, struct skiff_error *err);
    /* Creates the file `path` from the first `size` bytes of a regular file, atomically. */
    enum skiff_status (*put)(const struct fs *f, int fd, int64_t size, const char *path,
                             struct skiff_error *err);
    enum skiff_status (*mkdirs)(const struct fs *f, const char *path, struct skiff_error *err);
    /* The target does not exist; with `replace`, both are files, and it may. `known` (may be NULL)
     * is the listed stat of `from`. NOT_FOUND when `from` does not exist. */
    enum skiff_status (*rename)(const struct fs *f, const char *from, const char *to, bool replace,
                                const struct fs_stat *known, struct skiff_error *err);
    /* An existing file, or folder with all its contents. */
    enum skiff_status (*remove)(const struct fs *f, const char *path, bool folder,
                                struct skiff_error *err);
    /* Batch operations, for storage where one call for many files costs as much as a call for one;
     * NULL: one by one. */
    enum skiff_status (*put_folder)(const struct fs *f, const char *here, const char *to,
                                    struct skiff_error *err);
    enum skiff_status (*replace_all)(const struct fs *f, const struct fs_move *moves, int n,
                                     struct skiff_error *err);
    enum skiff_status (*remove_all)(const struct fs *f, const char *const *paths, int n,
                                    struct skiff_error *err);
};

struct fs {
    const struct fs_class *class;
    struct fs_settings settings;
};

extern const struct fs_class fs_local, fs_s3, fs_webhdfs, fs_hadoop;

/* The file system of a path. settings may be NULL: those of the process. */
enum skiff_status fs_of(const struct fs_settings *settings, const char *path, struct fs *out,
                        struct skiff_error *err);
/* Milliseconds before the first retry (SKIFF_FS_PAUSE). */
int fs_pause(void);
/* TMPDIR: for files to be uploaded, or downloaded. */
const char *fs_tmpdir(void);
/* True for s3://, hdfs:, afs: and so on; false for this machine's. */
bool fs_is_remote(const char *path);
/* Did the server not respond? Such an error says nothing about whether the path exists. */
bool fs_no_answer(const char *path, enum skiff_status status);
/* The path without scheme and host: "/a/b" of hdfs://h:1/a/b and of hdfs:/a/b. */
const char *fs_path_of(const char *path);
/* "h:1" of hdfs://h:1/a into out; empty when there is none. False: out is too small. */
bool fs_host_of(const char *path, char *out, size_t cap);

/* ---- operations on paths; settings may be NULL ---- */

enum skiff_status fs_look(const struct fs_settings *s, const char *path, struct fs_stat *out,
                          struct skiff_error *err);
enum skiff_status fs_list(const struct fs_settings *s, const char *folder, struct fs_list *out,
                          struct skiff_error *err);
/* Adds all paths that match a pattern (* ? [ in any part of the path), sorted. */
enum skiff_status fs_glob(const struct fs_settings *s, const char *pattern, struct fs_list *out,
                          struct skiff_error *err);
enum skiff_status fs_mkdirs(const struct fs_settings *s, const char *path, struct skiff_error *err);
/* Within one file system. An existing target is an error (STATE). */
enum skiff_status fs_rename(const struct fs_settings *s, const char *from, const char *to,
                            struct skiff_error *err);
/* The same for a target that is known not to exist. */
enum skiff_status fs_rename_exclusive(const struct fs_settings *s, const char *from, const char *to,
                                      struct skiff_error *err);
bool fs_rename_is_atomic(const struct fs_settings *s, const char *path);
/* Removes a path with all its contents; OK when it does not exist. */
enum skiff_status fs_remove(const struct fs_settings *s, const char *path, struct skiff_error *err);
/* Copies a file, or a folder with everything below it, between any file systems: `to` is the new
 * path of `from`. Replaces existing files. `last` (may be NULL) names a file directly in the folder
 * that is copied after all others: where it exists, the copy is complete. */
enum skiff_status fs_copy(const struct fs_settings *s, const char *from, const char *to,
                          const char *last, struct skiff_error *err);

/* ---- many files of one file system, several at a time (many.c) ---- */

/* Runs run(arg, i, err) for all i below n, by so many threads; the first error ends it. */
enum skiff_status fs_each(int n, int threads,
                          enum skiff_status (*run)(void *arg, int i, struct skiff_error *err),
                          void *arg, struct skiff_error *err);
/* Uploads a local folder with everything below it as the folder `to`, which must not exist. */
enum skiff_status fs_send_folder(const struct fs_settings *s, const char *here, const char *to,
                                 struct skiff_error *err);
/* Renames each file over another, which need not exist; skips files that do not exist (another
 * process has moved them). Where this is not atomic (hadoop fs, a WebHDFS that cannot replace), the
 * old file is renamed to FS_ASIDE first; a process killed in between leaves it there. */
#define FS_ASIDE "._skiff_old"
enum skiff_status fs_replace_all(const struct fs_settings *s, const struct fs_move *moves, int n,
                                 struct skiff_error *err);
/* Removes files, which need not exist. */
enum skiff_status fs_remove_all(const struct fs_settings *s, const char *const *paths, int n,
                                struct skiff_error *err);

/* ---- reading ---- */

struct fs_reader_class {
    /* 1 .. n bytes (n > 0); *got 0 is the end. */
    enum skiff_status (*read)(struct fs_reader *r, void *buf, size_t n, size_t *got,
                              struct skiff_error *err);
    void (*close)(struct fs_reader *r);
};
struct fs_reader {
    const struct fs_reader_class *class;
    int64_t size; /* of the file; -1: not known */
};
/* When *stop (may be NULL) becomes true, reads fail with STATE. */
enum skiff_status fs_open(const struct fs_settings *s, const char *path, const atomic_bool *stop,
                          struct fs_reader **out, struct skiff_error *err);
static inline enum skiff_status fs_read(struct fs_reader *r, void *buf, size_t n, size_t *got,
                                        struct skiff_error *err)
{
    return r->class->read(r, buf, n, got, err);
}
static inline void fs_close(struct fs_reader *r)
{
    if (r)
        r->class->close(r);
}

/* Downloads a file into an unnamed local file (in TMPDIR); *out_fd is at its start. */
enum skiff_status fs_fetch(const struct fs_settings *s, const char *path, const atomic_bool *stop,
                           int *out_fd, struct skiff_error *err);

/* ---- writing: nothing is visible before the commit ---- */

/* Creates the file `path` from the first `size` bytes of a regular file, atomically. */
enum skiff_status fs_send(const struct fs_settings *s, int fd, int64_t size, const char *path,
                          struct skiff_error *err);

struct fs_writer;
/* Creates missing parent folders. */
enum skiff_status fs_create(const struct fs_settings *s, const char *path, struct fs_writer **out,
                            struct skiff_error *err);
enum skiff_status fs_write(struct fs_writer *w, const void *bytes, size_t n,
                           struct skiff_error *err);
enum skiff_status fs_commit(struct fs_writer *w, struct skiff_error *err); /* frees it always */
void fs_abort(struct fs_writer *w);                                        /* NULL is fine */
/* fs_create, one fs_write and fs_commit. */
enum skiff_status fs_write_file(const struct fs_settings *s, const char *path, const void *bytes,
                                size_t n, struct skiff_error *err);

#endif
