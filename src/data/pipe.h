/* Pipe commands: a file read through a program of the user's, as Dataset.set_pipe_command does.
 *
 * One process (bash, with pipefail) per file and reader thread, with the file as standard input; in
 * front of it zcat for *.gz, `zstd -dc` for *.zst, `lz4 -dc` for *.lz4. Its standard output is the
 * stream. Exit status 0 or 141 (SIGPIPE: a command that reads only the head of its input) is
 * success; anything else fails the read that would have given the end, with command, file, status
 * and the last lines of standard error. Standard error of a command that succeeds is dropped.
 * Closing early ends the whole process group: SIGTERM, and SIGKILL 200 ms later; the end of this
 * process, however it comes, kills it, too. */
#ifndef DATA_PIPE_H
#define DATA_PIPE_H

#include "data/stream.h"

/* Starts the command. For the path "-" it inherits our standard input. stop may be NULL. */
enum skiff_status pipe_open(const char *command, const char *path, const atomic_bool *stop,
                            struct stream **out, struct skiff_error *err);

/* True when the command only copies ("cat", or none): the file is then read without a process. */
bool pipe_is_plain(const char *command);

#endif
