/* What a process has counted, in the text form of Prometheus (version 0.0.4). The names are listed
 * in docs/reference/metrics.md. */
#ifndef SKIFF_METRICS_H
#define SKIFF_METRICS_H

#include <skiff/executor.h>
#include <skiff/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose numbers are wanted; each may be NULL. Memory is always among them. */
struct skiff_metrics_sources {
    const struct skiff_executor *executor; /* training and evaluation by it */
    const struct skiff_program *program;   /* of a job: this process's session with servers, or its
                                              server, and their network */
    const struct skiff_dataset *dataset;   /* what it has read */
    uint64_t reserved[4];
};

/* NULL: memory only. May be called while they work, from any thread. free() the text. */
SKIFF_API char *skiff_metrics_text(const struct skiff_metrics_sources *sources);

#ifdef __cplusplus
}
#endif
#endif
