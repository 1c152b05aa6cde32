/* skiff inspect: what is in a file, readable. */
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/inspect.h"

static const char help[] = "usage: skiff inspect program [--summary] FILE...\n"
                           "       skiff inspect model [--model NAME] [--params NAME] PATH...\n"
                           "       skiff inspect ops [NAME | FILE]...\n"
                           "       skiff inspect tensor [--all] [--program FILE] FILE...\n\n"
                           "program   a program file (main.pb, __model__, x.pdmodel) as text, one "
                           "variable or op a line; this text is taken\n"
                           "          wherever a program file is\n"
                           "            --summary       counts only: version, blocks, ops by type "
                           "and role, variables, parameters\n"
                           "model     an inference model: what it takes and gives, its ops, its "
                           "parameters with type, shape and size.\n"
                           "          PATH is a folder of 1.x (__model__ and one file per "
                           "parameter) or the prefix of x.pdmodel and\n"
                           "          x.pdiparams (or x.pdparams)\n"
                           "            --model NAME    name of the program file in the folder, "
                           "where it is not __model__\n"
                           "            --params NAME   name of the file that holds all "
                           "parameters, where they are in one\n"
                           "ops       without arguments: every op that skiff knows. NAME: one op "
                           "with slots, attributes and their defaults,\n"
                           "          gradient. FILE: the ops of that program and whether each is "
                           "known (exit status 1 when one is not).\n"
                           "          In lists: * any number of variables, ? may be absent, ~ only "
                           "there for the gradient\n"
                           "tensor    a tensor file, selected rows, several tensors in one file, "
                           "or a pickle (.pdparams, .pdopt): name, type,\n"
                           "          shape, lod, smallest, largest and mean value, first values\n"
                           "            --all           all values\n"
                           "            --program FILE  the program whose variables a combined "
                           "file holds: gives their names\n";

typedef enum skiff_status (*inspect_fn)(const char *path, const struct inspect_options *o,
                                        struct skiff_error *err);

static enum skiff_status ops_of(const char *path, const struct inspect_options *o,
                                struct skiff_error *err)
{
    return inspect_ops(path, err);
}

static const struct {
    const char *name;
    inspect_fn run;
    const char *options; /* those that it takes, separated by blanks */
} kinds[] = {
    {"program", inspect_program, " --summary "},
    {"model", inspect_model, " --model --params "},
    {"ops", ops_of, " "},
    {"tensor", inspect_tensor, " --all --program "},
};

const char *inspect_bytes(uint64_t n, char out[static 64])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double v = (double)n;
    int u = 0;
    for (; v >= 1000 && u < 4; u++)
        v /= 1000;
    if (u)
        snprintf(out, 64, "%.3g %s (%" PRIu64 " bytes)", v, units[u], n);
    else
        snprintf(out, 64, "%" PRIu64 " bytes", n);
    return out;
}

static bool takes(const char *options, const char *option)
{
    char word[32];
    snprintf(word, sizeof word, " %s ", option);
    return strstr(options, word) != NULL;
}

/* Sets the option argv[i]; returns how many arguments it used, 0 when there is no such option. */
static int set_option(struct inspect_options *o, int argc, char **argv, int i)
{
    const char *a = argv[i];
    if (!strcmp(a, "--summary")) {
        o->summary = true;
        return 1;
    }
    if (!strcmp(a, "--all")) {
        o->all = true;
        return 1;
    }
    const char **value = !strcmp(a, "--model")     ? &o->model
                         : !strcmp(a, "--params")  ? &o->params
                         : !strcmp(a, "--program") ? &o->names
                                                   : NULL;
    if (!value || i + 1 >= argc)
        return 0;
    *value = argv[i + 1];
    return 2;
}

static int inspect_all(int kind, int nfiles, char **files, const struct inspect_options *o)
{
    for (int i = 0; i < nfiles; i++) {
        struct skiff_error err = {0};
        if (nfiles > 1)
            printf("%s%s:\n", i ? "\n" : "", files[i]);
        if (kinds[kind].run(files[i], o, &err) < 0) {
            fflush(stdout);
            return command_fail("inspect", &err);
        }
    }
    if (fflush(stdout) != 0) {
        struct skiff_error err = {0};
        error_set(&err, SKIFF_IO, "cannot write the output");
        return command_fail("inspect", &err);
    }
    return 0;
}

int cmd_inspect(int argc, char **argv)
{
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    if (argc < 2)
        return command_usage("inspect", "expected program, model, ops or tensor");
    int kind = -1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(argv[1], kinds[k].name))
            kind = (int)k;
    if (kind < 0)
        return command_usage("inspect", "expected program, model, ops or tensor, found %s",
                             argv[1]);
    struct inspect_options o = {0};
    int nfiles = 0;
    for (int i = 2; i < argc;) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        if (argv[i][0] != '-') {
            argv[nfiles++] = argv[i++];
            continue;
        }
        int used = takes(kinds[kind].options, argv[i]) ? set_option(&o, argc, argv, i) : 0;
        if (!used)
            return command_usage("inspect", "%s: wrong option, or without its value: %s",
                                 kinds[kind].name, argv[i]);
        i += used;
    }
    char *none[] = {NULL};
    if (!nfiles && kinds[kind].run == ops_of)
        return inspect_all(kind, 1, none, &o);
    if (!nfiles)
        return command_usage("inspect", "%s: expected a file", kinds[kind].name);
    return inspect_all(kind, nfiles, argv, &o);
}
