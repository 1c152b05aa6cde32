/* Counting the references of a job (job.h). */
#include "program/job.h"

#include "program/program.h"

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

enum skiff_status job_begin(const struct skiff_program *p, struct skiff_scope *scope, bool *done,
                            struct skiff_error *err)
{
    *done = false;
    if (!p->job || !p->job->class->begin)
        return SKIFF_OK;
    return p->job->class->begin(p->job, p, scope, done, err);
}

void job_snapshot(const struct skiff_program *p, struct metrics_snapshot *out)
{
    struct job *j = program_to_run(p)->job;
    if (j && j->class->snapshot)
        j->class->snapshot(j, out);
}
