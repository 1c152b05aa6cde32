#include "table/accessor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print_g.h"

static const struct accessor_class *const all[] = {
#define ACCESSOR(name) &accessor_##name,
#include "table/accessor_list.h"
#undef ACCESSOR
    NULL,
};

const struct accessor_class *accessor_at(int i)
{
    return all[i];
}

const struct accessor_class *accessor_find(const char *name)
{
    for (int i = 0; all[i]; i++)
        if (!strcmp(all[i]->name, name) || (all[i]->paddle && !strcmp(all[i]->paddle, name)))
            return all[i];
    return NULL;
}

struct ctr_params ctr_defaults(void)
{
    return (struct ctr_params){.nonclk_coeff = 0.1f,
                               .click_coeff = 1,
                               .delta_keep_days = 16,
                               .show_click_decay_rate = 1,
                               .delete_after_unseen_days = 30,
                               .show_scale = true,
                               .zero_init = true};
}

enum skiff_status accessor_init(struct accessor *a, const struct accessor_class *class,
                                const struct accessor_options *o, struct skiff_error *err)
{
    *a = (struct accessor){.class = class, .options = *o};
    TRY(class->layout(a, err));
    if (a->width < 1 || a->width > ACCESSOR_WIDTH)
        return error_set(err, SKIFF_INVALID,
                         "accessor %s: a row of %d numbers; the range is 1 to %d", class->name,
                         a->width, ACCESSOR_WIDTH);
    return SKIFF_OK;
}

void accessor_copy(const struct accessor *a, struct table_row *const *r, size_t n, int from,
                   float *out)
{
    size_t width = (size_t)a->pulled;
    for (size_t i = 0; i < n; i++, out += width) {
        if (r[i])
            row_copy(out, r[i]->values + from, width);
        else
            memset(out, 0, width * sizeof *out);
    }
}

/* ---- lines of shard files ---- */

#define NUMBER_MAX (PRINT_G_MAX + 1) /* characters of a number, with the blank before it */

size_t accessor_line_max(const struct accessor *a)
{
    return ((size_t)a->width + 2) * NUMBER_MAX;
}

size_t accessor_print(const struct accessor *a, const struct table_row *r, char *out)
{
    double numbers[ACCESSOR_WIDTH];
    int n = a->class->numbers(a, r, numbers);
    size_t at = (size_t)snprintf(out, NUMBER_MAX, "%" PRIu64, (uint64_t)r->id);
    for (int i = 0; i < n; i++) {
        out[at++] = ' ';
        at += print_g(out + at, numbers[i], a->class->digits);
    }
    out[at++] = '\n';
    return at;
}

/* The next word of a line, terminated by a zero, or NULL. Words too long for a number are
 * truncated: they are not numbers. */
static const char *next_word(const char **at, const char *end, char word[static 64])
{
    const char *p = *at;
    size_t n = 0;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    for (; p < end && *p != ' ' && *p != '\t'; p++)
        if (n < 63)
            word[n++] = *p;
    word[n] = 0;
    *at = p;
    return n ? word : NULL;
}

enum skiff_status accessor_parse(const struct accessor *a, const char *line, size_t n,
                                 struct table_row *r, struct skiff_error *err)
{
    double numbers[ACCESSOR_WIDTH];
    char word[64], *stop;
    int found = 0;
    const char *at = line, *end = line + n;
    while (end > line && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    if (!next_word(&at, end, word))
        return error_set(err, SKIFF_FORMAT, "an empty line; expected a key and numbers");
    errno = 0;
    r->id = (int64_t)strtoull(word, &stop, 10);
    if (*stop || stop == word || errno == ERANGE)
        return error_set(err, SKIFF_FORMAT, "key \"%s\": expected an integer of 64 bits", word);
    while (next_word(&at, end, word)) {
        if (found == a->width)
            return error_set(err, SKIFF_FORMAT,
                             "key %" PRIu64 ": more than %d numbers, which is all that accessor %s "
                             "has with these settings",
                             (uint64_t)r->id, a->width, a->class->name);
        numbers[found++] = strtod(word, &stop);
        if (*stop || stop == word)
            return error_set(err, SKIFF_FORMAT,
                             "key %" PRIu64 ", number %d: \"%s\" is not a number", (uint64_t)r->id,
                             found, word);
    }
    a->class->start(a, r);
    return a->class->take(a, numbers, found, r, err);
}
