/* inspect layers: what networks in YAML can be made of. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/near.h"
#include "cli/inspect.h"
#include "task/net_text.h"
#include "layers/table.h"

static const char *type_text(enum arg_type type)
{
    static const char *const texts[] = {
        [ARG_VAR] = "a variable (a group: the layer is repeated)",
        [ARG_VARS] = "variables, groups in full",
        [ARG_DIMS] = "a list of whole numbers",
        [ARG_TEXT] = "a word",
        [ARG_INT] = "a whole number",
        [ARG_FLOAT] = "a number",
        [ARG_BOOL] = "True or False",
        [ARG_PARAM] = "a parameter: its name, or {name, initializer, ...}; False: none",
        [ARG_INITIALIZER] = "an initializer, as {normal: {scale: 0.1}}",
        [ARG_PAIR] = "one whole number or two",
        [ARG_LONGS] = "a list of whole numbers",
        [ARG_DOUBLES] = "a list of numbers",
        [ARG_ARRAY] = "an array",
    };
    return texts[type];
}

/* "fc: input size [act name]" */
static void print_line(const struct layer_spec *s)
{
    struct buf line = BUF_INIT;
    buf_printf(&line, "%s:", s->name);
    for (int i = 0; i < s->nargs; i++)
        buf_printf(&line, " %s%s%s", i == s->required ? "[" : "", s->args[i].name,
                   i + 1 == s->nargs && s->required < s->nargs ? "]" : "");
    puts(line.data);
    buf_deinit(&line);
}

static void print_layer(const struct layer_spec *s)
{
    for (int i = 0; i < s->nargs; i++)
        printf("    %-20s %s%s\n", s->args[i].name, i < s->required ? "needed: " : "",
               type_text(s->args[i].type));
    for (int i = 0; i < s->nnames; i++)
        printf("%s%s%s", i ? ", ." : "    results: .", s->names[i], i + 1 == s->nnames ? "\n" : "");
}

enum skiff_status inspect_layers(const char *name, struct skiff_error *err)
{
    const struct layer_spec *one = name ? net_text_layer(name) : NULL;
    if (one)
        print_layer(one);
    if (one)
        return SKIFF_OK;
    struct near near = near_to(name ? name : "");
    for (const struct layer_spec *const *s = layer_specs; *s; s++) {
        if (!net_text_layer((*s)->name))
            continue;
        near_try(&near, (*s)->name);
        if (!name)
            print_line(*s);
    }
    if (!name)
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND, "no layer %s%s%s%s", name,
                     near.best ? " (did you mean " : "", near.best ? near.best : "",
                     near.best ? "?)" : "");
}
