/* What a run asks of the process that it runs in: whether to stop, and where lines of results go.
 * The library catches no signals and prints nothing itself. */
#ifndef TRAIN_CONTROL_H
#define TRAIN_CONTROL_H

#include <stdbool.h>

struct skiff_fleet;

/* Every function may be NULL, and so may a pointer to it all. */
struct train_control {
    bool (*wants_stop)(void *user);              /* from any thread */
    void (*print)(void *user, const char *line); /* a line of results, without its end */
    /* wants_stop is looked at from now on: before, a process that waits for others ends at once. */
    void (*ready)(void *user);
    /* A server begins to serve; skiff_fleet_stop_server, also in a signal's handler, ends that. */
    void (*serving)(void *user, struct skiff_fleet *server);
    /* The owner shows epochs with their validation, when this process validates them at once: no
     * line says it again. */
    bool shows_valid;
    void (*debug)(void *user, const char *text); /* runner.dataset_debug */
    void *user;
};

bool control_wants_stop(const struct train_control *c);
void control_print(const struct train_control *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void control_ready(const struct train_control *c);

#endif
