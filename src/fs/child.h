/* A command as a child process whose standard output is read; closing early kills it. */
#ifndef FS_CHILD_H
#define FS_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct child {
    pid_t pid; /* 0: none */
    int out;   /* its standard output; -1 */
    int err;   /* a file with its standard error; -1 */
};

/* Standard input is empty. NOT_FOUND: there is no such command. */
enum skiff_status child_start(struct child *c, char *const argv[], struct skiff_error *err);
/* *got 0 is the end. Fails with TIMEOUT after so many seconds without a byte, with STATE when it is
 * stopped. */
enum skiff_status child_read(struct child *c, const char *what, int seconds,
                             const atomic_bool *stop, void *buf, size_t n, size_t *got,
                             struct skiff_error *err);
#define CHILD_LINE " | "
/* Waits for its end; appends its standard error to `errors` (the last 64 KB), CHILD_LINE between
 * lines, without Java stack traces. Returns the exit status, or 128 + the signal. */
int child_end(struct child *c, struct buf *errors);
void child_close(struct child *c); /* kills it if it still runs; closing twice is fine */

#endif
