/* The thread pool of the process: eager mode and executors share it. As many threads as
 * OMP_NUM_THREADS says, which is read when the module is loaded, or as set_num_threads says. */
#include "native.h"

static struct skiff_thread_pool *pool;

struct skiff_thread_pool *process_threads(void)
{
    return pool;
}

static PyObject *set_num_threads(PyObject *self, PyObject *value)
{
    int64_t n;
    if (!int_of(value, "num_threads", &n))
        return NULL;
    skiff_thread_pool_set_threads(pool, n < 1                    ? 1
                                        : n > SKIFF_MOST_THREADS ? SKIFF_MOST_THREADS
                                                                 : (int)n);
    Py_RETURN_NONE;
}

static PyObject *num_threads(PyObject *self, PyObject *unused)
{
    return PyLong_FromLong(skiff_thread_pool_threads(pool));
}

static PyMethodDef functions[] = {
    METHOD1("set_num_threads", set_num_threads, "How many threads compute a large op."),
    METHOD0("num_threads", num_threads, "How many threads compute a large op."),
    {0}};

bool thread_pool_init(PyObject *m)
{
    pool = skiff_thread_pool_create(0);
    return module_functions(m, functions);
}
