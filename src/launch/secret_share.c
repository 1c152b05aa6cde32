/* Copies a secret to other machines by ssh, which authenticates and encrypts; this file only pipes
 * bytes into it. The file on the other machine is written under a temporary name first and renamed,
 * so that no reader gets half of it. */
#include "launch/secret_share.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "launch/launch_parts.h"
#include "net/host.h"

#define WAIT_SECONDS 300

enum skiff_status secret_home(const char *path, char *out, size_t capacity, struct skiff_error *err)
{
    const char *home = getenv("HOME");
    if (path[0] != '/' && (!home || !*home))
        return error_set(err, SKIFF_NOT_FOUND, "%s: HOME is not set; give an absolute path", path);
    if (path[0] == '/')
        snprintf(out, capacity, "%s", path);
    else
        snprintf(out, capacity, "%s/%s", home, path);
    return SKIFF_OK;
}

/* What the other machine's shell runs. */
static void remote_command(const char *path, struct buf *out)
{
    struct buf quoted = BUF_INIT;
    for (const char *p = path; *p; p++)
        if (*p == '\'')
            buf_printf(&quoted, "'\\''");
        else
            buf_printf(&quoted, "%c", *p);
    buf_printf(out,
               "umask 077 && f='%s' && case $f in */*) mkdir -p -- \"${f%%/*}\";; esac && "
               "cat >\"$f.new\" && chmod 600 -- \"$f.new\" && mv -- \"$f.new\" \"$f\"",
               quoted.data);
    buf_deinit(&quoted);
}

static bool run_ssh(const char *host, const char *command, const char *secret, int *out_status)
{
    int ends[2];
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    if (pipe(ends) < 0)
        return false;
    sigaction(SIGPIPE, &ignore, &before); /* of an ssh that ends without reading */
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGPIPE, &before, NULL);
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        unsetenv("SKIFF_SECRET");
        execlp("ssh", "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
               "ServerAliveInterval=5", "--", host, command, (char *)NULL);
        dprintf(STDERR_FILENO, "skiff: cannot start ssh: %s\n", strerror(errno));
        _exit(127);
    }
    close(ends[0]);
    bool ok = pid > 0 && dprintf(ends[1], "%s\n", secret) > 0;
    close(ends[1]);
    sigaction(SIGPIPE, &before, NULL);
    while (pid > 0 && waitpid(pid, out_status, 0) < 0)
        if (errno != EINTR)
            return false;
    return ok;
}

enum skiff_status secret_send(const char *host, const char *path, const char *secret,
                              struct skiff_error *err)
{
    struct buf command = BUF_INIT;
    int status = 0;
    remote_command(path, &command);
    bool ran = run_ssh(host, command.data, secret, &status);
    buf_deinit(&command);
    if (ran && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_PEER,
                     "the secret could not be copied to %s: ssh ended with status %d; `ssh %s "
                     "true` must work without a password",
                     host, WIFEXITED(status) ? WEXITSTATUS(status) : -1, host);
}

/* ---- --share_secret ---- */

/* The hosts of a list other than this one, each once; calls send for each. */
static enum skiff_status send_to(const struct launch *l, char **list, int n, char **before,
                                 int nbefore, const char *path, const char *secret,
                                 struct skiff_error *err)
{
    struct address a, b;
    for (int i = 0; i < n; i++) {
        bool seen = address_parse(list[i], &a, err) < 0 || host_is_here(a.host);
        for (int k = 0; !seen && k < i; k++)
            seen = address_parse(list[k], &b, err) == SKIFF_OK && !strcmp(a.host, b.host);
        for (int k = 0; !seen && k < nbefore; k++)
            seen = address_parse(before[k], &b, err) == SKIFF_OK && !strcmp(a.host, b.host);
        if (seen)
            continue;
        launch_notify(l, LAUNCH_EVENT_NOTICE, NULL, "sending the job's secret to %s", a.host);
        TRY(secret_send(a.host, path, secret, err));
    }
    return SKIFF_OK;
}

/* Server 0, or rank 0 where there are no servers. */
static bool has_first(const struct launch *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i].server == (l->nservers > 0) && l->at[i].index == 0)
            return true;
    return false;
}

static enum skiff_status await_file(const struct launch *l, const char *path,
                                    struct skiff_error *err)
{
    const char *first = l->mode->first;
    for (int i = 0; access(path, R_OK) < 0; i++) {
        if (i == 10)
            launch_notify(l, LAUNCH_EVENT_NOTICE, NULL,
                          "waiting for the job's secret from the machine of %s (%s)", first, path);
        if (i >= WAIT_SECONDS * 10)
            return error_set(err, SKIFF_TIMEOUT,
                             "the job's secret did not arrive within %d s; is skiff launch running "
                             "on the machine of %s, with --share_secret?",
                             WAIT_SECONDS, first);
        clock_sleep(100 * CLOCK_MS);
    }
    return SKIFF_OK;
}

enum skiff_status secret_share(const struct launch *l, char out[SECRET_TEXT],
                               struct skiff_error *err)
{
    char name[64], path[4096];
    snprintf(name, sizeof(name), SECRET_PLACE ".%016llx",
             (unsigned long long)hash_bytes(l->job, strlen(l->job)));
    TRY(secret_home(name, path, sizeof(path), err));
    if (!has_first(l)) {
        TRY(await_file(l, path, err));
        return secret_file_read(path, out, err);
    }
    if (access(path, F_OK) < 0) {
        secret_create(out);
        TRY(secret_file_write(path, out, err));
    }
    TRY(secret_file_read(path, out, err));
    TRY(send_to(l, l->servers, l->nservers, NULL, 0, name, out, err));
    return send_to(l, l->workers, l->workers ? l->nworkers : 0, l->servers, l->nservers, name, out,
                   err);
}
