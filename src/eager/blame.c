/* Kernels name their arguments as the call was bound: I0, I1, .. These functions replace them
 * with the names of the tensors, or with their shapes where a tensor has no name. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/eager.h"

struct blame {
    char *to, *end;
    const struct eager_call *call;
    struct skiff_eager_tensor *const *ins;
};

static void put(struct blame *b, const char *text, size_t n)
{
    size_t capacity = (size_t)(b->end - b->to) - 1;
    n = n < capacity ? n : capacity;
    memcpy(b->to, text, n);
    b->to += n;
    *b->to = '\0';
}

/* Parses the number of an argument at p and sets its end; -1 if there is none. */
static int number_at(const struct blame *b, const char *p, const char **end)
{
    if ((*p != IN_PREFIX && *p != OUT_PREFIX) || !isdigit((unsigned char)p[1]))
        return -1;
    char *after;
    long number = strtol(p + 1, &after, 10);
    *end = after;
    return number < (*p == IN_PREFIX ? b->call->nin : b->call->nout) ? (int)number : -1;
}

/* Matches "(I0)" or "(I0, I1)" at p: returns its end, or NULL. */
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
    const struct skiff_eager_tensor *t = *p == IN_PREFIX ? b->ins[number] : NULL;
    char text[160];
    if (!t)
        return; /* for outputs, the slot's name is enough */
    if (t->name) {
        put(b, alone ? " (" : "", alone ? 2 : 0);
        put(b, t->name, strlen(t->name));
        put(b, ")", alone);
    }
    if (shape_follows || t->storage->value.kind == VALUE_NONE)
        return;
    put(b, " ", alone || t->name ? 1 : 0);
    shape_text(&t->storage->value.tensor.shape, text);
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

/* Replaces " I1" in a sentence by the tensor's name, by X, or by X[1] if the slot is a list. */
static const char *put_word(struct blame *b, const char *p)
{
    const char *end;
    int number = *p == ' ' && p[1] == IN_PREFIX ? number_at(b, p + 1, &end) : -1, first = number;
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

void blame_tensors(const struct eager_call *c, struct skiff_eager_tensor *const *ins,
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
