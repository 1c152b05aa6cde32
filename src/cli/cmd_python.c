/* skiff python: a Python that has Skiff's packages. Scripts written for PaddlePaddle run as they
 * are. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/command.h"

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

/* The folder with the packages, in out; false: none of the places has it, they stand in out. */
static bool find_home(struct buf *out)
{
    static const char module[] = "skiff/_native.abi3.so";
    const char *said = getenv("SKIFF_PYTHON_HOME");
    if (said && *said) {
        buf_str(out, said);
        return is_file(said, module);
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
        if (!freopen("/dev/null", "w", stderr))
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
    const char *said = getenv("SKIFF_PYTHON");
    if (said && *said)
        return said;
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

/* What a script starts as `python`, `skiff` or `fleetrun` (a pipe command, say) is this Python and
 * this program. */
static void set_children(const char *home, const char *python)
{
    char self[PATH_MAX];
    const char *before = getenv("PATH");
    struct buf path = BUF_INIT;
    setenv("SKIFF_PYTHON", python, 1);
    buf_printf(&path, "%s/skiff/bin:", home);
    if (own_folder(self))
        buf_printf(&path, "%s:", self);
    buf_str(&path, before ? before : "/usr/bin:/bin");
    setenv("PATH", path.data, 1);
    buf_deinit(&path);
}

/* Is there a Python beside this program that has the packages? Its path, in out. */
static bool installed_beside(struct buf *out)
{
    char self[PATH_MAX];
    if (!own_folder(self) || !is_file(self, "python3"))
        return false;
    buf_printf(out, "%s/python3", self);
    return python_has(out->data, "skiff");
}

/* Comes back only when it cannot. */
static void become(char *program, const struct command_call *call)
{
    char **argv = mem_must((size_t)(call->nwords + 2) * sizeof *argv);
    argv[0] = program;
    memcpy(argv + 1, call->words, (size_t)call->nwords * sizeof *argv);
    execv(program, argv);
    free(argv);
}

static int run(const struct command_call *call)
{
    struct skiff_error err = {0};
    struct buf home = BUF_INIT, path = BUF_INIT;
    const char *python = find_python(), *before = getenv("PYTHONPATH");
    bool found = find_home(&home);
    if (!found && installed_beside(&path)) /* by pip: its Python has the packages */
        become(path.data, call);
    buf_reset(&path);
    if (!found) {
        error_set(&err, SKIFF_NOT_FOUND,
                  "Skiff's Python packages are not in %s; build them with make, or say where they "
                  "are with SKIFF_PYTHON_HOME",
                  home.data ? home.data : "any place");
        goto out;
    }
    if (!python) {
        error_set(
            &err, SKIFF_NOT_FOUND,
            "no Python from 3.9 on with numpy was found as python3 on PATH or /usr/bin/python3 "
            "(Debian: apt-get install python3 python3-numpy); SKIFF_PYTHON names another one");
        goto out;
    }
    buf_printf(&path, "%s%s%s", home.data, before && *before ? ":" : "", before ? before : "");
    setenv("PYTHONPATH", path.data, 1);
    if (!find_on_path(python, &path)) {
        error_set(&err, SKIFF_NOT_FOUND, "SKIFF_PYTHON is %s: there is no such program on PATH",
                  python);
        goto out;
    }
    set_children(home.data, path.data);
    become(path.data, call);
    error_set_sys(&err, "cannot run %s", path.data);
out:
    buf_deinit(&home);
    buf_deinit(&path);
    return command_fail(call->name, &err);
}

const struct command command_python = {
    .name = "python",
    .summary = "run a Python script whose `import paddle` is Skiff's",
    .usage = "[SCRIPT [ARGUMENTS] | -m MODULE [ARGUMENTS] | -c CODE]",
    .text = "Runs Python with Skiff's packages on its path, so that `import paddle` and `import "
            "paddle.fluid` are "
            "Skiff's. All arguments go to Python.\n\n"
            "Python: SKIFF_PYTHON if it is set, otherwise the first of python3 on PATH and "
            "/usr/bin/python3 that is "
            "3.9 or later and has numpy. A script's own calls of `python`, `python3`, "
            "`skiff` and `fleetrun` "
            "(pipe commands) "
            "get the same.\n\n"
            "Packages: ../lib/skiff/python or python beside this program; SKIFF_PYTHON_HOME says "
            "another folder. "
            "`PYTHONPATH=that/folder python3 SCRIPT` is the same.",
    .run = run};
