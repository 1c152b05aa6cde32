/* skiff python: a Python that has Skiff's packages. Scripts written for PaddlePaddle run as they
 * are. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/python_env.h"

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
    struct buf python = BUF_INIT;
    if (python_env_set(&python, &err) == SKIFF_OK) {
        become(python.data, call);
        error_set_sys(&err, "cannot run %s", python.data);
    }
    buf_deinit(&python);
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
            "get the same. PYTHONHASHSEED is 0 unless it is set: hash() of a text gives the same "
            "number in every process.\n\n"
            "Packages: ../lib/skiff/python or python beside this program; SKIFF_PYTHON_HOME says "
            "another folder. "
            "`PYTHONPATH=that/folder python3 SCRIPT` is the same.",
    .run = run};
