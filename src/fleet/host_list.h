/* Lists of hosts as Slurm writes them: "n[1-3,7]", "a[01-03]b,login", "r[1-2]n[1-4]". */
#ifndef FLEET_HOST_LIST_H
#define FLEET_HOST_LIST_H

#include "base/error.h"

#define HOST_LIST_MAX 65536

/* All hosts in order: with several brackets in a name, the last one varies fastest. `what` names
 * the list in messages. *out: n strings; free each and the array. */
enum skiff_status host_list_expand(const char *what, const char *text, char ***out, int *out_n,
                                   struct skiff_error *err);
/* "2(x3),1": numbers with repetitions, as SLURM_STEP_TASKS_PER_NODE has them; free() *out. */
enum skiff_status count_list_expand(const char *what, const char *text, int **out, int *out_n,
                                    struct skiff_error *err);

#endif
