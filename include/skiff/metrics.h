/* What a process has counted, in the text form of Prometheus (version 0.0.4). The names are listed
 * in docs/reference/metrics.md. */
#ifndef SKIFF_METRICS_H
#define SKIFF_METRICS_H

#include <skiff/executor.h>
#include <skiff/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose numbers are wanted; each may be NULL. Memory is always among them. */
struct skiff_metrics_sources {
    const struct skiff_executor *executor; /* training and evaluation by it */
    const struct skiff_program *program;   /* of a job: this process's session with servers, or its
                                              server, and their network */
    const struct skiff_dataset *dataset;   /* what it has read */
    /* Its training and its part of a job; the dataset if that is the config's. From its observers,
     * or while it does not run. */
    const struct skiff_trainer *trainer;
    uint64_t reserved[4];
};

/* NULL: memory only. Any thread may call it while the first three work. free() the text. */
SKIFF_API char *skiff_metrics_text(const struct skiff_metrics_sources *sources);

#ifdef __cplusplus
}
#endif
#endif
