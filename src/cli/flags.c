#include "cli/flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

static int put(const char *command, const struct flag *f, const char *text)
{
    char *end;
    errno = 0;
    switch (f->kind) {
    case FLAG_INT:
        *(int64_t *)f->at = strtoll(text, &end, 10);
        break;
    case FLAG_REAL:
        *(double *)f->at = strtod(text, &end);
        break;
    default:
        *(const char **)f->at = text;
        return 0;
    }
    if (end == text || *end || errno)
        return command_usage(command, "%s needs a number, found \"%s\"", f->name, text);
    return 0;
}

static const struct flag *find(const struct flag *flags, const char *word, size_t n)
{
    for (const struct flag *f = flags; f->name; f++)
        if (strlen(f->name) == n && !strncmp(f->name, word, n))
            return f;
    return NULL;
}

int flags_parse(int argc, char **argv, const struct flag *flags, const char **words, int *nwords,
                bool *help)
{
    *help = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            *help = true;
            return 0;
        }
        if (word[0] != '-' || !word[1]) {
            if (!words)
                return command_usage(argv[0], "what is %s?", word);
            words[(*nwords)++] = word;
            continue;
        }
        const struct flag *f = find(flags, word, equals ? (size_t)(equals - word) : strlen(word));
        if (!f)
            return command_usage(argv[0], "what is %s?", word);
        if (f->kind == FLAG_SET) {
            *(bool *)f->at = true;
            continue;
        }
        if (!equals && i + 1 == argc)
            return command_usage(argv[0], "%s needs a value", word);
        int status = put(argv[0], f, equals ? equals + 1 : argv[++i]);
        if (status)
            return status;
    }
    return 0;
}

void flags_print(const struct flag *flags)
{
    for (const struct flag *f = flags; f->name; f++)
        printf("  %-10s %-6s %s\n", f->name, f->kind == FLAG_SET ? "" : "VALUE", f->help);
}
