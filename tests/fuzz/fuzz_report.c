/* Reports of runs: any bytes give a report or an error. An accepted report is shown, alone and next
 * to itself, and written to a JSON that reads back with the same number of entries. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void write_again(const struct run_report *r)
{
    struct run_report again;
    struct buf json = BUF_INIT;
    struct skiff_error err = {0};
    report_json(r, &json);
    run_report_init(&again);
    if (report_parse_json(json.data, json.len, "again", &again, &err) < 0)
        abort();
    if (again.nepochs != r->nepochs || again.points.n != r->points.n || again.nops != r->nops ||
        again.valid.n != r->valid.n || again.nslots != r->nslots || again.nevents != r->nevents)
        abort();
    for (int i = 0; i < r->nevents; i++)
        if (again.events[i].kind != r->events[i].kind)
            abort();
    run_report_deinit(&again);
    buf_deinit(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct run_report r;
    struct skiff_error err = {0};
    const struct run_report *runs[] = {&r, &r};
    run_report_init(&r);
    if (report_parse_json(data, n, "fuzz", &r, &err) < 0) {
        if (!err.message[0])
            abort();
    } else {
        for (int count = 1; count <= 2; count++) {
            struct buf html = BUF_INIT;
            report_html(runs, count, &html);
            const char *script = strstr(html.data, "<script");
            if (!script || strstr(script + 1, "<script"))
                abort();
            buf_deinit(&html);
        }
        write_again(&r);
    }
    run_report_deinit(&r);
    return 0;
}
