#include "save/sources.h"

#include <inttypes.h>

enum skiff_status save_write_position(void *user, struct save *s, struct skiff_error *err)
{
    const struct model_info *at = user;
    struct buf text = BUF_INIT;
    (void)err;
    buf_printf(&text, "{epoch: %d, batches: %" PRId64 ", samples: %" PRId64 ", complete: %s}",
               at->epoch, at->steps, at->samples, at->complete ? "True" : "False");
    save_add_note(s, "position", text.data);
    buf_deinit(&text);
    return SKIFF_OK;
}
