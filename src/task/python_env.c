/* The Python interpreter and environment for Skiff's packages (python_env.h).
 *
 * An interpreter is tested by running it once (version, numpy). PYTHONPATH, PATH and
 * PYTHONHASHSEED are set for this process, so that all children inherit them: pipe commands that
 * call `python` get the same interpreter and the same packages. */
#include "task/python_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_file(const char *folder, const char *name)
{
    struct buf path = BUF_INIT;
    struct stat st;
    buf_printf(&path, "%s/%s", folder, name);
    bool there = stat(path.data, &st) == 0;
    buf_deinit(&path);
    return there;
}

/* The folder of this program; false: the system does not say. */
static bool own_folder(char out[static PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n < 0)
        return false;
    out[n] = 0;
    *strrchr(out, '/') = 0;
    return true;
}

/* The folder with the packages, in out; false: none of the places has it, they are in out. */
static bool find_home(struct buf *out)
{
    static const char module[] = "skiff/_native.abi3.so";
    const char *given = getenv("SKIFF_PYTHON_HOME");
    if (given && *given) {
        buf_str(out, given);
        return is_file(given, module);
    }
    char self[PATH_MAX];
    if (!own_folder(self))
        return false;
    struct buf tried = BUF_INIT;
    for (int i = 0; i < 2; i++) {
        buf_reset(out);
        buf_printf(out, i ? "%s/../lib/skiff/python" : "%s/python", self);
        if (is_file(out->data, module)) {
            buf_deinit(&tried);
            return true;
        }
        buf_printf(&tried, "%s%s", i ? " nor " : "", out->data);
    }
    buf_reset(out);
    buf_str(out, tried.data);
    buf_deinit(&tried);
    return false;
}

/* Is it a Python, 3.9 or later, that has these packages? Neither output nor error
 * of it is shown. */
static bool python_has(const char *python, const char *packages)
{
    static const char code[] = "import importlib.util, sys\n"
                               "sys.exit(sys.version_info < (3, 9) or not "
                               "all(map(importlib.util.find_spec, sys.argv[1:])))";
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDERR_FILENO) < 0)
            _exit(127);
        execlp(python, python, "-c", code, packages, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *find_python(void)
{
    static const char *const usual[] = {"python3", "/usr/bin/python3"};
    const char *given = getenv("SKIFF_PYTHON");
    if (given && *given)
        return given;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (python_has(usual[i], "numpy"))
            return usual[i];
    return NULL;
}

/* Where the shell would find the program, in out; a path stays as it is. */
static bool find_on_path(const char *name, struct buf *out)
{
    const char *at = getenv("PATH");
    buf_reset(out);
    if (strchr(name, '/')) {
        buf_str(out, name);
        return true;
    }
    for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        buf_reset(out);
        buf_printf(out, "%.*s/%s", (int)strcspn(at, ":"), at, name);
        if (access(out->data, X_OK) == 0)
            return true;
    }
    return false;
}

/* Sets a variable to folders and what stood there; nothing is changed when it begins with them. */
static void put_in_front(const char *variable, const char *folders, const char *usual)
{
    const char *before = getenv(variable);
    size_t n = strlen(folders);
    if (before && !strncmp(before, folders, n) && (!before[n] || before[n] == ':'))
        return;
    if (!before || !*before)
        before = usual;
    struct buf all = BUF_INIT;
    buf_printf(&all, "%s%s%s", folders, before ? ":" : "", before ? before : "");
    setenv(variable, all.data, 1);
    buf_deinit(&all);
}

/* The names python and python3 (home: NULL when they are in the other folder), skiff and fleetrun
 * are found first. */
static void set_path(const char *home)
{
    char self[PATH_MAX];
    struct buf folders = BUF_INIT;
    if (home)
        buf_printf(&folders, "%s/skiff/bin", home);
    if (own_folder(self))
        buf_printf(&folders, "%s%s", home ? ":" : "", self);
    if (folders.len)
        put_in_front("PATH", folders.data, "/usr/bin:/bin");
    buf_deinit(&folders);
}

/* Is there a Python in this program's folder that has the packages, as pip installs them? Its path,
 * in out. */
static bool installed_by_pip(struct buf *out)
{
    char self[PATH_MAX];
    if (!own_folder(self) || !is_file(self, "python3"))
        return false;
    buf_reset(out);
    buf_printf(out, "%s/python3", self);
    return python_has(out->data, "skiff");
}

static enum skiff_status find_program(struct buf *out, struct skiff_error *err)
{
    const char *python = find_python();
    if (!python)
        return error_set(
            err, SKIFF_NOT_FOUND,
            "no Python 3.9 or later with numpy found as python3 on PATH or /usr/bin/python3 "
            "(Debian: apt-get install python3 python3-numpy); SKIFF_PYTHON sets another one");
    if (!find_on_path(python, out))
        return error_set(err, SKIFF_NOT_FOUND, "SKIFF_PYTHON is %s: no such program on PATH",
                         python);
    return SKIFF_OK;
}

enum skiff_status python_env_set(struct buf *out_python, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct buf home = BUF_INIT;
    bool found = find_home(&home);
    if (!found && !installed_by_pip(out_python)) {
        status = error_set(err, SKIFF_NOT_FOUND,
                           "Skiff's Python packages are not in %s; build them with make, or set "
                           "SKIFF_PYTHON_HOME to their folder",
                           home.data ? home.data : "any place");
        goto out;
    }
    if (found) {
        TRY_OUT(find_program(out_python, err));
        put_in_front("PYTHONPATH", home.data, NULL);
    }
    set_path(found ? home.data : NULL);
    const char *named = getenv("SKIFF_PYTHON");
    if (!named || strcmp(named, out_python->data) != 0)
        setenv("SKIFF_PYTHON", out_python->data, 1);
    setenv("PYTHONHASHSEED", "0", 0);
out:
    buf_deinit(&home);
    return status;
}
