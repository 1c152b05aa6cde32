#define _GNU_SOURCE
#include "data/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fs/fs.h"

#define FIRST_LINE "skiff-stats 1"

void stats_print(const struct criteo_stats *s, struct buf *out)
{
    buf_printf(out, FIRST_LINE "\nrows %" PRId64 "\nclicks %" PRId64 "\n", s->rows, s->clicks);
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        const struct number_stats *n = &s->numbers[i];
        buf_printf(out, "I%d missing=%" PRId64 " min=%.17g q95=%.17g max=%.17g mean=%.6g\n", i + 1,
                   n->missing, n->min, n->q95, n->max, n->mean);
    }
    for (int i = 0; i < CRITEO_CATEGORIES; i++) {
        const struct category_stats *c = &s->categories[i];
        buf_printf(out,
                   "C%d missing=%" PRId64 " distinct=%" PRId64 "%s once=%" PRId64 " often=%" PRId64
                   " top=%" PRId64 "\n",
                   i + 1, c->missing, c->distinct, c->more ? "+" : "", c->once, c->often, c->top);
    }
}

enum skiff_status stats_write(const struct criteo_stats *s, const char *path,
                              struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    stats_print(s, &text);
    enum skiff_status status = fs_write_file(NULL, path, text.data, text.len, err);
    buf_deinit(&text);
    return status;
}

static bool read_column(struct criteo_stats *s, const char *line)
{
    int at = 0, end = -1;
    char plus[2] = "";
    if (sscanf(line, "I%d", &at) == 1 && at >= 1 && at <= CRITEO_NUMBERS) {
        struct number_stats *n = &s->numbers[at - 1];
        return sscanf(line, "I%*d missing=%" SCNd64 " min=%lf q95=%lf max=%lf mean=%lf%n",
                      &n->missing, &n->min, &n->q95, &n->max, &n->mean, &end) == 5 &&
               end > 0;
    }
    if (sscanf(line, "C%d", &at) == 1 && at >= 1 && at <= CRITEO_CATEGORIES) {
        struct category_stats *c = &s->categories[at - 1];
        int n = sscanf(line, "C%*d missing=%" SCNd64 " distinct=%" SCNd64 "%1[+]", &c->missing,
                       &c->distinct, plus);
        c->more = n == 3;
        const char *rest = strstr(line, " once=");
        return n >= 2 && rest &&
               sscanf(rest, " once=%" SCNd64 " often=%" SCNd64 " top=%" SCNd64, &c->once, &c->often,
                      &c->top) == 3;
    }
    return false;
}

enum skiff_status stats_read(const char *path, struct criteo_stats *out, struct skiff_error *err)
{
    struct criteo_stats s = {0};
    enum skiff_status status = SKIFF_OK;
    char line[512];
    int at = 0, columns = 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return error_set_sys(err, "%s: cannot open; `skiff prepare` writes it", path);
    while (status == SKIFF_OK && fgets(line, sizeof line, f)) {
        bool ok;
        line[strcspn(line, "\r\n")] = '\0';
        at++;
        if (at == 1)
            ok = strcmp(line, FIRST_LINE) == 0;
        else if (strncmp(line, "rows ", 5) == 0)
            ok = sscanf(line, "rows %" SCNd64, &s.rows) == 1;
        else if (strncmp(line, "clicks ", 7) == 0)
            ok = sscanf(line, "clicks %" SCNd64, &s.clicks) == 1;
        else
            columns += ok = read_column(&s, line);
        if (!ok)
            status = error_set(err, SKIFF_FORMAT,
                               "%s:%d: not a line of a stats file (skiff-stats 1): %.60s", path, at,
                               line);
    }
    if (status == SKIFF_OK && columns != CRITEO_NUMBERS + CRITEO_CATEGORIES)
        status = error_set(err, SKIFF_FORMAT, "%s: %d columns expected, %d found", path,
                           CRITEO_NUMBERS + CRITEO_CATEGORIES, columns);
    fclose(f);
    if (status == SKIFF_OK)
        *out = s;
    return status;
}
