/* mpi: not built here yet. */
#include "collective/collective_parts.h"

enum skiff_status collective_mpi(struct collective **out, struct skiff_error *err)
{
    return error_set(err, SKIFF_UNSUPPORTED, "this Skiff was built without MPI");
}

bool collective_mpi_present(void)
{
    return false;
}
