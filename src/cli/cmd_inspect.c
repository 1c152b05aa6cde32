/* skiff inspect: prints what is in a file. This file has the flags and texts of its parts and
 * calls one function for every file; the parts are in inspect_*.c. A write error of the output is
 * reported, since output often goes to a pipe. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "cli/command.h"
#include "cli/inspect.h"
#include "inspect/catalogue.h"
#include "net/ps.h"
#include "store/file.h"

const char *inspect_bytes(uint64_t n, char out[static 64])
{
    char short_text[32];
    ps_bytes_text(n, short_text);
    if (n < 1000)
        snprintf(out, 64, "%s", short_text);
    else
        snprintf(out, 64, "%s (%" PRIu64 " bytes)", short_text, n);
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

static enum skiff_status metrics_of(const char *path, const struct inspect_options *o,
                                    struct skiff_error *err)
{
    (void)path;
    return inspect_metrics(o, err);
}

static int run_metrics(const struct command_call *call)
{
    const struct inspect_options *o = call->args;
    return o->servers || o->pid ? inspect_all(call, metrics_of)
                                : command_usage(call->name, "expected --servers or --pid");
}

typedef enum skiff_status (*catalogue_fn)(const char *name, struct buf *out,
                                          struct skiff_error *err);

static enum skiff_status print_catalogue(catalogue_fn catalogue, const char *name,
                                         struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = catalogue(name, &text, err);
    if (status == SKIFF_OK)
        fwrite(text.data, 1, text.len, stdout);
    buf_deinit(&text);
    return status;
}

/* A file if there is one of that name, otherwise an op. */
static enum skiff_status ops_of(const char *what, const struct inspect_options *o,
                                struct skiff_error *err)
{
    return what && file_exists(what) ? inspect_used_ops(what, err)
                                     : print_catalogue(catalogue_ops, what, err);
}

static int run_ops(const struct command_call *call)
{
    return inspect_all(call, ops_of);
}

static enum skiff_status layers_of(const char *name, const struct inspect_options *o,
                                   struct skiff_error *err)
{
    return print_catalogue(catalogue_layers, name, err);
}

static int run_layers(const struct command_call *call)
{
    return inspect_all(call, layers_of);
}

static enum skiff_status functions_of(const char *name, const struct inspect_options *o,
                                      struct skiff_error *err)
{
    return print_catalogue(catalogue_functions, name, err);
}

static int run_functions(const struct command_call *call)
{
    return inspect_all(call, functions_of);
}

#define AT(field) offsetof(struct inspect_options, field)

static const struct option program_rows[] = {
    {"summary", OPTION_BOOL, AT(summary),
     .help = "print counts only: version, blocks, ops by type and role, variables, parameters"},
    {0}};
static const struct option model_rows[] = {
    {"model", OPTION_TEXT, AT(model), .value = "NAME", .default_text = "__model__",
     .help = "set the name of the program file in the folder"},
    {"params", OPTION_TEXT, AT(params), .value = "NAME",
     .help = "set the name of the file that holds all parameters",
     .default_text = "one file for each parameter"},
    {0}};
static const struct option tensor_rows[] = {
    {"all", OPTION_BOOL, AT(all), .help = "print all values"},
    {"program", OPTION_TEXT, AT(names), .value = "FILE",
     .help = "take the names of the tensors in a combined file from this program"},
    {0}};
/* How to find the servers of a running job. */
#define JOB_ROWS                                                                                  \
    {"servers",                                                                                   \
     OPTION_TEXT,                                                                                 \
     AT(servers),                                                                                 \
     .value = "LIST",                                                                             \
     .group = "running job",                                                                      \
     .help = "ask the servers of a running job, host:port,host:port (list all of them)"},         \
        {"secret_file",                                                                           \
         OPTION_TEXT,                                                                             \
         AT(secret_file),                                                                         \
         .value = "FILE",                                                                         \
         .help = "read the job's secret from FILE",                                               \
         .default_text = "SKIFF_SECRET or SKIFF_SECRET_FILE"},                                    \
        {"pid",                                                                                   \
         OPTION_INT,                                                                              \
         AT(pid),                                                                                 \
         .low = 1,                                                                                \
         .high = INT_MAX,                                                                         \
         .value = "N",                                                                            \
         .help = "take servers, job and secret from a process of the job on this machine (skiff " \
                 "launch -v lists them)"},                                                        \
    {                                                                                             \
        "timeout", OPTION_INT, AT(timeout), .low = 1, .high = 1000000, .value = "SECONDS",        \
                                            .standard = "10",                                     \
                                            .help = "wait so long for the answer of a server"     \
    }

static const struct option table_rows[] = {
    {"double", OPTION_BOOL, AT(twice),
     .help = "read a table of CtrDoubleAccessor, whose columns are in another order",
     .group = "saved tables"},
    {"accessor", OPTION_TEXT, AT(accessor), .value = "NAME", .standard = "CtrCommonAccessor",
     .help = "set the table's accessor, which says what its columns mean"},
    JOB_ROWS,
    {0}};
static const struct option metrics_rows[] = {JOB_ROWS, {0}};
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
     .text = "Prints one variable or op on each line. Every command that reads a program file also "
             "reads this text.",
     TAKES(program_rows),
     PART(program)},
    {.name = "model",
     .summary = "a saved model",
     .usage = "[--model NAME] [--params NAME] PATH...",
     .text = "Prints the inputs and outputs, the ops, and the parameters with type, shape and "
             "size. PATH is a folder of Paddle 1.x (__model__ and one file for each parameter), "
             "the prefix of x.pdmodel and x.pdiparams (or x.pdparams), or a folder that skiff "
             "train has saved: of one epoch or pass, or of all of them, which are then listed.",
     TAKES(model_rows),
     PART(model)},
    {.name = "ops",
     .summary = "the ops of Skiff",
     .usage = "[NAME | FILE]...",
     .text = "Without arguments: lists every op. NAME: describes one op: its slots, its attributes "
             "with defaults, its gradient. FILE: lists the ops of that program and whether Skiff "
             "has each (exit status 1 if one is missing). In lists, * marks any number of "
             "variables, ? an optional one, ~ one that only the gradient uses.",
     TAKES(no_rows),
     PART(ops)},
    {.name = "layers",
     .summary = "the layers for networks in YAML",
     .usage = "[NAME]...",
     .text = "Without arguments: lists every layer with its arguments; those in brackets are "
             "optional. NAME: describes one layer and its arguments (docs/guide/networks.md).",
     .options = &(const struct options){.rows = no_rows, .words = "NAME..."},
     PART(layers)},
    {.name = "functions",
     .summary = "the functions of Paddle that C and Python can call by name",
     .usage = "[NAME]...",
     .text = "Without arguments: lists every declared function with its arguments. NAME: describes "
             "one function (nn.functional.relu) and the ops that it consists of (src/calls/row.h "
             "defines the notation). C calls them through <skiff/call.h>.",
     .options = &(const struct options){.rows = no_rows, .words = "NAME..."},
     PART(functions)},
    {.name = "tensor",
     .summary = "a tensor file, selected rows, several tensors in one file, or a pickle "
                "(.pdparams, .pdopt)",
     .usage = "[--all] [--program FILE] FILE...",
     .text = "Prints name, type, shape, LoD, the smallest, largest and mean value, and the first "
             "values.",
     TAKES(tensor_rows),
     PART(tensor)},
    {.name = "table",
     .summary =
         "a saved sparse table (rows, shows, clicks, scores), or the tables of a running job",
     .usage = "[--double | --accessor NAME] FOLDER...\n"
              "--servers LIST [--secret_file FILE]\n"
              "--pid N",
     .text = "FOLDER is one table (part-000-00000 ...) or a model with several tables (000, 001 "
             "...), as servers save them. A score is (show - click) * 0.1 + click. For models of "
             "skiff train it also prints the settings of the table in the job.\n\nWith --servers "
             "or --pid it prints the state of each table in a running job, for every server and in "
             "total: rows, bytes in memory and their limit, ids that wait for admission, and the "
             "rows that were admitted, refused, expired or dropped for memory. For tables on disk "
             "it also prints the share of requested rows that were in memory, the prefetched rows, "
             "rows and bytes on disk, and bytes written for each row. The job continues meanwhile: "
             "the command connects as a read-only observer.",
     TAKES(table_rows),
     PART(table)},
    {.name = "metrics",
     .summary = "what the servers of a running job have counted",
     .usage = "--servers LIST [--secret_file FILE]\n"
              "--pid N",
     .text = "Prints the counters, gauges and histograms of every server in the text form of "
             "Prometheus; the label server is the server's number. docs/reference/metrics.md "
             "lists the metrics. The job continues meanwhile: the command connects as a read-only "
             "observer.",
     .options = &(const struct options){.rows = metrics_rows},
     PART(metrics)},
    {0}};

const struct command command_inspect = {
    .name = "inspect",
    .summary = "print a program, model, tensor, pickle or table; list ops, layers and functions",
    .text = "Prints the content of a file in readable form.",
    .examples = "skiff inspect program main.pb --summary\n"
                "skiff inspect model model/0\n"
                "skiff inspect table --pid 12345",
    .group = COMMAND_INSPECT,
    .parts = parts};
