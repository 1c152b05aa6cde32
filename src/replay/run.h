/* Running one recorded case. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "base/buf.h"
#include "replay/case.h"

struct replay_result {
    int differences; /* values that are not as recorded */
    int compared;
};

/* Fails (status) when the case cannot be run; values that differ are counted and described in
 * `report`, a line each: "step 3, fc_0.w_0: at index [1, 2]: got 0.5, expected 0.25 ...". */
struct replay_options {
    bool no_fuse;
    const char *allow_ops, *allow_dir; /* of the case's programs (program/rights.h); NULL: none */
};
enum skiff_status replay_run(struct replay_case *c, const struct replay_options *options,
                             struct replay_result *result, struct buf *report,
                             struct skiff_error *err);

#endif
