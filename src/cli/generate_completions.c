/* Shell completions for bash, zsh and fish, generated from the tables of commands and flags, so
 * that a new flag is completed without a change here. Where a command takes words, or a flag takes
 * a value that is not one of ours, the completion offers files; flags whose value is a DIR offer
 * folders, those whose value is a MODEL the ready models. Behind -o stand keys, and behind KEY= the
 * values that the table of keys lists.
 *
 * Texts inside quotes go through add_quoted: no help text can end a quote of the generated
 * script. */
#include <string.h>

#include "cli/generate.h"
#include "config/keys.h"
#include "models/model.h"

static const struct option no_rows[] = {{0}};

static const struct option *rows_of(const struct command *c)
{
    return c->options ? c->options->rows : no_rows;
}

static bool takes_value(const struct option *row)
{
    return row->kind != OPTION_BOOL && row->kind != OPTION_NOT;
}

static bool takes_folder(const struct option *row)
{
    return row->value && !strcmp(row->value, "DIR");
}

static bool takes_file(const struct option *row)
{
    return row->value && !strncmp(row->value, "FILE", 4);
}

static void add_words(struct buf *out, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
}

/* Inside single quotes of a shell; letters of `also` get a backslash. */
static void add_quoted(struct buf *out, const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_str(out, "'\\''");
        else if (strchr(also, *text))
            buf_printf(out, "\\%c", *text);
        else
            buf_char(out, *text);
    }
}

static void add_names(struct buf *out)
{
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary)
            buf_printf(out, "%s ", (*c)->name);
}

/* -o takes keys of a config, and so does `skiff config`. */
static bool takes_keys(const struct option *row)
{
    return row->kind == OPTION_PAIRS;
}

static bool takes_model(const struct option *row)
{
    return row->value && !strcmp(row->value, "MODEL");
}

static void add_models(struct buf *out, const char *before, const char *between)
{
    for (const struct skiff_model_def *const *m = model_all(); *m; m++)
        buf_printf(out, "%s%s%s", m == model_all() ? "" : between, before, (*m)->name);
}

/* The values of a key, if they are words; "": they are not. before: in front of each. */
static void add_values(struct buf *out, enum config_key key, const char *before,
                       const char *between)
{
    char word[64];
    if (key == KEY_RUNNER_MODEL)
        add_models(out, before, between);
    else if (key_info(key)->type == KEY_BOOL)
        buf_printf(out, "%sTrue%s%sFalse", before, between, before);
    else
        for (int i = 0; key_word(key, i, word); i++)
            buf_printf(out, "%s%s%s", i ? between : "", before, word);
}

/* Keys that have such values, one behind the other. False behind the last. */
static bool next_with_values(enum config_key *key, struct buf *values, const char *between)
{
    while (++*key < KEY_COUNT) {
        buf_reset(values);
        if (key_is_family(*key))
            continue;
        add_values(values, *key, "", between);
        if (values->len)
            return true;
    }
    return false;
}

static bool words_are_keys(const struct command *c)
{
    return c->options && c->options->words && !strncmp(c->options->words, "KEY", 3);
}

static void add_keys(struct buf *out, const char *behind)
{
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++)
        if (!key_is_family((enum config_key)i))
            buf_printf(out, "%s%s ", key_name((enum config_key)i), behind);
}

/* ---- bash ---- */

static void bash_case(struct buf *out, const char *indent, const struct command *c)
{
    buf_printf(out, "%s%s) flags='", indent, c->name);
    for (const struct option *row = rows_of(c); row->name; row++)
        if (option_shown(row)) {
            if (row->letter)
                buf_printf(out, "-%c ", row->letter);
            if (row->also_letter)
                buf_printf(out, "-%c ", row->also_letter);
            buf_printf(out, "--%s ", row->name);
            if (row->also)
                buf_printf(out, "--%s ", row->also);
        }
    buf_str(out, "--help'\n");
    for (const struct option *row = rows_of(c); row->name; row++)
        if (row->kind == OPTION_CHOICE) {
            buf_printf(out, "%s    [ \"$before\" = --%s ] && words='", indent, row->name);
            add_words(out, row->words);
            buf_str(out, "'\n");
        } else if (takes_model(row)) {
            buf_printf(out, "%s    [ \"$before\" = --%s ] && words='", indent, row->name);
            add_models(out, "", " ");
            buf_str(out, "'\n");
        } else if (takes_folder(row)) {
            buf_printf(out, "%s    [[ $before == --%s", indent, row->name);
            if (row->letter)
                buf_printf(out, " || $before == -%c", row->letter);
            buf_str(out, " ]] && folders=1\n");
        } else if (takes_keys(row)) {
            buf_printf(out, "%s    [[ $flag == -%c || $flag == --%s ]] && pairs=1\n", indent,
                       row->letter, row->name);
        } else if (row->kind == OPTION_PASS) { /* -o goes to skiff train */
            buf_printf(out, "%s    [ \"$flag\" = -o ] && pairs=1\n", indent);
        }
    if (words_are_keys(c))
        buf_printf(out, "%s    keys=1\n", indent);
    for (const struct option *row = rows_of(c); words_are_keys(c) && row->name; row++)
        if (takes_file(row))
            buf_printf(out, "%s    [[ $before == -[%c%c] || $before == --%s ]] && keys=''\n",
                       indent, row->letter, row->also_letter, row->name);
    buf_printf(out, "%s    ;;\n", indent);
}

static void bash_parts(struct buf *out, const struct command *c)
{
    buf_printf(out, "    %s)\n        [ \"$at\" -eq 2 ] && words='", c->name);
    for (const struct command *p = c->parts; p->name; p++)
        buf_printf(out, "%s ", p->name);
    buf_str(out, "--help'\n        case ${COMP_WORDS[2]} in\n");
    for (const struct command *p = c->parts; p->name; p++)
        bash_case(out, "        ", p);
    buf_str(out, "        esac\n        ;;\n");
}

/* Behind KEY= of -o: `key` is set. */
static void bash_values(struct buf *out)
{
    struct buf values = BUF_INIT;
    buf_str(out, "    if [ -n \"$key\" ] && [ -n \"$pairs\" ]; then\n"
                 "        pairs=''\n"
                 "        case $key in\n");
    for (enum config_key key = KEY_NONE; next_with_values(&key, &values, " ");)
        buf_printf(out, "        %s) words='%s' ;;\n", key_name(key), values.data);
    buf_str(out, "        esac\n    elif [ -n \"$key\" ]; then\n        pairs=''\n    fi\n");
    buf_deinit(&values);
}

void complete_bash(struct buf *out)
{
    buf_str(out,
            "# completion of skiff and fleetrun for bash; made from the table of commands\n"
            "_skiff() {\n"
            "    local at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
            "    local before=${COMP_WORDS[COMP_CWORD - 1]} flags='' words='' folders='' keys='' "
            "pairs='' flag='' key='' i\n"
            "    for ((i = COMP_CWORD - 1; i > 1; i--)); do\n"
            "        [[ ${COMP_WORDS[i]} == -* ]] && flag=${COMP_WORDS[i]} && break\n"
            "    done\n"
            "    if [[ $current == '=' ]]; then\n"
            "        key=$before current=''\n"
            "    elif [[ $before == '=' ]]; then\n"
            "        key=${COMP_WORDS[COMP_CWORD - 2]}\n"
            "    fi\n"
            "    COMPREPLY=()\n"
            "    if [ \"${COMP_WORDS[0]##*/}\" = fleetrun ]; then\n"
            "        command=launch\n"
            "    elif [ \"$at\" -eq 1 ]; then\n"
            "        words='");
    add_names(out);
    buf_str(out, "help --help --version'\n        command=\n"
                 "    elif [ \"$command\" = help ] && [ \"$at\" -eq 2 ]; then\n        words='");
    add_names(out);
    buf_str(out, "'\n    fi\n    case $command in\n");
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary && (*c)->parts)
            bash_parts(out, *c);
        else if ((*c)->summary)
            bash_case(out, "    ", *c);
    buf_str(out, "    esac\n");
    bash_values(out);
    buf_str(out, "    if [ -n \"$words\" ]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                 "    elif [ -n \"$pairs\" ] && [[ $current != -* ]]; then\n"
                 "        compopt -o nospace 2>/dev/null\n"
                 "        mapfile -t COMPREPLY < <(compgen -W '");
    add_keys(out, "=");
    buf_str(out, "' -- \"$current\")\n"
                 "    elif [ -n \"$keys\" ] && [[ $current != -* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W '");
    add_keys(out, "");
    buf_str(out, "' -- \"$current\")\n"
                 "    elif [ -n \"$folders\" ]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
                 "    elif [[ $current == -* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
                 "    fi\n"
                 "}\n"
                 "complete -o default -F _skiff skiff fleetrun\n");
}

/* ---- zsh ---- */

static void zsh_option(struct buf *out, const struct option *row)
{
    struct buf text = BUF_INIT;
    option_sentence(row, &text);
    buf_str(out, "            ");
    if (row->also_letter)
        buf_printf(out, "'(-%c -%c --%s)'{-%c,-%c,--%s}", row->letter, row->also_letter, row->name,
                   row->letter, row->also_letter, row->name);
    else if (row->letter)
        buf_printf(out, "'(-%c --%s)'{-%c,--%s}", row->letter, row->name, row->letter, row->name);
    else
        buf_printf(out, "--%s", row->name);
    buf_str(out, "'[");
    add_quoted(out, text.data, "[]\\");
    buf_char(out, ']');
    if (takes_value(row)) {
        buf_char(out, ':');
        add_quoted(out, row->value ? row->value : "VALUE", ":\\");
        buf_char(out, ':');
        if (row->kind == OPTION_CHOICE) {
            buf_char(out, '(');
            add_words(out, row->words);
            buf_char(out, ')');
        } else if (takes_model(row)) {
            buf_char(out, '(');
            add_models(out, "", " ");
            buf_char(out, ')');
        } else if (takes_folder(row) || takes_file(row)) {
            buf_str(out, takes_folder(row) ? "_files -/" : "_files");
        } else if (takes_keys(row)) {
            buf_str(out, "_skiff_pairs");
        }
    }
    buf_str(out, "' \\\n");
    buf_deinit(&text);
}

static void zsh_case(struct buf *out, const struct command *c)
{
    buf_printf(out, "    %s)\n        _arguments \\\n", c->name);
    for (const struct option *row = rows_of(c); row->name; row++)
        if (option_shown(row))
            zsh_option(out, row);
    buf_str(out, "            '(-h --help)'{-h,--help}'[prints help]'");
    if (words_are_keys(c))
        buf_str(out, " \\\n            '*:key:_skiff_keys'");
    else if (!c->options || c->options->words || c->options->first)
        buf_str(out, " \\\n            '*:word:_files'");
    buf_str(out, "\n        ;;\n");
}

static void zsh_list(struct buf *out, const char *name, const struct command *c)
{
    buf_printf(out, "        '%s:", name);
    add_quoted(out, c->summary, ":\\");
    buf_str(out, "'\n");
}

static void zsh_parts(struct buf *out, const struct command *c)
{
    buf_printf(out, "    %s)\n        if (( CURRENT == 2 )); then\n        local -a parts=(\n",
               c->name);
    for (const struct command *p = c->parts; p->name; p++)
        zsh_list(out, p->name, p);
    buf_str(out, "        )\n        _describe -t parts 'what' parts\n        return\n        fi\n"
                 "        shift words\n        (( CURRENT-- ))\n        case $words[1] in\n");
    for (const struct command *p = c->parts; p->name; p++)
        zsh_case(out, p);
    buf_str(out, "        esac\n        ;;\n");
}

/* A key, or behind KEY= its values. */
static void zsh_values(struct buf *out)
{
    struct buf values = BUF_INIT;
    buf_str(out, "_skiff_pairs() {\n"
                 "    if compset -P '*='; then\n"
                 "        case ${IPREFIX%=} in\n");
    for (enum config_key key = KEY_NONE; next_with_values(&key, &values, " ");)
        buf_printf(out, "        *%s) compadd -- %s ;;\n", key_name(key), values.data);
    buf_str(out, "        esac\n        return\n    fi\n    compadd -S '=' -- ");
    add_keys(out, "");
    buf_str(out, "\n}\n");
    buf_deinit(&values);
}

void complete_zsh(struct buf *out)
{
    buf_str(out, "#compdef skiff fleetrun\n# made from the tables of commands and keys\n"
                 "_skiff_keys() {\n    compadd -- ");
    add_keys(out, "");
    buf_str(out, "\n}\n");
    zsh_values(out);
    buf_str(out, "_skiff() {\n"
                 "    local -a commands=(\n");
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary)
            zsh_list(out, (*c)->name, *c);
    buf_str(out, "    )\n"
                 "    if [[ ${words[1]:t} == fleetrun ]]; then\n"
                 "        words[1]=launch\n"
                 "    else\n"
                 "        if (( CURRENT == 2 )); then\n"
                 "            _describe -t commands 'command' commands\n"
                 "            return\n"
                 "        fi\n"
                 "        shift words\n"
                 "        (( CURRENT-- ))\n"
                 "    fi\n"
                 "    case $words[1] in\n");
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary && (*c)->parts)
            zsh_parts(out, *c);
        else if ((*c)->summary)
            zsh_case(out, *c);
    buf_str(out, "    help)\n        _describe -t commands 'command' commands\n        ;;\n"
                 "    esac\n}\n_skiff \"$@\"\n");
}

/* ---- fish ---- */

/* "runner.model=rank/dnn runner.model=rank/fm ...": fish completes whole words. */
static void add_pairs(struct buf *out)
{
    struct buf values = BUF_INIT, before = BUF_INIT;
    for (enum config_key key = KEY_NONE; next_with_values(&key, &values, " ");) {
        buf_reset(&before);
        buf_printf(&before, "%s=", key_name(key));
        add_values(out, key, before.data, " ");
        buf_char(out, ' ');
    }
    buf_deinit(&values);
    buf_deinit(&before);
}

static void fish_option(struct buf *out, const char *head, const struct option *row)
{
    struct buf text = BUF_INIT;
    option_sentence(row, &text);
    buf_printf(out, "%s -l %s", head, row->name);
    if (row->letter)
        buf_printf(out, " -s %c", row->letter);
    if (row->also_letter)
        buf_printf(out, " -s %c", row->also_letter);
    if (row->kind == OPTION_CHOICE) {
        buf_str(out, " -xa '");
        add_words(out, row->words);
        buf_char(out, '\'');
    } else if (takes_model(row)) {
        buf_str(out, " -xa '");
        add_models(out, "", " ");
        buf_char(out, '\'');
    } else if (takes_folder(row)) {
        buf_str(out, " -xa '(__fish_complete_directories)'");
    } else if (takes_value(row)) {
        buf_str(out, takes_file(row) ? " -rF" : " -x");
    }
    if (takes_keys(row)) {
        buf_str(out, "a '");
        add_keys(out, "=");
        add_pairs(out);
        buf_char(out, '\'');
    }
    buf_str(out, " -d '");
    for (const char *c = text.data; *c; c++) /* fish has its own way to quote */
        buf_printf(out, strchr("'\\", *c) ? "\\%c" : "%c", *c);
    buf_str(out, "'\n");
    buf_deinit(&text);
}

static void fish_options(struct buf *out, const char *head, const struct command *c)
{
    for (const struct option *row = rows_of(c); row->name; row++)
        if (option_shown(row))
            fish_option(out, head, row);
    if (words_are_keys(c)) {
        buf_printf(out, "%s -fa '", head);
        add_keys(out, "");
        buf_str(out, "'\n");
    }
    buf_printf(out, "%s -l help -s h -d 'prints help'\n", head);
}

static void fish_name(struct buf *out, const char *condition, const struct command *c)
{
    buf_printf(out, "complete -c skiff -f -n '%s' -a %s -d '", condition, c->name);
    for (const char *s = c->summary; *s; s++)
        buf_printf(out, strchr("'\\", *s) ? "\\%c" : "%c", *s);
    buf_str(out, "'\n");
}

static void fish_command(struct buf *out, const struct command *c)
{
    struct buf head = BUF_INIT;
    fish_name(out, "__fish_use_subcommand", c);
    for (const struct command *p = c->parts; p && p->name; p++) {
        buf_reset(&head);
        buf_printf(&head,
                   "__fish_seen_subcommand_from %s; and test (count (commandline -opc)) -eq 2",
                   c->name);
        fish_name(out, head.data, p);
        buf_reset(&head);
        buf_printf(&head,
                   "complete -c skiff -n '__fish_seen_subcommand_from %s; and "
                   "__fish_seen_subcommand_from %s'",
                   c->name, p->name);
        fish_options(out, head.data, p);
    }
    buf_reset(&head);
    buf_printf(&head, "complete -c skiff -n '__fish_seen_subcommand_from %s'", c->name);
    if (!c->parts)
        fish_options(out, head.data, c);
    buf_deinit(&head);
}

void complete_fish(struct buf *out)
{
    buf_str(out, "# completion of skiff and fleetrun for fish; made from the table of commands\n"
                 "complete -c skiff -n __fish_use_subcommand -l version -d 'prints the version'\n");
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary)
            fish_command(out, *c);
    fish_options(out, "complete -c fleetrun", &command_launch);
}
