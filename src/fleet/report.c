#include "fleet/report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"

static int report_fd(void)
{
    const char *text = getenv(REPORT_FD); /* the launcher sets it */
    int64_t fd;
    return text && option_int(text, 0, INT_MAX, &fd) ? (int)fd : -1;
}

bool report_wanted(void)
{
    return report_fd() > STDERR_FILENO;
}

int report_encode(const struct report *r, char *out, size_t room)
{
    if (r->epoch < 0)
        return snprintf(out, room, "R %lld %.3f %.6f %.6f %.6f\n", (long long)r->samples,
                        r->seconds, r->loss, r->auc, r->job_auc);
    return snprintf(out, room, "P %d %.4f %lld %.3f %.6f %.6f%s%s\n", r->epoch, r->share,
                    (long long)r->samples, r->seconds, r->loss, r->auc, r->tables[0] ? " " : "",
                    r->tables);
}

void report_send(const struct report *r)
{
    char line[512];
    int fd = report_fd(), n = report_encode(r, line, sizeof(line));
    if (fd <= STDERR_FILENO || n <= 0 || (size_t)n >= sizeof(line))
        return;
    /* shorter than PIPE_BUF: whole or not at all */
    if (write(fd, line, (size_t)n) < 0)
        return;
}

bool report_parse(const char *line, struct report *out)
{
    struct report r = {.epoch = -1, .share = -1, .job_auc = NAN};
    long long samples;
    int n = 0, rest = 0;
    if (line[0] == 'R')
        n = sscanf(line, "R %lld %lf %lf %lf %lf", &samples, &r.seconds, &r.loss, &r.auc,
                   &r.job_auc) == 5;
    else if (line[0] == 'P')
        n = sscanf(line, "P %d %lf %lld %lf %lf %lf%n", &r.epoch, &r.share, &samples, &r.seconds,
                   &r.loss, &r.auc, &rest) == 6 &&
            r.epoch >= 0;
    if (!n || samples < 0 || !isfinite(r.seconds))
        return false;
    r.samples = samples;
    if (rest && line[rest] == ' ')
        snprintf(r.tables, sizeof(r.tables), "%s", line + rest + 1);
    *out = r;
    return true;
}
