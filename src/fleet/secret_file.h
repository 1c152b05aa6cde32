/* Files that hold a job's secret: one line, readable by their owner only. */
#ifndef FLEET_SECRET_FILE_H
#define FLEET_SECRET_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define SECRET_TEXT 256    /* longest secret, with its NUL */
#define SECRET_SHORT 16    /* fewer characters can be guessed, */
#define SECRET_DIFFERENT 8 /* or fewer different ones */

/* Refused when other users can read the file, when another user owns it, or when it has not exactly
 * one line. */
enum skiff_status secret_file_read(const char *path, char out[SECRET_TEXT],
                                   struct skiff_error *err);
/* Mode 0600; creates missing folders, for the owner alone. An existing file is an error. */
enum skiff_status secret_file_write(const char *path, const char *secret, struct skiff_error *err);
/* 256 random bits as text. */
void secret_create(char out[SECRET_TEXT]);
/* Describes the weakness of a secret in `out`; false: there is none. */
bool secret_is_weak(const char *secret, char *out, size_t capacity);

/* This process holds a secret: disables core dumps, and debuggers of other users. SKIFF_COREDUMP=1
 * disables neither. */
void secret_guard(void);

#endif
