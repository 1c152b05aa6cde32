/* Flags of commands with a config, as rows for their tables of options; the first member of the
 * struct of the options is a struct task_args. */
#ifndef CLI_TASK_FLAGS_H
#define CLI_TASK_FLAGS_H

#include "task/task.h"

/* -m and -o: rows of the table of a struct whose first member is a struct task_args. With
 * TASK_WORDS in its struct options, the config may also be the first word. */
/* clang-format off */
#define TASK_OPTIONS                                                                                      \
    {"config", OPTION_TEXT, offsetof(struct task_args, config), .letter = 'm', .also_letter = 'c',        \
     .also = "config_yaml", .value = "FILE", .help = "read the config from FILE", .group = "config"},     \
    {"opt", OPTION_PAIRS, offsetof(struct task_args, overrides), .letter = 'o',                           \
     .value = "key=value ...", .help = "set keys of the config; any number may follow"}

#define TASK_WORDS .first = "config", .meant = task_flag_meant

#define TASK_NAME                                                                                         \
    {"name", OPTION_TEXT, offsetof(struct task_args, name), .value = "NAME",                              \
     .help = "name the run: its epochs are in the folder NAME below runner.model_save_path"}

#define TASK_RUN                                                                                          \
    {"run", OPTION_TEXT, offsetof(struct task_args, run), .value = "ID",                                  \
     .help = "use the epochs of the run whose id begins with ID", .default_text = "the newest run"}

#define TASK_TALK(...)                                                                                    \
    {"quiet", OPTION_BOOL, offsetof(struct task_args, quiet), .letter = 'q',                              \
     .help = "print only warnings, errors and the table at the end", __VA_ARGS__},                        \
    {"verbose", OPTION_BOOL, offsetof(struct task_args, verbose), .letter = 'v',                          \
     .help = "also print the keys, files and slots of the run, and PaddleRec's lines"}

#define TASK_LOG_FORMAT                                                                                   \
    {"log_format", OPTION_CHOICE, offsetof(struct task_args, log_format), .words = task_log_formats,      \
     .given = offsetof(struct task_args, has_log_format), .value = "FORMAT", .default_text = "table",     \
     .help = "print epochs as rows of one table, or as PaddleRec's lines"}

#define TASK_JSON                                                                                         \
    {"json", OPTION_TEXT, offsetof(struct task_args, json), .value = "FILE",                              \
     .help = "write the numbers of the run to FILE (docs/guide/report.md)"}

#define TASK_TRANSPORT(...)                                                                               \
    {"transport", OPTION_TEXT, offsetof(struct task_args, transport), .value = "NAME",                    \
     .help = "connect the processes of a job by tcp or ipc; settings may follow the name (docs/guide/distributed.md)", .default_text = "tcp", __VA_ARGS__}, \
    {"encrypt", OPTION_TEXT, offsetof(struct task_args, encrypt), .value = "on|off|auto",                 \
     .help = "encrypt connections; auto: only those between machines", .default_text = "auto"},           \
    {"secret_file", OPTION_TEXT, offsetof(struct task_args, secret_file), .value = "FILE",                \
     .help = "read the job's secret from FILE (skiff secret new; docs/guide/security.md)"},               \
    {"insecure", OPTION_BOOL, offsetof(struct task_args, insecure),                                       \
     .help = "allow a job of several machines without a secret"}
/* clang-format on */

/* table, paddlerec: in the order of enum log_format. */
extern const char *const task_log_formats[];
#define TASK_LOG_FORMAT_ENV "SKIFF_LOG_FORMAT"
/* A word that is the name of a config: it ends with .yaml or .yml. */
bool task_is_config(const char *word);
/* `meant` of struct options: a flag that is a key of configs is set with -o. */
bool task_flag_meant(const char *name, const char *value, struct buf *out);
/* 0, or 2 after a message: there must be a config. Log lines of the task go to stderr, from the
 * level of --quiet and --verbose on. */
int task_args_check(struct task_args *a, const char *command);
/* Log lines and unknown keys of the task go to stderr. command: a text that stays. */
void task_args_print(struct task_args *a, const char *command);

#endif
