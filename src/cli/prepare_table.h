/* Prepare for forms other than Criteo's: rows to train/ and valid/, and the statistics to stats. */
#ifndef CLI_PREPARE_TABLE_H
#define CLI_PREPARE_TABLE_H

#include "cli/init.h"

enum skiff_status prepare_table(const struct init_flags *f, char **names, int n, int64_t bad,
                                struct skiff_error *err);

#endif
