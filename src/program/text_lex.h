/* Inside of the text parser: where it stands, and what it reads words and numbers with. Every
 * function fails with line, column, what was expected and what stands there. */
#ifndef PROGRAM_TEXT_LEX_H
#define PROGRAM_TEXT_LEX_H

#include "program/program.h"
#include "program/text.h"

struct parser {
    struct skiff_program *program;
    const char *what;
    const char *p;    /* next character */
    const char *line; /* start of the line */
    int line_no;
    int max_block;      /* largest block index that an attribute names; -1: none */
    const char *max_at; /* where, with its line */
    const char *max_line;
    int max_line_no;
    struct skiff_error *err;
};

/* "file:3:14: expected ..., found ..." at the current character. */
enum skiff_status lex_fail(struct parser *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lex_skip(struct parser *s);       /* blanks and comments */
void lex_skip_lines(struct parser *s); /* and ends of lines */
enum skiff_status lex_expect(struct parser *s, const char *text);
bool lex_accept(struct parser *s, char c);
enum skiff_status lex_line_end(struct parser *s);
enum skiff_status lex_quoted(struct parser *s, const char **out);
/* A word, bare or quoted; `name` says what it is. */
enum skiff_status lex_word(struct parser *s, const char *name, const char **out);
enum skiff_status lex_whole(struct parser *s, int64_t least, int64_t most, int64_t *out);
enum skiff_status lex_int(struct parser *s, int32_t *out);
enum skiff_status lex_float(struct parser *s, float *out);
enum skiff_status lex_double(struct parser *s, double *out);
enum skiff_status lex_bool(struct parser *s, bool *out);
bool lex_at_number(const char *p);
/* Bytes in hex; `fields`: they must be whole protobuf fields. */
enum skiff_status lex_hex(struct parser *s, bool fields, struct unknown_fields *out);

#endif
