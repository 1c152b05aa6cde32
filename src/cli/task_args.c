#include <string.h>

#include "cli/command.h"
#include "cli/task.h"

static int take_override(struct task_args *a, const char *command, const char *text)
{
    if (!strchr(text, '='))
        return command_usage(command, "-o needs key=value, found %s", text);
    if (a->noverrides == TASK_MAX_OVERRIDES)
        return command_usage(command, "more than %d overrides", TASK_MAX_OVERRIDES);
    a->overrides[a->noverrides++] = text;
    return 0;
}

/* -o takes all key=value words that follow. */
static int take_overrides(struct task_args *a, int argc, char **argv, int *at)
{
    if (*at + 1 >= argc)
        return command_usage(argv[0], "-o needs key=value");
    int status = take_override(a, argv[0], argv[++*at]);
    while (!status && *at + 1 < argc && argv[*at + 1][0] != '-' && strchr(argv[*at + 1], '='))
        status = take_override(a, argv[0], argv[++*at]);
    return status;
}

int task_args_parse(struct task_args *a, int argc, char **argv, bool resume, bool files)
{
    *a = (struct task_args){.files = (const char **)argv};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
            a->help = true;
            return 0;
        }
        if (!strcmp(word, "-m") || !strcmp(word, "--config_yaml")) {
            if (++i == argc)
                return command_usage(argv[0], "-m needs a file");
            a->config = argv[i];
        } else if (!strcmp(word, "-o") || !strcmp(word, "--opt")) {
            int status = take_overrides(a, argc, argv, &i);
            if (status)
                return status;
        } else if (resume && !strcmp(word, "--resume")) {
            a->resume = true;
        } else if (files && (word[0] != '-' || !word[1])) {
            a->files[a->nfiles++] = word;
        } else {
            return command_usage(argv[0], "what is %s?", word);
        }
    }
    return a->config ? 0 : command_usage(argv[0], "-m config.yaml is needed");
}
