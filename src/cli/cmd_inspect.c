/* skiff inspect: what is in a file, readable. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "cli/command.h"
#include "cli/inspect.h"

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

typedef enum skiff_status (*inspect_fn)(const char *path, const struct inspect_options *o,
                                        struct skiff_error *err);

/* Every file; without one, what `inspect` says about NULL. */
static int inspect_all(const struct command_call *call, inspect_fn inspect)
{
    int n = call->nwords ? call->nwords : 1;
    for (int i = 0; i < n; i++) {
        struct skiff_error err = {0};
        if (n > 1)
            printf("%s%s:\n", i ? "\n" : "", call->words[i]);
        if (inspect(call->words[i], call->args, &err) < 0) {
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

static int inspect_files(const struct command_call *call, inspect_fn inspect)
{
    return call->nwords ? inspect_all(call, inspect) : command_usage(call->name, "expected a file");
}

static int run_program(const struct command_call *call)
{
    return inspect_files(call, inspect_program);
}

static int run_model(const struct command_call *call)
{
    return inspect_files(call, inspect_model);
}

static int run_tensor(const struct command_call *call)
{
    return inspect_files(call, inspect_tensor);
}

static enum skiff_status servers_of(const char *path, const struct inspect_options *o,
                                    struct skiff_error *err)
{
    (void)path;
    return inspect_servers(o, err);
}

static int run_table(const struct command_call *call)
{
    const struct inspect_options *o = call->args;
    if (!o->servers && !o->pid)
        return call->nwords ? inspect_all(call, inspect_table)
                            : command_usage(call->name, "expected a folder, or --servers");
    return call->nwords ? command_usage(call->name, "expected a folder or --servers, found both")
                        : inspect_all(call, servers_of);
}

static enum skiff_status ops_of(const char *path, const struct inspect_options *o,
                                struct skiff_error *err)
{
    return inspect_ops(path, err);
}

static int run_ops(const struct command_call *call)
{
    return inspect_all(call, ops_of);
}

static enum skiff_status layers_of(const char *name, const struct inspect_options *o,
                                   struct skiff_error *err)
{
    return inspect_layers(name, err);
}

static int run_layers(const struct command_call *call)
{
    return inspect_all(call, layers_of);
}

static enum skiff_status functions_of(const char *name, const struct inspect_options *o,
                                      struct skiff_error *err)
{
    return inspect_functions(name, err);
}

static int run_functions(const struct command_call *call)
{
    return inspect_all(call, functions_of);
}

#define AT(field) offsetof(struct inspect_options, field)

static const struct option program_rows[] = {
    {"summary", OPTION_BOOL, AT(summary),
     .help = "counts only: version, blocks, ops by type and role, variables, parameters"},
    {0}};
static const struct option model_rows[] = {
    {"model", OPTION_TEXT, AT(model), .value = "NAME",
     .help = "name of the program file in the folder, where it is not __model__"},
    {"params", OPTION_TEXT, AT(params), .value = "NAME",
     .help = "name of the file that holds all parameters, where they are in one"},
    {0}};
static const struct option tensor_rows[] = {
    {"all", OPTION_BOOL, AT(all), .help = "all values"},
    {"program", OPTION_TEXT, AT(names), .value = "FILE",
     .help = "the program whose variables a combined file holds: gives their names"},
    {0}};
static const struct option table_rows[] = {
    {"double", OPTION_BOOL, AT(twice),
     .help = "of CtrDoubleAccessor, whose columns stand in another order"},
    {"servers", OPTION_TEXT, AT(servers), .value = "LIST",
     .help = "of a job that runs: addresses of all its servers, host:port,host:port"},
    {"secret_file", OPTION_TEXT, AT(secret_file), .value = "FILE",
     .help = "the job's secret; otherwise SKIFF_SECRET or SKIFF_SECRET_FILE"},
    {"pid", OPTION_INT, AT(pid), .low = 1, .high = INT_MAX, .value = "N",
     .help = "takes servers, job and secret from a process of the job that runs here (skiff launch "
             "-v names one)"},
    {"timeout", OPTION_INT, AT(timeout), .low = 1, .high = 1000000, .value = "SECONDS",
     .standard = "10", .help = "how long a server is waited for"},
    {0}};
static const struct option no_rows[] = {{0}};

#define PART(part) .args_size = sizeof(struct inspect_options), .run = run_##part
#define TAKES(list)                      \
    .options = &(const struct options)   \
    {                                    \
        .rows = list, .words = "FILE..." \
    }

static const struct command parts[] = {
    {.name = "program",
     .summary = "a program file (main.pb, __model__, x.pdmodel) as text",
     .usage = "[--summary] FILE...",
     .text = "One variable or op a line; this text is taken wherever a program file is.",
     TAKES(program_rows),
     PART(program)},
    {.name = "model",
     .summary = "an inference model",
     .usage = "[--model NAME] [--params NAME] PATH...",
     .text = "What it takes and gives, its ops, its parameters with type, shape and size. PATH is "
             "a folder of 1.x "
             "(__model__ and one file per parameter) or the prefix of x.pdmodel and x.pdiparams "
             "(or x.pdparams).",
     TAKES(model_rows),
     PART(model)},
    {.name = "ops",
     .summary = "the ops that Skiff knows",
     .usage = "[NAME | FILE]...",
     .text = "Without arguments: every op that skiff knows. NAME: one op with slots, attributes "
             "and their defaults, "
             "gradient. FILE: the ops of that program and whether each is known (exit status 1 "
             "when one is not). In "
             "lists: * any number of variables, ? may be absent, ~ only there for the gradient.",
     TAKES(no_rows),
     PART(ops)},
    {.name = "layers",
     .summary = "the layers that networks in YAML are made of",
     .usage = "[NAME]...",
     .text = "Without arguments: every layer with its arguments; those in brackets may be left "
             "out. NAME: one layer, and what its arguments are (docs/networks.md).",
     .options = &(const struct options){.rows = no_rows, .words = "NAME..."},
     PART(layers)},
    {.name = "functions",
     .summary = "the functions of Paddle 2.x that C and Python have",
     .usage = "[NAME]...",
     .text = "Without arguments: every function that is declared, with its arguments. NAME: one "
             "function (nn.functional.relu), what it does, and the ops that it is made of "
             "(src/calls/row.h has the notation). C calls them by <skiff/call.h>.",
     .options = &(const struct options){.rows = no_rows, .words = "NAME..."},
     PART(functions)},
    {.name = "tensor",
     .summary = "a tensor file, selected rows, several tensors in one file, or a pickle "
                "(.pdparams, .pdopt)",
     .usage = "[--all] [--program FILE] FILE...",
     .text = "Name, type, shape, lod, smallest, largest and mean value, first values.",
     TAKES(tensor_rows),
     PART(tensor)},
    {.name = "table",
     .summary = "tables: saved ones of features (rows, shows, clicks, scores); those of a job "
                "that runs",
     .usage = "[--double] FOLDER...\n"
              "--servers LIST [--secret_file FILE]\n"
              "--pid N",
     .text = "FOLDER is one table (part-000-00000 ...) or a model with several (000, 001 ...), as "
             "servers save them. Scores are (show - click) * 0.1 + click. Of models of skiff train "
             "it also tells how the job had the table then. With --servers or --pid: "
             "what the servers of a running job have of each table now, each and together: rows, "
             "bytes in memory and their limit, ids that wait for admission, rows admitted, "
             "refused, expired by shrinks, dropped for memory; of tables on disk the share of "
             "rows that were in memory when they were asked for, those that came ahead of their "
             "batch, rows and bytes on disk, bytes written for each row that went there. The job "
             "goes on meanwhile: a visitor is no worker, and nobody waits for him.",
     TAKES(table_rows),
     PART(table)},
    {0}};

const struct command command_inspect = {
    .name = "inspect",
    .summary = "print what is in a program, model, tensor, pickle or table; list ops, layers and "
               "functions",
    .text = "Prints what is in a file, readable.",
    .parts = parts};
