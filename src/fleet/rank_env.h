/* Ranks that Slurm's srun or Open MPI's mpirun has started, by the variables that these set. */
#ifndef FLEET_RANK_ENV_H
#define FLEET_RANK_ENV_H

#include "fleet/role.h"

/* Fills id, workers, launcher and, where they are known, worker_endpoints. Left as it is: neither
 * of the two has started several processes. */
enum skiff_status rank_env_read(struct role *r, role_lookup get, void *self,
                                struct skiff_error *err);

#endif
