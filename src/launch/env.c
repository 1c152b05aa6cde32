/* The environment of a process, as an array: nothing of our own environment changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launch/launch_parts.h"

static int find_variable(const struct launch_env *e, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < e->n; i++)
        if (!strncmp(e->at[i], name, n) && e->at[i][n] == '=')
            return i;
    return -1;
}

const char *launch_env_get(const struct launch_env *e, const char *name)
{
    int i = find_variable(e, name);
    return i < 0 ? NULL : e->at[i] + strlen(name) + 1;
}

void launch_env_set(struct launch_env *e, const char *name, const char *value)
{
    struct buf text = BUF_INIT;
    int i = find_variable(e, name);
    if (!value) {
        if (i < 0)
            return;
        free(e->at[i]);
        e->at[i] = e->at[--e->n];
        e->at[e->n] = NULL;
        return;
    }
    buf_printf(&text, "%s=%s", name, value);
    if (i >= 0) {
        free(e->at[i]);
    } else {
        e->at = mem_grow_or_die(e->at, (size_t)(e->n + 2) * sizeof(*e->at));
        i = e->n++;
        e->at[e->n] = NULL;
    }
    e->at[i] = text.data;
}

void launch_env_set_number(struct launch_env *e, const char *name, long long number)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", number);
    launch_env_set(e, name, text);
}

void launch_env_init(struct launch_env *e, const struct launch_options *o)
{
    struct buf path = BUF_INIT;
    int n = 0;
    while (environ[n])
        n++;
    *e = (struct launch_env){.at = mem_alloc_or_die((size_t)(n + 1) * sizeof(*e->at)), .n = n};
    for (int i = 0; i < n; i++)
        e->at[i] = mem_strdup_or_die(environ[i]);
    if (!o->python_path)
        return;
    const char *old = launch_env_get(e, "PYTHONPATH");
    buf_printf(&path, "%s%s%s", o->python_path, old && *old ? ":" : "", old ? old : "");
    launch_env_set(e, "PYTHONPATH", path.data);
    buf_deinit(&path);
}

void launch_env_deinit(struct launch_env *e)
{
    for (int i = 0; i < e->n; i++)
        free(e->at[i]);
    free(e->at);
}

void launch_env_fill(struct launch_env *e, const struct launch *l, const struct launch_process *p)
{
    static const char *const proxies[] = {"http_proxy",  "https_proxy", "HTTP_PROXY",
                                          "HTTPS_PROXY", "all_proxy",   "ALL_PROXY"};
    const struct launch_options *o = l->options;
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
        launch_env_set(e, proxies[i], NULL);
    launch_env_set(e, "PYTHONUNBUFFERED", "1");
    launch_env_set(e, "SKIFF_JOB", l->job);
    launch_env_set(e, "SKIFF_SECRET", l->secret[0] ? l->secret : NULL);
    launch_env_set(e, "SKIFF_SECRET_FILE", NULL);
    if (o->transport) /* else they have ours */
        launch_env_set(e, "SKIFF_TRANSPORT", o->transport);
    if (o->encrypt)
        launch_env_set(e, "SKIFF_ENCRYPT", o->encrypt);
    if (o->server_memory && p->server)
        launch_env_set_number(e, "SKIFF_SERVER_MEMORY", (long long)o->server_memory);
    if (o->insecure)
        launch_env_set(e, "SKIFF_INSECURE", "1");
    l->mode->env(l, p, e);
}

enum skiff_status launch_exec(const struct launch_options *o, struct skiff_error *err)
{
    struct launch_env e;
    launch_env_init(&e, o);
    execvpe(o->command[0], o->command, e.at);
    error_set(err, SKIFF_IO, "cannot start %s: %s", o->command[0], strerror(errno));
    launch_env_deinit(&e);
    return err ? err->code : SKIFF_IO;
}
