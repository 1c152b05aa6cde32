#include "save/retry.h"

#include <errno.h>

#include "base/clock.h"

bool save_may_pass(const struct skiff_error *err)
{
    return err->sys_errno == ENOSPC || err->sys_errno == EDQUOT || err->sys_errno == EIO;
}

enum skiff_status save_retry(const struct save_retry *r, struct skiff_error *err)
{
    struct skiff_error why = {0};
    double pause = r->pause > 0 ? r->pause : SAVE_PAUSE;
    int tries = r->tries > 0 ? r->tries : SAVE_TRIES;
    enum skiff_status status;
    while ((status = r->save(r->user, &why)) < 0 && --tries > 0 && save_may_pass(&why)) {
        if (r->pausing && !r->pausing(r->user, &why, pause))
            break;
        clock_sleep((int64_t)(pause * (double)CLOCK_SECOND));
        pause *= 2;
    }
    if (status < 0 && err)
        *err = why;
    return status;
}
