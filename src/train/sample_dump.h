/* Dump: runner.need_dump, as Paddle's trainers have it: what variables were for every sample.
 *
 *   <dump_fields_path>/epoch_<epoch>/part-<worker>-<thread>
 *     <ins_id> TAB <content> TAB <field>:<values>:<value>:<value> TAB ...    one line a sample
 *     (<batch>,<parameter>):<value>:<value> ...                              one line a batch
 *
 * Without ids the line begins with the tab before the first field. A field that has not one row for
 * every sample (or, ragged, one sequence) is left out of the lines, as Paddle leaves it out. The
 * content is always empty here.
 *
 * Threads: sample_dump_batch is called by each training thread with its own number, and writes
 * to a file of its own; the rest by the owner. */
#ifndef TRAIN_SAMPLE_DUMP_H
#define TRAIN_SAMPLE_DUMP_H

#include <stdio.h>

#include "task/task.h"
#include "executor/trainer.h"

struct sample_dump_thread { /* of one training thread */
    FILE *file;
    struct buf text;
    int64_t batches;
    bool failed;
};

struct sample_dump {
    bool wanted;
    const char *path;
    const char **names; /* of what is watched: what the owner watches, then fields, then params */
    int first, nfields, nparams;
    int threads, worker;
    struct sample_dump_thread *thread_states;
    struct buf folder; /* of the epoch */
};

/* Reads the keys. When there is something to dump, what the options watch grows by it. test: the
 * program is run without its backward part, whose variables cannot be had. */
enum skiff_status sample_dump_init(struct sample_dump *d, struct task *j,
                                   struct trainer_options *options, bool test, int worker,
                                   struct skiff_error *err);
void sample_dump_deinit(struct sample_dump *d);
/* Makes the files of a span: "epoch 3" is the folder epoch_3. */
enum skiff_status sample_dump_start(struct sample_dump *d, const char *span,
                                    struct skiff_error *err);
/* watched: all that the options name. */
void sample_dump_batch(struct sample_dump *d, const struct dataset *data, int thread, int64_t rows,
                       const struct skiff_tensor *watched);
/* Closes them; an error when not all could be written. */
enum skiff_status sample_dump_end(struct sample_dump *d, struct skiff_error *err);

#endif
