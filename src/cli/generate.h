/* What is made of the table of commands besides --help: man pages, pages of docs/reference/commands
 * and completions. Each adds the text of one file. */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

#include "cli/command.h"

/* generate_pages.c */
void man_skiff(struct buf *out);
void man_command(const struct command *c, struct buf *out);
void markdown_index(struct buf *out);
void markdown_command(const struct command *c, struct buf *out);
/* The page with the tables of keys (config/keys.h) between its marks anew. FORMAT: a mark is wrong
 * or missing. */
enum skiff_status markdown_keys(const char *page, struct buf *out, struct skiff_error *err);
/* generate_completions.c */
void complete_bash(struct buf *out);
void complete_zsh(struct buf *out);
void complete_fish(struct buf *out);

#endif
