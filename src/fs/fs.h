/* File systems: this machine's, S3, WebHDFS, and HDFS or AFS through the user's hadoop command.
 *
 * A path says where it lies: s3://bucket/key, hdfs://host:port/path, webhdfs://, swebhdfs://,
 * afs://, file:///path; all else is a path of this machine. Settings of a call win over those of
 * the process (fs_configure), these over the environment (docs/storage.md).
 *
 * What may pass (refused or broken connections, timeouts, 5xx, 408, 429) is tried again with
 * growing pauses; no other answer is. Nothing waits for ever: connecting, and a transfer without a
 * byte, have limits. Any thread may call any function; a reader or writer has one user at a time.
 * All may block. */
#ifndef FS_FS_H
#define FS_FS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Empty text: not said. */
struct fs_settings {
    char uri[512];         /* hdfs://host:port, for paths without a host; or an http:// endpoint */
    char user[128];        /* of HDFS; the access key of S3 */
    char passwd[256];      /* of hadoop's ugi; the secret key of S3 */
    char hadoop_bin[1024]; /* the hadoop command: HDFS and AFS then go through it */
    char options[2048];    /* for it, as "key=value" lines: -Dkey=value each */
};

/* From now on, for calls without settings of their own; kind: "hdfs" (afs, too) or "s3". */
enum skiff_status fs_configure(const char *kind, const struct fs_settings *s,
                               struct skiff_error *err);
/* Paddle's words: fs_name is the uri, fs_ugi is "user,password". */
enum skiff_status fs_settings_parse(struct fs_settings *out, const char *fs_name,
                                    const char *fs_ugi, struct skiff_error *err);

/* The hadoop command, a path or a name in PATH; one that is not there is no setting: scripts name
 * $HADOOP_HOME/bin/hadoop wherever they run. */
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

/* A file that takes the place of another in the same file system. */
struct fs_move {
    const char *from, *to;
    struct fs_stat stat; /* of `from`, as a listing says it */
};

struct fs;
struct fs_reader;

/* One kind of file system. Paths are whole ones, with their scheme. */
struct fs_class {
    const char *name;
    bool rename_is_atomic;
    bool no_folders; /* a folder is there when a file is in it */
    int at_a_time;   /* transfers of many files */
    /* NOT_FOUND when nothing is there. */
    enum skiff_status (*stat)(const struct fs *f, const char *path, struct fs_stat *out,
                              struct skiff_error *err);
    /* What lies directly in a folder, in any order. */
    enum skiff_status (*list)(const struct fs *f, const char *path, struct fs_list *out,
                              struct skiff_error *err);
    enum skiff_status (*open)(const struct fs *f, const char *path, const atomic_bool *stop,
                              struct fs_reader **out, struct skiff_error *err);
    /* The first `size` bytes of a regular file become the file `path`: whole, or not at all. */
    enum skiff_status (*put)(const struct fs *f, int fd, int64_t size, const char *path,
                             struct skiff_error *err);
    enum skiff_status (*mkdirs)(const struct fs *f, const char *path, struct skiff_error *err);
    /* The target is not there; with `replace`, both are files, and it may be. `known` (may be NULL)
     * is what a listing has said of `from`. NOT_FOUND when `from` is not there. */
    enum skiff_status (*rename)(const struct fs *f, const char *from, const char *to, bool replace,
                                const struct fs_stat *known, struct skiff_error *err);
    /* A file, or a folder with all that is in it, which is there. */
    enum skiff_status (*remove)(const struct fs *f, const char *path, bool folder,
                                struct skiff_error *err);
    /* Where one call for many costs as much as a call for one; NULL: one by one. */
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
/* Milliseconds before something is tried again (SKIFF_FS_PAUSE). */
int fs_pause(void);
/* TMPDIR, where files are kept that go elsewhere or come from there. */
const char *fs_tmpdir(void);
/* True for s3://, hdfs:, afs: and so on; false for this machine's. */
bool fs_is_remote(const char *path);
/* Did the other machine not answer? Such a failure says nothing about what lies there. */
bool fs_no_answer(const char *path, enum skiff_status status);
/* The rest of a path behind scheme and host: "/a/b" of hdfs://h:1/a/b and of hdfs:/a/b. */
const char *fs_path_of(const char *path);
/* "h:1" of hdfs://h:1/a into out; empty when there is none. False: longer than out. */
bool fs_host_of(const char *path, char *out, size_t cap);

/* ---- what one does with a path; settings may be NULL ---- */

enum skiff_status fs_look(const struct fs_settings *s, const char *path, struct fs_stat *out,
                          struct skiff_error *err);
enum skiff_status fs_list(const struct fs_settings *s, const char *folder, struct fs_list *out,
                          struct skiff_error *err);
/* Adds all that fits a pattern (* ? [ in any part of the path), sorted. */
enum skiff_status fs_glob(const struct fs_settings *s, const char *pattern, struct fs_list *out,
                          struct skiff_error *err);
enum skiff_status fs_mkdirs(const struct fs_settings *s, const char *path, struct skiff_error *err);
/* Within one file system. A target that is there is an error (STATE). */
enum skiff_status fs_rename(const struct fs_settings *s, const char *from, const char *to,
                            struct skiff_error *err);
/* The same for a target that is known not to be there. */
enum skiff_status fs_rename_new(const struct fs_settings *s, const char *from, const char *to,
                                struct skiff_error *err);
/* A file takes the place of another, which need not be there. NOT_FOUND when `from` is not. Where
 * that is no single step (hadoop fs, a WebHDFS that cannot replace) the old one is called FS_ASIDE
 * meanwhile: whoever is killed then leaves it so. */
#define FS_ASIDE "._skiff_old"
enum skiff_status fs_replace(const struct fs_settings *s, const char *from, const char *to,
                             struct skiff_error *err);
bool fs_rename_is_atomic(const struct fs_settings *s, const char *path);
/* With all that is in it; nothing there is fine. */
enum skiff_status fs_remove(const struct fs_settings *s, const char *path, struct skiff_error *err);
/* The same for all that fits a pattern (fs_glob): "s3://b/model/0/part-*". */
enum skiff_status fs_remove_matching(const struct fs_settings *s, const char *pattern,
                                     struct skiff_error *err);
/* A file, or a folder with all below it, from anywhere to anywhere: `to` is what `from` will be
 * called. Files that are there are replaced. `last` (may be NULL) is the name of the file directly
 * in the folder that is copied behind all others: whoever sees it sees a whole folder. */
enum skiff_status fs_copy(const struct fs_settings *s, const char *from, const char *to,
                          const char *last, struct skiff_error *err);

/* ---- many files of one file system, several at a time (many.c) ---- */

/* Runs run(arg, i, err) for all i below n, by so many threads; the first error ends it. */
enum skiff_status fs_each(int n, int threads,
                          enum skiff_status (*run)(void *arg, int i, struct skiff_error *err),
                          void *arg, struct skiff_error *err);
/* A folder of this machine, with all below it, becomes the folder `to`, which is not there. */
enum skiff_status fs_send_folder(const struct fs_settings *s, const char *here, const char *to,
                                 struct skiff_error *err);
/* As fs_replace for each; a file that is not there (somebody else has moved it) is passed over. */
enum skiff_status fs_replace_all(const struct fs_settings *s, const struct fs_move *moves, int n,
                                 struct skiff_error *err);
/* Files, which need not be there. */
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
/* When *stop (may be NULL) gets true, reads fail with STATE. */
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

/* All of a file, in one of this machine that has no name (in TMPDIR): a descriptor at its start. */
enum skiff_status fs_fetch(const struct fs_settings *s, const char *path, const atomic_bool *stop,
                           int *out_fd, struct skiff_error *err);

/* Lines of a text, of any length, one after the other. */
struct fs_lines;
enum skiff_status fs_lines_open(const struct fs_settings *s, const char *path,
                                const atomic_bool *stop, struct fs_lines **out,
                                struct skiff_error *err);
/* *line without its end (\n or \r\n), NUL behind it, until the next call; NULL: that was all. */
enum skiff_status fs_lines_next(struct fs_lines *l, const char **line, size_t *len,
                                struct skiff_error *err);
void fs_lines_close(struct fs_lines *l); /* NULL is fine */

/* ---- writing: nothing is seen before the commit ---- */

/* The first `size` bytes of a regular file become the file `path`: whole, or not at all. */
enum skiff_status fs_send(const struct fs_settings *s, int fd, int64_t size, const char *path,
                          struct skiff_error *err);

struct fs_writer;
/* Folders that are missing are made. */
enum skiff_status fs_create(const struct fs_settings *s, const char *path, struct fs_writer **out,
                            struct skiff_error *err);
enum skiff_status fs_write(struct fs_writer *w, const void *bytes, size_t n,
                           struct skiff_error *err);
enum skiff_status fs_commit(struct fs_writer *w, struct skiff_error *err); /* frees it always */
void fs_abort(struct fs_writer *w);                                        /* NULL is fine */

#endif
