/* The files of a report in the folder of a run's models, each replaced by one rename: readers see
 * the old file or the new one. */
#include "report/report.h"
#include "store/file.h"

static enum skiff_status write_text(const char *folder, const char *name, const struct buf *text,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder, name);
    enum skiff_status status = file_write(path.data, text->data, text->len, err);
    buf_deinit(&path);
    return status;
}

enum skiff_status report_write_texts(const char *folder, const struct buf *json,
                                     const struct buf *html, struct skiff_error *err)
{
    TRY(write_text(folder, REPORT_JSON, json, err));
    return write_text(folder, REPORT_HTML, html, err);
}

enum skiff_status report_write(const struct run_report *r, const char *folder,
                               struct skiff_error *err)
{
    struct buf json = BUF_INIT, html = BUF_INIT;
    report_json(r, &json);
    report_html(&r, 1, &html);
    enum skiff_status status = report_write_texts(folder, &json, &html, err);
    buf_deinit(&json);
    buf_deinit(&html);
    return status;
}
