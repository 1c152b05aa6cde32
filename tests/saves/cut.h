/* Cuts file operations: what changes the disk (opening for writing, writing, flushing, renaming,
 * removing, making) is counted; from a given number on the process is killed, or the disk is full.
 *
 * Linked into a test program, whose own calls it then takes, or preloaded into any program
 * (build/tests/libcut.so), where the environment arms it:
 *
 *   SKIFF_TEST_CUT=kill:N       the N-th operation kills the process; a write is done half
 *   SKIFF_TEST_CUT=full:N[:K]   operations from the N-th on, K of them, find the disk full
 *   SKIFF_TEST_CUT_BELOW=TEXT   only paths that hold TEXT count, and not a run's lock and report
 *   SKIFF_TEST_CUT_LOG=FILE     every operation that counts, a line each
 *   SKIFF_TEST_CUT_FREE=FILE    file systems have so many bytes free as the file says now */
#ifndef SAVES_CUT_H
#define SAVES_CUT_H

#include <stdbool.h>

enum cut_mode { CUT_NOTHING, CUT_KILL, CUT_FULL };

/* count 0: no end. */
void cut_arm(enum cut_mode mode, long first, long count);
long cut_disarm(void); /* operations since cut_arm */
/* Folders cannot change names (RENAME_EXCHANGE), as on some file systems. */
void cut_no_exchange(bool refused);
/* Flushing counts, but nothing is flushed: what a killed process has written is seen by others
 * without it, and thousands of saves take seconds instead of minutes. */
void cut_skip_flush(void);

#endif
