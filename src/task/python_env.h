/* The environment in which Python finds Skiff's packages: `skiff python` runs in it, and so do pipe
 * commands of configs. */
#ifndef TASK_PYTHON_ENV_H
#define TASK_PYTHON_ENV_H

#include "base/buf.h"
#include "base/error.h"

/* Changes this process's environment (a second call changes nothing; the first one comes before
 * there are threads): PYTHONPATH has the packages (unless
 * pip has installed them for the Python in this program's folder), `python`, `python3`, `skiff` and
 * `fleetrun` on PATH are that Python and this program, SKIFF_PYTHON names it, and hashes of text
 * are the same in every process (PYTHONHASHSEED=0, unless it is set). The Python's path is put into
 * out_python. On an error nothing is changed: no packages, or no Python that can run them. */
enum skiff_status python_env_set(struct buf *out_python, struct skiff_error *err);

#endif
