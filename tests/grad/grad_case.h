/* A recorded op case as the gradient test sees it: program, fed tensors, initial values, and the
 * names of the gradients that were recorded. Form of a case: docs/guide/record.md. */
#ifndef TESTS_GRAD_CASE_H
#define TESTS_GRAD_CASE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "program/op_kind.h"
#include "store/file.h"
#include "store/tensor_file.h"

#define CASE_MAX 64

struct grad_case {
    const char *dir; /* borrowed */
    struct skiff_program *program;
    int nfeeds;
    char *feed_name[CASE_MAX];
    struct tensor feed[CASE_MAX];
    int ninit;
    char *init_name[CASE_MAX];
    struct skiff_tensor init[CASE_MAX];
    int ngrads; /* recorded "<var>@GRAD" */
    char *grad_name[CASE_MAX];
};

static inline bool name_is_grad(const char *name)
{
    size_t n = strlen(name), m = strlen(GRAD_SUFFIX);
    return n > m && strcmp(name + n - m, GRAD_SUFFIX) == 0;
}

#define PATH_MAX_LEN 1024

/* "dir/name"; empty (no such file) when it is too long. */
static inline void case_path(char out[static PATH_MAX_LEN], const char *dir, const char *name)
{
    if (snprintf(out, PATH_MAX_LEN, "%s/%s", dir, name) >= PATH_MAX_LEN)
        out[0] = '\0';
}

/* Calls `each` for every entry of a folder, in the order of names. */
static inline void
each_entry(const char *dir, void (*each)(void *user, const char *dir, const char *name), void *user)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.')
            each(user, dir, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static inline void case_add_feed(void *user, const char *dir, const char *name)
{
    struct grad_case *c = user;
    char path[PATH_MAX_LEN];
    struct skiff_error err;
    case_path(path, dir, name);
    if (c->nfeeds < CASE_MAX && tensor_file_read(path, &c->feed[c->nfeeds], &err) >= 0)
        c->feed_name[c->nfeeds++] = mem_strdup_or_die(name);
}

static inline void case_add_init(void *user, const char *dir, const char *name)
{
    struct grad_case *c = user;
    char path[PATH_MAX_LEN];
    struct skiff_error err;
    case_path(path, dir, name);
    if (c->ninit < CASE_MAX && value_file_read(path, &c->init[c->ninit], &err) >= 0)
        c->init_name[c->ninit++] = mem_strdup_or_die(name);
}

static inline void case_add_grad(void *user, const char *dir, const char *name)
{
    struct grad_case *c = user;
    if (c->ngrads < CASE_MAX && name_is_grad(name))
        c->grad_name[c->ngrads++] = mem_strdup_or_die(name);
}

static inline struct skiff_program *read_program(const char *path, struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    struct skiff_program *p = NULL;
    if (file_read(path, &bytes, err) >= 0 &&
        program_decode(bytes.data, bytes.len, path, &p, err) < 0)
        p = NULL;
    buf_deinit(&bytes);
    return p;
}

static inline void case_close(struct grad_case *c)
{
    for (int i = 0; i < c->nfeeds; i++) {
        free(c->feed_name[i]);
        tensor_deinit(&c->feed[i]);
    }
    for (int i = 0; i < c->ninit; i++) {
        free(c->init_name[i]);
        value_deinit(&c->init[i]);
    }
    for (int i = 0; i < c->ngrads; i++)
        free(c->grad_name[i]);
    if (c->program)
        program_destroy(c->program);
    *c = (struct grad_case){0};
}

/* False: not a case, or not readable (a message has been printed then). */
static inline bool case_open(struct grad_case *c, const char *dir)
{
    char path[PATH_MAX_LEN];
    struct skiff_error err;
    *c = (struct grad_case){0};
    c->dir = dir;
    case_path(path, dir, "main.pb");
    if (!file_exists(path))
        return false;
    c->program = read_program(path, &err);
    if (!c->program) {
        printf("%s: %s\n", dir, err.message);
        return false;
    }
    case_path(path, dir, "feed/0");
    each_entry(path, case_add_feed, c);
    case_path(path, dir, "init");
    each_entry(path, case_add_init, c);
    case_path(path, dir, "expect/0");
    each_entry(path, case_add_grad, c);
    return true;
}

#endif
