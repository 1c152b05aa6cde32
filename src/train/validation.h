/* Validation as an observer (valid.h says what is found, and what follows from it).
 *
 * Values in this process are evaluated as they are. Values on servers are evaluated by the process
 * that has saved them: it loads what it has saved into a network of its own, and no other process
 * waits for it. Within an epoch the first worker saves them for that, beside the epochs. What goes
 * wrong there is a warning; the job continues without.
 *
 * Threads: saved may come from the monitor thread, pause from a training thread; a lock keeps them
 * apart. */
#ifndef TRAIN_VALIDATION_H
#define TRAIN_VALIDATION_H

#include <pthread.h>

#include "train/observer.h"
#include "train/valid.h"

struct validation {
    struct train_run *run;
    struct valid valid;
    struct task own; /* servers: the network that saved values are loaded into */
    bool own_is_open;
    bool wanted; /* the config has something for it to do */
    bool begun;
    pthread_mutex_t lock; /* of all of it, from open to close */
};

/* Looks at the keys; a process that will evaluate needs its data now. validation_close in any
 * case. */
enum skiff_status validation_open(struct validation *v, struct train_run *run,
                                  struct skiff_error *err);
void validation_close(struct validation *v);
/* Values are there. A new run is evaluated before any training, so that what is wrong with the data
 * is found at once; one that resumes has what it has found before. */
enum skiff_status validation_begin(struct validation *v, struct skiff_error *err);
/* Batches between two evaluations within an epoch; 0: none. */
int64_t validation_interval(const struct validation *v);
/* runner.plateau: the next epoch begins with the best model and a lower learning rate. */
bool validation_wants_lower(const struct validation *v);
enum skiff_status validation_lower(struct validation *v, struct skiff_error *err);
struct train_observer validation_observer(struct validation *v);
/* Columns of the table, and the best row. */
void validation_fill(const struct validation *v, struct epoch_row *rows, int n);
/* The epoch with the best model that is kept; -1: not known. */
int validation_best(const struct validation *v);
/* The best epoch, and why training has ended. */
void validation_print(const struct validation *v);

#endif
