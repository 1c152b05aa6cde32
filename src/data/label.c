#include "data/label.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "data/text.h"

/* A label's text as it is compared. */
static struct label_text label_text_of(const char *text, size_t n)
{
    float value;
    while (n && text_blank(*text))
        text++, n--;
    while (n && text_blank(text[n - 1]))
        n--;
    struct label_text t = {.text = (char *)text, .n = n};
    t.is_number = n > 0 && text_f32(text, &value) == text + n && value - value == 0;
    if (t.is_number)
        t.number = (double)value;
    else if (n > 1 && text[n - 1] == '.')
        t.n--;
    return t;
}

static bool same(const struct label_text *a, const struct label_text *b)
{
    if (a->is_number && b->is_number)
        return a->number == b->number;
    return a->n == b->n && strncasecmp(a->text, b->text, a->n) == 0;
}

/* A copy with the room behind it that number parsers may read. */
static char *padded(const char *text, size_t n)
{
    char *copy = mem_alloc_or_die(n + 1 + TEXT_PAD);
    memcpy(copy, text, n);
    copy[n] = '\n';
    return copy;
}

bool label_same(const char *a, size_t a_n, const char *b, size_t b_n)
{
    char *x = padded(a, a_n), *y = padded(b, b_n);
    struct label_text s = label_text_of(x, a_n), t = label_text_of(y, b_n);
    bool result = same(&s, &t);
    free(x);
    free(y);
    return result;
}

static void keep(struct label_text *to, const char *text)
{
    if (!text)
        return;
    char *copy = padded(text, strlen(text));
    struct label_text t = label_text_of(copy, strlen(text));
    memmove(copy, t.text, t.n);
    *to = t;
    to->text = copy;
    to->text[t.n] = '\0';
}

enum skiff_status label_rule_init(struct label_rule *r, const char *positive, const char *negative,
                                  struct skiff_error *err)
{
    *r = (struct label_rule){0};
    if (negative && !positive)
        return error_set(err, SKIFF_INVALID,
                         "the setting negative needs positive: the label that is 1");
    keep(&r->positive, positive);
    keep(&r->negative, negative);
    if (negative && same(&r->positive, &r->negative)) {
        label_rule_deinit(r);
        return error_set(err, SKIFF_INVALID, "positive and negative are the same label: %s",
                         positive);
    }
    return SKIFF_OK;
}

void label_rule_deinit(struct label_rule *r)
{
    free(r->positive.text);
    free(r->negative.text);
    *r = (struct label_rule){0};
}

enum skiff_status label_read(const struct label_rule *r, const char *text, size_t n, double *out,
                             struct skiff_error *err)
{
    struct label_text t = label_text_of(text, n);
    char quoted[64];
    if (!r->positive.text) {
        if (!t.is_number)
            return error_set(err, SKIFF_FORMAT,
                             "expected a number, found %s (for labels that are text, the "
                             "setting positive, runner.input_positive, names the one that is 1)",
                             text_quote(text, n, quoted));
        *out = t.number;
        return SKIFF_OK;
    }
    bool positive = same(&t, &r->positive);
    if (t.n == 0 || (!positive && r->negative.text && !same(&t, &r->negative)))
        return error_set(err, SKIFF_FORMAT, "expected %.40s or %.40s, found %s%s", r->positive.text,
                         r->negative.text ? r->negative.text : "another text",
                         text_quote(text, n, quoted), t.n ? " " LABEL_UNKNOWN : "");
    *out = positive;
    return SKIFF_OK;
}
