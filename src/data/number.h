/* Numbers as tables for readers have them: thousands separators, currencies, percent signs. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum number_form {
    NUMBER_PLAIN, /* 1616.29, as programs write them */
    NUMBER_POINT, /* $1,616.29   1 616.29 USD   12 %   (3.50), which is negative */
    NUMBER_COMMA, /* 1.616,29 €   CHF 1'616,29   12,5 % */
};
#define NUMBER_FORMS 3

const char *number_form_name(enum number_form form); /* "plain" */
/* False: there is no form of that name. */
bool number_form_of(const char *name, size_t n, enum number_form *out);
/* The finite number that text[0..n) is in that form; text is padded as lines are. A percent sign
 * does not divide by 100. False: it is none. */
bool number_read(enum number_form form, const char *text, size_t n, float *out);

#endif
