/* What training from a dataset reports to `skiff launch`, if that has started this process
 * (fleet/report.h): progress of the running pass, and what was trained in all. So jobs of scripts
 * have samples, speed and AUC on the launcher's screen, as those of `skiff train` have. */
#ifndef API_API_REPORT_H
#define API_API_REPORT_H

#include <stdatomic.h>

#include "executor/trainer.h"

struct pass_report { /* a pass over a dataset */
    bool wanted;     /* it trains, and a launcher listens */
    const struct dataset *data;
    struct metrics *metrics; /* of the executor */
    struct metrics_snapshot before;
    double started;
};

void pass_report_begin(struct pass_report *r, const struct dataset *data, struct metrics *metrics,
                       bool trains);
void pass_report_deinit(struct pass_report *r);
void pass_report_tick(struct pass_report *r);
/* The AUC is that of the program's auc op, as it stands in the scope. */
void pass_report_end(const struct pass_report *r, const struct skiff_program *p,
                     const struct skiff_scope *scope, const struct trainer_result *result);

#endif
