/* Rights: what a program may do outside itself.
 *
 * A program built by this process may do everything. A program read from a file, or from bytes, is
 * untrusted: its user wants its numbers only. When a plan is made, ops that act outside the program
 * (OP_SIDE_EFFECT: files, other processes) are refused unless they were allowed by name. Ops with
 * files (OP_FILES) may then use only files below one folder, wherever `..` and symbolic links lead.
 * Ops of a split program act through its job only; splitting a program, or giving it a job
 * (program_set_job), allows them.
 *
 * Clones, and programs that passes derive from a program, have its rights. An exception are the
 * programs of servers: passes/split checks the program that it splits, and refuses such ops
 * there. */
#ifndef PROGRAM_RIGHTS_H
#define PROGRAM_RIGHTS_H

#include "program/program.h"

/* The program came from outside; `what` names it in messages (a path). */
void program_set_origin(struct skiff_program *p, const char *what);
void program_copy_rights(struct skiff_program *to, const struct skiff_program *from);

/* Allows ops by type, "save,load", replacing the previous list. dir: an existing folder for those
 * with files; NULL if there are none. */
enum skiff_status program_allow(struct skiff_program *p, const char *ops, const char *dir,
                                struct skiff_error *err);
/* The program was split by this process: ops that act through a job are allowed. */
void program_allow_job(struct skiff_program *p);
/* Checks that all ops of the block, and of the blocks that it runs, are allowed (-1: of all
 * blocks). Otherwise UNSUPPORTED with block, op, effect and remedy. */
enum skiff_status program_check_rights(const struct skiff_program *p, int block,
                                       struct skiff_error *err);
/* The real path of the file of an op with files: `path` itself in a program of our own; otherwise
 * without links, below the folder. The caller frees the text. */
enum skiff_status program_file(const struct skiff_program *p, const char *path, char **out,
                               struct skiff_error *err);

#endif
