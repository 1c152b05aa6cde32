/* Counting the references of a job (job.h). */
#include "program/job.h"

struct job *job_ref(struct job *j)
{
    if (j)
        __atomic_add_fetch(&j->refs, 1, __ATOMIC_RELAXED);
    return j;
}

void job_unref(struct job *j)
{
    if (j && !__atomic_sub_fetch(&j->refs, 1, __ATOMIC_ACQ_REL))
        j->class->destroy(j);
}
