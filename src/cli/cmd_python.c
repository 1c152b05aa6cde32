/* skiff python: a Python that has Skiff's packages. Scripts written for PaddlePaddle run as they
 * are. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/command.h"
#include "task/python_env.h"

/* Comes back only when it cannot. */
static void become(char *program, const struct command_call *call)
{
    char **argv = mem_alloc_or_die((size_t)(call->nwords + 2) * sizeof *argv);
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
    .summary = "run a Python script with Skiff in place of Paddle",
    .usage = "[SCRIPT [ARGUMENTS] | -m MODULE [ARGUMENTS] | -c CODE]",
    .text =
        "Runs Python with Skiff's packages on its path, so that `import paddle` and `import "
        "paddle.fluid` import Skiff's. All arguments are passed to Python.\n\n"
        "The interpreter is SKIFF_PYTHON if it is set, otherwise the first of python3 on PATH and "
        "/usr/bin/python3 that is version 3.9 or later and has numpy. `python`, `python3`, "
        "`skiff` and `fleetrun` that a script calls (pipe commands) "
        "get the same. PYTHONHASHSEED is 0 unless it is set: hash() of a string is then the same "
        "in every process.\n\n"
        "The packages are in ../lib/skiff/python or python relative to this program; "
        "SKIFF_PYTHON_HOME sets "
        "another folder. `PYTHONPATH=that/folder python3 SCRIPT` has the same effect.",
    .examples = "skiff python train.py\n"
                "skiff python -c 'import paddle; print(paddle.__version__)'",
    .group = COMMAND_OPERATE,
    .run = run};
