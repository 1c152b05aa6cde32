/* Files that hold a job's secret: one line that nobody but their owner can read. */
#ifndef FLEET_SECRET_FILE_H
#define FLEET_SECRET_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define SECRET_TEXT 256    /* longest secret, with its NUL */
#define SECRET_SHORT 16    /* fewer characters can be guessed, */
#define SECRET_DIFFERENT 8 /* or fewer different ones */

/* Refused when others can read the file, when it is somebody else's, or when it has not exactly one
 * line. */
enum skiff_status secret_file_read(const char *path, char out[SECRET_TEXT],
                                   struct skiff_error *err);
/* Mode 0600; folders that are missing are made, for the owner alone. A file that is there is
 * refused. */
enum skiff_status secret_file_write(const char *path, const char *secret, struct skiff_error *err);
/* 256 random bits as text. */
void secret_make(char out[SECRET_TEXT]);
/* What is wrong with a secret, as a sentence in `out`; false: nothing. */
bool secret_is_weak(const char *secret, char *out, size_t room);

/* This process holds a secret: no core dumps, no debuggers of others. SKIFF_COREDUMP=1 leaves it
 * as it is. */
void secret_guard(void);

#endif
