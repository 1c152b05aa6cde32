/* Messages of ops name their arguments as the call was bound, I0, I1, ..: here they get the names
 * of the tensors, or what tells them apart without one, their shapes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/eager.h"

struct blame {
    char *to, *end;
    const struct call *call;
    struct skiff_eager_tensor *const *ins;
};

static void put(struct blame *b, const char *text, size_t n)
{
    size_t room = (size_t)(b->end - b->to) - 1;
    n = n < room ? n : room;
    memcpy(b->to, text, n);
    b->to += n;
    *b->to = '\0';
}

/* The number of an argument at p, and where it ends; -1: something else. */
static int number_at(const struct blame *b, const char *p, const char **end)
{
    if ((*p != IN_LETTER && *p != OUT_LETTER) || !isdigit((unsigned char)p[1]))
        return -1;
    char *after;
    long number = strtol(p + 1, &after, 10);
    *end = after;
    return number < (*p == IN_LETTER ? b->call->nin : b->call->nout) ? (int)number : -1;
}

/* "(I0)" or "(I0, I1)" at p: where it ends, or NULL. */
static const char *list_end(const struct blame *b, const char *p)
{
    if (*p++ != '(')
        return NULL;
    while (number_at(b, p, &p) >= 0) {
        if (*p == ')')
            return p + 1;
        if (strncmp(p, ", ", 2))
            return NULL;
        p += 2;
    }
    return NULL;
}

static void put_argument(struct blame *b, const char *p, bool shape_follows, bool alone)
{
    const char *end;
    int number = number_at(b, p, &end);
    const struct skiff_eager_tensor *t = *p == IN_LETTER ? b->ins[number] : NULL;
    char text[160];
    if (!t)
        return; /* of outputs the slot's name says enough */
    if (t->name) {
        put(b, alone ? " (" : "", alone ? 2 : 0);
        put(b, t->name, strlen(t->name));
        put(b, ")", alone);
    }
    if (shape_follows || t->box->value.kind == VALUE_NONE)
        return;
    put(b, " ", alone || t->name ? 1 : 0);
    shape_text(&t->box->value.tensor.shape, text);
    put(b, text, strlen(text));
}

static void put_list(struct blame *b, const char *p, const char *end)
{
    bool alone = !memchr(p, ',', (size_t)(end - p));
    if (alone) {
        put_argument(b, p + 1, !strncmp(end, " [", 2), true);
        return;
    }
    put(b, " (", 2);
    for (p++; p < end; p = strchr(p, ' ') + 1) {
        put_argument(b, p, false, false);
        const char *comma = memchr(p, ',', (size_t)(end - p));
        put(b, comma ? ", " : ")", comma ? 2 : 1);
        if (!comma)
            return;
    }
}

/* " I1" in a sentence: the tensor's name, or X, or X[1] where the slot is a list. */
static const char *put_word(struct blame *b, const char *p)
{
    const char *end;
    int number = *p == ' ' && p[1] == IN_LETTER ? number_at(b, p + 1, &end) : -1, first = number;
    if (number < 0 || isalnum((unsigned char)*end) || *end == '_' || !b->ins[number])
        return NULL;
    const struct op_slot *slot = b->call->in_slots[number];
    while (first > 0 && b->call->in_slots[first - 1] == slot)
        first--;
    char text[80];
    if (slot->flags & SLOT_LIST)
        snprintf(text, sizeof text, "%s[%d]", slot->name, number - first);
    else
        snprintf(text, sizeof text, "%s", slot->name);
    const char *name = b->ins[number]->name ? b->ins[number]->name : text;
    put(b, " ", 1);
    put(b, name, strlen(name));
    return end;
}

void blame_tensors(const struct call *c, struct skiff_eager_tensor *const *ins,
                   struct skiff_error *err)
{
    char text[sizeof err->message];
    struct blame b = {text, text + sizeof text, c, ins};
    if (!err)
        return;
    *text = '\0';
    for (const char *p = err->message; *p;) {
        const char *end = *p == ' ' ? list_end(&b, p + 1) : NULL;
        if (end)
            put_list(&b, p + 1, end);
        else if (!(end = put_word(&b, p)))
            put(&b, p, 1);
        p = end ? end : p + 1;
    }
    memcpy(err->message, text, sizeof text);
}
