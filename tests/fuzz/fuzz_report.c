/* Reports of runs: any bytes give a report or an error. What was read is shown, alone and beside
 * itself, and written to a JSON that reads as the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report_read.h"
#include "report/report.h"

static void write_again(const struct run_report *r)
{
    struct run_report again;
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct skiff_error err = {0};
    report_json(r, &first);
    run_report_init(&again);
    if (report_parse_json(first.data, first.len, "again", &again, &err) < 0)
        abort();
    report_json(&again, &second);
    if (strcmp(first.data, second.data))
        abort();
    run_report_deinit(&again);
    buf_deinit(&first);
    buf_deinit(&second);
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
            if (!script || strstr(script + 1, "<script") || strstr(html.data, "://"))
                abort();
            buf_deinit(&html);
        }
        write_again(&r);
    }
    run_report_deinit(&r);
    return 0;
}
