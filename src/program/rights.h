/* Rights: what a program may do outside of itself.
 *
 * A program that this process builds may do everything: whoever wrote the process wanted it. One
 * that was read from a file, or from bytes, was written by somebody else, and who runs it wants its
 * numbers. Ops that act outside of the program (OP_SIDE_EFFECT: files, other processes) are refused
 * in it when a plan is made, unless they were allowed by name; and ops with files (OP_FILES) may
 * then touch only what lies below one folder, wherever `..` and symbolic links lead. Ops of a split
 * program act through its job alone: who splits a program, or gives it a job (program_set_job),
 * allows them.
 *
 * Clones and what passes make of a program have its rights; but the programs of servers, which
 * passes/split makes: it looks at what it splits, and refuses that. */
#ifndef PROGRAM_RIGHTS_H
#define PROGRAM_RIGHTS_H

#include "program/program.h"

/* It came from outside; `what` names it in messages (a path). */
void program_set_origin(struct skiff_program *p, const char *what);
void program_copy_rights(struct skiff_program *to, const struct skiff_program *from);

/* Allows ops by type, "save,load", in place of what was allowed before. dir: a folder, which must
 * be there, for those with files; NULL when there are none of them. */
enum skiff_status program_allow(struct skiff_program *p, const char *ops, const char *dir,
                                struct skiff_error *err);
/* The program was split here: its ops that act through a job are ours. */
void program_allow_job(struct skiff_program *p);
/* All ops of the block, and of those that it runs, are allowed (-1: of all blocks); else
 * UNSUPPORTED with block, op, what it wants, what to do. */
enum skiff_status program_check_rights(const struct skiff_program *p, int block,
                                       struct skiff_error *err);
/* Where the file of an op with files really lies: `path` itself in a program of our own; else
 * without links, below the folder. The text is the caller's (free). */
enum skiff_status program_file(const struct skiff_program *p, const char *path, char **out,
                               struct skiff_error *err);

#endif
