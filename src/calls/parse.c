/* Parses rows of text into struct function.
 *
 * Rows are our own source code, so an error in one is a bug: the process ends with the row and
 * the reason (call_test parses all of them). The kinds of values that an argument accepts follow
 * from the slots and attributes of the ops in the row, so a row does not repeat them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "calls/row.h"
#include "calls/rules.h"
#include "layers/table.h"
#include "program/op_kind.h"

struct signature_parser {
    struct function *f;
    struct arena *a;
};

void row_wrong(const char *names, const char *what, const char *word)
{
    fprintf(stderr, "skiff: the function %s in src/calls: %s: %s\n", names, what, word);
    abort();
}

static void wrong(const struct signature_parser *p, const char *what, const char *word)
{
    row_wrong(p->f->names, what, word);
}

/* Cuts the text up at `separator` outside of brackets; returns how many parts there are. */
static int cut(const struct signature_parser *p, const char *text, char separator, char **out,
               int most)
{
    char *s = arena_strdup(p->a, text);
    int n = 0, depth = 0;
    char quote = '\0';
    while (*s == ' ')
        s++;
    if (!*s)
        return 0;
    for (out[n++] = s; *s; s++) {
        if (quote || *s == '\'' || *s == '"') {
            quote = !quote ? *s : *s == quote ? '\0' : quote;
            continue;
        }
        depth += *s == '(' || *s == '[';
        depth -= *s == ')' || *s == ']';
        if (*s != separator || depth)
            continue;
        *s = '\0';
        while (s[1] == ' ')
            s++;
        if (!s[1])
            break;
        if (n == most)
            wrong(p, "too many parts", text);
        out[n++] = s + 1;
    }
    return n;
}

/* ---- constants ---- */

static bool parse_list(const struct signature_parser *p, const char *text, struct skiff_attr *out)
{
    int64_t *longs = arena_alloc(p->a, 16 * sizeof(*longs));
    *out = (struct skiff_attr){.type = SKIFF_ATTR_INTS, .longs = longs};
    for (text++; *text && *text != ']'; text += *text == ',') {
        char *end;
        longs[out->n++] = strtoll(text, &end, 10);
        text = end;
    }
    return true;
}

static bool parse_number(const char *text, struct skiff_attr *out)
{
    char *end;
    bool real = strpbrk(text, ".en") != NULL;
    *out = (struct skiff_attr){.type = real ? SKIFF_ATTR_FLOAT : SKIFF_ATTR_INT};
    if (real)
        out->f = strtod(text, &end);
    else
        out->i = strtoll(text, &end, 10);
    return end != text && !*end;
}

/* False if it is not a constant. None is a constant without a value. */
static bool parse_constant(const struct signature_parser *p, const char *text,
                           struct skiff_value *out)
{
    *out = (struct skiff_value){.kind = SKIFF_VALUE_ATTR};
    size_t n = strlen(text);
    if (!strcmp(text, "None")) {
        out->kind = SKIFF_VALUE_NONE;
        return true;
    }
    if (!strcmp(text, "True") || !strcmp(text, "False")) {
        out->attr = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = text[0] == 'T'};
        return true;
    }
    if ((text[0] == '\'' || text[0] == '"') && n > 1) {
        out->attr = (struct skiff_attr){.type = SKIFF_ATTR_STRING,
                                        .s = arena_strndup(p->a, text + 1, n - 2)};
        return true;
    }
    if (text[0] == '[')
        return parse_list(p, text, &out->attr);
    return (isdigit((unsigned char)text[0]) || text[0] == '-') && parse_number(text, &out->attr);
}

/* ---- arguments ---- */

static void parse_args(struct signature_parser *p)
{
    struct function *f = p->f;
    char *parts[ARGS_MAX];
    f->name_arg = -1;
    f->nargs = cut(p, f->arguments, ',', parts, ARGS_MAX);
    for (int i = 0; i < f->nargs; i++) {
        struct row_arg *arg = &f->args[i];
        char *equals = strchr(parts[i], '=');
        arg->required = !equals;
        f->nrequired += !equals;
        if (equals) {
            *equals = '\0';
            if (!parse_constant(p, equals + 1, &arg->def))
                wrong(p, "no constant", equals + 1);
        }
        arg->name = parts[i];
        if (!strcmp(arg->name, "name")) {
            f->name_arg = i;
            arg->takes = TAKES_NAME;
        }
    }
}

static int find_arg(const struct signature_parser *p, const char *name)
{
    int i = function_arg(p->f, name);
    for (int k = 0; i < 0 && k < p->f->nkept; k++)
        if (!strcmp(p->f->args[p->f->nargs + k].name, name))
            i = p->f->nargs + k;
    if (i < 0)
        wrong(p, "no argument and nothing kept of that name", name);
    return i;
}

/* The slot for a step's result; steps of which only one runs may share a name. */
static int keep_name(struct signature_parser *p, const char *name)
{
    struct function *f = p->f;
    for (int k = 0; k < f->nkept; k++)
        if (!strcmp(f->args[f->nargs + k].name, name))
            return f->nargs + k;
    if (f->nkept == KEPT_MAX || function_arg(f, name) >= 0)
        wrong(p, "cannot be kept under that name", name);
    f->args[f->nargs + f->nkept] = (struct row_arg){.name = name, .takes = TAKES_TENSOR};
    return f->nargs + f->nkept++;
}

static void takes_attr(struct signature_parser *p, int i, enum skiff_attr_type type)
{
    struct row_arg *arg = &p->f->args[i];
    if (!(arg->takes & TAKES_ATTR) || arg->any_type)
        arg->type = type;
    arg->any_type = false;
    arg->takes |= TAKES_ATTR;
}

/* ---- rules ---- */

static void takes_letter(struct signature_parser *p, int i, char letter)
{
    static const struct {
        char letter;
        enum skiff_attr_type type;
    } types[] = {{'f', SKIFF_ATTR_FLOAT},   {'i', SKIFF_ATTR_LONG},   {'l', SKIFF_ATTR_LONGS},
                 {'b', SKIFF_ATTR_BOOLEAN}, {'s', SKIFF_ATTR_STRING}, {0}};
    struct row_arg *arg = &p->f->args[i];
    if (letter == 't')
        arg->takes |= TAKES_TENSOR;
    else if (letter == 'T')
        arg->takes |= TAKES_TENSORS;
    else if (letter == 'd')
        arg->takes |= TAKES_DTYPE;
    else if (letter == 'L') {
        takes_attr(p, i, SKIFF_ATTR_LONGS);
        arg->list_only = true;
    } else if (letter == 'p')
        arg->takes |= TAKES_PARAM;
    else if (letter == '*')
        arg->takes |= TAKES_UNUSED;
    else if (letter == 'w') {
        takes_attr(p, i, SKIFF_ATTR_LONGS);
        arg->takes |= TAKES_WINDOW;
    }
    for (int k = 0; types[k].letter; k++)
        if (types[k].letter == letter && !(arg->takes & TAKES_ATTR))
            takes_attr(p, i, types[k].type);
    if ((letter == 'a' || letter == 'n') && !arg->takes) {
        arg->takes = TAKES_ATTR;
        arg->any_type = true;
        arg->as_text = letter == 'n';
    }
}

/* "rule(a,b)" -> the rule and its operands */
static const struct call_rule *parse_rule(struct signature_parser *p, const char *text,
                                          const struct operand **out, int *n)
{
    char *parts[OPERANDS_MAX], *open = strchr(text, '(');
    size_t length = strlen(text);
    if (!open || text[length - 1] != ')')
        wrong(p, "neither an argument, a constant nor a rule", text);
    const struct call_rule *rule = call_rule_find(arena_strndup(p->a, text, (size_t)(open - text)));
    if (!rule)
        wrong(p, "there is no such rule", text);
    *n = cut(p, arena_strndup(p->a, open + 1, length - (size_t)(open - text) - 2), ',', parts,
             OPERANDS_MAX);
    struct operand *to = arena_alloc(p->a, (size_t)(*n + 1) * sizeof(*to));
    *out = to;
    for (int i = 0; i < *n; i++) {
        to[i].arg = -1;
        if (parse_constant(p, parts[i], &to[i].value))
            continue;
        to[i].arg = find_arg(p, parts[i]);
        p->f->args[to[i].arg].none_ok |=
            i == 0 && (!strcmp(rule->name, "or") || !strcmp(rule->name, "one_of"));
        if ((size_t)i < strlen(rule->takes))
            takes_letter(p, to[i].arg, rule->takes[i]);
    }
    return rule;
}

/* ---- terms ---- */

static void term_slot(struct signature_parser *p, struct term *t, const struct op_slot *slot,
                      const char *value)
{
    t->kind = TERM_SLOT;
    if (!strcmp(value, ".")) {
        t->kind = TERM_BEFORE;
        if (p->f->nargs && !p->f->args[0].takes)
            p->f->args[0].takes = TAKES_TENSOR;
        return;
    }
    if (!strncmp(value, "fill(", 5)) {
        t->kind = TERM_FILL;
        t->rule = parse_rule(p, value, &t->operands, &t->noperands);
        t->arg = t->operands[0].arg;
        p->f->args[t->arg].takes |= TAKES_TENSOR;
        return;
    }
    if (!strncmp(value, "real(", 5)) {
        t->kind = TERM_REAL;
        t->rule = parse_rule(p, value, &t->operands, &t->noperands);
        t->arg = t->operands[0].arg;
        return;
    }
    t->arg = find_arg(p, value);
    p->f->args[t->arg].takes |= slot->flags & SLOT_LIST ? TAKES_TENSORS : TAKES_TENSOR;
}

static void term_attr(struct signature_parser *p, struct term *t, const struct op_attr_spec *spec,
                      const char *value)
{
    struct skiff_value constant;
    if (parse_constant(p, value, &constant)) {
        t->kind = TERM_CONST;
        t->value = constant.attr;
    } else if (strchr(value, '(')) {
        t->kind = TERM_RULE;
        t->rule = parse_rule(p, value, &t->operands, &t->noperands);
        int arg = t->operands[0].arg;
        if (!strcmp(t->rule->name, "or") && arg >= 0) /* the name of the attribute */
            takes_attr(p, arg, (enum skiff_attr_type)spec->type);
    } else {
        t->kind = TERM_ATTR;
        t->arg = find_arg(p, value);
        takes_attr(p, t->arg, (enum skiff_attr_type)spec->type);
    }
}

static const struct op_slot *find_slot(const struct signature_parser *p,
                                       const struct op_slot *slots, const char *name)
{
    int i = op_kind_slot(slots, name);
    if (i < 0)
        wrong(p, "the op has no such slot", name);
    return &slots[i];
}

/* "attr|Slot|List=arg" */
static void term_either(struct signature_parser *p, struct term *t, const struct op_kind *kind,
                        char *keys, const char *value)
{
    char *parts[3];
    int n = cut(p, keys, '|', parts, 3), at = op_kind_attr(kind, parts[0]);
    if (at < 0)
        wrong(p, "the op has no such attribute", parts[0]);
    t->kind = TERM_EITHER;
    t->key = parts[0];
    for (int i = 1; i < n; i++) {
        size_t length = strlen(parts[i]);
        if (length && parts[i][length - 1] == '!') {
            t->stop = true;
            parts[i][length - 1] = '\0';
        }
        if (*(i == 1 ? (t->slot = parts[i]) : (t->list = parts[i])))
            find_slot(p, kind->ins, parts[i]);
    }
    t->arg = find_arg(p, value);
    takes_attr(p, t->arg, (enum skiff_attr_type)kind->attrs[at].type);
    int list = t->list ? op_kind_slot(kind->ins, t->list) : -1;
    t->one_dim = list >= 0 && kind->ins[list].flags & SLOT_ONE_DIM;
    p->f->args[t->arg].takes |=
        (t->slot && *t->slot ? TAKES_TENSOR : 0) | (t->list ? TAKES_MIXED : 0);
}

static void parse_term(struct signature_parser *p, const struct op_kind *kind, struct call_step *s,
                       char *text)
{
    if (s->nterms == TERMS_MAX)
        wrong(p, "too many terms", text);
    struct term *t = &s->terms[s->nterms++];
    char *equals = strchr(text, '='), *open = strchr(text, '(');
    if (!equals || (open && open < equals)) {
        t->kind = TERM_CHECK;
        t->rule = parse_rule(p, text, &t->operands, &t->noperands);
        return;
    }
    *equals = '\0';
    if (strchr(text, '|')) {
        term_either(p, t, kind, text, equals + 1);
        return;
    }
    int at = op_kind_attr(kind, text);
    t->key = text;
    if (equals[-1] == '!') {
        t->stop = true;
        equals[-1] = '\0';
    }
    if (at >= 0)
        term_attr(p, t, &kind->attrs[at], equals + 1);
    else
        term_slot(p, t, find_slot(p, kind->ins, text), equals + 1);
}

static void parse_result(struct signature_parser *p, const struct op_kind *kind,
                         struct call_step *s, char *text)
{
    if (s->nresults == RESULTS_MAX)
        wrong(p, "too many results", text);
    struct result *r = &s->results[s->nresults++];
    size_t n = strcspn(text, ":!~=*");
    r->slot = arena_strndup(p->a, text, n);
    r->in_place = -1;
    find_slot(p, kind->outs, r->slot);
    for (text += n; *text; text += n) {
        char mark = *text++;
        n = mark == '*' ? strlen(text) : strcspn(text, ":!~=*");
        char *word = arena_strndup(p->a, text, n);
        if (mark == ':')
            r->dtype = word;
        else if (mark == '=') {
            r->in_place = find_arg(p, word);
            p->f->args[r->in_place].takes |= TAKES_TENSOR;
        } else if (mark == '*')
            r->rule = parse_rule(p, word, &r->operands, &r->noperands);
        r->stop |= mark == '!';
        r->hidden |= mark == '~';
    }
}

/* ---- calls of other functions ---- */

/* An argument that is passed on accepts the values that the called function accepts. */
static void takes_as(struct signature_parser *p, int i, const struct row_arg *other)
{
    struct row_arg *arg = &p->f->args[i];
    arg->takes |= other->takes & ~(unsigned)(TAKES_ATTR | TAKES_NAME);
    if (other->takes & TAKES_ATTR && !(arg->takes & TAKES_ATTR)) {
        arg->takes |= TAKES_ATTR;
        arg->type = other->type;
        arg->any_type = other->any_type;
    }
}

/* What an argument gets: the text behind "arg=". */
static void parse_value(struct signature_parser *p, struct term *t, char *text)
{
    struct skiff_value constant;
    if (!strcmp(text, "."))
        t->kind = TERM_BEFORE;
    else if (parse_constant(p, text, &constant)) {
        t->kind = TERM_CONST;
        t->value = constant.attr;
    } else if (strchr(text, '(')) {
        t->kind = TERM_RULE;
        t->rule = parse_rule(p, text, &t->operands, &t->noperands);
    } else {
        t->kind = TERM_SLOT;
        t->arg = find_arg(p, text);
    }
}

static void parse_handed(struct signature_parser *p, struct call_step *s, char *text)
{
    char *equals = strchr(text, '=');
    struct term *t = &s->terms[s->nterms++];
    if (!equals)
        wrong(p, "not arg=value", text);
    *equals = '\0';
    t->to = function_arg(s->call, text);
    if (t->to < 0)
        wrong(p, "the function that is called has no such argument", text);
    parse_value(p, t, equals + 1);
    if (t->kind == TERM_SLOT)
        takes_as(p, t->arg, &s->call->args[t->to]);
}

static void parse_call(struct signature_parser *p, struct call_step *s, char *word)
{
    word[strlen(word) - 1] = '\0';
    s->call = function_before(word);
    if (!s->call)
        wrong(p, "there is no such function before this one", word);
}

/* ---- layers ---- */

static void takes_layer(struct signature_parser *p, int i, const struct layer_arg *to)
{
    static const enum skiff_attr_type types[] = {
        [ARG_DIMS] = SKIFF_ATTR_LONGS,   [ARG_TEXT] = SKIFF_ATTR_STRING,
        [ARG_INT] = SKIFF_ATTR_LONG,     [ARG_FLOAT] = SKIFF_ATTR_FLOAT,
        [ARG_BOOL] = SKIFF_ATTR_BOOLEAN, [ARG_PAIR] = SKIFF_ATTR_LONGS};
    struct row_arg *arg = &p->f->args[i];
    if (to->type == ARG_VAR)
        arg->takes |= TAKES_TENSOR;
    else if (to->type == ARG_VARS)
        arg->takes |= TAKES_TENSORS;
    else if (to->type == ARG_PARAM)
        arg->takes |= TAKES_PARAM;
    else if (to->type > ARG_PAIR || to->type == ARG_INITIALIZER)
        wrong(p, "rows cannot hand on the layer's argument", to->name);
    else if (!strcmp(to->name, "dtype"))
        arg->takes |= TAKES_DTYPE;
    else if (!(arg->takes & (TAKES_NAME | TAKES_ATTR)))
        takes_attr(p, i, types[to->type]);
}

static void parse_layer_term(struct signature_parser *p, struct call_step *s, char *text)
{
    char *equals = strchr(text, '='), *open = strchr(text, '(');
    struct term *t = &s->terms[s->nterms++];
    if (!equals || (open && open < equals)) {
        t->kind = TERM_CHECK;
        t->rule = parse_rule(p, text, &t->operands, &t->noperands);
        return;
    }
    *equals = '\0';
    t->to = layer_arg_find(s->layer, text);
    if (t->to < 0)
        wrong(p, "the layer has no such argument", text);
    parse_value(p, t, equals + 1);
    if (t->kind == TERM_SLOT)
        takes_layer(p, t->arg, &s->layer->args[t->to]);
}

static void parse_layer(struct signature_parser *p, struct call_step *s, char *word)
{
    word[strlen(word) - 1] = '\0';
    s->layer = layer_find(word);
    if (!s->layer || !p->f->programs)
        wrong(p, s->layer ? "only fluid's rows may have layers" : "there is no such layer", word);
}

/* ---- steps ---- */

static void parse_condition(struct signature_parser *p, struct call_step *s, const char *text)
{
    if (s->nconditions == CONDITIONS_MAX)
        wrong(p, "too many conditions", text);
    struct row_condition *to = &s->conditions[s->nconditions++];
    static const struct {
        const char *word;
        enum if_condition condition;
    } words[] = {
        {"tensor(", IF_TENSOR}, {"number(", IF_NUMBER}, {"none(", IF_NONE}, {"whole(", IF_WHOLE},
        {"other(", IF_OTHER},   {"matrix(", IF_MATRIX}, {"ints(", IF_INTS}, {0}};
    to->kind = IF_GIVEN;
    for (int i = 0; words[i].word; i++)
        if (!strncmp(text, words[i].word, strlen(words[i].word))) {
            to->kind = words[i].condition;
            text = arena_strndup(p->a, text + strlen(words[i].word),
                                 strlen(text) - strlen(words[i].word) - 1);
            break;
        }
    if (strchr(text, '(')) {
        to->kind = IF_RULE;
        to->rule = parse_rule(p, text, &to->operands, &to->noperands);
    } else
        to->arg = find_arg(p, text);
}

static const struct op_kind *parse_op(struct signature_parser *p, struct call_step *s, char *word)
{
    word[strlen(word) - 1] = '\0';
    s->op = word;
    s->op_arg = -1;
    if (*word == '@') { /* an argument names the op: an activation */
        s->op_arg = find_arg(p, word + 1);
        takes_attr(p, s->op_arg, SKIFF_ATTR_STRING);
    }
    const struct op_kind *kind =
        op_kind_find(*word == '@' ? "relu" : word, p->f->programs ? GEN_1X : GEN_2X);
    if (!kind)
        wrong(p, "there is no such op", word);
    return kind;
}

enum { WORDS = TERMS_MAX + RESULTS_MAX + 2 * CONDITIONS_MAX + 12 };

static bool is_mark(const char *word)
{
    return !strcmp(word, "if") || !strcmp(word, "unless") || !strcmp(word, "keep");
}

/* "keep NAME...", "give NAME...": reads the names; returns the number of words read. */
static int parse_names(struct signature_parser *p, char **words, int n, bool keep, int *to,
                       int *count)
{
    int i = 0;
    for (; i < n && !is_mark(words[i]); i++) {
        if (*count == RESULTS_MAX)
            wrong(p, "too many names", words[i]);
        to[(*count)++] = keep ? keep_name(p, words[i]) : find_arg(p, words[i]);
    }
    return i;
}

/* Words that all kinds of steps may have; returns the number of words read. */
static int parse_mark(struct signature_parser *p, struct call_step *s, char **words, int n)
{
    const char *word = words[0];
    if (n > 1 && (!strcmp(word, "as") || !strcmp(word, "named") || !strcmp(word, "aside") ||
                  !strcmp(word, "called"))) {
        s->named = word[0] == 'n' || word[0] == 'c';
        s->aside = word[2] == 'i' || word[0] == 'c';
        s->as = words[1];
        return 2;
    }
    if (n > 1 && (!strcmp(word, "if") || !strcmp(word, "unless"))) {
        parse_condition(p, s, words[1]);
        s->conditions[s->nconditions - 1].unless = word[0] == 'u';
        return 2;
    }
    if (!strcmp(word, "keep"))
        return 1 + parse_names(p, words + 1, n - 1, true, s->kept, &s->nkept);
    if (!strcmp(word, "give"))
        return 1 + parse_names(p, words + 1, n - 1, false, s->gives, &s->ngives);
    return 0;
}

static void parse_step(struct signature_parser *p, const char *text, struct call_step *s)
{
    char *words[WORDS];
    const struct op_kind *kind = NULL;
    int n = cut(p, text, ' ', words, WORDS), i = 0, taken;
    bool results = false;
    s->terms = arena_alloc(p->a, (size_t)(n + 1) * sizeof(*s->terms));
    if (n > 1 && !strcmp(words[0], "call")) {
        parse_call(p, s, words[1]);
        i = 2;
    } else if (n > 1 && !strcmp(words[0], "layer")) {
        parse_layer(p, s, words[1]);
        i = 2;
    } else if (words[0][strlen(words[0]) - 1] == ':')
        kind = parse_op(p, s, words[i++]);
    for (; i < n; i += taken) {
        taken = parse_mark(p, s, words + i, n - i);
        if (taken)
            continue;
        taken = 1;
        if (!strcmp(words[i], "->"))
            results = true;
        else if (s->call)
            parse_handed(p, s, words[i]);
        else if (s->layer)
            parse_layer_term(p, s, words[i]);
        else if (!kind && !strchr(words[i], '('))
            wrong(p, "a step begins with an op and ':', 'call', 'layer', 'give' or a check", text);
        else if (results)
            parse_result(p, kind, s, words[i]);
        else
            parse_term(p, kind, s, words[i]);
    }
    if (kind && !s->nresults)
        parse_result(p, kind, s, arena_strdup(p->a, "Out"));
    for (int k = 0; k < s->nresults; k++) { /* insertion sort */
        int at = k;
        for (; at > 0 && op_kind_slot(kind->outs, s->results[s->order[at - 1]].slot) >
                             op_kind_slot(kind->outs, s->results[k].slot);
             at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = k;
    }
}

void row_parse(const struct function_row *row, const char *module, struct arena *a,
               struct function *out)
{
    struct signature_parser p = {out, a};
    char *steps[STEPS_MAX];
    *out = (struct function){.names = row->names,
                             .arguments = row->arguments,
                             .ops = row->ops,
                             .text = row->text,
                             .module = module};
    char *first = arena_strndup(a, row->names, strcspn(row->names, " "));
    char *dot = strrchr(first, '.');
    out->programs = !strncmp(row->names, "fluid.", 6);
    out->name = dot ? dot + 1 : first;
    parse_args(&p);
    out->nsteps = cut(&p, row->ops, ';', steps, STEPS_MAX);
    out->steps = arena_alloc(a, (size_t)(out->nsteps + 1) * sizeof(*out->steps));
    for (int i = 0; i < out->nsteps; i++)
        parse_step(&p, steps[i], &out->steps[i]);
    const struct call_step *last = &out->steps[out->nsteps - 1];
    for (int i = 0; i < last->nresults; i++)
        out->gives_list |= last->results[i].rule != NULL;
    if (last->call)
        out->gives_list = last->call->gives_list;
    if (last->layer)
        out->gives_list = last->layer->result == RESULT_LIST;
}
