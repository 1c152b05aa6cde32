/* What the printer and the parser of the text form share. */
#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "program/attr.h"

/* Characters of a word that needs no quotes. */
static inline bool text_is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '@' || c == '.' || c == '/' || c == '-' || c == '+' || c == '$' || c == '%';
}

/* Prefix of a list, by attribute type: "ints" in ints[1,2]; NULL: not a list. */
const char *text_list_prefix(enum attr_type t);

void text_word(struct buf *out, const char *s); /* bare, or quoted when it has to be */
void text_attr(struct buf *out, enum attr_type t, const struct attr_value *v);
struct skiff_op;
void text_op(struct buf *out, const struct skiff_op *op); /* one line, with its end */

/* Numbers are written and read in the C locale, whatever the process has set. */
struct text_locale {
    locale_t c, before;
};
void text_locale_enter(struct text_locale *l);
void text_locale_leave(struct text_locale *l);

#endif
